package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
)

// Type is a kind as an API server serves it.
type Type struct {
	GVK        schema.GroupVersionKind
	Resource   schema.GroupVersionResource
	Namespaced bool
}

// NotServedError says that the API server does not know a kind.
type NotServedError struct {
	GVK schema.GroupVersionKind
	// Versions are the versions in which the cluster serves the kind; empty
	// when it does not know it at all.
	Versions []string
}

func (e *NotServedError) Error() string {
	if len(e.Versions) > 0 {
		return fmt.Sprintf("the cluster does not serve %s in version %s (it serves %v)",
			e.GVK.GroupKind(), e.GVK.GroupVersion(), e.Versions)
	}
	return fmt.Sprintf("the cluster does not serve the kind %s of %s", e.GVK.Kind, e.GVK.GroupVersion())
}

// TypeFor returns how the cluster serves a kind. A kind or version that it
// does not serve is a [*NotServedError].
func (c *Cluster) TypeFor(ctx context.Context, gvk schema.GroupVersionKind) (Type, error) {
	mapping, err := c.mapper.RESTMappingWithContext(ctx, gvk.GroupKind(), gvk.Version)
	if err == nil {
		return typeOf(mapping), nil
	}
	if !meta.IsNoMatchError(err) {
		return Type{}, fmt.Errorf("discovering %s: %w", gvk.GroupKind(), err)
	}
	if err := c.undiscovered(ctx, gvk.GroupVersion()); err != nil {
		return Type{}, err
	}
	notServed := &NotServedError{GVK: gvk}
	if all, err := c.mapper.RESTMappingsWithContext(ctx, gvk.GroupKind()); err == nil {
		for _, mapping := range all {
			notServed.Versions = append(notServed.Versions, mapping.GroupVersionKind.Version)
		}
	}
	return Type{}, notServed
}

// undiscovered is the error of a group-version whose own API server does not
// answer: what it serves is not known, which is not the same as nothing.
func (c *Cluster) undiscovered(ctx context.Context, gv schema.GroupVersion) error {
	_, err := c.cached.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if err == nil || errors.Is(err, memory.ErrCacheNotFound) || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("the API server that serves %s does not answer: %w", gv, err)
}

// AnyTypeFor is [Cluster.TypeFor] for an object that is already in the
// cluster: when the version in which it was written is gone, any served one
// reads the same object.
func (c *Cluster) AnyTypeFor(ctx context.Context, gvk schema.GroupVersionKind) (Type, error) {
	found, err := c.TypeFor(ctx, gvk)
	var notServed *NotServedError
	if asNotServed(err, &notServed) && len(notServed.Versions) > 0 {
		return c.TypeFor(ctx, gvk.GroupKind().WithVersion(notServed.Versions[0]))
	}
	return found, err
}

func typeOf(mapping *meta.RESTMapping) Type {
	return Type{
		GVK:        mapping.GroupVersionKind,
		Resource:   mapping.Resource,
		Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
	}
}

// ListableTypes lists the types whose objects can be listed and that a
// condition chooses, in one version each. Those of an API server that does not
// answer are left out.
func (c *Cluster) ListableTypes(ctx context.Context, choose func(Type) bool) ([]Type, error) {
	lists, err := discovery.ServerPreferredResourcesWithContext(ctx, c.cached)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	var types []Type
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			served := Type{GVK: gv.WithKind(resource.Kind), Resource: gv.WithResource(resource.Name), Namespaced: resource.Namespaced}
			if slices.Contains(resource.Verbs, "list") && choose(served) {
				types = append(types, served)
			}
		}
	}
	return types, nil
}
