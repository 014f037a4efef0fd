package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// liveObjects are live objects by their identity.
type liveObjects map[object.ID]*unstructured.Unstructured

// listTarget is one LIST request: a type in a namespace, or in all of them.
type listTarget struct {
	gvk       schema.GroupVersionKind
	namespace string
}

// manyNamespaces is from how many namespaces on one LIST of the whole cluster
// is cheaper than one a namespace.
const manyNamespaces = 5

// listTargets groups the objects of an inventory into as few LIST requests as
// their types and namespaces allow.
func listTargets(items []record.Item) []listTarget {
	namespaces := map[schema.GroupVersionKind]map[string]bool{}
	for _, item := range items {
		gvk := schema.FromAPIVersionAndKind(item.APIVersion, item.ID.Kind)
		if namespaces[gvk] == nil {
			namespaces[gvk] = map[string]bool{}
		}
		namespaces[gvk][item.ID.Namespace] = true
	}
	var targets []listTarget
	for gvk, in := range namespaces {
		if len(in) > manyNamespaces {
			targets = append(targets, listTarget{gvk, ""})
			continue
		}
		for namespace := range in {
			targets = append(targets, listTarget{gvk, namespace})
		}
	}
	return targets
}

// listOwned reads the live objects of an owner, one LIST a type and namespace.
// Where listing is not allowed the objects are read one by one. Objects of a
// type that is no longer served are gone.
func (e *Engine) listOwned(ctx context.Context, owner Owner, items []record.Item) (liveObjects, error) {
	found := liveObjects{}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.options.Workers)
	for _, target := range listTargets(items) {
		group.Go(func() error {
			list, err := e.listTarget(ctx, target, owner, items)
			mu.Lock()
			defer mu.Unlock()
			for i := range list {
				if id := object.IDOf(&list[i]); !record.IsRecord(&list[i]) {
					found[id] = &list[i]
				}
			}
			return err
		})
	}
	return found, group.Wait()
}

func (e *Engine) listTarget(ctx context.Context, target listTarget, owner Owner, items []record.Item) ([]unstructured.Unstructured, error) {
	served, err := e.cluster.AnyTypeFor(ctx, target.gvk)
	if cluster.ReasonOf(err) == cluster.NotServed && err != nil {
		return nil, nil
	}
	if err != nil {
		return nil, e.connectionError(err)
	}
	list, err := e.cluster.List(ctx, served, target.namespace, e.selector(owner))
	switch {
	case err == nil:
		return list, nil
	case cluster.ReasonOf(err) == cluster.Forbidden:
		return e.getOwned(ctx, served, target, items)
	case cluster.ReasonOf(err) == cluster.NotServed:
		return nil, nil
	default:
		return nil, e.connectionError(fmt.Errorf("listing %s: %w", shortKind(target.gvk.GroupKind()), err))
	}
}

// getOwned stands in for a LIST that is not allowed.
func (e *Engine) getOwned(ctx context.Context, served cluster.Type, target listTarget, items []record.Item) ([]unstructured.Unstructured, error) {
	var list []unstructured.Unstructured
	for _, item := range items {
		gvk := schema.FromAPIVersionAndKind(item.APIVersion, item.ID.Kind)
		if gvk != target.gvk || target.namespace != "" && item.ID.Namespace != target.namespace {
			continue
		}
		live, err := e.get(ctx, served, item.ID)
		if err != nil {
			return nil, err
		}
		if live != nil {
			list = append(list, *live)
		}
	}
	return list, nil
}

// get reads one object; nil when it, its namespace or its type is gone.
func (e *Engine) get(ctx context.Context, served cluster.Type, id object.ID) (*unstructured.Unstructured, error) {
	live, err := e.cluster.Get(ctx, served, id.Namespace, id.Name)
	if err == nil {
		return live, nil
	}
	switch cluster.ReasonOf(err) {
	case cluster.NotFound, cluster.NamespaceMissing, cluster.NotServed:
		return nil, nil
	default:
		return nil, e.connectionError(fmt.Errorf("reading %s: %w", id, err))
	}
}

// resolve returns the wants with what only the cluster knows: how their types
// are served, and the namespace of objects whose scope the plan did not know.
// Kinds that are not served are returned by identity.
func (e *Engine) resolve(ctx context.Context, c Component, wants []*Want) ([]*Want, map[object.ID]*cluster.NotServedError, error) {
	resolved := make([]*Want, 0, len(wants))
	unserved := map[object.ID]*cluster.NotServedError{}
	answers := map[schema.GroupVersionKind]error{}
	types := map[schema.GroupVersionKind]cluster.Type{}
	for _, want := range wants {
		if want.Type.Resource.Resource != "" {
			// Its CRD says how it is served.
			resolved = append(resolved, want)
			continue
		}
		gvk := want.Object.GroupVersionKind()
		if _, asked := answers[gvk]; !asked {
			types[gvk], answers[gvk] = e.cluster.TypeFor(ctx, gvk)
		}
		var notServed *cluster.NotServedError
		if err := answers[gvk]; errors.As(err, &notServed) {
			unserved[want.ID] = notServed
			resolved = append(resolved, want)
			continue
		} else if err != nil {
			return nil, nil, e.connectionError(err)
		}
		resolved = append(resolved, withType(want, types[gvk], c.targetNamespace()))
	}
	return resolved, unserved, nil
}

// withType returns a want that knows how its type is served.
func withType(want *Want, served cluster.Type, namespace string) *Want {
	known := *want
	known.Type = served
	switch {
	case served.Namespaced && want.ID.Namespace == "":
		known.Object = want.Object.DeepCopy()
		known.Object.SetNamespace(namespace)
		known.ID.Namespace = namespace
	case !served.Namespaced && want.ID.Namespace != "":
		known.Object = want.Object.DeepCopy()
		unstructured.RemoveNestedField(known.Object.Object, "metadata", "namespace")
		known.ID.Namespace = ""
	}
	return &known
}

// ownership says whose a live object is. An owner of this provider's kind
// whose record is gone, or that is the same component under another cluster
// id, counts as none (semantics.md, section 1).
func (e *Engine) ownership(ctx context.Context, live *unstructured.Unstructured, owner Owner, c Component) (Ownership, error) {
	if live == nil {
		return Absent, nil
	}
	has := e.ownerOnObject(live)
	switch {
	case has.hash == "":
		return Unowned, nil
	case has.hash == owner.Hash:
		return Ours, nil
	}
	_, namespace, name, ok := has.ours()
	if !ok {
		return Foreign, nil
	}
	if namespace == c.Namespace && name == c.Name {
		return Unowned, nil
	}
	rec, err := e.store(namespace, name).Load(ctx)
	if err != nil {
		if cluster.ReasonOf(err) == cluster.Forbidden {
			return Foreign, nil
		}
		return Foreign, err
	}
	if rec == nil || rec.OwnerID != has.id {
		return Unowned, nil
	}
	return Foreign, nil
}
