package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const deployed = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, annotations: {component-operator.cs.sap.com/update-policy: POLICY}}
spec:
  replicas: 1
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {containers: [{name: c, image: "registry.example/app:1"}]}
`

func TestUpdatePolicies(t *testing.T) {
	t.Parallel()
	t.Run("ssa-override removes what kubectl added, and the plan shows it before", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		manifest := strings.ReplaceAll(oneMap, "POLICY", "ssa-override")
		s := r.story("c", manifest)
		s.mustApply()
		r.edit("ConfigMap/x", `{"data": {"extra": "by hand"}, "metadata": {"labels": {"by": "hand"}}}`)
		// What is not ours alone makes no plan.
		s.wantNothingToDo()
		s.write(strings.ReplaceAll(manifest, "ours", "changed"))
		warnings := text(s.mustPlan().Warnings)
		for _, part := range []string{"ConfigMap/NAMESPACE/x   set by kubectl-edit", `.data.extra: "by hand"`, `.metadata.labels.by: "hand"`, "ssa-merge"} {
			if !strings.Contains(warnings, r.place(part)) {
				t.Errorf("the plan does not say %q:\n%s", part, warnings)
			}
		}
		s.mustApply()
		r.wantFields(map[string]any{"ConfigMap/x data.k": "changed", "ConfigMap/x data.extra": nil, "ConfigMap/x metadata.labels.by": nil})
	})

	t.Run("ssa-override removes what kubectl applied, too", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		manifest := strings.ReplaceAll(oneMap, "POLICY", "ssa-override")
		s := r.story("c", manifest)
		s.mustApply()
		r.apply("kubectl", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {extra: by hand}}")
		s.wantNothingToDo()
		s.write(strings.ReplaceAll(manifest, "ours", "changed"))
		if warnings := text(s.mustPlan().Warnings); !strings.Contains(warnings, `.data.extra: "by hand"`) {
			t.Errorf("the plan does not show what goes:\n%s", warnings)
		}
		s.mustApply()
		r.wantFields(map[string]any{"ConfigMap/x data.k": "changed", "ConfigMap/x data.extra": nil})
	})

	t.Run("ssa-override leaves what a controller added", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		manifest := strings.ReplaceAll(oneMap, "POLICY", "ssa-override")
		s := r.story("c", manifest)
		s.mustApply()
		r.editAs("some-controller", "ConfigMap/x", `{"data": {"extra": "by a controller"}}`)
		s.write(strings.ReplaceAll(manifest, "ours", "changed"))
		if warnings := text(s.mustPlan().Warnings); warnings != "" {
			t.Errorf("the plan warns:\n%s", warnings)
		}
		s.mustApply()
		r.wantFields(map[string]any{"ConfigMap/x data.k": "changed", "ConfigMap/x data.extra": "by a controller"})
	})

	t.Run("ssa-merge leaves what kubectl added, and takes back what is ours", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		manifest := strings.ReplaceAll(oneMap, "POLICY", "ssa-merge")
		s := r.story("c", manifest)
		s.mustApply()
		r.edit("ConfigMap/x", `{"data": {"k": "by hand", "extra": "by hand"}}`)
		s.write(strings.ReplaceAll(manifest, "ours", "changed"))
		if warnings := text(s.mustPlan().Warnings); warnings != "" {
			t.Errorf("the plan warns:\n%s", warnings)
		}
		s.mustApply()
		r.wantFields(map[string]any{"ConfigMap/x data.k": "changed", "ConfigMap/x data.extra": "by hand"})
	})

	t.Run("a key that leaves the manifest leaves the object, under ssa-merge too", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		manifest := strings.ReplaceAll(oneMap, "POLICY", "ssa-merge")
		s := r.story("c", strings.ReplaceAll(manifest, "{k: ours}", "{k: ours, old: ours}"))
		s.mustApply()
		s.write(manifest)
		s.mustApply()
		r.wantFields(map[string]any{"ConfigMap/x data.old": nil})
	})

	t.Run("replace puts the manifest in the place of the object and keeps its finalizers", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		manifest := strings.ReplaceAll(oneMap, "POLICY", "replace")
		s := r.story("c", strings.ReplaceAll(manifest, "{name: x,", "{name: x, finalizers: [example.org/ours],"))
		s.mustApply()
		uid := r.mustLive("ConfigMap/x").GetUID()
		r.editAs("some-controller", "ConfigMap/x", `{"data": {"extra": "theirs"}, "metadata": {"finalizers": ["example.org/theirs"], "labels": {"by": "controller"}}}`)
		s.write(strings.ReplaceAll(strings.ReplaceAll(manifest, "{name: x,", "{name: x, finalizers: [example.org/ours],"), "ours}", "changed}"))
		if _, err := s.apply(); err != nil {
			t.Fatal(err)
		}
		r.wantFields(map[string]any{
			"ConfigMap/x data.k": "changed", "ConfigMap/x data.extra": nil, "ConfigMap/x metadata.labels.by": nil, "ConfigMap/x metadata.uid": string(uid),
			"ConfigMap/x metadata.finalizers": []any{"example.org/ours", "example.org/theirs"},
		})
		r.edit("ConfigMap/x", `{"metadata": {"finalizers": null}}`)
	})

	t.Run("replace of a Service keeps its address", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		const service = `{apiVersion: v1, kind: Service, metadata: {name: x, annotations: {component-operator.cs.sap.com/update-policy: replace}}, spec: {ports: [{port: PORT}]}}`
		s := r.story("c", strings.ReplaceAll(service, "PORT", "80"))
		s.mustApply()
		address := r.field("Service/x", "spec.clusterIP")
		s.write(strings.ReplaceAll(service, "PORT", "81"))
		s.mustApply()
		r.wantFields(map[string]any{"Service/x spec.clusterIP": address})
	})

	t.Run("a key of a list that kubectl changed is healed", func(t *testing.T) {
		t.Parallel()
		for _, policy := range []string{"ssa-override", "replace", "recreate"} {
			r := newRig(t)
			service := `{apiVersion: v1, kind: Service, metadata: {name: x, annotations: {component-operator.cs.sap.com/update-policy: ` + policy + `}}, spec: {ports: [{port: 80}]}}`
			s := r.story("c", service)
			s.mustApply()
			r.edit("Service/x", `{"spec": {"ports": [{"port": 81, "protocol": "TCP", "targetPort": 80}]}}`)
			plan, err := s.plan()
			if err != nil {
				t.Errorf("%s: %v", policy, err)
				continue
			}
			if diff := cmp.Diff("1 to update", plan.Planned.Summary); diff != "" {
				t.Errorf("%s: %s", policy, diff)
			}
			s.mustApply()
			want := []any{map[string]any{"port": int64(80), "protocol": "TCP", "targetPort": int64(80)}}
			if diff := cmp.Diff(want, r.field("Service/x", "spec.ports")); diff != "" {
				t.Errorf("%s: %s", policy, diff)
			}
		}
	})

	t.Run("recreate gives another object, after the old one is gone", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		manifest := strings.ReplaceAll(oneMap, "POLICY", "recreate")
		s := r.story("c", manifest)
		s.mustApply()
		uid := r.mustLive("ConfigMap/x").GetUID()
		r.edit("ConfigMap/x", `{"data": {"extra": "by hand"}}`)
		s.wantNothingToDo()
		s.write(strings.ReplaceAll(manifest, "ours", "changed"))
		s.mustApply()
		if r.mustLive("ConfigMap/x").GetUID() == uid {
			t.Error("it is the same object")
		}
		r.wantFields(map[string]any{"ConfigMap/x data.k": "changed", "ConfigMap/x data.extra": nil})
	})
}

func TestRestartedAtSurvivesAnUpdate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	manifest := strings.ReplaceAll(deployed, "POLICY", "ssa-override")
	s := r.story("c", manifest)
	s.mustApply()
	const restarted = "2026-01-02T03:04:05Z"
	r.editAs("kubectl-rollout", "Deployment.apps/d", `{"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "`+restarted+`"}}}}}`)
	r.edit("Deployment.apps/d", `{"spec": {"template": {"metadata": {"annotations": {"by": "hand"}}}}}`)
	s.wantNothingToDo()
	s.write(strings.ReplaceAll(manifest, "app:1", "app:2"))
	s.mustApply()
	want := map[string]any{"kubectl.kubernetes.io/restartedAt": restarted}
	if diff := cmp.Diff(want, r.field("Deployment.apps/d", "spec.template.metadata.annotations")); diff != "" {
		t.Error(diff)
	}
}

