package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"k8s.io/client-go/rest"
)

// What no other resource of the run could cure is refused at plan, all of it
// in one go, and nothing is applied.
func TestRefusalsAtPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: fine}}
---
{apiVersion: v1, kind: Service, metadata: {name: typed}, spec: {ports: [{port: "80"}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: invalid}, spec: {ports: [{port: 80, targetPort: "8080"}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: misspelt}, dataa: {a: b}}
---
{apiVersion: apps/v1, kind: Deploymnet, metadata: {name: unknown}}
---
{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: old}}
---
{apiVersion: v1, kind: Secret, metadata: {name: secret}, type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: S3cr3t-Zq9!}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: large}, data: {a: `+strings.Repeat("x", 1_100_000)+`}}
`)
	r.wire.clear()
	_, err := s.plan()
	var got []string
	for _, part := range object.Problems(err) {
		var of *ObjectError
		if !asObjectError(part, &of) {
			t.Errorf("%v names no object", part)
			continue
		}
		got = append(got, of.Title+": "+of.ID.Name)
	}
	slices.Sort(got)
	want := []string{
		"The API server rejects an object: invalid", "The API server rejects an object: large", "The API server rejects an object: misspelt",
		"The API server rejects an object: secret", "The API server rejects an object: typed", "Unknown kind: old", "Unknown kind: unknown",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	r.wantError(err, `files["all.yaml"], document 2`, ".spec.ports", "spec.ports[0].targetPort", "dataa", "Deploymnet", "it serves [v1]", "may not be more than 1048576 bytes")
	if strings.Contains(full(err), "S3cr3t") || strings.Contains(full(err), "UzNjcjN0") {
		t.Errorf("the error quotes a Secret:\n%s", full(err))
	}
	if got := r.wire.all(writes); len(got) > 0 {
		t.Errorf("it wrote %v", got)
	}
	if r.live("ConfigMap/fine") != nil || r.live("Secret/component.c") != nil {
		t.Error("something was applied")
	}
}

// What another resource of the run could cure is a warning at plan.
func TestWarningsAtPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: some}, rules: [{apiGroups: [""], resources: [secrets, configmaps], verbs: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: some}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: some}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: NAMESPACE}]}
`)
	s := r.story("c", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: fine}}
