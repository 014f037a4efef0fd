package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// Deletion is what is known when Terraform asks for a delete. It has no
// configuration.
type Deletion struct {
	Identity Identity
	// Planned is what the plan of a create left for the delete half of a
	// tainted replacement; nil otherwise.
	Planned *Identity
	// Prior is the state of the resource.
	Prior Prior
	// Timeout bounds each stage of the deletion.
	Timeout time.Duration
	// SkipSafeguards: see [Component.SkipSafeguards].
	SkipSafeguards bool
}

const reasonDeleting = "Deleting"

// Verdict is what a delete request means.
type Verdict string

// The verdicts (DESIGN.md, "A failed create must not destroy at the next
// apply").
const (
	// Proceed deletes the component.
	Proceed Verdict = "proceed"
	// LeaveToOther: another instance has taken the component over.
	LeaveToOther Verdict = "another instance"
	// LeaveToCreate: the create that follows resumes what is there.
	LeaveToCreate Verdict = "resumed by the create"
	// Unexplained: nothing says that this component is ours to delete.
	Unexplained Verdict = "unexplained"
)

// verdictOn decides what a delete request means. rec is nil when the record is
// gone. It is the one place of rules (a) to (e) of DESIGN.md, "Apply".
func verdictOn(d Deletion, rec *record.Record) Verdict {
	own := d.Prior.Memory.Instance
	switch {
	case own != "" && rec != nil && rec.Instance != own:
		return LeaveToOther
	case own != "":
		return Proceed
	case d.Planned != nil && *d.Planned == d.Identity && unfinished(d, rec):
		return LeaveToCreate
	case d.Planned != nil:
		return Proceed
	case rec == nil && len(d.Prior.Objects) == 0:
		return Proceed
	default:
		return Unexplained
	}
}

// unfinished: the component was never Ready, by its record or by state.
func unfinished(d Deletion, rec *record.Record) bool {
	if rec != nil {
		return rec.Phase != record.Ready
	}
	return d.Prior.Status != StatusReady
}

// Delete removes a component: its objects in delete waves, then its record. It
// is the plan of nothing, run by the same code as prune.
func (e *Engine) Delete(ctx context.Context, d Deletion) ([]Warning, error) {
	owner, clusterID, err := e.owner(ctx, d.Identity.Namespace, d.Identity.Name)
	if err != nil {
		return nil, err
	}
	if known := d.Prior.Memory.ClusterID; known != "" && known != clusterID {
		return nil, componentErrorf("The cluster is another one",
			"component %s/%s is in the cluster with id %s, the provider points to the cluster with id %s. Nothing was deleted.",
			d.Identity.Namespace, d.Identity.Name, known, clusterID)
	}
	store := e.store(d.Identity.Namespace, d.Identity.Name)
	rec, err := store.Load(ctx)
	if err != nil {
		return nil, e.connectionError(err)
	}
	switch verdictOn(d, rec) {
	case LeaveToOther:
		return []Warning{{
			Title: fmt.Sprintf("Component %s/%s was not deleted", d.Identity.Namespace, d.Identity.Name),
			Lines: []string{"Another instance of the resource has taken it over; its objects stay."},
		}}, nil
	case LeaveToCreate:
		return nil, nil
	case Unexplained:
		return nil, componentErrorf("The component cannot be deleted",
			"component %s/%s: state does not say that this resource created or imported it. Import it, or remove it from state with terraform state rm.",
			d.Identity.Namespace, d.Identity.Name)
	}
	if rec == nil {
		return nil, e.deleteComponent(ctx, d, owner, store, recordFromMemory(d.Identity, owner, d.Prior), false)
	}
	warnings, err := e.awaitDependents(ctx, d.Identity, e.now().Add(d.Timeout), func(names string) error {
		return e.postpone(ctx, store, rec, reasonDependents, "other components depend on it: "+names)
	})
	if err != nil {
		return warnings, err
	}
	return warnings, e.deleteComponent(ctx, d, owner, store, rec, true)
}

// postpone writes that the deletion was asked for and waits.
func (e *Engine) postpone(ctx context.Context, store *record.Store, rec *record.Record, reason, message string) error {
	rec.Phase, rec.Reason, rec.Updated = record.DeletionPending, reason, e.now().UTC()
	err := store.Save(ctx, rec)
	e.tell(ctx, store, corev1.EventTypeWarning, reason, message)
	return err
}

// deleteComponent deletes the objects of a record, and the record when that is
// stored in the cluster.
func (e *Engine) deleteComponent(ctx context.Context, d Deletion, owner Owner, store *record.Store, rec *record.Record, stored bool) error {
	var removals []*Removal
	for _, item := range rec.Inventory {
		removals = append(removals, removalOf(item, true))
	}
	c := Component{Namespace: d.Identity.Namespace, Name: d.Identity.Name, SkipSafeguards: d.SkipSafeguards}
	guard := e.deletionGuard(owner, c, rec)
	if err := guard.checkAll(ctx, removals); err != nil {
		if stored {
			err = errors.Join(err, e.postpone(ctx, store, rec, reasonBlocked, headline(err)))
		}
		return err
	}
	rec.Phase, rec.Reason, rec.Updated = record.Deleting, reasonDeleting, e.now().UTC()
	if stored {
		if err := store.Save(ctx, rec); err != nil {
			return err
		}
		e.tell(ctx, store, corev1.EventTypeNormal, reasonDeleting, counted(len(removals), "object", "objects"))
	}
	r := &remover{e: e, owner: owner, guard: guard, deadline: e.now().Add(d.Timeout), gone: func(*Removal) {}}
	home, rest := splitHome(removals, d.Identity.Namespace)
	if err := r.run(ctx, rest); err != nil {
		return err
	}
	if err := store.Delete(ctx); err != nil {
		return err
	}
	return r.run(ctx, home)
}

// splitHome takes the namespace of the record out of the removals: it goes
// last, after the record.
func splitHome(removals []*Removal, namespace string) (home, rest []*Removal) {
	id := object.ID{Kind: "Namespace", Name: namespace}
	for _, removal := range removals {
		if removal.Item.ID == id {
			home = append(home, removal)
			continue
		}
		rest = append(rest, removal)
	}
	return home, rest
}
