package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/kubewave/terraform-provider-component/internal/engine"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// compareOutcomes compares how components came out.
func (w *world) compareOutcomes(ctx context.Context, s step, results map[string]result) []error {
	var problems []error
	for name, r := range results {
		found := compareOutcome(s.Expect.Components[name], r)
		if want := s.Expect.Components[name].Inventory; want != nil {
			found = append(found, w.compareInventory(ctx, name, want))
		}
		if r.deleted && r.err == nil {
			found = append(found, w.wantNoRecord(ctx, name))
		}
		if err := errors.Join(found...); err != nil {
			problems = append(problems, fmt.Errorf("component %s: %w", name, err))
		}
	}
	return problems
}

func compareOutcome(want outcome, got result) []error {
	says := append(slices.Clone(want.Refused), want.Error...)
	switch {
	case got.err == nil && want.fails():
		return []error{fmt.Errorf("it did not fail, want an error that says %q", says)}
	case got.err != nil && !want.fails():
		return []error{fmt.Errorf("it failed: %s", fullText(got.err))}
	}
	problems := missing("the error", fullText(got.err), says)
	if want.Refused != nil && !got.planned {
		problems = append(problems, errors.New("it failed at apply, not at plan"))
	}
	if want.Error != nil && got.planned {
		problems = append(problems, fmt.Errorf("it failed at plan, not at apply: %s", fullText(got.err)))
	}
	problems = append(problems, missing("the warnings", warningText(got.warnings), want.Warnings)...)
	if want.Plan != "" && got.summary != want.Plan {
		problems = append(problems, fmt.Errorf("the plan says %q, want %q", got.summary, want.Plan))
	}
	if status := wantedStatus(want, got); status != "" && got.status != status {
		problems = append(problems, fmt.Errorf("its status is %q, want %q", got.status, status))
	}
	return problems
}

// wantedStatus is Ready when nothing else is said of an apply.
func wantedStatus(want outcome, got result) string {
	if want.Status != "" || got.deleted || want.fails() {
		return want.Status
	}
	return engine.StatusReady
}

func missing(where, text string, words []string) []error {
	var problems []error
	for _, word := range words {
		if !strings.Contains(text, word) {
			problems = append(problems, fmt.Errorf("%s does not say %q:\n%s", where, word, text))
		}
	}
	return problems
}

// fullText is an error with the titles that the provider prints.
func fullText(err error) string {
	var lines []string
	for _, problem := range object.Problems(err) {
		lines = append(lines, titled(problem))
	}
	return strings.Join(lines, "\n")
}

func titled(err error) string {
	var of *engine.ObjectError
	var whole *engine.ComponentError
	var unready *engine.NotReadyError
	switch {
	case errors.As(err, &of):
		return of.Title + ": " + err.Error()
	case errors.As(err, &whole):
		return whole.Title + ": " + err.Error()
	case errors.As(err, &unready):
		return unready.Title() + ": " + err.Error()
	default:
		return err.Error()
	}
}

func warningText(warnings []engine.Warning) string {
	var lines []string
	for _, warning := range warnings {
		lines = append(append(lines, warning.Title), warning.Lines...)
	}
	return strings.Join(lines, "\n")
}

// compareInventory compares the phases in the record.
func (w *world) compareInventory(ctx context.Context, name string, want map[string]string) error {
	rec, err := record.NewStore(w.records, w.namespace, name).Load(ctx)
	if err != nil {
		return err
	}
	got := map[string]string{}
	if rec != nil {
		for _, item := range rec.Inventory {
			got[w.shortID(item.ID)] = string(item.Phase)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("the inventory is another one (-want +got):\n%s", diff)
	}
	return nil
}

func (w *world) wantNoRecord(ctx context.Context, name string) error {
	rec, err := record.NewStore(w.records, w.namespace, name).Load(ctx)
	if err == nil && rec != nil {
		err = errors.New("its record is still there")
	}
	return err
}

func (w *world) shortID(id object.ID) string {
	if id.Namespace != "" && id.Namespace != w.namespace {
		return id.Kind + "/" + id.Namespace + "/" + id.Name
	}
	return id.Kind + "/" + id.Name
}

// diffOf prints how planned objects differ from those of state.
func diffOf(before, after map[string]string) string { return cmp.Diff(before, after) }
