package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubewave/terraform-provider-component/internal/engine/status"
)

// annotated is an object with annotations of the default prefix.
func annotated(gvk schema.GroupVersionKind, annotations map[string]string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(gvk)
	obj.SetName("x")
	all := map[string]string{}
	for name, value := range annotations {
		all[DefaultAnnotationPrefix+"/"+name] = value
	}
	obj.SetAnnotations(all)
	return obj
}

var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func componentDefaults() Defaults {
	return Defaults{Adoption: AdoptIfUnowned, Update: UpdateSSAOverride, Delete: DeleteDelete, ReapplyInterval: time.Hour}
}

func TestPolicyAnnotationsInEverySpelling(t *testing.T) {
	for annotation, values := range map[string]map[string]string{
		"adoption-policy": {
			"if-unowned": "IfUnowned", "ifUnowned": "IfUnowned", "IfUnowned": "IfUnowned",
			"never": "Never", "Never": "Never", "always": "Always", "Always": "Always",
		},
		"reconcile-policy": {
			"on-object-change": "OnObjectChange", "onObjectChange": "OnObjectChange", "OnObjectChange": "OnObjectChange",
			"on-object-or-component-change": "OnObjectOrComponentChange", "onObjectOrComponentChange": "OnObjectOrComponentChange",
			"OnObjectOrComponentChange": "OnObjectOrComponentChange", "once": "Once", "Once": "Once",
		},
		"update-policy": {
			"ssa-override": "SsaOverride", "ssaOverride": "SsaOverride", "SsaOverride": "SsaOverride",
			"ssa-merge": "SsaMerge", "ssaMerge": "SsaMerge", "SsaMerge": "SsaMerge",
			"replace": "Replace", "Replace": "Replace", "recreate": "Recreate", "Recreate": "Recreate",
		},
		"delete-policy": {
			"delete": "Delete", "Delete": "Delete", "orphan": "Orphan", "Orphan": "Orphan",
			"orphan-on-apply": "OrphanOnApply", "orphanOnApply": "OrphanOnApply", "OrphanOnApply": "OrphanOnApply",
			"orphan-on-delete": "OrphanOnDelete", "orphanOnDelete": "OrphanOnDelete", "OrphanOnDelete": "OrphanOnDelete",
		},
	} {
		for spelt, want := range values {
			t.Run(annotation+": "+spelt, func(t *testing.T) {
				// Defaults that no case has as its value.
				p, problems := policiesOf(annotated(configMapKind, map[string]string{annotation: spelt}), DefaultAnnotationPrefix, Defaults{})
				got := map[string]string{
					"adoption-policy": string(p.Adoption), "reconcile-policy": string(p.Reconcile),
					"update-policy": string(p.Update), "delete-policy": string(p.Delete),
				}[annotation]
				if len(problems) > 0 || got != want {
					t.Errorf("got %q (%v), want %q", got, problems, want)
				}
			})
		}
	}
}

