package provider

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/kubewave/terraform-provider-component/internal/engine"
)

// connection is what resources and data sources get from Configure. The
// engine is made when it is first needed and shared by all of them.
type connection struct {
	settings *settings
	// leaving knows which instances make room for a create.
	leaving *leaving

	once   sync.Once
	shared *engine.Engine
	err    error
}

// known reports whether the provider's configuration is known yet.
func (c *connection) known() bool { return len(c.settings.Unknown) == 0 }

// engine returns the engine for the cluster, or one that only renders while
// the provider's configuration is not known.
func (c *connection) engine() (*engine.Engine, error) {
	c.once.Do(func() {
		switch {
		case !c.known():
			c.shared = engine.Offline(c.options())
		case c.settings.ConfigError != nil:
			c.err = c.settings.ConfigError
		default:
			c.shared, c.err = engine.New(c.settings.Cluster, c.options())
		}
	})
	return c.shared, c.err
}

func (c *connection) options() engine.Options {
	return engine.Options{
		AnnotationPrefix:       c.settings.AnnotationPrefix,
		FieldManager:           c.settings.FieldManager,
		ReclaimedFieldManagers: c.settings.ReclaimedFieldManagers,
		AdoptedFieldManagers:   c.settings.AdoptedFieldManagers,
		ClusterID:              c.settings.ClusterID,
		Workers:                c.settings.MaxConcurrentRequests,
		CacheDir:               cacheDir(),
		Version:                c.settings.Version,
	}
}

// cacheDir is where passed dry-runs are remembered; without a home folder they
// are not.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "terraform-provider-component")
}
