package engine

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// mixture is a component with something of everything: three waves, a type
// and its instance, a workload, values that the server prints differently,
// nulls and empty maps, secrets, and a namespace of its own.
const mixture = `
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE-more, annotations: {component-operator.cs.sap.com/apply-order: "-1", component-operator.cs.sap.com/delete-order: "1"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: first, namespace: NAMESPACE-more, annotations: {component-operator.cs.sap.com/apply-order: "-1"}}
data: {k: v, n: null}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {size: {type: integer}, cpu: {x-kubernetes-int-or-string: true}, tls: {type: object}, template: {type: object, nullable: true}}
---
apiVersion: GROUP/v1
kind: Widget
metadata: {name: w}
spec: {size: 3, cpu: 1000m, tls: {}, template: null}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {user: admin, password: S3cr3t-Zq9!}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, creationTimestamp: null}
spec:
  replicas: 1
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}, creationTimestamp: null}
    spec:
      containers:
      - name: c
        image: registry.example/app:1
        ports: [{containerPort: 80}, {containerPort: 443, protocol: TCP}]
        resources: {limits: {cpu: 1000m, memory: 1.7Gi}, requests: {cpu: "0.5", memory: 1024Mi}}
status: {}
---
apiVersion: v1
kind: Service
metadata: {name: d}
spec: {selector: {app: d}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j, annotations: {component-operator.cs.sap.com/apply-order: "1", component-operator.cs.sap.com/reconcile-policy: once}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: registry.example/app:1}]}}}
`

var mixtureIDs = []string{
	"Namespace/NAMESPACE-more", "ConfigMap/NAMESPACE-more/first", "CustomResourceDefinition.apiextensions.k8s.io/widgets.GROUP",
	"Widget.GROUP/w", "Secret/s", "Deployment.apps/d", "Service/d", "Job.batch/j",
}

func writes(q request) bool { return q.writes() }

func TestPlanChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("mix", mixture)

	r.wire.clear()
	s.mustPlan()
	if got := r.wire.all(writes); len(got) > 0 {
		t.Errorf("the plan of a create writes: %v", got)
	}
	if got := r.live("Secret/component.mix"); got != nil {
		t.Error("the plan of a create leaves a record")
	}

	s.mustApply()
	before := r.versions(append(mixtureIDs, "Secret/component.mix")...)
	r.edit("Deployment.apps/d", `{"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "registry.example/app:2"}]}}}}`)
	r.edit("Secret/s", `{"data": {"password": "aGFja2Vk"}}`)
	r.remove("Service/d")
	s.write(strings.NewReplacer("k: v", "k: w", "size: 3", "size: 4").Replace(mixture))
	edited := r.versions("Deployment.apps/d", "Secret/s")
	maps.Copy(before, edited)
	delete(before, "Service/d")

	r.wire.clear()
	s.mustPlan()
	plan, err := r.engine.Plan(t.Context(), s.component, s.prior, PlanOptions{Apply: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.wire.all(writes); len(got) > 0 {
		t.Errorf("refresh and plan of an update write: %v", got)
	}
	if plan.Planned.Summary == "nothing to change" {
		t.Errorf("the plan sees nothing")
	}
	after := r.versions(slices.Collect(maps.Keys(before))...)
	// The Deployment's status is its controller's.
	delete(before, "Deployment.apps/d")
	delete(after, "Deployment.apps/d")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

func TestApplyDoesWhatThePlanSaysOrFails(t *testing.T) {
	t.Parallel()
	t.Run("what the plan shows is what the cluster gets", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", mixture)
		plan := s.mustPlan()
		if diff := cmp.Diff("8 to create", plan.Planned.Summary); diff != "" {
			t.Error(diff)
		}
		result, err := s.execute(t.Context(), plan.Planned.Objects)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plan.Planned.Objects, result.Objects); diff != "" {
			t.Error(diff)
		}
		r.wantFields(map[string]any{
			"ConfigMap/NAMESPACE-more/first data.k": "v", "Widget.GROUP/w spec.cpu": "1000m", "Widget.GROUP/w spec.tls": map[string]any{},
			"Secret/s data.password": "UzNjcjN0LVpxOSE=", "Service/d metadata.namespace": r.namespace, "Deployment.apps/d spec.replicas": int64(1),
		})
	})

	t.Run("a source that changed after the plan is a stale plan, and nothing is done", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: '1'}}")
		approved := s.mustPlan().Planned.Objects
		s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: '2'}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
		r.wire.clear()
		result, err := s.execute(t.Context(), approved)
		r.wantError(err, "The plan is stale", "ConfigMap/NAMESPACE/other, ConfigMap/NAMESPACE/x", "Nothing was applied")
		if result.Started || len(r.wire.all(writes)) > 0 {
			t.Errorf("started %v, wrote %v", result.Started, r.wire.all(writes))
		}
	})

	t.Run("an object that the new source lacks makes the plan stale too", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
		approved := s.mustPlan().Planned.Objects
		s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}")
		_, err := s.execute(t.Context(), approved)
		r.wantError(err, "The plan is stale", "changed: ConfigMap/NAMESPACE/other (")
	})

	t.Run("a component that somebody else applied after the plan was made", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: '1'}}")
		s.mustApply()
		s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: '2'}}")
		plan, err := r.engine.Plan(t.Context(), s.component, s.prior, PlanOptions{Apply: true})
		if err != nil {
			t.Fatal(err)
		}
		other := *s
		other.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: '3'}}")
		other.mustApply()
		result, err := s.run(t.Context(), plan, plan.Planned.Objects)
		r.wantError(err, "Another run is changing the component", "Nothing was applied")
		if result.Started {
			t.Error("it says that it started")
		}
		r.wantFields(map[string]any{"ConfigMap/x data.k": "3"})
	})

	t.Run("an object that admission refuses only at apply is an error that names it", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAMESPACE}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations: [{expression: "object.metadata.name != 'denied' || (has(request.dryRun) && request.dryRun)", message: not for you}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAMESPACE}
