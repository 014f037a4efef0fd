package engine

import (
	"context"
	"sync"
	"time"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// Options are the provider's settings for all components.
type Options struct {
	// AnnotationPrefix is the prefix of owner label and policy annotations.
	AnnotationPrefix string
	// FieldManager is the name under which fields are applied.
	FieldManager string
	// ReclaimedFieldManagers are prefixes of managers whose fields are taken
	// over at every update under ssa-override.
	ReclaimedFieldManagers []string
	// AdoptedFieldManagers are prefixes of managers whose fields are taken over
	// once, when an object is adopted.
	AdoptedFieldManagers []string
	// ClusterID replaces the UID of the namespace kube-system.
	ClusterID string
	// Workers bounds the concurrent requests of one component.
	Workers int
	// CacheDir holds the results of dry-runs for ten minutes; empty for none.
	CacheDir string
	// Version is the provider's version, kept in records.
	Version string
}

// Defaults of the options.
const (
	DefaultAnnotationPrefix = "component-operator.cs.sap.com"
	DefaultFieldManager     = "terraform-provider-component"
	DefaultWorkers          = 16
)

// Engine applies components to one cluster. It is safe for concurrent use by
// several components.
type Engine struct {
	options Options
	// cluster is nil when the engine only renders.
	cluster *cluster.Cluster
	renders renderMemo
	dryRuns *dryRunCache
	now     func() time.Time
}

// New makes an engine for a cluster. It makes no request.
func New(config cluster.Config, options Options) (*Engine, error) {
	rest, err := config.REST()
	if err != nil {
		return nil, err
	}
	e := Offline(options)
	e.cluster, err = cluster.New(rest, e.options.FieldManager)
	if err != nil {
		return nil, err
	}
	if options.ClusterID != "" {
		e.cluster.UseID(options.ClusterID)
	}
	return e, nil
}

// Offline makes an engine that can plan without a cluster, and nothing else.
func Offline(options Options) *Engine {
	if options.AnnotationPrefix == "" {
		options.AnnotationPrefix = DefaultAnnotationPrefix
	}
	if options.FieldManager == "" {
		options.FieldManager = DefaultFieldManager
	}
	if options.Workers <= 0 {
		options.Workers = DefaultWorkers
	}
	return &Engine{options: options, dryRuns: newDryRunCache(options.CacheDir), now: time.Now}
}

// owner returns the owner of a component in this cluster.
func (e *Engine) owner(ctx context.Context, namespace, name string) (Owner, string, error) {
	id, err := e.cluster.ID(ctx)
	if err != nil {
		return Owner{}, "", e.connectionError(err)
	}
	return ownerOf(id, namespace, name), id, nil
}

func (e *Engine) store(namespace, name string) *record.Store {
	return record.NewStore(e.cluster, namespace, name)
}

// connectionError says what to do when the API server cannot be used at all.
func (e *Engine) connectionError(err error) error {
	switch cluster.ReasonOf(err) {
	case cluster.Unreachable:
		return componentErrorf("The cluster cannot be reached",
			"%w\nNothing was changed. Check the connection settings of the provider and the network.", err)
	case cluster.Unauthorized:
		return componentErrorf("The cluster refused the credentials",
			"%w\nNothing was changed. The token or certificate is wrong or has expired; an exec plugin or a file that is renewed keeps them fresh.", err)
	case cluster.Forbidden:
		return componentErrorf("A right is missing", "%w", err)
	}
	return err
}

// capabilities reads what a chart may ask about the cluster.
func (e *Engine) capabilities(ctx context.Context) (Capabilities, error) {
	version, err := e.cluster.Version(ctx)
	if err != nil {
		return Capabilities{}, e.connectionError(err)
	}
	versions, err := e.cluster.APIVersions(ctx)
	if err != nil {
		return Capabilities{}, e.connectionError(err)
	}
	return Capabilities{KubeVersion: version, APIVersions: versions}, nil
}

// renderMemo keeps the last renderings of each component: a plan, and the
// apply that follows in the same process, render the same input several times.
type renderMemo struct {
	mu      sync.Mutex
	entries map[string][]renderEntry
}

type renderEntry struct {
	key      string
	rendered *Rendered
}

// kept is how many renderings of one component are remembered: those of the
// recorded and of the next revision.
const kept = 2

func (m *renderMemo) get(component, key string) *Rendered {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, entry := range m.entries[component] {
		if entry.key == key {
			return entry.rendered
		}
	}
	return nil
}

func (m *renderMemo) put(component, key string, rendered *Rendered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[string][]renderEntry{}
	}
	entries := append([]renderEntry{{key, rendered}}, m.entries[component]...)
	m.entries[component] = entries[:min(kept, len(entries))]
}
