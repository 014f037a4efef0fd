package engine

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// dryRunLifetime is how long a passed dry-run counts: long enough for the
// apply that follows a plan.
const dryRunLifetime = 10 * time.Minute

// dryRunCache remembers which objects the API server accepted, so that an
// apply that follows a plan does not try them again. Entries are keyed hashes
// of object, cluster and live UID; nothing of an object is kept. A cache that
// cannot be read or written is empty: it only saves time.
type dryRunCache struct {
	dir string

	mu      sync.Mutex
	loaded  bool
	dirty   bool
	key     []byte
	entries map[string]time.Time
}

func newDryRunCache(dir string) *dryRunCache { return &dryRunCache{dir: dir} }

// dryRunKey identifies a dry-run; it is empty when the cache cannot be used.
// on is what the change was tried on: the UID of the live object, a namespace
// that stands in for another one, or nothing for a plain create.
func (e *Engine) dryRunKey(plan *Plan, change *Change, on string) string {
	key := e.dryRuns.secret()
	if key == nil {
		return ""
	}
	return keyedHash(key, plan.clusterID+"\n"+plan.owner.ID+"\n"+on+"\n"+object.ID.String(change.ID)+"\n"+change.Object.GetAPIVersion()+"\n"+change.Digest)
}

// secret returns the key of the hashes.
func (c *dryRunCache) secret() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	return c.key
}

// knows reports whether a dry-run passed a short while ago.
func (c *dryRunCache) knows(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.entries[key]
	return ok && key != "" && time.Since(at) < dryRunLifetime
}

// passed remembers a dry-run.
func (c *dryRunCache) passed(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key != "" {
		c.entries[key] = time.Now()
		c.dirty = true
	}
}

// forget takes back what a dry-run said: the cluster is another one by now.
func (c *dryRunCache) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[key]; ok {
		delete(c.entries, key)
		c.dirty = true
	}
}

func (c *dryRunCache) load() {
	if c.loaded {
		return
	}
	c.loaded, c.entries = true, map[string]time.Time{}
	if c.dir == "" {
		return
	}
	c.key = c.loadKey()
	text, err := os.ReadFile(c.file())
	if err != nil {
		return
	}
	stored := map[string]time.Time{}
	if json.Unmarshal(text, &stored) != nil {
		return
	}
	for key, at := range stored {
		if time.Since(at) < dryRunLifetime {
			c.entries[key] = at
		}
	}
}

func (c *dryRunCache) file() string { return filepath.Join(c.dir, "passed.json") }

func (c *dryRunCache) loadKey() []byte {
	path := filepath.Join(c.dir, "key")
	if key, err := os.ReadFile(path); err == nil && len(key) == 32 {
		return key
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil
	}
	if os.MkdirAll(c.dir, 0o700) != nil || os.WriteFile(path, key, 0o600) != nil {
		return nil
	}
	return key
}

// save writes the cache for the next process. Processes that save at the same
// time overwrite each other's entries, which costs only dry-runs.
func (c *dryRunCache) save() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir == "" || !c.dirty {
		return
	}
	text, err := json.Marshal(c.entries)
	if err != nil {
		return
	}
	temporary, err := os.CreateTemp(c.dir, "passed-*")
	if err != nil {
		return
	}
	_, err = temporary.Write(text)
	closeErr := temporary.Close()
	if err != nil || closeErr != nil || os.Rename(temporary.Name(), c.file()) != nil {
		_ = os.Remove(temporary.Name())
		return
	}
	c.dirty = false
}
