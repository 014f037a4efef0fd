// Package live reads from a cluster what a component has there. It shares no code with the
// provider, so that tests which use it do not take the provider's word.
package live

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ownerID is the key of a label and of an annotation.
const ownerID = "component-operator.cs.sap.com/owner-id"

// A Cluster is a cluster to look into.
type Cluster struct {
	Dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
}

// Config reads a kubeconfig, for a client that is not slowed down.
func Config(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// Connect returns the cluster of a kubeconfig.
func Connect(kubeconfig string) (*Cluster, error) {
	config, err := Config(kubeconfig)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{Dynamic: dyn, discovery: disco}, nil
}

// Objects returns all objects of the cluster that carry the marks of a component, in the order of
// their ids. The label alone does not do: Kubernetes copies those of a Service to its endpoints.
func (c *Cluster) Objects(ctx context.Context, namespace, name string) ([]unstructured.Unstructured, error) {
	owner, err := c.owner(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	selector := metav1.ListOptions{LabelSelector: ownerID + "=" + labelValue(owner)}
	resources, err := c.listable()
	if err != nil {
		return nil, err
	}
	seen := map[types.UID]bool{} // a type can be served by two groups
	var objects []unstructured.Unstructured
	for _, resource := range resources {
		list, err := c.Dynamic.Resource(resource).List(ctx, selector)
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			continue // a type that went away since, or one that is not stored
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		for _, object := range list.Items {
			if object.GetAnnotations()[ownerID] == owner && !seen[object.GetUID()] {
				seen[object.GetUID()] = true
				objects = append(objects, object)
			}
		}
	}
	slices.SortFunc(objects, func(a, b unstructured.Unstructured) int { return strings.Compare(ID(&a), ID(&b)) })
	return objects, nil
}

// ID returns the id under which the attribute objects lists an object.
func ID(object *unstructured.Unstructured) string {
	var parts []string
	for _, part := range []string{object.GroupVersionKind().GroupKind().String(), object.GetNamespace(), object.GetName()} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

// owner returns the owner id of a component.
func (c *Cluster) owner(ctx context.Context, namespace, name string) (string, error) {
	namespaces := c.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	system, err := namespaces.Get(ctx, "kube-system", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("terraform-provider-component/%s/%s/%s", system.GetUID(), namespace, name), nil
}

// labelValue returns the label that stands for an owner id.
func labelValue(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// listable returns all types of the cluster that can be listed.
func (c *Cluster) listable() ([]schema.GroupVersionResource, error) {
	lists, err := c.discovery.ServerPreferredResources()
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return nil, err
	}
	var resources []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") {
				resources = append(resources, gv.WithResource(resource.Name))
			}
		}
	}
	return resources, nil
}
