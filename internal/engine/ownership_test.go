package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

const twoMaps = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {k: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {k: "1"}}
`

func TestObjectsOfAnotherComponentAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.story("a", twoMaps)
	a.mustApply()
	before := r.versions("ConfigMap/one", "ConfigMap/two")

	b := r.story("b", "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}}\n---"+twoMaps)
	_, err := b.plan()
	r.wantError(err,
		"Object belongs to another component: ConfigMap/NAMESPACE/one", "Object belongs to another component: ConfigMap/NAMESPACE/two",
		"owned by component NAMESPACE/a", `adoption_policy = "Always"`)
	if result, err := b.execute(t.Context(), nil); err == nil || result.Started {
		t.Errorf("the apply of a refused plan: %v, started %v", err, result.Started)
	}
	if r.live("ConfigMap/mine") != nil || r.live("Secret/component.b") != nil {
		t.Error("something was applied although an object was refused")
	}
	if diff := cmp.Diff(before, r.versions("ConfigMap/one", "ConfigMap/two")); diff != "" {
		t.Error(diff)
	}
	a.wantNothingToDo()
}

func TestAnObjectGoesFromOneComponentToAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.story("a", twoMaps)
	a.mustApply()
	uid := r.mustLive("ConfigMap/two").GetUID()

	b := r.story("b", "{apiVersion: v1, kind: ConfigMap, metadata: {name: two, annotations: {component-operator.cs.sap.com/adoption-policy: always}}, data: {k: b}}")
	plan := b.mustPlan()
	warnings := text(plan.Warnings)
	for _, part := range []string{"1 existing object will be adopted", "owned by component NAMESPACE/a", `.data.k: "1" -> "b"`} {
		if !strings.Contains(warnings, r.place(part)) {
			t.Errorf("the plan does not say %q:\n%s", part, warnings)
		}
	}
	b.mustApply()
	if live := r.mustLive("ConfigMap/two"); live.GetUID() != uid {
		t.Error("the object was made anew")
	}

	// The former owner sees that it lost the object, and leaves it alone.
	a.refresh()
	if _, has := a.prior.Objects[r.place("ConfigMap/NAMESPACE/two")]; has {
		t.Error("the former owner still shows the object")
	}
	if _, err := a.plan(); err == nil {
		t.Error("the former owner may take the object back without being told to")
	}
	a.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {k: '1'}}")
	a.mustApply()
	r.wantFields(map[string]any{"ConfigMap/two data.k": "b"})
	if slices.ContainsFunc(a.record().Inventory, func(item record.Item) bool { return item.ID.Name == "two" }) {
		t.Error("the former owner has not forgotten the object")
	}
	a.mustDestroy()
	b.wantNothingToDo()
}

func TestObjectsWithoutAnOwner(t *testing.T) {
	t.Parallel()
	const existing = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: one, labels: {app: web}}, data: {k: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: two, labels: {app: web}}, data: {k: "1"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: done}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: registry.example/app:1}]}}}
`
	ids := []string{"ConfigMap/one", "ConfigMap/two", "Job.batch/done"}
	uids := func(r *rig) map[string]string {
		all := map[string]string{}
		for _, id := range ids {
			all[id] = string(r.mustLive(id).GetUID())
		}
		return all
	}

	t.Run("under never all of them are refused, in one go", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create(existing)
		s := r.story("c", existing)
		s.component.Defaults.Adoption = AdoptNever
		_, err := s.plan()
		r.wantError(err, "Object exists already: ConfigMap/NAMESPACE/one", "Object exists already: ConfigMap/NAMESPACE/two",
			"Object exists already: Job.batch/NAMESPACE/done", `adoption_policy = "IfUnowned"`)
	})

	t.Run("under if-unowned they are adopted as they are, and the plan shows what differs", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create(existing)
		before := uids(r)
		s := r.story("c", strings.Replace(existing, "{name: one, labels: {app: web}}", "{name: one, labels: {app: shop}}", 1))
		plan := s.mustPlan()
		warnings := text(plan.Warnings)
		for _, part := range []string{
			"3 existing objects will be adopted", `.metadata.labels.app: "web" -> "shop"`,
			"ConfigMap/NAMESPACE/two   no owner; fields set by kubectl-edit; no difference",
		} {
			if !strings.Contains(warnings, r.place(part)) {
				t.Errorf("the plan does not say %q:\n%s", part, warnings)
			}
		}
		if strings.Contains(warnings, "last-applied") || strings.Contains(warnings, "resourceVersion") {
			t.Errorf("the plan shows what nobody applies:\n%s", warnings)
		}
		s.mustApply()
		if diff := cmp.Diff(before, uids(r)); diff != "" {
			t.Error(diff)
		}
		r.wantFields(map[string]any{"ConfigMap/one metadata.labels.app": "shop"})
	})

	t.Run("a Secret that is adopted is not printed", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		obj := r.create("{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: plain-visible-pw, same: equal-pw}}")[0]
		r.edit("Secret/s", `{"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"stringData\":{\"password\":\"plain-visible-pw\"}}"}}}`)
		s := r.story("c", "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: other-pw, same: equal-pw}}")
		warnings := text(s.mustPlan().Warnings)
		if !strings.Contains(warnings, ".data.password: (sensitive) -> (sensitive)") || strings.Contains(warnings, ".data.same") {
			t.Errorf("the plan does not show which value changes:\n%s", warnings)
		}
		s.mustApply()
		for _, shown := range append([]string{warnings}, s.prior.Objects[r.place("Secret/NAMESPACE/s")]) {
			for _, secret := range []string{"plain-visible-pw", "other-pw", "equal-pw", "b3RoZXItcHc"} {
				if strings.Contains(shown, secret) {
					t.Errorf("%q is shown:\n%s", secret, shown)
				}
			}
		}
		if r.mustLive("Secret/s").GetUID() != obj.GetUID() {
			t.Error("the Secret was made anew")
		}
	})
}

