package engine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

var namespaceType = cluster.Type{
	GVK: corev1.SchemeGroupVersion.WithKind("Namespace"), Resource: corev1.SchemeGroupVersion.WithResource("namespaces"),
}

// ensureRecordNamespace makes the namespace of the record. When the component
// brings that Namespace itself it is created from its manifest, so that it is
// the component's from the start.
func (a *applier) ensureRecordNamespace(ctx context.Context) error {
	name := a.plan.Component.Namespace
	for _, change := range a.plan.Changes {
		if change.ID.GroupKind() == namespaceKind && change.ID.Name == name && change.Action == Create {
			_, err := a.write(ctx, change)
			if err == nil {
				change.Action = Keep
				change.Live, err = a.e.get(ctx, namespaceType, change.ID)
				a.remember(change)
			}
			return err
		}
	}
	return a.e.ensureNamespace(ctx, name)
}

// ensureNamespaces makes the namespaces that objects name and that are no
// objects of the component (semantics.md, section 3). They are not in the
// inventory and never deleted.
func (a *applier) ensureNamespaces(ctx context.Context) error {
	if a.plan.Component.MissingNamespaces == DoNotCreateMissingNamespaces {
		return nil
	}
	wants := make([]*Want, len(a.plan.Changes))
	for i, change := range a.plan.Changes {
		wants[i] = change.Want
	}
	for _, name := range namespacesOf(wants) {
		if err := a.e.ensureNamespace(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) ensureNamespace(ctx context.Context, name string) error {
	live, err := e.get(ctx, namespaceType, object.ID{Kind: "Namespace", Name: name})
	if err != nil && cluster.ReasonOf(err) != cluster.Forbidden || live != nil {
		return err
	}
	ns := &unstructured.Unstructured{}
	ns.SetGroupVersionKind(namespaceType.GVK)
	ns.SetName(name)
	_, err = e.cluster.Create(ctx, namespaceType, ns, cluster.Persist)
	switch reason := cluster.ReasonOf(err); {
	case err == nil, reason == cluster.Conflict:
		return nil
	case reason == cluster.Forbidden:
		// It may exist all the same; the first object in it will tell.
		return nil
	default:
		return e.connectionError(fmt.Errorf("creating namespace %s: %w", name, err))
	}
}