// B26: the keys of stringData are as good as those of data.
func TestKeysOfStringDataLeaveTheSecret(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"ssa-override", "ssa-merge", "replace"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			secret := func(content string) string {
				return "{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {component-operator.cs.sap.com/update-policy: " + policy + "}}, " + content + "}"
			}
			s := r.story("c", secret("stringData: {user: admin, pass: one}"))
			s.mustApply()
			s.write(secret("stringData: {user: admin}"))
			s.mustApply()
			if diff := cmp.Diff(map[string]any{"user": "YWRtaW4="}, r.field("Secret/s", "data")); diff != "" {
				t.Error(diff)
			}
			s.write(secret("stringData: {user: from-string}, data: {user: ZnJvbS1kYXRh, other: eA==}"))
			s.mustApply()
			if diff := cmp.Diff(map[string]any{"user": "ZnJvbS1zdHJpbmc=", "other": "eA=="}, r.field("Secret/s", "data")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestImmutableFieldsAreRefusedAtPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	manifest := strings.ReplaceAll(deployed, "POLICY", "ssa-override")
	s := r.story("c", manifest)
	s.mustApply()
	uid := r.mustLive("Deployment.apps/d").GetUID()
	changed := strings.ReplaceAll(manifest, "{app: d}", "{app: other}")
	s.write(changed)
	_, err := s.plan()
	r.wantError(err, "Deployment.apps/NAMESPACE/d", "spec.selector", "field is immutable", "update-policy: recreate", `files["all.yaml"]`)

	s.write(strings.ReplaceAll(changed, "ssa-override", "recreate"))
	s.mustApply()
	if r.mustLive("Deployment.apps/d").GetUID() == uid {
		t.Error("it is the same object")
	}
}

// B14: an object stays the same when it is written in another version.
func TestAnotherVersionOfAGroupIsTheSameObject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}}`)
	s.component.ReadyTimeout = patience
	s.mustApply()
	uid := r.mustLive("HorizontalPodAutoscaler.autoscaling/h").GetUID()
	s.write(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}}`)
	plan := s.mustPlan()
	if diff := cmp.Diff("1 to update", plan.Planned.Summary); diff != "" {
		t.Error(diff)
	}
	s.mustApply()
	if r.mustLive("HorizontalPodAutoscaler.autoscaling/h").GetUID() != uid {
		t.Error("it is another object")
	}
	s.mustDestroy()
	if r.live("HorizontalPodAutoscaler.autoscaling/h") != nil {
		t.Error("it is left after the deletion")
	}
}

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions:
  - {name: v1alpha1, served: OLD, storage: OLD, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1, served: true, storage: NEW, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// B14: the version in which an object was applied is not served any more.
func TestAVersionThatIsGoneDoesNotHideItsObjects(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) (*rig, *story) {
		r := newRig(t)
		r.create(strings.NewReplacer("OLD", "true", "NEW", "false").Replace(gadgets))
		s := r.story("c", "{apiVersion: GROUP/v1alpha1, kind: Gadget, metadata: {name: g}, spec: {size: 1}}")
		s.mustApply()
		r.edit("CustomResourceDefinition.apiextensions.k8s.io/gadgets.GROUP", `{"spec": {"versions": [
			{"name": "v1alpha1", "served": false, "storage": false, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
			{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`)
		// The next run has no memory of what was served.
		s.engine = r.newEngine(Options{}, nil)
		r.eventually("v1alpha1 is not served", func() bool {
			r.others.ForgetTypes(t.Context())
			_, err := r.others.TypeFor(t.Context(), r.gvk("Gadget", "v1alpha1"))
			return err != nil
		})
		return r, s
	}
	t.Run("they are updated in place in another version", func(t *testing.T) {
		t.Parallel()
		r, s := start(t)
		uid := r.mustLive("Gadget.GROUP/g").GetUID()
		s.write("{apiVersion: GROUP/v1, kind: Gadget, metadata: {name: g}, spec: {size: 2}}")
		if diff := cmp.Diff("1 to update", s.mustPlan().Planned.Summary); diff != "" {
			t.Error(diff)
		}
		s.mustApply()
		r.wantFields(map[string]any{"Gadget.GROUP/g spec.size": int64(2), "Gadget.GROUP/g metadata.uid": string(uid)})
	})
	t.Run("they are refreshed and deleted", func(t *testing.T) {
		t.Parallel()
		r, s := start(t)
		s.refresh()
		if len(s.prior.Objects) != 1 {
			t.Errorf("the refresh shows %v", s.prior.Objects)
		}
		s.mustDestroy()
		if r.live("Gadget.GROUP/g") != nil {
			t.Error("it is left after the deletion")
		}
	})
}