---
{apiVersion: GROUP/v1, kind: Widget, metadata: {name: unserved}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: elsewhere, namespace: NAMESPACE-none}}
---
{apiVersion: v1, kind: Service, metadata: {name: forbidden}, spec: {ports: [{port: 80}]}}
`)
	s.component.MissingNamespaces = DoNotCreateMissingNamespaces
	id, err := r.engine.cluster.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.engine = r.newEngine(Options{}, func(config *rest.Config) { config.Impersonate.UserName = r.namespace })
	s.engine.cluster.UseID(id)
	r.eventually("the right is in force", func() bool {
		_, err := s.engine.store(r.namespace, "c").Load(t.Context())
		return err == nil
	})
	warnings := text(s.mustPlan().Warnings)
	for _, part := range []string{
		"3 objects of component NAMESPACE/c could not be checked",
		"Widget.GROUP/unserved: the cluster does not serve the kind Widget of GROUP/v1",
		"ConfigMap/NAMESPACE-none/elsewhere: ", "Service/NAMESPACE/forbidden: ", "cannot patch resource",
	} {
		if !strings.Contains(warnings, r.place(part)) {
			t.Errorf("the plan does not say %q:\n%s", r.place(part), warnings)
		}
	}
	if strings.Contains(warnings, "ConfigMap/"+r.namespace+"/fine") {
		t.Errorf("the plan warns of what is fine:\n%s", warnings)
	}
}

// Another component of the run brings the type: the apply waits for it.
func TestAKindThatComesLater(t *testing.T) {
	t.Parallel()
	instance := "{apiVersion: GROUP/v1, kind: Widget, metadata: {name: w}, spec: {size: 1}}"
	t.Run("is waited for", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", instance)
		approved := s.mustPlan().Planned.Objects
		created := false
		r.wire.onceBefore(writesTo("secrets/component.c"), func() {
			crd, _, _ := strings.Cut(crdAndInstance, "---")
			r.create(crd)
			created = true
		})
		result, err := s.execute(t.Context(), approved)
		if err != nil {
			t.Fatal(err)
		}
		if !created || result.Status != StatusReady {
			t.Errorf("status %s", result.Status)
		}
		s.wantNothingToDo()
		r.mustLive("Widget.GROUP/w")
		s.mustDestroy()
		if r.live("Widget.GROUP/w") != nil {
			t.Error("it is left after the deletion")
		}
	})
	t.Run("is named when it does not come", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", instance)
		s.component.ReadyTimeout = 2 * time.Second
		_, err := s.apply()
		r.wantError(err, "Unknown kind", "Widget.GROUP/w", "depends_on")
	})
}

// Only the cluster knows that these are the same object.
func TestDuplicatesThatOnlyTheClusterSees(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(gadgetsServed)
	s := r.story("c", `
{apiVersion: GROUP/v1, kind: Gadget, metadata: {name: g}, spec: {size: 1}}
---
{apiVersion: GROUP/v1, kind: Gadget, metadata: {name: g, namespace: NAMESPACE}, spec: {size: 2}}
`)
	r.eventually("the type is served", func() bool {
		r.engine.cluster.ForgetTypes(t.Context())
		_, err := r.engine.cluster.TypeFor(t.Context(), r.gvk("Gadget", "v1"))
		return err == nil
	})
	_, err := s.plan()
	r.wantError(err, "Object occurs twice", "Gadget.GROUP/NAMESPACE/g", "document 1", "document 2")
}

var gadgetsServed = strings.NewReplacer("OLD", "false", "NEW", "true").Replace(gadgets)

// B10: a type and its instance, the instance first, on a cluster that has
// neither.
func TestATypeAndItsInstanceInOneApply(t *testing.T) {
	t.Parallel()
	for range 5 {
		r := newRig(t)
		crd, rest, _ := strings.Cut(crdAndInstance, "---")
		s := r.story("c", rest+"\n---\n"+crd)
		if plan := s.mustPlan(); len(plan.Planned.Objects) != 3 || len(plan.Warnings) > 0 {
			t.Errorf("the plan shows %v and says\n%s", plan.Planned.PlannedKeys(), text(plan.Warnings))
		}
		s.mustApply()
		s.mustDestroy()
	}
}

// B11: a namespace and its content.
func TestANamespaceAndItsContentInOneApply(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NAMESPACE-fresh}, data: {a: b}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: x, namespace: NAMESPACE-fresh}, rules: []}
---
{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-fresh}}
`)
	if plan := s.mustPlan(); len(plan.Planned.Objects) != 3 || len(plan.Warnings) > 0 {
		t.Errorf("the plan shows %v and says\n%s", plan.Planned.PlannedKeys(), text(plan.Warnings))
	}
	s.mustApply()
	s.mustDestroy()
	if r.live("Namespace/NAMESPACE-fresh") != nil {
		t.Error("the namespace is left after the deletion")
	}
}

func TestTheServerIsUnreachableAtPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", twoMaps)
	s.engine = r.newEngine(Options{}, func(config *rest.Config) { config.Host = "https://127.0.0.1:1" })
	start := time.Now()
	_, err := s.plan()
	r.wantError(err, "The cluster cannot be reached", "connection refused", "Nothing was changed")
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v to say so", took)
	}
}

// Without a cluster a plan is made of the manifests alone.
func TestAPlanWithoutACluster(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", mixture)
	online := s.mustPlan()
	s.engine = Offline(Options{})
	offline := s.mustPlan()
	if diff := cmp.Diff(online.Planned.Objects, offline.Planned.Objects); diff != "" {
		t.Errorf("the plan depends on the cluster:\n%s", diff)
	}
}
