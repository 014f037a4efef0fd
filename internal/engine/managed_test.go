package engine

import (
	compare "cmp"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTypePatterns(t *testing.T) {
	t.Parallel()
	for text, test := range map[string]struct {
		matches, others []string
	}{
		"Widget.shop.example":   {matches: []string{"Widget.shop.example"}, others: []string{"Gadget.shop.example", "Widget.example", "Widget"}},
		"*.shop.example":        {matches: []string{"Widget.shop.example", "Gadget.shop.example"}, others: []string{"Widget.more.shop.example"}},
		"Widget.*.example":      {matches: []string{"Widget.shop.example", "Widget.a.b.example"}, others: []string{"Widget.example", "Gadget.shop.example"}},
		"*.*":                   {matches: []string{"Widget.shop.example", "ConfigMap"}},
		"ConfigMap":             {matches: []string{"ConfigMap"}, others: []string{"ConfigMap.example"}},
		"":                      {},
		".example":              {},
		"Widget.":               {},
		"Widget.shop.*":         {},
		"Widget.*shop":          {},
		"W*.shop.example":       {},
		"Widget.shop.*.example": {},
	} {
		pattern, ok := ParseTypePattern(text)
		if want := len(test.matches) > 0; ok != want {
			t.Errorf("%q is a pattern: %v, want %v", text, ok, want)
		}
		for _, gk := range test.matches {
			if !pattern.matches(schema.ParseGroupKind(gk)) {
				t.Errorf("%q does not match %s", text, gk)
			}
		}
		for _, gk := range test.others {
			if pattern.matches(schema.ParseGroupKind(gk)) {
				t.Errorf("%q matches %s", text, gk)
			}
		}
	}
}

const gadgetType = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

func TestAdditionalManagedTypes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("operator", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: zz-operator}}
---
{apiVersion: GROUP/v1, kind: Gadget, metadata: {name: ours, namespace: NAMESPACE}}
`)
	s.component.AdditionalManagedTypes = []string{"*." + r.namespace + ".example"}
	if said := text(s.mustPlan().Warnings); said != "" {
		t.Errorf("the plan of types that the component brings itself says %q", said)
	}
	// The operator makes its CRD when it runs.
	r.wire.onceBefore(func(q request) bool { return q.writes() && strings.HasSuffix(q.path, "/configmaps/zz-operator") }, func() { r.create(gadgetType) })
	s.mustApply()
	written := func(method string) []string {
		var names []string
		for _, request := range r.wire.all(func(q request) bool {
			return q.method == method && !q.dryRun() && (strings.Contains(q.path, "/gadgets/") || strings.Contains(q.path, "/configmaps/"))
		}) {
			name, _, _ := strings.Cut(path.Base(request), "?")
			names = append(names, name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"zz-operator", "ours"}, written(http.MethodPatch)); diff != "" {
		t.Errorf("instances go last: %s", diff)
	}

	r.create("{apiVersion: GROUP/v1, kind: Gadget, metadata: {name: theirs, namespace: NAMESPACE}}")
	r.wantError(s.destroy(), "cannot be deleted yet", "Gadget.GROUP    1 instance: NAMESPACE/theirs", "Nothing was deleted")
	r.mustLive("Gadget.GROUP/NAMESPACE/ours")
	s.component.SkipSafeguards = true
	r.wire.clear()
	s.mustDestroy()
	r.mustLive("Gadget.GROUP/NAMESPACE/theirs")
	if diff := cmp.Diff([]string{"ours", "zz-operator"}, written(http.MethodDelete)); diff != "" {
		t.Errorf("instances go first: %s", diff)
	}
}

// The types of an APIService are managed types: their objects go last, and
// they may not be ordered before it.
func TestTypesOfAnAPIService(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", `
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.GROUP}, spec: {group: GROUP, version: v1, groupPriorityMinimum: 1, versionPriority: 1}}
---
{apiVersion: GROUP/v1, kind: Gadget, metadata: {name: x, annotations: {component-operator.cs.sap.com/apply-order: "-1", component-operator.cs.sap.com/delete-order: "1"}}}
`)
	_, err := s.plan()
	r.wantError(err, "its apply-order -1 is smaller than that of APIService.apiregistration.k8s.io/v1.GROUP", "its delete-order 1 is larger")
	s.write(`
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.GROUP}, spec: {group: GROUP, version: v1, groupPriorityMinimum: 1, versionPriority: 1}}
---
{apiVersion: GROUP/v1, kind: Gadget, metadata: {name: x, namespace: NAMESPACE}}
`)
	plan := s.mustPlan()
	if said := text(plan.Warnings); said != "" {
		t.Errorf("the plan says %q", said)
	}
	waves := applyWaves(plan.Changes)
	if len(waves) != 1 || len(waves[0].stages) != 2 || waves[0].stages[1][0].ID.Kind != "Gadget" {
		t.Errorf("the waves are %+v", waves)
	}
}

// An APIService that serves objects of others is not deleted. The one of a CRD
// that somebody else made stands for any.
func TestForeignObjectsOfAnAPIServiceBlock(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(gadgetType)
	id := "APIService.apiregistration.k8s.io/v1." + r.namespace + ".example"
	r.eventually("the API server serves the type", func() bool { return r.live(id) != nil })
	r.create("{apiVersion: GROUP/v1, kind: Gadget, metadata: {name: theirs, namespace: NAMESPACE}}")
	s := r.story("c", `
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.GROUP}, spec: {group: GROUP, version: v1, groupPriorityMinimum: 1000, versionPriority: 100}}
`)
	s.mustApply()
	r.engine.cluster.ForgetTypes(t.Context())
	r.wire.clear()
	r.wantError(s.destroy(), "cannot be deleted yet", "v1.GROUP    1 instance: Gadget NAMESPACE/theirs", "Nothing was deleted")
	if got := r.wire.all(request.writesObjects); len(got) > 0 {
		t.Errorf("it wrote %v", got)
	}
	r.remove("Gadget.GROUP/NAMESPACE/theirs")
	s.mustDestroy()
}

func TestEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}
---
{apiVersion: v1, kind: Secret, metadata: {name: second, annotations: {component-operator.cs.sap.com/apply-order: "1"}}, stringData: {k: p4ssw0rd}}
`)
	s.mustApply()
	uid := string(r.mustLive("Secret/component.c").GetUID())
	if diff := cmp.Diff([]string{
		"Normal Applying revision 1: 2 to create", "Normal WaveReady wave 1 of 2 (apply-order 0) is ready: 1 object",
		"Normal WaveReady wave 2 of 2 (apply-order 1) is ready: 1 object", "Normal Ready 2 objects",
	}, r.events(uid)); diff != "" {
		t.Error(diff)
	}
	s.write("{apiVersion: v1, kind: Pod, metadata: {name: x, annotations: {cluster.test/fail: not-ready}}, spec: {containers: [{name: x, image: registry.example/app:1}]}}")
	s.component.ReadyTimeout = time.Second
	if _, err := s.apply(); err == nil {
		t.Fatal("it became ready")
	}
	events := r.events(uid)
	if last := events[len(events)-1]; !strings.HasPrefix(last, r.place("Warning ApplyFailed Component NAMESPACE/c is not ready")) {
		t.Errorf("the last event is %q", last)
	}
	s.component.ReadyTimeout = patience
	s.mustDestroy()
	events = r.events(uid)
	if last := events[len(events)-1]; !strings.HasPrefix(last, "Normal Deleting ") {
		t.Errorf("the last event is %q", last)
	}
}

// events are those about an object in their order, without durations.
func (r *rig) events(uid string) []string {
	r.Helper()
	list, err := r.others.List(r.Context(), eventType, r.namespace, "")
	if err != nil {
		r.Fatal(err)
	}
	byVersion := map[string]string{}
	for _, item := range list {
		var event corev1.Event
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &event); err != nil {
			r.Fatal(err)
		}
		if string(event.InvolvedObject.UID) == uid {
			message, _, _ := strings.Cut(event.Message, ", ")
			byVersion[item.GetResourceVersion()] = event.Type + " " + event.Reason + " " + message
		}
	}
	return inOrder(byVersion)
}

// inOrder sorts by the resource versions, which count.
func inOrder(byVersion map[string]string) []string {
	versions := slices.SortedFunc(maps.Keys(byVersion), func(a, b string) int {
		return compare.Or(compare.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	texts := make([]string, len(versions))
	for i, version := range versions {
		texts[i] = byVersion[version]
	}
	return texts
}