func TestOnceObjects(t *testing.T) {
	t.Parallel()
	const once = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {component-operator.cs.sap.com/reconcile-policy: once}}, data: {k: VALUE}}"
	r := newRig(t)
	s := r.story("c", strings.ReplaceAll(once, "VALUE", "first"))
	s.mustApply()
	version := r.mustLive("ConfigMap/x").GetResourceVersion()

	s.write(strings.ReplaceAll(once, "VALUE", "second"))
	s.mustApply()
	if got := r.mustLive("ConfigMap/x").GetResourceVersion(); got != version {
		t.Error("a changed manifest was written")
	}
	r.edit("ConfigMap/x", `{"data": {"k": "by hand"}}`)
	s.mustApply()
	r.wantFields(map[string]any{"ConfigMap/x data.k": "by hand"})

	// Without the annotation it is as any other object again, and back.
	s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: third}}")
	s.mustApply()
	r.wantFields(map[string]any{"ConfigMap/x data.k": "third"})
	s.write(strings.ReplaceAll(once, "VALUE", "fourth"))
	s.mustApply()
	r.wantFields(map[string]any{"ConfigMap/x data.k": "fourth"})
	s.write(strings.ReplaceAll(once, "VALUE", "fifth"))
	s.mustApply()
	r.wantFields(map[string]any{"ConfigMap/x data.k": "fourth"})
}

