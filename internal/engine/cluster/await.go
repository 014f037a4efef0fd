package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// AwaitMetadata watches the objects of a type in a namespace (all namespaces
// when it is empty) that match a label selector, until a condition on all of
// them holds. It fails when the context ends first.
func (c *Cluster) AwaitMetadata(ctx context.Context, t Type, namespace, selector string, holds func([]metav1.PartialObjectMetadata) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := c.metadata.Resource(t.Resource).Namespace(namespace)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return client.Watch(ctx, options)
		},
	}
	changed := make(chan struct{}, 1)
	notify := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &metav1.PartialObjectMetadata{},
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: notify, UpdateFunc: func(_, _ any) { notify(nil) }, DeleteFunc: notify},
	})
	go controller.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), controller.HasSynced) {
		return context.Cause(ctx)
	}
	for !holds(metadataIn(store)) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
	return nil
}

func metadataIn(store cache.Store) []metav1.PartialObjectMetadata {
	var all []metav1.PartialObjectMetadata
	for _, item := range store.List() {
		if obj, ok := item.(*metav1.PartialObjectMetadata); ok {
			all = append(all, *obj)
		}
	}
	return all
}
