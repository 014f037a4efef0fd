package engine

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// deletions are the DELETE requests so far, by the end of their path.
func (r *rig) deletions() []string {
	var names []string
	for _, text := range r.wire.all(func(q request) bool { return q.method == http.MethodDelete }) {
		path, _, _ := strings.Cut(text, "?")
		parts := strings.Split(path, "/")
		names = append(names, placed(r, []string{strings.Join(parts[len(parts)-2:], "/")})...)
	}
	return names
}

// together sorts runs of names: what is deleted in parallel has no order.
func together(names []string, runs ...int) []string {
	at := 0
	for _, n := range runs {
		slices.Sort(names[min(at, len(names)):min(at+n, len(names))])
		at += n
	}
	return names
}

func TestDeletionGoesInWaves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", mixture)
	s.mustApply()
	r.wire.clear()
	s.mustDestroy()
	want := []string{
		"widgets/w",
		"configmaps/first", "customresourcedefinitions/widgets.GROUP", "deployments/d", "jobs/j", "secrets/s", "services/d",
		"namespaces/NAMESPACE-more",
		"secrets/component.c",
	}
	if diff := cmp.Diff(want, together(r.deletions(), 1, 6, 1, 1)); diff != "" {
		t.Error(diff)
	}
}

// B15 (b): what an instance needs to go stays until it is gone.
func TestAWaveOfADeletionWaitsForTheOneBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: first, annotations: {component-operator.cs.sap.com/delete-order: "-1"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: second}}
`)
	s.mustApply()
	r.edit("ConfigMap/first", `{"metadata": {"finalizers": ["example.org/hold"]}}`)
	s.component.ReadyTimeout = 2 * time.Second
	err := s.destroy()
	r.wantError(err, "Object is still terminating", "ConfigMap/NAMESPACE/first", "example.org/hold")
	if live := r.mustLive("ConfigMap/second"); live.GetDeletionTimestamp() != nil {
		t.Error("the second wave was started")
	}
	if r.live("Secret/component.c") == nil {
		t.Error("the record is gone although objects are there")
	}
	r.edit("ConfigMap/first", `{"metadata": {"finalizers": null}}`)
	s.component.ReadyTimeout = patience
	s.mustDestroy()
	if r.live("ConfigMap/second") != nil || r.live("Secret/component.c") != nil {
		t.Error("something is left")
	}
}

// B17: a deletion has ended when the objects are gone.
func TestADeletionWaitsForFinalizers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", twoMaps)
	s.mustApply()
	r.edit("ConfigMap/one", `{"metadata": {"finalizers": ["example.org/hold"]}}`)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.eventuallyQuiet(func() bool {
			return len(r.wire.all(func(q request) bool { return strings.Contains(q.query, "watch=true") })) > 0
		})
		r.edit("ConfigMap/one", `{"metadata": {"finalizers": null}}`)
	}()
	s.mustDestroy()
	<-done
	if r.live("ConfigMap/one") != nil {
		t.Error("it is still there")
	}
}

func TestPruneAfterEverythingIsReady(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const all = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: stays}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: early, annotations: {component-operator.cs.sap.com/delete-order: "-1"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: late, annotations: {component-operator.cs.sap.com/delete-order: "5"}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: between}}
`
	s := r.story("c", all)
	s.mustApply()
	s.write(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: stays}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {cluster.test/fail: not-ready}}