spec: {policyName: NAMESPACE, validationActions: [Deny]}
`)
		probe := r.parse("{apiVersion: v1, kind: ConfigMap, metadata: {name: denied}}")[0]
		r.eventually("the policy is in force", func() bool {
			_, err := r.others.Create(t.Context(), r.typeOf(probe), probe, cluster.Persist)
			if err == nil {
				r.remove("ConfigMap/denied")
			}
			return err != nil && strings.Contains(err.Error(), "not for you")
		})
		s := r.story("c", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: fine}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: denied}}
`)
		result, err := s.apply()
		r.wantError(err, "ConfigMap/NAMESPACE/denied", `files["all.yaml"], document 2`, "not for you")
		wantInventory(t, s, result, "ConfigMap/NAMESPACE/fine")
	})
}

// wantInventory checks that result, record and cluster agree about which
// objects were applied.
func wantInventory(t *testing.T, s *story, result *Result, ids ...string) {
	t.Helper()
	var want []string
	for _, id := range ids {
		want = append(want, s.place(id))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(result.Objects))); diff != "" {
		t.Errorf("what Terraform keeps:\n%s", diff)
	}
	rec := s.record()
	if rec == nil {
		t.Fatal("there is no record")
	}
	var applied []string
	for _, item := range rec.Inventory {
		if item.Planned != "" {
			applied = append(applied, item.Key)
		}
	}
	slices.Sort(applied)
	if diff := cmp.Diff(want, applied); diff != "" {
		t.Errorf("what the record says was applied:\n%s", diff)
	}
	var owned []string
	for id, live := range s.owned(rec) {
		if live.GetDeletionTimestamp() == nil {
			owned = append(owned, id.String())
		}
	}
	slices.Sort(owned)
	if diff := cmp.Diff(want, owned); diff != "" {
		t.Errorf("what the cluster has:\n%s", diff)
	}
}

