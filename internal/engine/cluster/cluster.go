// Package cluster is the only package that talks to an API server: its
// connection, the types it serves, their schemas, and how its errors are
// understood and retried.
package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	corev1 "k8s.io/api/core/v1"
)

// Cluster is a connection to one API server. It is shared by all components of
// a run, so that discovery and every schema are read once. It is safe for
// concurrent use.
type Cluster struct {
	// FieldManager is the name under which fields are applied.
	FieldManager string

	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery *discovery.DiscoveryClient
	cached    discovery.CachedDiscoveryInterfaceWithContext
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	schemas   *schemas

	mu      sync.Mutex
	id      string
	version string
}

// New makes a connection without any request: the first one is made when
// something is read or written.
func New(config *rest.Config, fieldManager string) (*Cluster, error) {
	config = boundRequests(config, requestLimit)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClientWithContext(disco)
	return &Cluster{
		FieldManager: fieldManager,
		dynamic:      dyn,
		metadata:     meta,
		discovery:    disco,
		cached:       cached,
		mapper:       restmapper.NewDeferredDiscoveryRESTMapperWithContext(cached),
		schemas:      newSchemas(disco),
	}, nil
}

// ID returns the identity of the cluster: the UID of its namespace
// kube-system (semantics.md, section 1). It is read once.
func (c *Cluster) ID(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id != "" {
		return c.id, nil
	}
	ns, err := retry(ctx, func() (*metav1.PartialObjectMetadata, error) {
		return c.metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).
			Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	})
	if err != nil {
		return "", fmt.Errorf("reading the identity of the cluster (namespace kube-system): %w", err)
	}
	c.id = string(ns.GetUID())
	return c.id, nil
}

// UseID sets the identity of the cluster, for users who may not read the
// namespace kube-system.
func (c *Cluster) UseID(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = id
}

// Version returns the version of the API server, such as "v1.37.2".
func (c *Cluster) Version(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version != "" {
		return c.version, nil
	}
	info, err := c.discovery.ServerVersionWithContext(ctx)
	if err != nil {
		return "", err
	}
	c.version = info.GitVersion
	return c.version, nil
}

// APIVersions lists what the cluster serves, as Helm's capabilities name it:
// "apps/v1" and "apps/v1/Deployment". A group whose API server does not answer
// is left out.
func (c *Cluster) APIVersions(ctx context.Context) ([]string, error) {
	groups, resources, err := c.cached.ServerGroupsAndResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	versions := metav1.ExtractGroupVersions(&metav1.APIGroupList{Groups: deref(groups)})
	for _, list := range resources {
		for _, resource := range list.APIResources {
			versions = append(versions, list.GroupVersion+"/"+resource.Kind)
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions), nil
}

func deref(groups []*metav1.APIGroup) []metav1.APIGroup {
	all := make([]metav1.APIGroup, 0, len(groups))
	for _, group := range groups {
		all = append(all, *group)
	}
	return all
}

// ForgetTypes drops what is known of the served types and their schemas. It is
// called after a CustomResourceDefinition or an APIService was written.
func (c *Cluster) ForgetTypes(ctx context.Context) {
	c.mapper.ResetWithContext(ctx)
	c.schemas.forget()
}

// Mapper maps kinds to what the cluster serves.
func (c *Cluster) Mapper() meta.RESTMapper { return c.mapper }

// Dynamic is the client for packages that watch objects through a library.
func (c *Cluster) Dynamic() dynamic.Interface { return c.dynamic }