spec: {containers: [{name: c, image: registry.example/app:1}]}
`)
	if diff := cmp.Diff("1 to create, 3 to delete", s.mustPlan().Planned.Summary); diff != "" {
		t.Error(diff)
	}
	s.component.ReadyTimeout = 2 * time.Second
	if _, err := s.apply(); err == nil {
		t.Fatal("the pod is ready")
	}
	for _, id := range []string{"ConfigMap/early", "ConfigMap/late", "Secret/between"} {
		if r.live(id) == nil {
			t.Errorf("%s was pruned although the component was not ready", id)
		}
	}
	s.component.ReadyTimeout = patience
	s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: stays}}")
	r.wire.clear()
	s.mustApply()
	want := []string{"configmaps/early", "pods/p", "secrets/between", "configmaps/late"}
	if diff := cmp.Diff(want, together(r.deletions(), 1, 2, 1)); diff != "" {
		t.Error(diff)
	}
}

func TestDeletePoliciesOnTheCluster(t *testing.T) {
	t.Parallel()
	const each = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: delete, annotations: {component-operator.cs.sap.com/delete-policy: delete}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, annotations: {component-operator.cs.sap.com/delete-policy: orphan}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan-on-apply, annotations: {component-operator.cs.sap.com/delete-policy: orphan-on-apply}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan-on-delete, annotations: {component-operator.cs.sap.com/delete-policy: orphan-on-delete}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: default}}
`
	ids := []string{"delete", "orphan", "orphan-on-apply", "orphan-on-delete", "default"}
	left := func(r *rig) []string {
		var names []string
		for _, name := range ids {
			if r.live("ConfigMap/"+name) != nil {
				names = append(names, name)
			}
		}
		return names
	}
	t.Run("pruned by an apply", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", each)
		s.mustApply()
		s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
		s.mustApply()
		if diff := cmp.Diff([]string{"orphan", "orphan-on-apply"}, left(r)); diff != "" {
			t.Error(diff)
		}
		// What was orphaned is not in the inventory any more.
		s.mustDestroy()
		if diff := cmp.Diff([]string{"orphan", "orphan-on-apply"}, left(r)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("deleted with the component", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", each)
		s.mustApply()
		s.mustDestroy()
		if diff := cmp.Diff([]string{"orphan", "orphan-on-delete"}, left(r)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("under a component default, recorded when the object was last applied", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", each)
		s.component.Defaults.Delete = DeleteOrphan
		s.mustApply()
		s.mustDestroy()
		if diff := cmp.Diff([]string{"orphan", "orphan-on-delete", "default"}, left(r)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestObjectsThatChangedOwnerAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, relabel := range map[string]string{
		"no label any more": `{"metadata": {"labels": {"component-operator.cs.sap.com/owner-id": null}}}`,
		"another label":     `{"metadata": {"labels": {"component-operator.cs.sap.com/owner-id": "theirs"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := r.story("c", "{apiVersion: v1, kind: ConfigMap, metadata: {name: pruned}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: deleted}}")
			s.mustApply()
			r.edit("ConfigMap/pruned", relabel)
			r.edit("ConfigMap/deleted", relabel)
			s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: deleted, annotations: {component-operator.cs.sap.com/adoption-policy: never}}}")
			s.refresh()
			if err := s.destroy(); err != nil {
				t.Fatal(err)
			}
			r.mustLive("ConfigMap/pruned")
			r.mustLive("ConfigMap/deleted")
		})
	}

	t.Run("one that somebody makes anew while it is deleted", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", twoMaps)
		s.mustApply()
		r.wire.onceBefore(func(q request) bool { return q.method == http.MethodDelete && strings.HasSuffix(q.path, "/one") }, func() {
			r.remove("ConfigMap/one")
			r.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {whose: theirs}}")
		})
		s.mustDestroy()
		r.wantFields(map[string]any{"ConfigMap/one data.whose": "theirs"})
	})
}

const crdAndInstance = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
{apiVersion: GROUP/v1, kind: Widget, metadata: {name: ours}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}
`

func TestForeignInstancesBlock(t *testing.T) {
	t.Parallel()
	foreign := func(r *rig, n int) {
		for i := range n {
			r.create(fmt.Sprintf("{apiVersion: GROUP/v1, kind: Widget, metadata: {name: theirs-%02d}}", i))
		}
	}
	t.Run("the deletion of the component, and nothing is touched", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", crdAndInstance)
		s.mustApply()
		foreign(r, 12)
		r.wire.clear()
		err := s.destroy()
		r.wantError(err, "Component NAMESPACE/c cannot be deleted yet", "CustomResourceDefinition.apiextensions.k8s.io/widgets.GROUP", "12 instances",
			"NAMESPACE/theirs-00", "NAMESPACE/theirs-09", "and 2 more", "Nothing was deleted")
		if strings.Contains(full(err), "ours") || strings.Contains(full(err), "theirs-10") {
			t.Errorf("it names too much:\n%s", full(err))
		}
		if got := r.wire.all(request.writesObjects); len(got) > 0 {
			t.Errorf("it wrote %v", got)
		}
		for i := range 12 {
			r.remove(fmt.Sprintf("Widget.GROUP/theirs-%02d", i))
		}
		s.mustDestroy()
	})

	t.Run("the prune of the type, at plan", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", crdAndInstance)
		s.mustApply()
		foreign(r, 1)
		s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}")
		_, err := s.plan()
		r.wantError(err, "Objects of component NAMESPACE/c cannot be removed yet", "1 instance", "NAMESPACE/theirs-00")
		r.mustLive("Widget.GROUP/ours")
		r.remove("Widget.GROUP/theirs-00")
		s.mustApply()
	})

	t.Run("the deletion of the type itself, when one comes in between", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", crdAndInstance)
		s.mustApply()
		r.wire.onceBefore(func(q request) bool {
			return q.method == http.MethodDelete && strings.HasSuffix(q.path, "/widgets/ours")
		}, func() { foreign(r, 1) })
		err := s.destroy()
		r.wantError(err, "CustomResourceDefinition.apiextensions.k8s.io/widgets.GROUP", "NAMESPACE/theirs-00")
		r.mustLive("Widget.GROUP/theirs-00")
		r.remove("Widget.GROUP/theirs-00")
		s.mustDestroy()
	})

	t.Run("not when the type itself is orphaned", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", strings.Replace(crdAndInstance, "{name: widgets.GROUP}", "{name: widgets.GROUP, annotations: {component-operator.cs.sap.com/delete-policy: orphan}}", 1))
		s.mustApply()
		foreign(r, 1)
		s.mustDestroy()
		if r.live("Widget.GROUP/ours") != nil {
			t.Error("the instance of the component is left")
		}
		r.mustLive("Widget.GROUP/theirs-00")
		r.remove("CustomResourceDefinition.apiextensions.k8s.io/widgets.GROUP")
	})
}

// A type or namespace does not go while something of the component itself
// stays in it.
func TestWhatStaysKeepsWhatItLivesIn(t *testing.T) {
	t.Parallel()
	t.Run("an instance its type", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", crdAndInstance)
		s.mustApply()
		s.write("{apiVersion: GROUP/v1, kind: Widget, metadata: {name: ours, namespace: NAMESPACE}}")
		_, err := s.plan()
		r.wantError(err, "cannot be removed yet", "CustomResourceDefinition.apiextensions.k8s.io/widgets.GROUP", "NAMESPACE/ours")
		if _, err := s.execute(t.Context(), nil); err == nil {
			t.Error("it was applied")
		}
		r.mustLive("Widget.GROUP/ours")
	})
	t.Run("an object its Namespace", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", `
{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-more}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NAMESPACE-more}}
`)
		s.mustApply()
		s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NAMESPACE-more}}")
		_, err := s.plan()
		r.wantError(err, "cannot be removed yet", "Namespace/NAMESPACE-more", "ConfigMap/x")
		r.mustLive("ConfigMap/NAMESPACE-more/x")
		s.mustDestroy()
	})
}

func TestNamespacesOfOthersBlock(t *testing.T) {
	t.Parallel()
	const withNamespace = `
{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-more}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NAMESPACE-more}}
`
	t.Run("an object that nobody of the component made", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", withNamespace)
		s.mustApply()
		r.create("{apiVersion: v1, kind: Secret, metadata: {name: theirs, namespace: NAMESPACE-more}}")
		r.wire.clear()
		err := s.destroy()
		r.wantError(err, "Namespace/NAMESPACE-more", "Secret/theirs", "Nothing was deleted")
		if got := r.wire.all(request.writesObjects); len(got) > 0 {
			t.Errorf("it wrote %v", got)
		}
		r.remove("Secret/NAMESPACE-more/theirs")
		s.mustDestroy()
		r.eventually("the namespace is gone", func() bool { return r.live("Namespace/NAMESPACE-more") == nil })
	})

	t.Run("another component's record", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", withNamespace)
		s.mustApply()
		other := r.story("other", "{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: NAMESPACE}}")
		other.component.Namespace = r.namespace + "-more"
		other.mustApply()
		err := s.destroy()
		r.wantError(err, "Namespace/NAMESPACE-more", "Secret/component.other")
		other.mustDestroy()
		s.mustDestroy()
	})

	t.Run("not what Kubernetes and controllers make themselves", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", withNamespace+`
