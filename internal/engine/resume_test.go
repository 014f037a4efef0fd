package engine

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dieAfter lets the n-th write through and fails all requests after it, as if
// the process had been killed.
func (w *wire) dieAfter(n int) {
	count := 0
	w.refuseAfter(func(q request) bool {
		if q.writes() {
			count++
		}
		return count >= n
	})
}

// died reports whether a request was refused.
func (w *wire) died() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused
}

// waves has three waves, a one-shot that is purged,
// and a namespace of its own.
const waves = `
{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-more, annotations: {component-operator.cs.sap.com/apply-order: "-1", component-operator.cs.sap.com/delete-order: "1"}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, annotations: {component-operator.cs.sap.com/purge-order: "0", component-operator.cs.sap.com/reconcile-policy: once}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: registry.example/app:1}]}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: first, namespace: NAMESPACE-more}, data: {k: VALUE}}
---
{apiVersion: v1, kind: Secret, metadata: {name: first}, stringData: {k: VALUE}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: recreated, annotations: {component-operator.cs.sap.com/apply-order: "1", component-operator.cs.sap.com/update-policy: recreate}}, data: {k: VALUE}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: replaced, annotations: {component-operator.cs.sap.com/apply-order: "1", component-operator.cs.sap.com/update-policy: replace}}, data: {k: VALUE}}
`

// mostWrites is the most writes that any of the operations below makes.
const mostWrites = 20

// An operation that dies after any of its writes goes on where it was when it
// is run again: Ready at the end, nothing left over, no manual step.
func TestAnOperationThatDiesAfterAnyWriteGoesOn(t *testing.T) {
	t.Parallel()
	old := strings.ReplaceAll(waves, "VALUE", "old") + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: pruned}}"
	young := strings.ReplaceAll(waves, "VALUE", "new")
	// ready checks that the component has its objects and no others.
	ready := func(s *story, value string, names ...string) {
		s.Helper()
		var want []string
		for _, name := range names {
			want = append(want, s.place(name))
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(s.prior.Objects))); diff != "" {
			s.Error(diff)
		}
		var got []string
		for id := range s.owned(s.record()) {
			got = append(got, id.String())
		}
		slices.Sort(got)
		// The Job is purged.
		want = slices.DeleteFunc(want, func(name string) bool { return strings.HasPrefix(name, "Job") })
		if diff := cmp.Diff(want, got); diff != "" {
			s.Error(diff)
		}
		s.wantFields(map[string]any{
			"ConfigMap/NAMESPACE-more/first data.k": value, "ConfigMap/recreated data.k": value, "ConfigMap/replaced data.k": value,
		})
	}
	names := []string{
		"Namespace/NAMESPACE-more", "Job.batch/NAMESPACE/once", "ConfigMap/NAMESPACE-more/first", "Secret/NAMESPACE/first",
		"ConfigMap/NAMESPACE/recreated", "ConfigMap/NAMESPACE/replaced",
	}
	// Not every write in each run of the tests: deleting a namespace takes its
	// time. The step is odd, for many writes come in pairs.
	step := 3
	if os.Getenv("COMPONENT_TEST_LONG") != "" {
		step = 1
	}
	// each runs a story once for every write after which it can die; the story
	// says whether it did.
	each := func(t *testing.T, run func(t *testing.T, dies func(r *rig)) bool) {
		for n := 1; n <= mostWrites; n += step {
			died := true
			t.Run(fmt.Sprintf("after write %d", n), func(t *testing.T) {
				died = run(t, func(r *rig) { r.wire.dieAfter(n) })
			})
			if !died || t.Failed() {
				return
			}
		}
		t.Errorf("it makes more than %d writes", mostWrites)
	}

	t.Run("a create", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, dies func(*rig)) bool {
			r := newRig(t)
			s := r.story("c", old)
			approved := s.mustPlan().Planned.Objects
			dies(r)
			_, err := s.execute(t.Context(), approved)
			died := r.wire.died()
			if died == (err == nil) {
				t.Errorf("died %v, error %v", died, err)
			}
			r.wire.refuseAfter(nil)
			// Terraform keeps nothing of a process that was killed.
			if died {
				s.prior = nil
				s.engine = r.newEngine(Options{}, nil)
				s.mustApply()
			}
			ready(s, "old", append(names, "ConfigMap/NAMESPACE/pruned")...)
			s.mustDestroy()
			return died
		})
	})

	t.Run("an update", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, dies func(*rig)) bool {
			r := newRig(t)
			s := r.story("c", old)
			s.mustApply()
			before := *s.prior
			s.write(young)
			approved := s.mustPlan().Planned.Objects
			dies(r)
			_, err := s.execute(t.Context(), approved)
			died := r.wire.died()
			if died == (err == nil) {
				t.Errorf("died %v, error %v", died, err)
			}
			r.wire.refuseAfter(nil)
			if died {
				s.prior = &before
				s.engine = r.newEngine(Options{}, nil)
				s.mustApply()
			}
			ready(s, "new", names...)
			s.mustDestroy()
			return died
		})
	})

	t.Run("a deletion", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, dies func(*rig)) bool {
			r := newRig(t)
			s := r.story("c", old)
			s.mustApply()
			s.refresh()
			dies(r)
			_, err := s.engine.Delete(t.Context(), Deletion{Identity: s.identity(), Prior: *s.prior, Timeout: patience})
			died := r.wire.died()
			if died == (err == nil) {
				t.Errorf("died %v, error %v", died, err)
			}
			r.wire.refuseAfter(nil)
			if died {
				s.engine = r.newEngine(Options{}, nil)
				s.mustDestroy()
			}
			for _, id := range append(names, "Secret/component.c", "ConfigMap/NAMESPACE/pruned") {
				if r.live(id) != nil {
					t.Errorf("%s is left", id)
				}
			}
			return died
		})
	})
}
