package main

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const bareManager = "bench"

// A bareClient writes objects and does nothing else: no plan, no ownership, no readiness.
type bareClient struct {
	dynamic dynamic.Interface
	workers int
}

func newBareClient(config *rest.Config, workers int) (*bareClient, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &bareClient{client, workers}, nil
}

// measure takes the times of the ConfigMaps of [configMaps] in a namespace of their own.
func (c *bareClient) measure(ctx context.Context, namespace string, count int) (t times, err error) {
	namespaces := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	ns := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
	}}
	if _, err := namespaces.Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return t, err
	}
	defer func() {
		if e := namespaces.Delete(ctx, namespace, metav1.DeleteOptions{}); err == nil {
			err = e
		}
	}()
	maps := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(namespace)
	objects := configMaps(count)

	start := time.Now()
	if err := c.applyAll(ctx, maps, objects, metav1.DryRunAll); err != nil {
		return t, err
	}
	t.dryRun = time.Since(start)

	start = time.Now()
	if err := c.applyAll(ctx, maps, objects); err != nil {
		return t, err
	}
	t.write = time.Since(start)

	start = time.Now()
	if _, err := maps.List(ctx, metav1.ListOptions{}); err != nil {
		return t, err
	}
	t.list = time.Since(start)
	return t, nil
}

// applyAll applies all objects and returns the first error.
func (c *bareClient) applyAll(ctx context.Context, maps dynamic.ResourceInterface, objects []object, dryRun ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	force := true
	options := metav1.PatchOptions{FieldManager: bareManager, Force: &force, DryRun: dryRun}
	queue := make(chan object)
	var workers sync.WaitGroup
	for range c.workers {
		workers.Go(func() {
			for o := range queue {
				if _, err := maps.Patch(ctx, o.name, types.ApplyPatchType, []byte(o.manifest), options); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, o := range objects {
		queue <- o
	}
	close(queue)
	workers.Wait()
	return context.Cause(ctx)
}