---
`+strings.Replace(strings.ReplaceAll(deployed, "POLICY", "ssa-override"), "{name: d,", "{name: d, namespace: NAMESPACE-more,", 1)+`
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: NAMESPACE-more}, spec: {selector: {app: d}, ports: [{port: 80}]}}
`)
		s.mustApply()
		r.eventually("the endpoints are there", func() bool { return r.live("Endpoints/NAMESPACE-more/s") != nil })
		s.mustDestroy()
	})

	t.Run("the prune of a Namespace, too", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", withNamespace+"\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
		s.mustApply()
		r.create("{apiVersion: v1, kind: Secret, metadata: {name: theirs, namespace: NAMESPACE-more}}")
		s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
		_, err := s.plan()
		r.wantError(err, "cannot be removed yet", "Secret/theirs")
		r.mustLive("ConfigMap/NAMESPACE-more/x")
		r.remove("Secret/NAMESPACE-more/theirs")
		s.mustApply()
	})
}

// A safeguard that may not look refuses.
func TestASafeguardWithoutRightsRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", crdAndInstance)
	s.mustApply()
	r.create(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: NAMESPACE}, rules: [{apiGroups: [""], resources: [secrets, configmaps, namespaces], verbs: ["*"]}, {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: ["*"]}, {apiGroups: [GROUP], resources: [widgets], verbs: [get, patch, delete]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: NAMESPACE}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAMESPACE}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: NAMESPACE}]}
`)
	s.engine = r.newEngine(Options{}, func(config *rest.Config) { config.Impersonate.UserName = r.namespace })
	r.eventually("the right is in force", func() bool {
		_, err := s.engine.cluster.ID(t.Context())
		return err == nil
	})
	err := s.destroy()
	r.wantError(err, "A right is missing", "cannot list resource", "widgets", "Nothing was deleted")
	r.mustLive("Widget.GROUP/ours")
	s.engine = r.engine
	s.mustDestroy()
}

