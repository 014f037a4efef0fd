package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// StatusSuspended is the status of a component to which nothing is applied.
const StatusSuspended = "Suspended"

// suspend makes a plan that leaves all objects as they are, and says what it
// leaves undone (semantics.md, section 6).
func (p *Plan) suspend() {
	before := Prior{Revision: 1}
	if p.prior != nil {
		before = *p.prior
	}
	pending := pendingChanges(before.Objects, p.Planned)
	summary := "suspended"
	if len(pending) > 0 {
		summary += ": " + p.Planned.Summary
		p.Warnings = append(p.Warnings, Warning{Title: fmt.Sprintf("Component %s is suspended: %s", p.Component, p.Planned.Summary), Lines: pending})
	}
	p.suspended = true
	p.Planned = Planned{
		Objects: maps.Clone(before.Objects), Unknown: map[string]bool{}, Leaves: before.Memory.Leaves, Intended: before.Memory.Intended,
		Revision: max(before.Revision, 1), Artifact: before.Artifact, Summary: summary, Status: StatusSuspended,
	}
	p.NothingToDo = p.prior != nil && p.prior.Status == StatusSuspended && !p.prior.Memory.Lost
}

// pendingChanges lists what an apply would do, in the form of the plan: masked
// and folded.
func pendingChanges(before map[string]string, p Planned) []string {
	all := maps.Clone(before)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, p.Objects)
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		old, existed := before[key]
		young, stays := p.Objects[key]
		switch {
		case p.Unknown[key]:
			lines = append(lines, " ~ "+key+"   (known after apply)")
		case !existed:
			lines = append(lines, " + "+key)
		case !stays:
			lines = append(lines, " - "+key)
		case old != young:
			was, _ := object.DecodeCanonical(old)
			is, _ := object.DecodeCanonical(young)
			lines = append(append(lines, " ~ "+key), differences("", was, is)...)
		}
	}
	return lines
}

// suspendRecord writes that the component is suspended; nothing else.
func (a *applier) suspendRecord(ctx context.Context) (*Result, error) {
	a.openRecord()
	a.record.Phase, a.record.Reason = record.Pending, StatusSuspended
	if err := a.begin(ctx); err != nil {
		return &Result{}, err
	}
	a.tell(ctx, corev1.EventTypeNormal, StatusSuspended, "nothing is applied or pruned: suspend = true")
	return a.result(), nil
}
