package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// settling is how long the watch may be behind the server.
const settling = 20 * time.Second

// play plays a story. It stops at the first step that does not end as it
// should, and returns how many did.
func play(t *testing.T, s story) int {
	t.Helper()
	w := newWorld(t, s.Name)
	return w.play(s)
}

func (w *world) play(s story) int {
	t := w.t
	t.Helper()
	placed, err := s.placed(w.names())
	if err != nil {
		t.Fatal(err)
	}
	if placed.Before != "" {
		if err := w.create(t.Context(), placed.Before, kubectlEdit); err != nil {
			t.Fatal(err)
		}
	}
	if w.seen, err = w.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, step := range placed.Steps {
		if problems := w.step(t.Context(), step); len(problems) > 0 {
			t.Errorf("step %d, %s (namespace %s):\n%v", i+1, step.Do, w.namespace, errors.Join(problems...))
			return i
		}
	}
	return len(placed.Steps)
}

// step does what a step says and returns what is not as it should be.
func (w *world) step(ctx context.Context, s step) []error {
	mark, writes := w.log.length(), len(w.proxy.since(0))
	if err := w.doAll(ctx, s.Others); err != nil {
		return []error{fmt.Errorf("others: %w", err)}
	}
	results, err := w.handle(ctx, s, mark)
	if err != nil {
		return []error{err}
	}
	problems := w.compareOutcomes(ctx, s, results)
	if refusedAll(results) && len(w.proxy.since(writes)) > 0 {
		problems = append(problems, fmt.Errorf("it was refused, yet written: %v", w.proxy.since(writes)))
	}
	objects, err := w.observe(ctx)
	if err != nil {
		return append(problems, err)
	}
	problems = append(problems, w.compareObjects(s.Expect.Objects, objects)...)
	if _, err := w.settle(ctx); err != nil {
		problems = append(problems, err)
	}
	problems = append(problems, w.awaitOrder(ctx, s.Expect.Order, mark)...)
	w.seen = objects
	return append(problems, w.again(ctx, s, results)...)
}

// refusedAll: nothing was to be written by anyone.
func refusedAll(results map[string]result) bool {
	for _, r := range results {
		if !r.planned {
			return false
		}
	}
	return len(results) > 0
}

// handle applies and deletes the components of a step at the same time, while
// others do what they do meanwhile.
func (w *world) handle(ctx context.Context, s step, mark int) (map[string]result, error) {
	for name, attrs := range s.Components {
		if err := w.component(name).set(attrs); err != nil {
			return nil, err
		}
	}
	over, end := context.WithCancel(ctx)
	defer end()
	waiting := w.startMeanwhile(over, s.Meanwhile, mark)
	results := map[string]result{}
	var mu sync.Mutex
	var running sync.WaitGroup
	start := func(name string, do func(context.Context, string) result) {
		running.Go(func() {
			r := do(ctx, s.ReadyTimeout)
			mu.Lock()
			defer mu.Unlock()
			results[name] = r
		})
	}
	for name := range s.Components {
		start(name, w.component(name).apply)
	}
	for _, name := range s.Delete {
		start(name, w.component(name).destroy)
	}
	running.Wait()
	// What was waited for may be seen a little later.
	late := time.AfterFunc(settling, end)
	defer late.Stop()
	return results, waiting()
}

// startMeanwhile returns a function that waits for what was started.
func (w *world) startMeanwhile(ctx context.Context, all []meanwhile, mark int) func() error {
	failures := make([]error, len(all))
	var running sync.WaitGroup
	for i, m := range all {
		running.Go(func() {
			err := eventually(ctx, patience, m.When, func() (bool, error) { return slices.Contains(w.log.since(mark), m.When), nil })
			if err == nil {
				err = w.doAll(context.WithoutCancel(ctx), m.Others)
			}
			if err != nil {
				failures[i] = fmt.Errorf("meanwhile, when %s: %w", m.When, err)
			}
		})
	}
	return func() error {
		running.Wait()
		return errors.Join(failures...)
	}
}

// again looks at every component that was applied well once more.
func (w *world) again(ctx context.Context, s step, results map[string]result) []error {
	var problems []error
	for name, r := range results {
		if r.deleted || r.err != nil || s.Expect.Components[name].fails() {
			continue
		}
		if err := w.component(name).again(ctx); err != nil {
			problems = append(problems, fmt.Errorf("component %s: %w", name, err))
		}
	}
	return problems
}