func TestAdoptedNamespaces(t *testing.T) {
	t.Parallel()
	manifest := func(annotations string) string {
		return "{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-more, annotations: {" + annotations + "}}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NAMESPACE-more}}"
	}
	t.Run("are kept (B40)", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create("{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-more}}")
		r.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: foreign, namespace: NAMESPACE-more}}")
		s := r.story("c", manifest(""))
		s.mustApply()
		s.mustDestroy()
		if live := r.mustLive("Namespace/NAMESPACE-more"); live.GetDeletionTimestamp() != nil {
			t.Error("the namespace is being deleted")
		}
		r.mustLive("ConfigMap/NAMESPACE-more/foreign")
		if r.live("ConfigMap/NAMESPACE-more/x") != nil {
			t.Error("the object of the component is left in it")
		}
	})
	t.Run("go when their own annotation says so", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create("{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-more}}")
		s := r.story("c", manifest("component-operator.cs.sap.com/delete-policy: delete"))
		s.mustApply()
		s.mustDestroy()
		r.eventually("the namespace is gone", func() bool { return r.live("Namespace/NAMESPACE-more") == nil })
	})
	t.Run("that were deleted and created by the component are its own", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create("{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-more}}")
		s := r.story("c", manifest(""))
		s.mustApply()
		r.remove("Namespace/NAMESPACE-more")
		r.eventually("the namespace is gone", func() bool { return r.live("Namespace/NAMESPACE-more") == nil })
		s.mustApply()
		s.mustDestroy()
		r.eventually("the namespace is gone", func() bool { return r.live("Namespace/NAMESPACE-more") == nil })
	})
}

// The namespace of the record goes last, after the record.
func TestAComponentInItsOwnNamespace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", "{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-home}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}")
	s.component.Namespace = r.namespace + "-home"
	s.mustApply()
	if owner := r.mustLive("Namespace/NAMESPACE-home").GetLabels()["component-operator.cs.sap.com/owner-id"]; owner == "" {
		t.Error("the namespace is not the component's")
	}
	r.wire.clear()
	s.mustDestroy()
	if diff := cmp.Diff([]string{"configmaps/x", "secrets/component.c", "namespaces/NAMESPACE-home"}, r.deletions()); diff != "" {
		t.Error(diff)
	}
}

