package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cli-utils/pkg/kstatus/polling/event"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
	"github.com/kubewave/terraform-provider-component/internal/engine/status"
)

// remover deletes objects of a component in stages; each stage is gone before
// the next begins (semantics.md, section 5).
type remover struct {
	e        *Engine
	owner    Owner
	guard    safeguard
	deadline time.Time
	// gone is called for every object that is gone or left alone.
	gone func(*Removal)
}

// prune removes what the component no longer has, after all waves are ready.
func (a *applier) prune(ctx context.Context) error {
	if len(a.plan.Removals) == 0 {
		return nil
	}
	guard := a.e.pruneGuard(a.plan)
	if err := guard.check(ctx, a.plan.Removals); err != nil {
		return err
	}
	a.removed = map[object.ID]bool{}
	r := &remover{e: a.e, owner: a.plan.owner, guard: guard, deadline: a.e.now().Add(a.plan.Component.ReadyTimeout), gone: a.forget}
	return r.run(ctx, a.plan.Removals)
}

func (r *remover) run(ctx context.Context, removals []*Removal) error {
	for _, stage := range deleteStages(removals) {
		if err := r.stage(ctx, stage); err != nil {
			return err
		}
	}
	return nil
}

// stage asks for the deletion of the objects of one stage and waits until all
// are gone.
func (r *remover) stage(ctx context.Context, stage []*Removal) error {
	items := make([]record.Item, len(stage))
	for i, removal := range stage {
		items[i] = removal.Item
	}
	live, err := r.e.listOwned(ctx, r.owner, items)
	if err != nil {
		return err
	}
	waiting := map[object.ID]*departure{}
	var mu sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(r.e.options.Workers)
	for _, removal := range stage {
		obj := live[removal.Item.ID]
		// What the owner LIST does not show is gone, or is no longer ours and
		// left alone.
		if obj == nil || removal.Orphan {
			r.gone(removal)
			continue
		}
		group.Go(func() error {
			leaving, err := r.remove(groupCtx, removal, obj)
			mu.Lock()
			defer mu.Unlock()
			if leaving != nil {
				waiting[removal.Item.ID] = leaving
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return r.awaitGone(ctx, waiting)
}

// departure is an object whose deletion was asked for.
type departure struct {
	removal *Removal
	served  cluster.Type
	uid     types.UID
	last    *unstructured.Unstructured
}

func (r *remover) remove(ctx context.Context, removal *Removal, live *unstructured.Unstructured) (*departure, error) {
	id := removal.Item.ID
	if kind := id.GroupKind(); kind == crdKind || kind == apiServiceKind {
		// Somebody may have used the type meanwhile: with it goes all of that.
		if err := r.guard.check(ctx, []*Removal{removal}); err != nil {
			return nil, err
		}
	}
	served, err := r.e.cluster.AnyTypeFor(ctx, live.GroupVersionKind())
	if err != nil {
		return nil, r.e.connectionError(err)
	}
	err = r.e.cluster.Delete(ctx, served, id.Namespace, id.Name, live.GetUID())
	switch reason := cluster.ReasonOf(err); {
	case err == nil:
		return &departure{removal: removal, served: served, uid: live.GetUID(), last: live}, nil
	case reason == cluster.NotFound, reason == cluster.NamespaceMissing, reason == cluster.NotServed, reason == cluster.Conflict:
		// Conflict: somebody created another object under the name.
		r.gone(removal)
		return nil, nil
	case reason == cluster.Unreachable, reason == cluster.Unauthorized:
		return nil, r.e.connectionError(err)
	default:
		return nil, &ObjectError{ID: id, Title: "Object cannot be deleted", Err: &serverError{text: r.e.serverText(id, err), cause: err}}
	}
}

// awaitGone watches until all objects are gone. An object that somebody
// created anew under the same name counts as gone.
func (r *remover) awaitGone(ctx context.Context, waiting map[object.ID]*departure) error {
	if err := r.dropGone(ctx, waiting); err != nil || len(waiting) == 0 {
		return err
	}
	waitCtx, cancel := context.WithDeadline(ctx, r.deadline)
	defer cancel()
	ids := make([]object.ID, 0, len(waiting))
	for id := range waiting {
		ids = append(ids, id)
	}
	events := r.e.watch(waitCtx, r.owner, ids)
	defer drain(cancel, events)
	for e := range events {
		switch e.Type {
		case event.ErrorEvent:
			if waitCtx.Err() != nil {
				continue
			}
			return r.e.connectionError(fmt.Errorf("watching the deletion of objects: %w", e.Error))
		case event.SyncEvent:
			// What went between the request and the start of the watch.
			if err := r.dropGone(waitCtx, waiting); err != nil {
				return err
			}
		case event.ResourceUpdateEvent:
			r.observe(waiting, e.Resource)
		}
		if len(waiting) == 0 {
			return nil
		}
	}
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	return r.stuck(waiting)
}

func (r *remover) observe(waiting map[object.ID]*departure, seen *event.ResourceStatus) {
	leaving := waiting[idOfMetadata(seen.Identifier)]
	if leaving == nil {
		return
	}
	if seen.Resource != nil && seen.Resource.GetUID() == leaving.uid {
		leaving.last = seen.Resource
		return
	}
	delete(waiting, leaving.removal.Item.ID)
	r.gone(leaving.removal)
}

// dropGone reads the objects that are waited for.
func (r *remover) dropGone(ctx context.Context, waiting map[object.ID]*departure) error {
	items := make([]record.Item, 0, len(waiting))
	for _, leaving := range waiting {
		items = append(items, leaving.removal.Item)
	}
	live, err := r.e.listOwned(ctx, r.owner, items)
	if err != nil {
		return err
	}
	for id, leaving := range waiting {
		if found := live[id]; found == nil || found.GetUID() != leaving.uid {
			delete(waiting, id)
			r.gone(leaving.removal)
		}
	}
	return nil
}

// stuck names what keeps objects from going.
func (r *remover) stuck(waiting map[object.ID]*departure) error {
	var problems []error
	for id, leaving := range waiting {
		problems = append(problems, &ObjectError{ID: id, Title: "Object is still terminating", Err: errors.New(whatKeeps(id, leaving.last)),
			Advice: "Remove what keeps it, and run the same command again: it continues here."})
	}
	return errors.Join(problems...)
}

// whatKeeps says why an object that is being deleted is still there.
func whatKeeps(id object.ID, live *unstructured.Unstructured) string {
	text := "it is still terminating"
	if finalizers := live.GetFinalizers(); len(finalizers) > 0 {
		text = "it is kept by the finalizers " + strings.Join(finalizers, ", ")
	}
	for _, condition := range status.Conditions(live) {
		if id.GroupKind() == namespaceKind && condition.Status == "True" {
			text += "; " + condition.Type + ": " + condition.Message
		}
	}
	return text
}
