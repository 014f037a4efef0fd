package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// AwaitGone watches one object until it is gone, or is another one under the
// same name. It fails when the context ends first.
func (c *Cluster) AwaitGone(ctx context.Context, t Type, namespace, name string, uid types.UID) error {
	named := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = named
			return c.resource(t, namespace).List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = named
			return c.resource(t, namespace).Watch(ctx, options)
		},
	}
	gone := func(store cache.Store) (bool, error) {
		for _, item := range store.List() {
			if obj, ok := item.(*unstructured.Unstructured); ok && obj.GetUID() == uid {
				return false, nil
			}
		}
		return true, nil
	}
	leaves := func(e watch.Event) (bool, error) {
		obj, ok := e.Object.(*unstructured.Unstructured)
		return e.Type == watch.Deleted || ok && obj.GetUID() != uid, nil
	}
	_, err := watchtools.UntilWithSync(ctx, source, &unstructured.Unstructured{}, gone, leaves)
	return err
}
