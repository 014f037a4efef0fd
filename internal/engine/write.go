package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
)

// conflictAttempts is how often an object that changed while it was written is
// read and decided again.
const conflictAttempts = 5

// write does what was decided for one object. When the object changed in the
// meantime it is read and decided again (semantics.md, section 4).
func (a *applier) write(ctx context.Context, change *Change) (*unstructured.Unstructured, error) {
	if err := a.ensureType(ctx, change); err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		written, err := a.writeOnce(ctx, change)
		if err == nil && written.GetDeletionTimestamp() == nil {
			return written, nil
		}
		retryable := err == nil || cluster.ReasonOf(err) == cluster.Conflict || isGone(err)
		if !retryable || attempt == conflictAttempts || ctx.Err() != nil {
			return nil, a.writeError(change, err)
		}
		if err := a.decideAgain(ctx, change); err != nil {
			return nil, err
		}
		if change.Action == Keep {
			return change.Live, nil
		}
	}
}

func isGone(err error) bool {
	return cluster.ReasonOf(err) == cluster.NotFound
}

// ensureType waits for a kind that was not served when the plan was made:
// another component of the run may bring it.
func (a *applier) ensureType(ctx context.Context, change *Change) error {
	if change.Type.Resource.Resource != "" {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, a.deadline)
	defer cancel()
	served, err := cluster.Eventually(ctx, func() (cluster.Type, error) {
		a.e.cluster.ForgetTypes(ctx)
		return a.e.cluster.TypeFor(ctx, change.Object.GroupVersionKind())
	}, cluster.NotServed)
	if err != nil {
		return &ObjectError{ID: change.ID, Origin: change.Origin, Title: "Unknown kind", Err: err,
			Advice: "Nothing in this run brought it. Install what serves it, or add depends_on to the resource that does."}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	item := a.record.Find(change.ID)
	change.Want = withType(change.Want, served, a.plan.Component.targetNamespace())
	if item != nil {
		item.ID, item.Namespaced = change.ID, served.Namespaced
	}
	return nil
}

func (a *applier) writeOnce(ctx context.Context, change *Change) (*unstructured.Unstructured, error) {
	if change.Live != nil && change.Live.GetDeletionTimestamp() != nil {
		if err := a.awaitGone(ctx, change); err != nil {
			return nil, err
		}
		change.Live, change.Action = nil, Create
	}
	switch change.Action {
	case Create:
		return a.create(ctx, change)
	case Recreate:
		return a.recreate(ctx, change)
	default:
		return a.update(ctx, change)
	}
}

// create makes an object and never overwrites one.
func (a *applier) create(ctx context.Context, change *Change) (*unstructured.Unstructured, error) {
	obj := a.e.annotate(change.Want, a.plan.owner)
	return a.persist(ctx, change, func() (*unstructured.Unstructured, error) {
		return a.e.sendCreate(ctx, change, obj, cluster.Persist)
	})
}

// sendCreate sends an object that must not exist: by the update policy as a
// POST, or as an apply that the API server refuses when there is one.
func (e *Engine) sendCreate(ctx context.Context, change *Change, obj *unstructured.Unstructured, mode cluster.Mode) (*unstructured.Unstructured, error) {
	if change.Policies.Update == UpdateReplace || change.Policies.Update == UpdateRecreate {
		return e.cluster.Create(ctx, change.Type, obj, mode)
	}
	obj.SetResourceVersion(cluster.CreateOnly)
	return e.cluster.Apply(ctx, change.Type, obj, mode)
}

// persist sends an object, and sends it again while what is missing may come:
// a webhook answers a little later than its pods are ready, and a type is
// served a little later than its definition says.
func (a *applier) persist(ctx context.Context, change *Change, request func() (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	passing := []cluster.Reason{cluster.Webhook, cluster.Transient}
	if change.Managed {
		passing = append(passing, cluster.NotServed)
	}
	ctx, cancel := context.WithDeadline(ctx, a.deadline)
	defer cancel()
	return cluster.Eventually(ctx, request, passing...)
}

func (a *applier) update(ctx context.Context, change *Change) (*unstructured.Unstructured, error) {
	obj := a.e.annotate(change.Want, a.plan.owner)
	if change.Policies.Update == UpdateReplace {
		return a.persist(ctx, change, func() (*unstructured.Unstructured, error) {
			return a.e.cluster.Replace(ctx, change.Type, replacement(obj, change.Live), cluster.Persist)
		})
	}
	if err := a.e.cluster.TakeOver(ctx, change.Type, change.Live, a.e.takesOver(change)); err != nil {
		return nil, err
	}
	obj.SetUID(change.Live.GetUID())
	return a.persist(ctx, change, func() (*unstructured.Unstructured, error) {
		return a.e.cluster.Apply(ctx, change.Type, obj, cluster.Persist)
	})
}

// replacement is an object that takes the place of the live one under the
// condition that it did not change. The finalizers of the live one stay.
func replacement(obj, live *unstructured.Unstructured) *unstructured.Unstructured {
	put := obj.DeepCopy()
	put.SetResourceVersion(live.GetResourceVersion())
	put.SetUID(live.GetUID())
	put.SetFinalizers(union(put.GetFinalizers(), live.GetFinalizers()))
	return put
}

// union is the first list with what only the second one has.
func union(first, second []string) []string {
	for _, text := range second {
		if !slices.Contains(first, text) {
			first = append(first, text)
		}
	}
	return first
}

// restartManager is kubectl's manager for `rollout restart`. Its annotation is
// never taken over: removing it would roll out all pods again.
const restartManager = "kubectl-rollout"

// takesOver says of which managers' entries the fields become ours before an
// apply (semantics.md, section 4, "How").
func (e *Engine) takesOver(change *Change) func(metav1.ManagedFieldsEntry) bool {
	override := change.Policies.Update == UpdateSSAOverride
	return func(entry metav1.ManagedFieldsEntry) bool {
		switch {
		case entry.Subresource != "", entry.Manager == restartManager:
			return false
		case entry.Manager == e.options.FieldManager:
			return override && entry.Operation == metav1.ManagedFieldsOperationUpdate
		case change.Action == Adopt && hasPrefix(entry.Manager, e.options.AdoptedFieldManagers):
			return true
		default:
			return override && hasPrefix(entry.Manager, e.options.ReclaimedFieldManagers)
		}
	}
}

// managersToTakeOver names the managers whose fields become ours.
func (e *Engine) managersToTakeOver(change *Change) []string {
	takes := e.takesOver(change)
	var managers []string
	for _, entry := range change.Live.GetManagedFields() {
		if takes(entry) && !slices.Contains(managers, entry.Manager) {
			managers = append(managers, entry.Manager)
		}
	}
	return managers
}

func hasPrefix(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

func (a *applier) recreate(ctx context.Context, change *Change) (*unstructured.Unstructured, error) {
	err := a.e.cluster.Delete(ctx, change.Type, change.ID.Namespace, change.ID.Name, change.Live.GetUID())
	if err != nil && !isGone(err) {
		return nil, err
	}
	if err := a.awaitGone(ctx, change); err != nil {
		return nil, err
	}
	change.Live, change.Action = nil, Create
	return a.create(ctx, change)
}

// decideAgain reads an object that changed while it was written. A create that
// finds the very object that it sent has succeeded: its answer was lost. An
// object of others is not taken over: the plan did not say so.
func (a *applier) decideAgain(ctx context.Context, change *Change) error {
	live, err := a.e.get(ctx, change.Type, change.ID)
	if err != nil {
		return err
	}
	planned := change.Action
	change.Live = live
	ownership, err := a.e.ownership(ctx, live, a.plan.owner, a.plan.Component)
	if err != nil {
		return err
	}
	if planned != Adopt && (ownership == Unowned || ownership == Foreign) {
		a.e.dryRuns.forget(a.e.dryRunKey(a.plan, change, ""))
		a.e.dryRuns.save()
		return changedHands(change, planned)
	}
	situation := a.plan.situation(change, ownership, a.e)
	change.Action = decide(situation)
	if planned == Create && ownership == Ours && situation.LiveDigest == situation.Digest {
		change.Action = Keep
	}
	if change.Action == Refuse {
		return a.e.ownerError(change, ownership)
	}
	return nil
}

// changedHands is the error of an object that is not ours, though the plan did
// not see it or saw it as ours.
func changedHands(change *Change, planned Action) error {
	title, text := "Object changed hands", "it belonged to the component when the plan was made, and does not any more"
	if planned == Create {
		title, text = "Object appeared in between", "it did not exist when the plan was made, and exists now"
	}
	return &ObjectError{ID: change.ID, Origin: change.Origin, Title: title, Err: errors.New(text),
		Advice: "It was not touched. Run plan again: the plan will say whether it can be adopted."}
}

func (a *applier) writeError(change *Change, err error) error {
	if err == nil {
		err = errors.New("it is being deleted by somebody else, again and again")
	}
	var problem *ObjectError
	if errors.As(err, &problem) {
		return problem
	}
	switch cluster.ReasonOf(err) {
	case cluster.Unreachable, cluster.Unauthorized:
		return a.e.connectionError(err)
	case cluster.NamespaceMissing:
		return &ObjectError{ID: change.ID, Origin: change.Origin, Title: "Namespace is missing",
			Err:    fmt.Errorf("namespace %q does not exist", change.ID.Namespace),
			Advice: `Create it, or set missing_namespaces_policy = "Create".`}
	case cluster.Forbidden:
		return &ObjectError{ID: change.ID, Origin: change.Origin, Title: "A right is missing",
			Err: &serverError{text: a.e.serverText(change.ID, err), cause: err}}
	}
	return a.e.rejection(change, err)
}

// awaitGone waits until an object that is being deleted is gone.
func (a *applier) awaitGone(ctx context.Context, change *Change) error {
	ctx, cancel := context.WithDeadline(ctx, a.deadline)
	defer cancel()
	id, live := change.ID, change.Live
	err := a.e.cluster.AwaitGone(ctx, change.Type, id.Namespace, id.Name, live.GetUID())
	if err == nil {
		return nil
	}
	if last, readErr := a.e.get(context.WithoutCancel(ctx), change.Type, id); readErr == nil && last != nil {
		live = last
	}
	return &ObjectError{ID: id, Title: "Object is still terminating", Err: errors.New(whatKeeps(id, live)),
		Advice: "Remove what keeps it, and run apply again."}
}