// record reads the record of the component.
func (s *story) record() *record.Record {
	s.Helper()
	rec, err := record.NewStore(s.others, s.component.Namespace, s.component.Name).Load(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return rec
}

// owned are the live objects that carry the label of the component.
func (s *story) owned(rec *record.Record) liveObjects {
	s.Helper()
	owner, _, err := s.engine.owner(s.Context(), s.component.Namespace, s.component.Name)
	if err != nil {
		s.Fatal(err)
	}
	live, err := s.engine.listOwned(s.Context(), owner, rec.Inventory)
	if err != nil {
		s.Fatal(err)
	}
	return live
}

// threeWaves has an object in wave 2 that the server refuses once it is there
// for real: the name of the Service in it is taken from nowhere at plan.
const threeWaves = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: one, annotations: {component-operator.cs.sap.com/apply-order: "1"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: two, annotations: {component-operator.cs.sap.com/apply-order: "2"}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: two, annotations: {component-operator.cs.sap.com/apply-order: "2"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: three, annotations: {component-operator.cs.sap.com/apply-order: "3"}}}
`

func TestTheInventoryIsTrueAlsoOnError(t *testing.T) {
	t.Parallel()
	t.Run("an error in wave 2", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", threeWaves)
		// Somebody takes the name of an object of wave 2 at the last moment.
		r.wire.onceBefore(writesTo("configmaps/two"), func() {
			r.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {whose: somebody's}}")
		})
		result, err := s.apply()
		r.wantError(err, "Object appeared in between", "ConfigMap/NAMESPACE/two")
		if result.Status != "Error" || s.record().Phase != record.Error {
			t.Errorf("status %s, record %s", result.Status, s.record().Phase)
		}
		wantInventory(t, s, result, "ConfigMap/NAMESPACE/one", "Secret/NAMESPACE/two")
		one := r.mustLive("ConfigMap/one").GetUID()

		r.remove("ConfigMap/two")
		s.mustApply()
		wantInventory(t, s, &Result{Objects: s.prior.Objects}, "ConfigMap/NAMESPACE/one", "ConfigMap/NAMESPACE/two", "Secret/NAMESPACE/two", "ConfigMap/NAMESPACE/three")
		if r.mustLive("ConfigMap/one").GetUID() != one {
			t.Error("what was applied before was made anew")
		}
	})

	t.Run("an update that fails keeps what Terraform knew of the rest", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		const two = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {k: VALUE}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: two, annotations: {component-operator.cs.sap.com/apply-order: "2"}}, data: {k: VALUE}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: three, annotations: {component-operator.cs.sap.com/apply-order: "3"}}, data: {k: VALUE}}
`
		s := r.story("c", strings.ReplaceAll(two, "VALUE", "old"))
		s.mustApply()
		before := maps.Clone(s.prior.Objects)
		s.write(strings.ReplaceAll(two, "VALUE", "new"))
		planned := s.mustPlan().Planned.Objects
		r.wire.onceBefore(writesTo("configmaps/two"), func() {
			r.remove("ConfigMap/two")
			r.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {whose: somebody's}}")
		})
		result, err := s.execute(t.Context(), planned)
		r.wantError(err, "ConfigMap/NAMESPACE/two")
		want := map[string]string{
			r.place("ConfigMap/NAMESPACE/one"): planned[r.place("ConfigMap/NAMESPACE/one")],
			r.place("ConfigMap/NAMESPACE/two"): before[r.place("ConfigMap/NAMESPACE/two")], r.place("ConfigMap/NAMESPACE/three"): before[r.place("ConfigMap/NAMESPACE/three")],
		}
		if diff := cmp.Diff(want, result.Objects); diff != "" {
			t.Error(diff)
		}
		r.wantFields(map[string]any{"ConfigMap/one data.k": "new", "ConfigMap/two data.whose": "somebody's", "ConfigMap/three data.k": "old"})
	})

	t.Run("an object that does not become ready", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", `
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {cluster.test/fail: not-ready}}
spec: {containers: [{name: c, image: registry.example/app:1}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: later, annotations: {component-operator.cs.sap.com/apply-order: "1"}}}
`)
		s.component.ReadyTimeout = 3 * time.Second
		result, err := s.apply()
		r.wantError(err, "is not ready after", "Pod/NAMESPACE/p", "wave 1 of 2", "not started", "container c: running, not ready")
		wantInventory(t, s, result, "Pod/NAMESPACE/p")
		uid := r.mustLive("Pod/p").GetUID()

		r.edit("Pod/p", `{"metadata": {"annotations": {"cluster.test/fail": null}}}`)
		s.component.ReadyTimeout = patience
		s.write(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: later, annotations: {component-operator.cs.sap.com/apply-order: "1"}}}
`)
		s.mustApply()
		wantInventory(t, s, &Result{Objects: s.prior.Objects}, "ConfigMap/NAMESPACE/later")
		if live := r.live("Pod/p"); live != nil && live.GetUID() == uid && live.GetDeletionTimestamp() == nil {
			t.Error("the object that left the component is still there")
		}
	})

	t.Run("a prune that fails keeps what is still there", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: stays}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: goes}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: held}}
