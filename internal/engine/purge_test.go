package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// migration is a Job with annotations besides its purge-order, between two
// waves.
func migration(image, annotations string) string {
	return `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {` + annotations + `}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/app:` + image + `"}]}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: later, annotations: {component-operator.cs.sap.com/apply-order: "5"}}}
`
}

// phase is that of an object in the inventory; empty when it is not in it.
func (s *story) phase(kind, name string) record.ItemPhase {
	s.Helper()
	for _, item := range s.record().Inventory {
		if item.ID.Kind == kind && item.ID.Name == name {
			return item.Phase
		}
	}
	return ""
}

func TestPurgedObjects(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]string{
		"at the end of its own wave":                          "0",
		"before the next larger wave, without one of its own": "3",
		"at the end, when that comes first":                   "99",
	} {
		t.Run("go "+name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := r.story("c", migration("1", `component-operator.cs.sap.com/purge-order: "`+order+`"`))
			s.mustApply()
			if r.live("Job.batch/migrate") != nil {
				t.Error("the Job is still there")
			}
			if diff := cmp.Diff(record.Completed, s.phase("Job", "migrate")); diff != "" {
				t.Error(diff)
			}
			// The order of the requests is that of the waves.
			var sequence []string
			for _, text := range r.wire.all(writes) {
				switch {
				case strings.HasPrefix(text, "DELETE") && strings.Contains(text, "/jobs/migrate"):
					sequence = append(sequence, "purge")
				case strings.Contains(text, "/configmaps/later"):
					sequence = append(sequence, "later")
				}
			}
			want := []string{"purge", "later"}
			if order == "99" {
				want = []string{"later", "purge"}
			}
			if diff := cmp.Diff(want, sequence); diff != "" {
				t.Error(diff)
			}
		})
	}

	t.Run("are applied again only when their digest changes", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		const purge = `component-operator.cs.sap.com/purge-order: "0"`
		s := r.story("c", migration("1", purge))
		s.mustApply()
		jobs := func() int { return len(r.wire.all(writesTo("jobs/migrate"))) }
		r.wire.clear()
		s.mustApply()
		s.write(migration("1", purge) + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
		s.mustApply()
		if got := jobs(); got != 0 {
			t.Errorf("the Job was written or deleted %d times although it did not change", got)
		}
		s.write(migration("2", purge))
		if diff := cmp.Diff("1 to update, 1 to delete", s.mustPlan().Planned.Summary); diff != "" {
			t.Error(diff)
		}
		s.mustApply()
		if got := jobs(); got != 2 {
			t.Errorf("the changed Job was written and deleted by %d requests, want 2", got)
		}
		s.mustDestroy()
	})

	t.Run("under once are never applied again", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		const once = `component-operator.cs.sap.com/purge-order: "0", component-operator.cs.sap.com/reconcile-policy: once`
		s := r.story("c", migration("1", once))
		s.mustApply()
		r.wire.clear()
		s.mustApply()
		s.write(migration("2", once))
		s.mustApply()
		if got := r.wire.all(writesTo("jobs/migrate")); len(got) != 0 {
			t.Errorf("the Job was run again: %v", got)
		}
	})

	t.Run("are not purged while something is not ready", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", strings.Replace(migration("1", `component-operator.cs.sap.com/purge-order: "0"`),
			"template: {spec", "backoffLimit: 0, template: {metadata: {annotations: {cluster.test/fail: exit}}, spec", 1))
		_, err := s.apply()
		r.wantError(err, "the Job failed")
		if r.live("Job.batch/migrate") == nil {
			t.Error("the failed Job is gone")
		}
	})

	// The apply stopped after the deletion and before the record said so.
	t.Run("that are gone before the record says so are not run again", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", migration("1", `component-operator.cs.sap.com/purge-order: "0"`))
		approved := s.mustPlan().Planned.Objects
		r.wire.refuseAfter(func(q request) bool { return q.method == "DELETE" && strings.HasSuffix(q.path, "/jobs/migrate") })
		if _, err := s.execute(t.Context(), approved); err == nil {
			t.Fatal("the apply was not stopped")
		}
		r.wire.refuseAfter(nil)
		r.eventually("the Job is gone", func() bool { return r.live("Job.batch/migrate") == nil })
		r.wire.clear()
		s.prior = nil
		s.mustApply()
		if got := r.wire.all(writesTo("jobs/migrate")); len(got) > 0 {
			t.Errorf("the Job was run again: %v", got)
		}
		if s.record().Find(object.ID{Group: "batch", Kind: "Job", Namespace: r.namespace, Name: "migrate"}).Phase != record.Completed {
			t.Error("the Job is not Completed")
		}
	})
}
