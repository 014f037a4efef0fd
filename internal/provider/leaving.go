package provider

import (
	"context"
	"sync"
	"time"

	"github.com/kubewave/terraform-provider-component/internal/engine"
)

// leavingGrace is how long a plan waits for Terraform to say what becomes of
// an instance that stands in its way.
const leavingGrace = 2 * time.Second

// leaving knows which instances go in this run although nothing says so.
// Terraform reads a tainted resource, then plans its replacement as a mere
// create, without state and private state. So an instance that was read, and
// for which no update and no deletion of its own is planned, is one that is
// replaced. At apply nothing is read, and what leaves has left already.
type leaving struct {
	mu      sync.Mutex
	owners  map[string]string // by instance
	decided chan struct{}     // closed at the next decision about an instance
}

func newLeaving() *leaving {
	return &leaving{owners: map[string]string{}, decided: make(chan struct{})}
}

// saw notes an instance that was read.
func (l *leaving) saw(memory engine.Memory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if memory.Instance != "" {
		l.owners[memory.Instance] = memory.Owner
	}
}

// planned notes that an update or a deletion of an instance is planned: it
// does not make room for a create.
func (l *leaving) planned(memory engine.Memory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.owners, memory.Instance)
	close(l.decided)
	l.decided = make(chan struct{})
}

// includes reports whether an owner's instance is replaced. Instances are
// planned in no order, so an owner that was read is given some time.
func (l *leaving) includes(ctx context.Context, owner string) bool {
	ctx, cancel := context.WithTimeout(ctx, leavingGrace)
	defer cancel()
	for {
		found, decided := l.find(owner)
		if !found {
			return false
		}
		select {
		case <-decided:
		case <-ctx.Done():
			return true
		}
	}
}

func (l *leaving) find(owner string) (found bool, decided <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, read := range l.owners {
		found = found || read == owner
	}
	return found, l.decided
}