// Namespaces that objects only name are made, and stay.
func TestMissingNamespaces(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NAMESPACE-more}}")
	r.leaves(r.named("Namespace/NAMESPACE-more"))
	s.component.MissingNamespaces = DoNotCreateMissingNamespaces
	if warnings := text(s.mustPlan().Warnings); !strings.Contains(warnings, r.place(`namespace "NAMESPACE-more" does not exist`)) {
		t.Errorf("the plan does not name the namespace:\n%s", warnings)
	}
	_, err := s.apply()
	r.wantError(err, "Namespace is missing", `namespace "NAMESPACE-more" does not exist`)

	s.component.MissingNamespaces = CreateMissingNamespaces
	if warnings := text(s.mustPlan().Warnings); strings.Contains(warnings, "does not exist") {
		t.Errorf("the plan warns of what the apply creates:\n%s", warnings)
	}
	s.mustApply()
	if owner := r.mustLive("Namespace/NAMESPACE-more").GetLabels()["component-operator.cs.sap.com/owner-id"]; owner != "" {
		t.Error("the namespace is the component's")
	}
	s.mustDestroy()
	r.mustLive("Namespace/NAMESPACE-more")
}

// B15 (c): a type that somebody pulled is gone, with its instances.
func TestATypeThatIsGoneIsNoObstacle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", crdAndInstance)
	s.mustApply()
	r.remove("CustomResourceDefinition.apiextensions.k8s.io/widgets.GROUP")
	s.engine = r.newEngine(Options{}, nil)
	r.eventually("the type is gone", func() bool {
		s.engine.cluster.ForgetTypes(t.Context())
		_, err := s.engine.cluster.TypeFor(t.Context(), r.gvk("Widget", "v1"))
		return err != nil
	})
	if diff := cmp.Diff("2 to create", s.mustPlan().Planned.Summary); diff != "" {
		t.Error(diff)
	}
	s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}")
	s.mustApply()
	s.mustDestroy()
}

// DESIGN.md: a deletion that cannot be explained deletes nothing.
func TestDeletionsThatAreNotOurs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", twoMaps)
	s.mustApply()
	before := r.versions("ConfigMap/one", "ConfigMap/two", "Secret/component.c")

	other := *s.prior
	other.Memory.Instance = "another"
	warnings, err := r.engine.Delete(t.Context(), Deletion{Identity: s.identity(), Prior: other, Timeout: patience})
	if err != nil || !strings.Contains(text(warnings), "its objects stay") {
		t.Errorf("another instance: got %v, %s", err, text(warnings))
	}
	nobody := *s.prior
	nobody.Memory = Memory{}
	_, err = r.engine.Delete(t.Context(), Deletion{Identity: s.identity(), Prior: nobody, Timeout: patience})
	r.wantError(err, "The component cannot be deleted", "terraform state rm")
	if diff := cmp.Diff(before, r.versions("ConfigMap/one", "ConfigMap/two", "Secret/component.c")); diff != "" {
		t.Error(diff)
	}
}

func TestAnInterruptedDeletionGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", twoMaps)
	s.mustApply()
	r.edit("ConfigMap/one", `{"metadata": {"finalizers": ["example.org/hold"]}}`)
	ctx, cancel := context.WithCancel(t.Context())
	var at time.Time
	r.wire.onceBefore(func(q request) bool { return strings.Contains(q.query, "watch=true") }, func() {
		at = time.Now()
		cancel()
	})
	_, err := r.engine.Delete(ctx, Deletion{Identity: s.identity(), Prior: *s.prior, Timeout: patience})
	r.wantError(err, "The operation was interrupted")
	if took := time.Since(at); took > time.Second {
		t.Errorf("it took %v to stop", took)
	}
	r.edit("ConfigMap/one", `{"metadata": {"finalizers": null}}`)
	s.mustDestroy()
	if r.live("ConfigMap/one") != nil || r.live("Secret/component.c") != nil {
		t.Error("something is left")
	}
}