`)
		s.mustApply()
		r.edit("ConfigMap/held", `{"metadata": {"finalizers": ["example.org/hold"]}}`)
		s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: stays}}")
		s.component.ReadyTimeout = 2 * time.Second
		result, err := s.apply()
		r.wantError(err, "Object is still terminating", "ConfigMap/NAMESPACE/held", "example.org/hold")
		want := []string{r.place("ConfigMap/NAMESPACE/held"), r.place("ConfigMap/NAMESPACE/stays")}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(result.Objects))); diff != "" {
			t.Error(diff)
		}
		if s.record().Find(object.ID{Kind: "ConfigMap", Namespace: r.namespace, Name: "goes"}) != nil {
			t.Error("the record still has what is gone")
		}
		r.edit("ConfigMap/held", `{"metadata": {"finalizers": null}}`)
		s.component.ReadyTimeout = patience
		s.mustApply()
		wantInventory(t, s, &Result{Objects: s.prior.Objects}, "ConfigMap/NAMESPACE/stays")
	})

	t.Run("an apply that is interrupted says so within a second, and the next one goes on", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {cluster.test/fail: not-ready}}
spec: {containers: [{name: c, image: registry.example/app:1}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: later, annotations: {component-operator.cs.sap.com/apply-order: "1"}}}
`)
		approved := s.mustPlan().Planned.Objects
		ctx, cancel := context.WithCancel(t.Context())
		cancelled := make(chan time.Time, 1)
		go func() {
			defer cancel()
			r.eventuallyQuiet(func() bool {
				pod, _ := r.others.Get(t.Context(), podType, r.namespace, "p")
				return pod != nil
			})
			cancelled <- time.Now()
		}()
		result, err := s.execute(ctx, approved)
		took := time.Since(<-cancelled)
		r.wantError(err, "The operation was interrupted")
		if took > time.Second {
			t.Errorf("it took %v to stop", took)
		}
		if result.Status != "Interrupted" || s.record().Reason != "Interrupted" {
			t.Errorf("status %s, record %s (%s)", result.Status, s.record().Phase, s.record().Reason)
		}
		wantInventory(t, s, result, "ConfigMap/NAMESPACE/first", "Pod/NAMESPACE/p")
		uid := r.mustLive("Pod/p").GetUID()
		plan := s.mustPlan()
		if plan.NothingToDo {
			t.Error("the plan after an interruption is empty")
		}
		r.edit("Pod/p", `{"metadata": {"annotations": {"cluster.test/fail": null}}}`)
		s.mustApplyAgain()
		if r.mustLive("Pod/p").GetUID() != uid {
			t.Error("the pod was made anew")
		}
		wantInventory(t, s, &Result{Objects: s.prior.Objects}, "ConfigMap/NAMESPACE/first", "Pod/NAMESPACE/p", "ConfigMap/NAMESPACE/later")
	})

	t.Run("an interrupted create is resumed by a create that knows nothing", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", threeWaves)
		approved := s.mustPlan().Planned.Objects
		ctx, cancel := context.WithCancel(t.Context())
		r.wire.onceBefore(writesTo("configmaps/two"), cancel)
		result, err := s.execute(ctx, approved)
		r.wantError(err, "The operation was interrupted")
		if result.Status != "Interrupted" {
			t.Errorf("status %s", result.Status)
		}
		one := r.mustLive("ConfigMap/one").GetUID()
		s.prior = nil
		plan := s.mustPlan()
		if got := text(plan.Warnings); !strings.Contains(got, "will be resumed") || !strings.Contains(got, "process") {
			t.Errorf("the plan does not say that it resumes, and after whom:\n%s", got)
		}
		if _, err := s.execute(t.Context(), plan.Planned.Objects); err != nil {
			t.Fatal(err)
		}
		s.wantNothingToDo()
		if r.mustLive("ConfigMap/one").GetUID() != one {
			t.Error("what was applied before was made anew")
		}
	})
}

// eventuallyQuiet waits in a goroutine, where a test cannot fail.
func (r *rig) eventuallyQuiet(condition func() bool) {
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-deadline:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// mustApplyAgain is mustApply for a component whose objects others changed in
// what it applies: the first apply heals that.
func (s *story) mustApplyAgain() {
	s.Helper()
	if _, err := s.apply(); err != nil {
		s.Fatal(err)
	}
}

func TestASecondApplyWritesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("mix", mixture)
	s.mustApply()
	before := r.versions(mixtureIDs...)
	generation := r.mustLive("Deployment.apps/d").GetGeneration()
	r.wire.clear()
	s.mustApply()
	got := slices.DeleteFunc(r.wire.all(writes), func(text string) bool {
		return strings.HasPrefix(text, http.MethodPut) && strings.Contains(text, "/secrets/component.mix")
	})
	if len(got) > 0 {
		t.Errorf("the second apply writes %v", got)
	}
	if got := r.wire.all(request.dryRun); len(got) > 0 {
		t.Errorf("the second apply tries %v", got)
	}
	if diff := cmp.Diff(before, r.versions(mixtureIDs...)); diff != "" {
		t.Error(diff)
	}
	if got := r.mustLive("Deployment.apps/d").GetGeneration(); got != generation {
		t.Errorf("the Deployment is in generation %d, was in %d", got, generation)
	}
	s.mustDestroy()
	for _, id := range []string{"Secret/s", "Deployment.apps/d", "Secret/component.mix", "Namespace/NAMESPACE-more"} {
		if r.live(id) != nil {
			t.Errorf("%s is left after the deletion", id)
		}
	}
}
