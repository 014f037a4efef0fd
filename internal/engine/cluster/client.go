package cluster

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/utils/ptr"
)

// Mode says whether a write is kept or only tried.
type Mode int

const (
	// Persist keeps what is written.
	Persist Mode = iota
	// DryRun lets the API server do everything but keep it.
	DryRun
)

func (m Mode) dryRun() []string {
	if m == DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// CreateOnly is the resourceVersion with which a server-side apply creates an
// object but never changes one: the API server answers 409 when it exists.
const CreateOnly = "1"

// pageSize is how many objects one LIST request asks for.
const pageSize = 500

func (c *Cluster) resource(t Type, namespace string) dynamic.ResourceInterface {
	if !t.Namespaced {
		return c.dynamic.Resource(t.Resource)
	}
	return c.dynamic.Resource(t.Resource).Namespace(namespace)
}

// Get reads one object.
func (c *Cluster) Get(ctx context.Context, t Type, namespace, name string) (*unstructured.Unstructured, error) {
	return retry(ctx, func() (*unstructured.Unstructured, error) {
		return c.resource(t, namespace).Get(ctx, name, metav1.GetOptions{})
	})
}

// List reads all objects of a type in a namespace (all namespaces when it is
// empty) that match a label selector, in pages.
func (c *Cluster) List(ctx context.Context, t Type, namespace, selector string) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := retry(ctx, func() (*unstructured.UnstructuredList, error) {
			return c.resource(t, namespace).List(ctx, options)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}

// ListMetadata is [Cluster.List] without the content of the objects.
func (c *Cluster) ListMetadata(ctx context.Context, t Type, namespace, selector string) ([]metav1.PartialObjectMetadata, error) {
	var all []metav1.PartialObjectMetadata
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := retry(ctx, func() (*metav1.PartialObjectMetadataList, error) {
			return c.metadata.Resource(t.Resource).Namespace(namespace).List(ctx, options)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}

// Apply sends an object with server-side apply. It takes over fields that
// other managers hold (force). A uid or resourceVersion in the object's
// metadata is a precondition.
func (c *Cluster) Apply(ctx context.Context, t Type, obj *unstructured.Unstructured, mode Mode) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: c.FieldManager, Force: ptr.To(true), DryRun: mode.dryRun()}
	return retry(ctx, func() (*unstructured.Unstructured, error) {
		return c.resource(t, obj.GetNamespace()).Patch(ctx, obj.GetName(), types.ApplyPatchType, body, options)
	})
}

// Create posts an object; it is an error when it exists.
func (c *Cluster) Create(ctx context.Context, t Type, obj *unstructured.Unstructured, mode Mode) (*unstructured.Unstructured, error) {
	options := metav1.CreateOptions{FieldManager: c.FieldManager, DryRun: mode.dryRun()}
	return retry(ctx, func() (*unstructured.Unstructured, error) {
		return c.resource(t, obj.GetNamespace()).Create(ctx, obj, options)
	})
}

// Replace puts an object in the place of the live one. Its resourceVersion is
// a precondition.
func (c *Cluster) Replace(ctx context.Context, t Type, obj *unstructured.Unstructured, mode Mode) (*unstructured.Unstructured, error) {
	options := metav1.UpdateOptions{FieldManager: c.FieldManager, DryRun: mode.dryRun()}
	return retry(ctx, func() (*unstructured.Unstructured, error) {
		return c.resource(t, obj.GetNamespace()).Update(ctx, obj, options)
	})
}

// Delete asks for the deletion of an object, in the background, under the
// condition that it still has the given UID (when one is given).
func (c *Cluster) Delete(ctx context.Context, t Type, namespace, name string, uid types.UID) error {
	options := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	_, err := retry(ctx, func() (struct{}, error) {
		return struct{}{}, c.resource(t, namespace).Delete(ctx, name, options)
	})
	return err
}

// TakeOver makes fields that other managers hold ours, so that those missing
// from the next apply are removed. takes chooses among the managers' entries. It
// writes nothing when there is nothing to take, and fails with a conflict when
// the object changed since it was read.
func (c *Cluster) TakeOver(ctx context.Context, t Type, live *unstructured.Unstructured, takes func(metav1.ManagedFieldsEntry) bool) error {
	managers := sets.New[string]()
	entries := live.GetManagedFields()
	for i, entry := range entries {
		if takes(entry) {
			managers.Insert(entry.Manager)
			// What was applied goes the same way as what was updated.
			entries[i].Operation = metav1.ManagedFieldsOperationUpdate
		}
	}
	updated := live.DeepCopy()
	updated.SetManagedFields(entries)
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(updated, managers, c.FieldManager)
	if err != nil || patch == nil {
		return err
	}
	_, err = retry(ctx, func() (*unstructured.Unstructured, error) {
		return c.resource(t, live.GetNamespace()).Patch(ctx, live.GetName(), types.JSONPatchType, patch,
			metav1.PatchOptions{FieldManager: c.FieldManager})
	})
	return err
}
