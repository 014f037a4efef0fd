package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

func TestSuspend(t *testing.T) {
	t.Parallel()
	t.Run("a new component is only recorded", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", configMap("x"))
		s.component.Suspend = true
		if _, err := s.apply(); err != nil {
			t.Fatal(err)
		}
		if r.live("ConfigMap/x") != nil || len(s.prior.Objects) != 0 || s.prior.Status != StatusSuspended {
			t.Errorf("state is %+v", s.prior)
		}
		s.wantNothingToDo()
		s.component.Suspend = false
		s.mustApply()
		if s.prior.Revision != 1 {
			t.Errorf("the revision is %d", s.prior.Revision)
		}
		r.mustLive("ConfigMap/x")
	})
	t.Run("a suspended component can be destroyed", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", configMap("x"))
		s.mustApply()
		s.component.Suspend = true
		if _, err := s.apply(); err != nil {
			t.Fatal(err)
		}
		s.mustDestroy()
		if r.live("ConfigMap/x") != nil || r.live("Secret/component.c") != nil {
			t.Error("something is left")
		}
	})
	t.Run("one that was ready once is not taken over by a create", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", configMap("x"))
		s.mustApply()
		s.component.Suspend = true
		if _, err := s.apply(); err != nil {
			t.Fatal(err)
		}
		s.prior = nil
		_, err := s.plan()
		r.wantError(err, "The component exists already", "import")
		s.component.Suspend = false
		_, err = s.plan()
		r.wantError(err, "The component exists already", "import")
	})
	t.Run("what failed before goes on when it is no longer suspended", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		const job = "{apiVersion: batch/v1, kind: Job, metadata: {name: x, annotations: {component-operator.cs.sap.com/update-policy: recreate}}, spec: {backoffLimit: 0, template: {metadata: {annotations: {ANNOTATION}}, spec: {restartPolicy: Never, containers: [{name: x, image: registry.example/app:1}]}}}}"
		s := r.story("c", strings.ReplaceAll(job, "ANNOTATION", "cluster.test/fail: exit"))
		if _, err := s.apply(); err == nil {
			t.Fatal("it became ready")
		}
		s.component.Suspend = true
		if _, err := s.apply(); err != nil {
			t.Fatal(err)
		}
		s.component.Suspend = false
		s.write(strings.ReplaceAll(job, "ANNOTATION", "a: b"))
		s.mustApply()
	})
}

// Nothing is applied or pruned, and the plan says what is left undone.
func TestSuspendedChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {k: old}}
---
{apiVersion: v1, kind: Secret, metadata: {name: kept}, stringData: {k: p4ss}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: dropped}}
`)
	s.mustApply()
	before := r.versions("ConfigMap/kept", "Secret/kept", "ConfigMap/dropped")
	s.component.Suspend = true
	s.write(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {k: new}}
---
{apiVersion: v1, kind: Secret, metadata: {name: kept}, stringData: {k: w0rd}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: added}}
`)
	plan := s.mustPlan()
	if plan.Planned.Status != StatusSuspended || plan.Planned.Revision != 1 {
		t.Errorf("planned are status %s and revision %d", plan.Planned.Status, plan.Planned.Revision)
	}
	if diff := cmp.Diff(s.prior.Objects, plan.Planned.Objects); diff != "" {
		t.Error(diff)
	}
	want := r.place(`Component NAMESPACE/c is suspended: 1 to create, 2 to update, 1 to delete
 + ConfigMap/NAMESPACE/added
 - ConfigMap/NAMESPACE/dropped
 ~ ConfigMap/NAMESPACE/kept
     .data.k: "old" -> "new"
 ~ Secret/NAMESPACE/kept
     .data.k: "(sensitive, v1)" -> "(sensitive, v2)"
`)
	if diff := cmp.Diff(want, text(plan.Warnings)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.run(t.Context(), plan, plan.Planned.Objects); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, r.versions("ConfigMap/kept", "Secret/kept", "ConfigMap/dropped")); diff != "" {
		t.Error(diff)
	}
	if header := r.header("c"); header.Phase != record.Pending || header.Reason != StatusSuspended {
		t.Errorf("it is %+v", header)
	}
	s.wantNothingToDo()

	// What somebody else changes meanwhile is left, too.
	r.edit("ConfigMap/kept", `{"data": {"k": "theirs"}}`)
	s.wantNothingToDo()
	if said := text(s.mustPlan().Warnings); !strings.Contains(said, `.data.k: "theirs" -> "new"`) {
		t.Errorf("it says %q", said)
	}

	s.component.Suspend = false
	s.mustApply()
	r.wantFields(map[string]any{"ConfigMap/kept data.k": "new"})
	r.mustLive("ConfigMap/added")
	if r.live("ConfigMap/dropped") != nil {
		t.Error("nothing was pruned")
	}
	if s.prior.Revision != 2 {
		t.Errorf("the revision is %d", s.prior.Revision)
	}
}
