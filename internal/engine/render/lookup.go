package render

import (
	"context"
	"fmt"
	"sync"

	"helm.sh/helm/v3/pkg/engine"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// lookupProvider answers Helm's `lookup` from a [LookupFunc]: Helm wants a
// dynamic client, which is never asked for more than Get and List.
type lookupProvider struct {
	ask func(apiVersion, kind, namespace, name string) (map[string]any, error)
}

var _ engine.ClientProvider = lookupProvider{}

// newLookupProvider remembers every answer, so that all passes of a rendering
// see the same cluster.
func newLookupProvider(lookup LookupFunc) lookupProvider {
	if lookup == nil {
		lookup = func(string, string, string, string) (map[string]any, error) { return nil, nil }
	}
	type answer struct {
		content map[string]any
		err     error
	}
	var mutex sync.Mutex
	answers := map[[4]string]answer{}
	return lookupProvider{ask: func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		mutex.Lock()
		defer mutex.Unlock()
		key := [4]string{apiVersion, kind, namespace, name}
		known, ok := answers[key]
		if !ok {
			known.content, known.err = lookup(apiVersion, kind, namespace, name)
			answers[key] = known
		}
		// A template may change the map that it is given.
		return runtime.DeepCopyJSON(known.content), known.err
	}}
}

// GetClientFor implements [engine.ClientProvider]. Every kind has a client: one
// that is not served simply has no objects. All count as namespaced, so that
// the namespace reaches the lookup as the template wrote it.
func (p lookupProvider) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return lookupClient{provider: p, apiVersion: apiVersion, kind: kind}, true, nil
}

// lookupClient is a dynamic client that can only read. The embedded interface
// is nil: Helm calls none of the other methods.
type lookupClient struct {
	dynamic.NamespaceableResourceInterface
	provider                    lookupProvider
	apiVersion, kind, namespace string
}

func (c lookupClient) Namespace(namespace string) dynamic.ResourceInterface {
	c.namespace = namespace
	return c
}

func (c lookupClient) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	content, err := c.read(name)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: content}, nil
}

func (c lookupClient) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	content, err := c.read("")
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{Object: content}
	items, _ := content["items"].([]any)
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			list.Items = append(list.Items, unstructured.Unstructured{Object: object})
		}
	}
	return list, nil
}

// read returns what is not there as the error that Helm turns into an empty
// map.
func (c lookupClient) read(name string) (map[string]any, error) {
	content, err := c.provider.ask(c.apiVersion, c.kind, c.namespace, name)
	if err != nil {
		return nil, fmt.Errorf("lookup of %s %q in namespace %q: %w", c.kind, name, c.namespace, err)
	}
	if content == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: c.kind}, name)
	}
	return content, nil
}