func TestOwnersThatAreGoneCountAsNone(t *testing.T) {
	t.Parallel()
	t.Run("a component of this cluster whose record is gone", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.story("a", twoMaps).mustApply()
		uid := r.mustLive("ConfigMap/one").GetUID()
		r.remove("Secret/component.a")
		b := r.story("b", twoMaps)
		warnings := text(b.mustPlan().Warnings)
		if !strings.Contains(warnings, r.place("owned by component NAMESPACE/a")) {
			t.Errorf("the plan does not name the former owner:\n%s", warnings)
		}
		b.mustApply()
		if r.mustLive("ConfigMap/one").GetUID() != uid {
			t.Error("the object was made anew")
		}
	})

	t.Run("but not under never", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.story("a", twoMaps).mustApply()
		r.remove("Secret/component.a")
		b := r.story("b", twoMaps)
		b.component.Defaults.Adoption = AdoptNever
		_, err := b.plan()
		r.wantError(err, "Object exists already")
	})

	for name, owner := range map[string]func(r *rig) Owner{
		"the same component in another cluster": func(r *rig) Owner { return ownerOf("another-cluster", r.namespace, "c") },
		"a component in a namespace that does not exist": func(r *rig) Owner {
			return ownerOf("another-cluster", r.namespace+"-none", "c")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			obj := r.create(ownedMap(owner(r)))[0]
			s := r.story("c", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: mine}}")
			if warnings := text(s.mustPlan().Warnings); !strings.Contains(warnings, "owned by component") {
				t.Errorf("the plan does not name the former owner:\n%s", warnings)
			}
			s.mustApply()
			r.wantFields(map[string]any{"ConfigMap/x data.k": "mine", "ConfigMap/x metadata.uid": string(obj.GetUID())})
		})
	}

	t.Run("a component of another cluster under the name of one of this cluster is not that one", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.story("a", twoMaps).mustApply()
		r.create(ownedMap(ownerOf("another-cluster", r.namespace, "a")))
		s := r.story("c", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: mine}}")
		s.mustApply()
	})

	t.Run("an owner of another tool is always respected", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create(ownedMap(Owner{ID: "cop/" + r.namespace + "/x", Hash: "abc"}))
		s := r.story("c", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}")
		_, err := s.plan()
		r.wantError(err, "Object belongs to another component", "owned by cop/NAMESPACE/x")
	})

	t.Run("an owner that only has a label is respected", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {component-operator.cs.sap.com/owner-id: abc}}}")
		s := r.story("c", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}")
		_, err := s.plan()
		r.wantError(err, "another owner (label value abc)")
	})

	t.Run("an object of ours that the record does not have needs no policy", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		owner, _, err := r.engine.owner(t.Context(), r.namespace, "c")
		if err != nil {
			t.Fatal(err)
		}
		obj := r.create(ownedMap(owner))[0]
		s := r.story("c", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: mine}}")
		s.component.Defaults.Adoption = AdoptNever
		s.mustApply()
		r.wantFields(map[string]any{"ConfigMap/x data.k": "mine", "ConfigMap/x metadata.uid": string(obj.GetUID())})
	})
}

