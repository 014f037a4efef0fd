package engine

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
)

// reclaimed describes the fields of a live object that change when the fields
// of other managers are taken over: they are not in the manifest, and nobody
// else holds them. A dry-run of the apply cannot show this, since the take-over
// is a request of its own. So the server is asked, in a dry-run, to put the
// object without these fields in the place of the live one: it says which go,
// and which return to a default.
func (e *Engine) reclaimed(ctx context.Context, change *Change) ([]string, error) {
	managers := e.managersToTakeOver(change)
	if len(managers) == 0 {
		return nil, nil
	}
	taken, held, err := fieldSets(change.Live, e.takesOver(change))
	if err != nil {
		return nil, fmt.Errorf("%s: reading its managed fields: %w", change.ID, err)
	}
	projected, err := e.project(ctx, change.Object.Object, change.Live.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", change.ID, err)
	}
	leaving := taken.Leaves().Difference(projected.fields).Difference(held)
	if leaving.Empty() {
		return nil, nil
	}
	left := e.withoutFields(ctx, change, projected, leaving)
	lines := differences("", e.shownFields(projected.live, leaving, change), e.shownFields(left, leaving, change))
	if len(lines) == 0 {
		return nil, nil
	}
	head := fmt.Sprintf(" %s   set by %s, not in the manifest:", change.ID, strings.Join(managers, ", "))
	return append([]string{head}, lines...), nil
}

// withoutFields is what the server would make of the live object without some
// fields. Where it cannot be asked, the fields simply go.
func (e *Engine) withoutFields(ctx context.Context, change *Change, projected *projection, leaving *fieldpath.Set) *typed.TypedValue {
	without := projected.live.RemoveItems(leaving)
	merged, err := without.Merge(projected.applied)
	if err != nil {
		return without
	}
	content, ok := merged.AsValue().Unstructured().(map[string]any)
	if !ok {
		return without
	}
	predicted, err := e.cluster.Replace(ctx, change.Type, &unstructured.Unstructured{Object: content}, cluster.DryRun)
	if err != nil {
		return without
	}
	put, err := projected.typed(predicted)
	if err != nil {
		return without
	}
	return put
}

// shownFields is a part of an object in the form in which it may be shown.
func (e *Engine) shownFields(of *typed.TypedValue, fields *fieldpath.Set, change *Change) map[string]any {
	content, ok := of.ExtractItems(fields, typed.WithAppendKeyFields()).AsValue().Unstructured().(map[string]any)
	if !ok {
		content = map[string]any{}
	}
	content["apiVersion"], content["kind"] = change.Live.GetAPIVersion(), change.Live.GetKind()
	return e.comparable(&unstructured.Unstructured{Object: content})
}

// fieldSets returns the fields that are taken over, and those that others hold
// besides.
func fieldSets(live *unstructured.Unstructured, takes func(metav1.ManagedFieldsEntry) bool) (taken, held *fieldpath.Set, err error) {
	taken, held = fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		if entry.FieldsV1 == nil {
			continue
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, nil, err
		}
		if takes(entry) {
			taken = taken.Union(set)
		} else {
			held = held.Union(set)
		}
	}
	return taken, held, nil
}

// reclaimWarning is the one warning about all fields that go away.
func reclaimWarning(c Component, findings [][]string) (Warning, bool) {
	var lines []string
	count := 0
	for _, finding := range findings {
		if len(finding) > 0 {
			count++
			lines = append(lines, finding...)
		}
	}
	if count == 0 {
		return Warning{}, false
	}
	return Warning{
		Title: fmt.Sprintf("Fields that others set on %s of component %s will be reset", counted(count, "object", "objects"), c),
		Lines: append(lines, ` To keep such fields, set update_policy = "SsaMerge" (or the annotation update-policy: ssa-merge).`),
	}, true
}
