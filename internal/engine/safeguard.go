package engine

import (
	"context"
	"errors"
	"fmt"
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

// Titles of refused removals.
func deletionRefused(c Component) string { return fmt.Sprintf("Component %s cannot be deleted yet", c) }
func pruneRefused(c Component) string {
	return fmt.Sprintf("Objects of component %s cannot be removed yet", c)
}

// safeguards refuse to delete types and namespaces that hold what is not the
// component's (semantics.md, section 5). They are checked before the first
// object is touched.
func (e *Engine) safeguards(ctx context.Context, owner Owner, c Component, removals []*Removal, title string) error {
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
			foreign, err = e.foreignInstances(ctx, owner, removal)
			what = "instances"
		case namespaceKind:
			foreign, err = e.foreignContent(ctx, owner, c, removal.Item.ID.Name)
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
		Title: title,
		Err: errors.New(fmt.Sprintf(" %d types or namespaces are still in use by objects that the component does not own:\n", len(findings)) +
			strings.Join(findings, "\n") + "\n Delete these first (or set delete_policy = \"Orphan\"). Nothing was deleted."),
	}
}

// foreignInstances lists the objects of a CRD's type that the component does
// not own.
func (e *Engine) foreignInstances(ctx context.Context, owner Owner, removal *Removal) ([]string, error) {
	crdType, err := e.cluster.AnyTypeFor(ctx, crdKind.WithVersion("v1"))
	if err != nil {
		return nil, e.connectionError(err)
	}
	crd, err := e.get(ctx, crdType, removal.Item.ID)
	if err != nil || crd == nil || e.ownerOnObject(crd).hash != owner.Hash {
		return nil, err
	}
	instances, err := e.instancesOf(ctx, crd)
	if err != nil {
		return nil, err
	}
	var foreign []string
	for _, instance := range instances {
		if instance.GetLabels()[e.ownerLabel()] != owner.Hash {
			foreign = append(foreign, strings.TrimPrefix(instance.GetNamespace()+"/"+instance.GetName(), "/"))
		}
	}
	return foreign, nil
}

func (e *Engine) instancesOf(ctx context.Context, crd *unstructured.Unstructured) ([]metav1.PartialObjectMetadata, error) {
	types := typesOfCRDs([]object.Manifest{{Object: crd}})
	for _, served := range types {
		instances, err := e.cluster.ListMetadata(ctx, served, "", "")
		if err != nil && cluster.ReasonOf(err) == cluster.NotServed {
			return nil, nil
		}
		if err != nil {
			return nil, componentErrorf("A right is missing",
				"whether %s still has instances cannot be seen: %w. Nothing was deleted.", crd.GetName(), err)
		}
		return instances, nil
	}
	return nil, nil
}

// foreignContent lists the objects in a namespace that neither belong to the
// component nor are made by Kubernetes itself or by controllers for others.
func (e *Engine) foreignContent(ctx context.Context, owner Owner, c Component, namespace string) ([]string, error) {
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
				if !e.belongs(item, served, owner, c) {
					foreign = append(foreign, served.GVK.Kind+"/"+item.GetName())
				}
			}
			return nil
		})
	}
	return foreign, group.Wait()
}

// belongs: the object is the component's, or comes and goes with another one.
func (e *Engine) belongs(item metav1.PartialObjectMetadata, served cluster.Type, owner Owner, c Component) bool {
	switch {
	case item.GetLabels()[e.ownerLabel()] == owner.Hash, len(item.GetOwnerReferences()) > 0, item.GetDeletionTimestamp() != nil:
		return true
	case served.GVK.Kind == "Secret" && record.BelongsTo(item.GetLabels(), owner.ID):
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
