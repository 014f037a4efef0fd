package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// foreignShown is how many foreign objects a refusal names.
const foreignShown = 10

// safeguard refuses to delete types and namespaces that hold what does not go
// with them (semantics.md, section 5).
type safeguard struct {
	e         *Engine
	owner     Owner
	component Component
	// title is that of the refusal.
	title string
	// stays are the objects that the component keeps.
	stays map[object.ID]bool
}

func (e *Engine) deletionGuard(owner Owner, c Component) safeguard {
	return safeguard{e: e, owner: owner, component: c, title: fmt.Sprintf("Component %s cannot be deleted yet", c)}
}

func (e *Engine) pruneGuard(plan *Plan) safeguard {
	g := safeguard{e: e, owner: plan.owner, component: plan.Component, stays: map[object.ID]bool{},
		title: fmt.Sprintf("Objects of component %s cannot be removed yet", plan.Component)}
	for _, change := range plan.Changes {
		g.stays[change.ID] = true
	}
	return g
}

// check is made before the first object is touched, and again for a type when
// that itself is deleted.
func (g safeguard) check(ctx context.Context, removals []*Removal) error {
	var findings []string
	for _, removal := range removals {
		if removal.Orphan {
			continue
		}
		var foreign []string
		var err error
		var what string
		switch removal.Item.ID.GroupKind() {
		case crdKind:
			foreign, err = g.foreignInstances(ctx, removal)
			what = "instances"
		case namespaceKind:
			foreign, err = g.foreignContent(ctx, removal.Item.ID.Name)
			what = "objects in it"
		}
		if err != nil {
			return err
		}
		if len(foreign) > 0 {
			slices.Sort(foreign)
			findings = append(findings, fmt.Sprintf("   %s    %d %s: %s", removal.Item.ID, len(foreign), what, listed(foreign, foreignShown)))
		}
	}
	if len(findings) == 0 {
		return nil
	}
	return &ComponentError{
		Title: g.title,
		Err: errors.New(fmt.Sprintf(" %d types or namespaces are still in use by objects that do not go with them:\n", len(findings)) +
			strings.Join(findings, "\n") + "\n Delete these first (or set delete_policy = \"Orphan\"). Nothing was deleted."),
	}
}

// foreign: an object does not go with its type or namespace. Of those of the
// component, the ones that it keeps do not.
func (g safeguard) foreign(item metav1.PartialObjectMetadata, served cluster.Type) bool {
	if item.GetLabels()[g.e.ownerLabel()] != g.owner.Hash {
		return true
	}
	return g.stays[object.ID{Group: served.GVK.Group, Kind: served.GVK.Kind, Namespace: item.GetNamespace(), Name: item.GetName()}]
}

// foreignInstances lists the objects of a CRD's type that do not go with it.
func (g safeguard) foreignInstances(ctx context.Context, removal *Removal) ([]string, error) {
	e := g.e
	crdType, err := e.cluster.AnyTypeFor(ctx, crdKind.WithVersion("v1"))
	if err != nil {
		return nil, e.connectionError(err)
	}
	crd, err := e.get(ctx, crdType, removal.Item.ID)
	if err != nil || crd == nil || e.ownerOnObject(crd).hash != g.owner.Hash {
		return nil, err
	}
	served, instances, err := e.instancesOf(ctx, crd)
	if err != nil {
		return nil, err
	}
	var foreign []string
	for _, instance := range instances {
		if g.foreign(instance, served) {
			foreign = append(foreign, strings.TrimPrefix(instance.GetNamespace()+"/"+instance.GetName(), "/"))
		}
	}
	return foreign, nil
}

// instancesOf lists the objects of a CRD's type, in any version that is
// served: the objects are the same in all of them.
func (e *Engine) instancesOf(ctx context.Context, crd *unstructured.Unstructured) (served cluster.Type, instances []metav1.PartialObjectMetadata, err error) {
	types := slices.Collect(maps.Values(typesOfCRDs([]object.Manifest{{Object: crd}})))
	if len(types) == 0 {
		return served, nil, nil
	}
	served = types[0]
	instances, err = e.cluster.ListMetadata(ctx, served, "", "")
	switch {
	case err == nil, cluster.ReasonOf(err) == cluster.NotServed:
		return served, instances, nil
	default:
		return served, nil, componentErrorf("A right is missing",
			"whether %s still has instances cannot be seen: %w. Nothing was deleted.", crd.GetName(), err)
	}
}

// foreignContent lists the objects in a namespace that neither go with it nor
// are made by Kubernetes itself or by controllers for others.
func (g safeguard) foreignContent(ctx context.Context, namespace string) ([]string, error) {
	e := g.e
	types, err := e.cluster.ListableTypes(ctx)
	if err != nil {
		return nil, e.connectionError(err)
	}
	var mu sync.Mutex
	var foreign []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.options.Workers)
	for _, served := range types {
		group.Go(func() error {
			list, err := e.cluster.ListMetadata(ctx, served, namespace, "")
			if reason := cluster.ReasonOf(err); err != nil && (reason == cluster.NotServed || reason == cluster.NotFound || reason == cluster.Invalid) {
				return nil
			}
			if err != nil {
				return componentErrorf("A right is missing", "what is in namespace %s cannot be seen: listing %s: %w. Nothing was deleted.", namespace, served.Resource.Resource, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, item := range list {
				if !g.belongs(item, served) {
					foreign = append(foreign, served.GVK.Kind+"/"+item.GetName())
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return foreign, err
}

// belongs: the object goes with its namespace, or comes and goes with another
// one.
func (g safeguard) belongs(item metav1.PartialObjectMetadata, served cluster.Type) bool {
	switch {
	case !g.foreign(item, served), len(item.GetOwnerReferences()) > 0, item.GetDeletionTimestamp() != nil:
		return true
	case served.GVK.Kind == "Secret" && record.BelongsTo(item.GetLabels(), g.owner.ID):
		return true
	case served.GVK.Kind == "Secret" && item.GetAnnotations()["kubernetes.io/service-account.name"] != "":
		return true
	}
	switch served.GVK.Kind + "/" + item.GetName() {
	case "ConfigMap/kube-root-ca.crt", "ServiceAccount/default":
		return true
	}
	switch served.GVK.Kind {
	case "Event", "Endpoints", "EndpointSlice", "Lease", "PodMetrics":
		return true
	}
	return false
}