func TestAFailedJobIsRunAgainUnderRecreate(t *testing.T) {
	t.Parallel()
	for name, annotations := range map[string]string{
		"recreate":           "component-operator.cs.sap.com/update-policy: recreate",
		"recreate, and once": "component-operator.cs.sap.com/update-policy: recreate, component-operator.cs.sap.com/reconcile-policy: once",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			job := `
apiVersion: batch/v1
kind: Job
metadata: {name: j, annotations: {` + annotations + `}}
spec: {backoffLimit: 0, template: {metadata: {annotations: {cluster.test/fail: exit}}, spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/app:1"}]}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: later, annotations: {component-operator.cs.sap.com/apply-order: "1"}}}
`
			s := r.story("c", job)
			s.component.ReadyTimeout = 10 * time.Minute
			_, err := s.apply()
			r.wantError(err, "failed after", "Job.batch/NAMESPACE/j", "the Job failed: BackoffLimitExceeded")
			if r.live("ConfigMap/later") != nil {
				t.Error("the later wave was started")
			}
			uid := r.mustLive("Job.batch/j").GetUID()
			_, err = s.apply()
			r.wantError(err, "the Job failed")
			second := r.mustLive("Job.batch/j").GetUID()
			if second == uid {
				t.Error("the failed Job was not run again")
			}
			s.write(strings.ReplaceAll(job, "{cluster.test/fail: exit}", "{}"))
			s.mustApply()
			if r.mustLive("Job.batch/j").GetUID() == second {
				t.Error("the corrected Job was not run")
			}
		})
	}
}

// A reapply interval never makes a plan non-empty. When an update runs anyway,
// older objects are applied too, and so lose what the refresh did not see.
func TestReapplyInterval(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const three = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: old}, data: {k: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: young, annotations: {component-operator.cs.sap.com/reapply-interval: 24h}}, data: {k: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: changed}, data: {k: VALUE}}
`
	s := r.story("c", strings.ReplaceAll(three, "VALUE", "one"))
	s.mustApply()
	s.engine.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	s.wantNothingToDo()
	r.edit("ConfigMap/old", `{"data": {"k": "by hand"}}`)
	r.edit("ConfigMap/young", `{"data": {"k": "by hand"}}`)
	s.write(strings.ReplaceAll(three, "VALUE", "two"))
	plan, err := s.engine.Plan(t.Context(), s.component, s.prior, PlanOptions{Apply: true})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Action{r.place("ConfigMap/NAMESPACE/old"): Update, r.place("ConfigMap/NAMESPACE/young"): Keep, r.place("ConfigMap/NAMESPACE/changed"): Update}
	if diff := cmp.Diff(want, actions(plan)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.run(t.Context(), plan, nil); err != nil {
		t.Fatal(err)
	}
	r.wantFields(map[string]any{"ConfigMap/old data.k": "1", "ConfigMap/young data.k": "by hand", "ConfigMap/changed data.k": "two"})
	if diff := cmp.Diff([]string{`.data.k: "1" -> "by hand"`}, s.drift("ConfigMap/NAMESPACE/young")); diff != "" {
		t.Error(diff)
	}
}

func TestOnObjectOrComponentChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const two = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: each, annotations: {component-operator.cs.sap.com/reconcile-policy: on-object-or-component-change}}, data: {k: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {k: VALUE}}
`
	s := r.story("c", strings.ReplaceAll(two, "VALUE", "one"))
	s.mustApply()
	// Written means that the time of our last apply changed.
	written := func(do func()) bool {
		before := s.applied("each")
		do()
		return s.applied("each") != before
	}
	if !written(func() {
		s.write(strings.ReplaceAll(two, "VALUE", "two"))
		s.mustApply()
	}) {
		t.Error("a change of the component does not write the object")
	}
	if written(func() {
		r.edit("ConfigMap/other", `{"data": {"k": "by hand"}}`)
		s.mustApply()
	}) {
		t.Error("the healing of another object's drift writes the object, though the component did not change")
	}
	if written(func() { s.mustApply() }) {
		t.Error("an apply of the same component writes the object")
	}
}

// applied is when an object was last applied, as the record has it.
func (s *story) applied(name string) time.Time {
	s.Helper()
	for _, item := range s.record().Inventory {
		if item.ID.Name == name {
			return item.LastApplied
		}
	}
	s.Fatalf("the record does not have %s", name)
	return time.Time{}
}