func TestOtherAnnotations(t *testing.T) {
	obj := annotated(configMapKind, map[string]string{
		"apply-order": "-32768", "delete-order": "32767", "purge-order": "0", "reapply-interval": "1h30m",
		"status-hint": "has-observed-generation, hasReadyCondition,conditions=A;B", "delete-policy": "delete",
	})
	got, problems := policiesOf(obj, DefaultAnnotationPrefix, componentDefaults())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	purge := 0
	want := Policies{
		Adoption: AdoptIfUnowned, Reconcile: ReconcileOnObjectChange, Update: UpdateSSAOverride, Delete: DeleteDelete, DeleteExplicit: true,
		ApplyOrder: -32768, DeleteOrder: 32767, PurgeOrder: &purge, ReapplyInterval: 90 * time.Minute,
		Hints: status.Hints{HasObservedGeneration: true, HasReadyCondition: true, Conditions: []string{"A", "B"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPoliciesDefaultToThoseOfTheComponent(t *testing.T) {
	defaults := Defaults{Adoption: AdoptAlways, Update: UpdateReplace, Delete: DeleteOrphan, ReapplyInterval: 5 * time.Minute}
	got, problems := policiesOf(annotated(configMapKind, nil), DefaultAnnotationPrefix, defaults)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := Policies{
		Adoption: AdoptAlways, Reconcile: ReconcileOnObjectChange, Update: UpdateReplace, Delete: DeleteOrphan, ReapplyInterval: 5 * time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnnotationsOfAnotherPrefixAreNotOurs(t *testing.T) {
	obj := annotated(configMapKind, map[string]string{"adoption-policy": "nonsense"})
	got, problems := policiesOf(obj, "example.org", componentDefaults())
	if len(problems) > 0 || got.Adoption != AdoptIfUnowned {
		t.Errorf("got %v (%v)", got.Adoption, problems)
	}
	obj.SetAnnotations(map[string]string{"example.org/adoption-policy": "never"})
	if got, _ := policiesOf(obj, "example.org", componentDefaults()); got.Adoption != AdoptNever {
		t.Errorf("got %v, want %v", got.Adoption, AdoptNever)
	}
}

func TestEveryBadAnnotationIsReported(t *testing.T) {
	obj := annotated(configMapKind, map[string]string{
		"adoption-policy": "sometimes", "reconcile-policy": "", "update-policy": "SSA-override", "delete-policy": "keep",
		"apply-order": "32768", "delete-order": "1.5", "purge-order": "last", "reapply-interval": "-1m",
		"status-hint": "has-ready-condition,has-unready-condition",
	})
	_, problems := policiesOf(obj, DefaultAnnotationPrefix, componentDefaults())
	var got []string
	for _, problem := range problems {
		got = append(got, strings.TrimPrefix(problem.Error(), DefaultAnnotationPrefix+"/"))
	}
	want := []string{
		`adoption-policy: "sometimes" is not one of if-unowned, never, always`,
		`reconcile-policy: "" is not one of on-object-change, on-object-or-component-change, once`,
		`update-policy: "SSA-override" is not one of ssa-override, ssa-merge, replace, recreate`,
		`delete-policy: "keep" is not one of delete, orphan, orphan-on-apply, orphan-on-delete`,
		`reapply-interval: "-1m" is not a positive duration such as 10m or 1h30m`,
		`apply-order: "32768" is not a whole number from -32768 to 32767`,
		`delete-order: "1.5" is not a whole number from -32768 to 32767`,
		`purge-order: "last" is not a whole number from -32768 to 32767`,
		`status-hint: "has-unready-condition" is not one of has-observed-generation, has-ready-condition, conditions=A;B`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever the component says, what lives in these kinds is lost only when
// their own annotation asks for it.
func TestRecreateReachesWhatHoldsOthersOnlyByAnnotation(t *testing.T) {
	kinds := []schema.GroupVersionKind{
		{Version: "v1", Kind: "Namespace"}, {Version: "v1", Kind: "PersistentVolume"}, {Version: "v1", Kind: "PersistentVolumeClaim"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "batch", Version: "v1", Kind: "Job"}, configMapKind,
	}
	var rows []string
	for _, kind := range kinds {
		rows = append(rows, kind.Kind)
	}
	got := grid("kind", rows, []string{"component says Recreate", "component says Replace", "annotation says recreate"},
		func(row, column int) string {
			defaults, annotations := componentDefaults(), map[string]string{}
			switch column {
			case 0:
				defaults.Update = UpdateRecreate
			case 1:
				defaults.Update = UpdateReplace
			case 2:
				annotations["update-policy"] = "recreate"
			}
			p, problems := policiesOf(annotated(kinds[row], annotations), DefaultAnnotationPrefix, defaults)
			if len(problems) > 0 {
				t.Error(problems)
			}
			return string(p.Update)
		})
	want := lines(`
		kind | component says Recreate | component says Replace | annotation says recreate
		Namespace | SsaOverride | Replace | Recreate
		PersistentVolume | SsaOverride | Replace | Recreate
		PersistentVolumeClaim | SsaOverride | Replace | Recreate
		CustomResourceDefinition | SsaOverride | Replace | Recreate
		Job | Recreate | Replace | Recreate
		ConfigMap | Recreate | Replace | Recreate
	`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
