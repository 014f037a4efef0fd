package engine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// dryRun lets the API server try a change of an existing object.
func (e *Engine) dryRun(ctx context.Context, plan *Plan, change *Change, uid types.UID) (predicted *unstructured.Unstructured, problem, fatal error) {
	key := e.dryRunKey(plan, change, string(uid))
	if change.Action != Adopt && e.dryRuns.knows(key) {
		return nil, nil, nil
	}
	predicted, err := e.tryApply(ctx, plan, change, uid)
	if err == nil {
		e.dryRuns.passed(key)
		return predicted, nil, nil
	}
	problem, fatal = e.dryRunProblem(plan, change, err)
	return nil, problem, fatal
}

// tryApply asks the API server what it would make of a change: of a create when
// there is no uid, else of an update.
func (e *Engine) tryApply(ctx context.Context, plan *Plan, change *Change, uid types.UID) (*unstructured.Unstructured, error) {
	obj := e.annotate(change.Want, plan.owner)
	if uid == "" {
		return e.sendCreate(ctx, change, obj, cluster.DryRun)
	}
	if change.Policies.Update == UpdateReplace || change.Action == Recreate {
		return e.cluster.Replace(ctx, change.Type, replacement(obj, change.Live), cluster.DryRun)
	}
	predicted, err := e.tryUpdate(ctx, change.Type, obj, change.Live)
	if err == nil || len(e.managersToTakeOver(change)) == 0 {
		return predicted, err
	}
	return e.orReplaced(ctx, change.Type, obj, change.Live, err)
}

func (e *Engine) tryUpdate(ctx context.Context, served cluster.Type, obj, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	obj.SetUID(live.GetUID())
	return e.cluster.Apply(ctx, served, obj, cluster.DryRun)
}

// orReplaced asks again after a refused dry-run of an apply. Without the
// take-over that comes before it, the apply alone may give an object that
// cannot be: a port that kubectl changed stands there beside ours. With the
// manifest in the place of the object it does not.
func (e *Engine) orReplaced(ctx context.Context, served cluster.Type, obj, live *unstructured.Unstructured, refused error) (*unstructured.Unstructured, error) {
	if cluster.ReasonOf(refused) != cluster.Invalid {
		return nil, refused
	}
	predicted, err := e.cluster.Replace(ctx, served, replacement(obj, live), cluster.DryRun)
	if err != nil {
		return nil, refused
	}
	return predicted, nil
}

// dryRunProblem sorts the answer of a dry-run: a problem of this object, a
// fatal one of the connection, or neither when the apply itself may cure it.
func (e *Engine) dryRunProblem(plan *Plan, change *Change, err error) (problem, fatal error) {
	switch cluster.ReasonOf(err) {
	case cluster.Unreachable, cluster.Unauthorized:
		return nil, e.connectionError(err)
	case cluster.NotServed:
		if !change.Managed {
			change.Unchecked = "its kind is not served yet"
		}
		return nil, nil
	case cluster.NamespaceMissing:
		if !plan.bringsNamespace(change.ID.Namespace) {
			change.Unchecked = namespaceMissing(change.ID.Namespace)
		}
		return nil, nil
	case cluster.NamespaceTerminating:
		change.Unchecked = fmt.Sprintf("namespace %q is being deleted", change.ID.Namespace)
		return nil, nil
	case cluster.Forbidden, cluster.Webhook, cluster.Transient:
		change.Unchecked = e.serverText(change.ID, err)
		return nil, nil
	}
	return e.rejection(change, err), nil
}

func namespaceMissing(name string) string {
	return fmt.Sprintf("namespace %q does not exist (missing_namespaces_policy is DoNotCreate)", name)
}

// bringsNamespace: the namespace is an object of the component, or is created
// for it.
func (p *Plan) bringsNamespace(name string) bool {
	if p.Component.MissingNamespaces != DoNotCreateMissingNamespaces {
		return true
	}
	for _, want := range p.rendered.Wants {
		if want.ID.GroupKind() == namespaceKind && want.ID.Name == name {
			return true
		}
	}
	return false
}

// rejection is the error of an object that the API server does not accept.
func (e *Engine) rejection(change *Change, err error) error {
	return e.rejectionWith(change, &serverError{text: e.serverText(change.ID, err), cause: err})
}

func (e *Engine) rejectionWith(change *Change, err *serverError) error {
	rejected := &ObjectError{ID: change.ID, Origin: change.Origin, Title: "The API server rejects an object", Err: err}
	if cluster.IsImmutable(err) {
		rejected.Advice = fmt.Sprintf("A field of it cannot be changed. To delete and create the object instead, annotate it with %s/update-policy: recreate.",
			e.options.AnnotationPrefix)
	}
	return rejected
}

func (e *Engine) serverText(id object.ID, err error) string {
	return cluster.Message(err, id.GroupKind() == secretKind)
}

// serverError shows what the server said and keeps the error it came from.
type serverError struct {
	text  string
	cause error
}

func (e *serverError) Error() string { return e.text }

func (e *serverError) Unwrap() error { return e.cause }
