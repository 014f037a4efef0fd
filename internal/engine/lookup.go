package engine

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/render"
)

// lookupObject reads one object, or a list when name is empty, as the template
// function lookup gives it. What does not exist, and a kind that is not
// served, is nil: another object of the run may bring it.
func (e *Engine) lookupObject(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
	served, err := e.cluster.TypeFor(ctx, schema.FromAPIVersionAndKind(apiVersion, kind))
	var notServed *cluster.NotServedError
	if errors.As(err, &notServed) {
		return nil, nil
	}
	if err != nil {
		return nil, e.connectionError(err)
	}
	if name == "" {
		return e.lookupList(ctx, served, namespace)
	}
	live, err := e.get(ctx, served, object.ID{Group: served.GVK.Group, Kind: kind, Namespace: namespace, Name: name})
	if err != nil || live == nil {
		return nil, err
	}
	return live.Object, nil
}

func (e *Engine) lookupList(ctx context.Context, served cluster.Type, namespace string) (map[string]any, error) {
	list, err := e.cluster.List(ctx, served, namespace, "")
	if err != nil {
		return nil, e.connectionError(err)
	}
	items := make([]any, len(list))
	for i := range list {
		items[i] = list[i].Object
	}
	return map[string]any{"apiVersion": served.GVK.GroupVersion().String(), "kind": served.GVK.Kind + "List", "items": items}, nil
}

// lookup reads objects for the function of that name in templates. Nothing is
// found where the kind is not served.
func (e *Engine) lookup(ctx context.Context) render.LookupFunc {
	if e.cluster == nil {
		return nil
	}
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		return e.lookupObject(ctx, apiVersion, kind, namespace, name)
	}
}