// ownedMap is a ConfigMap x that an owner applied.
func ownedMap(owner Owner) string {
	return `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {component-operator.cs.sap.com/owner-id: ` + owner.Hash +
		`}, annotations: {component-operator.cs.sap.com/owner-id: ` + owner.ID + `}}}`
}

// An object that lost our label is no longer ours, and the plan says that it
// would be adopted again.
func TestAnObjectThatLostItsLabelIsAdoptedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", twoMaps)
	s.mustApply()
	r.edit("ConfigMap/one", `{"metadata": {"labels": null}}`)
	plan := s.mustPlan()
	if diff := cmp.Diff(Adopt, actions(plan)[r.place("ConfigMap/NAMESPACE/one")]); diff != "" {
		t.Error(diff)
	}
	s.mustApply()
}

func TestFieldsOfFormerToolsAreTakenOverAtAdoption(t *testing.T) {
	t.Parallel()
	const manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: ours}}"
	for name, c := range map[string]struct {
		manager string
		want    any
	}{
		"those of a known former tool go":  {"helm", nil},
		"those of any other manager stay":  {"some-controller", "theirs"},
		"those of kubectl go, too":         {"kubectl-client-side-apply", nil},
		"also when the tool's name varies": {"Terraform", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: theirs}}")
			r.editAs(c.manager, "ConfigMap/x", `{"data": {"extra": "theirs"}}`)
			s := r.story("c", manifest)
			warnings := text(s.mustPlan().Warnings)
			if shown := strings.Contains(warnings, `.data.extra: "theirs"`); shown != (c.want == nil) {
				t.Errorf("the plan shows what goes: %v\n%s", shown, warnings)
			}
			s.mustApply()
			r.wantFields(map[string]any{"ConfigMap/x data.k": "ours", "ConfigMap/x data.extra": c.want})
		})
	}

	t.Run("those that a former tool applied go, too", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.apply("kustomize-controller", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: theirs, extra: theirs}}")
		r.apply("other-tool", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {other: theirs}}")
		s := r.story("c", manifest)
		if warnings := text(s.mustPlan().Warnings); !strings.Contains(warnings, `.data.extra: "theirs"`) || strings.Contains(warnings, ".data.other") {
			t.Errorf("the plan shows another thing than what goes:\n%s", warnings)
		}
		s.mustApply()
		r.wantFields(map[string]any{"ConfigMap/x data.k": "ours", "ConfigMap/x data.extra": nil, "ConfigMap/x data.other": "theirs"})
	})

	t.Run("what helm adds after the adoption stays", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: theirs}}")
		s := r.story("c", manifest)
		s.mustApply()
		r.editAs("helm", "ConfigMap/x", `{"data": {"extra": "theirs"}}`)
		s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: changed}}")
		s.mustApply()
		r.wantFields(map[string]any{"ConfigMap/x data.k": "changed", "ConfigMap/x data.extra": "theirs"})
	})
}
