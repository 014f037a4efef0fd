package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// drift is what a refresh shows of an object that the plan did not show: one
// line a field, what was applied against what is there.
func (s *story) drift(id string) []string {
	s.Helper()
	key := s.place(id)
	applied, err := object.DecodeCanonical(s.prior.Objects[key])
	if err != nil {
		s.Fatal(err)
	}
	s.refresh()
	if s.prior.Objects[key] == "" {
		return []string{"gone"}
	}
	shown, err := object.DecodeCanonical(s.prior.Objects[key])
	if err != nil {
		s.Fatal(err)
	}
	return changes("", applied, shown)
}

// changes lists the fields in which two objects differ. Lists of the same
// length are compared item by item.
func changes(path string, before, after any) []string {
	switch old := before.(type) {
	case map[string]any:
		young, ok := after.(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(old)
		maps.Copy(keys, young)
		var found []string
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			was, had := old[key]
			is, has := young[key]
			switch {
			case !had:
				found = append(found, path+"."+key+": nothing -> "+canonical(is))
			case !has:
				found = append(found, path+"."+key+": "+canonical(was)+" -> nothing")
			default:
				found = append(found, changes(path+"."+key, was, is)...)
			}
		}
		return found
	case []any:
		young, ok := after.([]any)
		if !ok || len(old) != len(young) {
			break
		}
		var found []string
		for i := range old {
			found = append(found, changes(fmt.Sprintf("%s[%d]", path, i), old[i], young[i])...)
		}
		return found
	}
	if cmp.Equal(before, after) {
		return nil
	}
	return []string{path + ": " + canonical(before) + " -> " + canonical(after)}
}

func canonical(value any) string {
	text, err := object.EncodeCanonical(value)
	if err != nil {
		return err.Error()
	}
	return text
}

const typedWidgets = `
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
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 1}
              port: {x-kubernetes-int-or-string: true}
              tls: {type: object, properties: {mode: {type: string, default: strict}}}
              template: {type: object, nullable: true}
              atomic: {type: array, items: {type: string}}
              set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, num: {type: integer}}}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: blobs.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Blob, plural: blobs}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// TestDriftIsExactlyWhatChanged applies an object, lets somebody change it,
// and compares what a refresh shows. Every object must give an empty plan
// before that.
func TestDriftIsExactlyWhatChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// The types are there before: their group has a schema from the start.
	r.create(typedWidgets)
	r.eventually("the schema of the types is published", func() bool {
		r.engine.cluster.ForgetTypes(t.Context())
		widget := r.parse("{apiVersion: GROUP/v1, kind: Widget, metadata: {name: probe}}\n---\n{apiVersion: GROUP/v1, kind: Blob, metadata: {name: probe}}")
		converter, known, err := r.engine.cluster.TypeConverter(t.Context(), widget[0].GroupVersionKind().GroupVersion())
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range widget {
			_, err := converter.ObjectToTyped(obj)
			known = known && err == nil
		}
		return known
	})
	type edit struct{ manager, patch string }
	for name, c := range map[string]struct {
		manifest string
		id       string
		edits    []edit
		want     []string
	}{
		"quantities are compared as the server understands them": {
			manifest: `{apiVersion: v1, kind: LimitRange, metadata: {name: quantities}, spec: {limits: [{type: Container, max: {cpu: 1000m, memory: 1024Mi}, default: {cpu: "0.5", memory: 1Gi}}]}}`,
			id:       "LimitRange/NAMESPACE/quantities",
		},
		"a quantity that changed is shown as it is": {
			manifest: deploymentOf("quantity", `resources: {limits: {cpu: 1000m, memory: 1Gi}}`),
			id:       "Deployment.apps/NAMESPACE/quantity",
			edits:    []edit{{"kubectl-edit", `{"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "registry.example/app:1", "resources": {"limits": {"cpu": "2", "memory": "1024Mi"}}}]}}}}`}},
			want:     []string{`.spec.template.spec.containers[0].resources.limits.cpu: "1000m" -> "2"`},
		},
		"defaults of the server are not shown": {
			manifest: deploymentOf("defaults", `ports: [{containerPort: 80}]`),
			id:       "Deployment.apps/NAMESPACE/defaults",
			edits:    []edit{{"some-controller", `{"spec": {"revisionHistoryLimit": 3, "template": {"spec": {"terminationGracePeriodSeconds": 5}}}}`}},
		},
		"an item that others add to an associative list is not shown": {
			manifest: deploymentOf("others", `env: [{name: OURS, value: "1"}]`),
			id:       "Deployment.apps/NAMESPACE/others",
			edits:    []edit{{"some-controller", `{"spec": {"template": {"spec": {"containers": [{"name": "injected", "image": "sidecar"}, {"name": "c", "image": "registry.example/app:1", "env": [{"name": "THEIRS", "value": "2"}, {"name": "OURS", "value": "1"}]}]}}}}`}},
		},
		"an item of ours that changed beside one of others is shown alone": {
			manifest: deploymentOf("beside", `env: [{name: OURS, value: "1"}]`),
			id:       "Deployment.apps/NAMESPACE/beside",
			edits:    []edit{{"kubectl-edit", `{"spec": {"template": {"spec": {"containers": [{"name": "injected", "image": "sidecar"}, {"name": "c", "image": "registry.example/app:1", "env": [{"name": "THEIRS", "value": "2"}, {"name": "OURS", "value": "3"}]}]}}}}`}},
			want:     []string{`.spec.template.spec.containers[0].env[0].value: "1" -> "3"`},
		},
		"an item of ours that is gone is shown": {
			manifest: deploymentOf("item-gone", `env: [{name: A, value: "1"}, {name: B, value: "2"}]`),
			id:       "Deployment.apps/NAMESPACE/item-gone",
			edits:    []edit{{"kubectl-edit", `{"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "registry.example/app:1", "env": [{"name": "A", "value": "1"}]}]}}}}`}},
			want:     []string{`.spec.template.spec.containers[0].env: [{"name":"A","value":"1"},{"name":"B","value":"2"}] -> [{"name":"A","value":"1"}]`},
		},
		"an atomic list is compared whole": {
			manifest: deploymentOf("atomic", `args: [a, b]`),
			id:       "Deployment.apps/NAMESPACE/atomic",
			edits:    []edit{{"kubectl-edit", `{"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "registry.example/app:1", "args": ["a", "b", "c"]}]}}}}`}},
			want:     []string{`.spec.template.spec.containers[0].args: ["a","b"] -> ["a","b","c"]`},
		},
		"lists are compared whole where a list key is there twice, with what the server defaults in them": {
			manifest: strings.ReplaceAll(deploymentOf("duplicates", `env: [{name: A, value: "1"}, {name: A, value: "2"}]`),
				"{name: duplicates}", "{name: duplicates, annotations: {component-operator.cs.sap.com/update-policy: replace}}"),
			id:    "Deployment.apps/NAMESPACE/duplicates",
			edits: []edit{{"kubectl-edit", `{"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "registry.example/app:1", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "3"}]}]}}}}`}},
			want: []string{
				`.spec.template.spec.containers[0].env[1].value: "2" -> "3"`,
				`.spec.template.spec.containers[0].imagePullPolicy: nothing -> "IfNotPresent"`,
				`.spec.template.spec.containers[0].resources: nothing -> {}`,
				`.spec.template.spec.containers[0].terminationMessagePath: nothing -> "/dev/termination-log"`,
				`.spec.template.spec.containers[0].terminationMessagePolicy: nothing -> "File"`,
			},
		},
		"an int or string keeps its type": {
			manifest: `{apiVersion: v1, kind: Service, metadata: {name: intorstring}, spec: {ports: [{name: a, port: 80, targetPort: 8080}, {name: b, port: 81, targetPort: web}]}}`,
			id:       "Service/NAMESPACE/intorstring",
			edits:    []edit{{"kubectl-edit", `{"spec": {"ports": [{"name": "a", "port": 80, "targetPort": "web"}, {"name": "b", "port": 81, "targetPort": "web"}]}}`}},
			want:     []string{`.spec.ports[0].targetPort: 8080 -> "web"`},
		},
		"nulls and empty maps of a ConfigMap (B04)": {
			manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: nulls, annotations: {}, labels: null}, data: {a: "1", b: null}}`,
			id:       "ConfigMap/NAMESPACE/nulls",
			edits:    []edit{{"kubectl-edit", `{"data": {"a": "2"}, "metadata": {"labels": {"by": "hand"}}}`}},
			want:     []string{`.data.a: "1" -> "2"`},
		},
		"a map of ours that is gone is shown": {
			manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: map-gone, labels: {app: web}}, data: {a: "1"}}`,
			id:       "ConfigMap/NAMESPACE/map-gone",
			edits:    []edit{{"kubectl-edit", `{"data": null}`}},
			want:     []string{`.data: {"a":"1"} -> nothing`},
		},
		"keys that others add to a map are not shown": {
			manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: keys, labels: {app: web}}, data: {a: "1"}}`,
			id:       "ConfigMap/NAMESPACE/keys",
			edits:    []edit{{"kubectl-edit", `{"data": {"b": "2"}, "binaryData": {"c": "Yw=="}, "metadata": {"labels": {"by": "hand"}, "annotations": {"by": "hand"}}}`}},
		},
		"keys with dots and slashes": {
			manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: dots, labels: {example.org/a: "1"}}, data: {a.b: "1", c.yaml: "2"}}`,
			id:       "ConfigMap/NAMESPACE/dots",
			edits:    []edit{{"kubectl-edit", `{"data": {"a.b": "3"}, "metadata": {"labels": {"example.org/a": "4"}}}`}},
			want:     []string{`.data.a.b: "1" -> "3"`, `.metadata.labels.example.org/a: "1" -> "4"`},
		},
		"a Secret shows which value drifted, and no value": {
			manifest: `{apiVersion: v1, kind: Secret, metadata: {name: drifting}, stringData: {a: one, b: two, gone: three}}`,
			id:       "Secret/NAMESPACE/drifting",
			edits:    []edit{{"kubectl-edit", `{"data": {"a": "aGFja2Vk", "gone": null, "theirs": "dGhlaXJz"}}`}},
			want:     []string{`.data.a: "(sensitive, v1)" -> "(sensitive, drifted)"`, `.data.gone: "(sensitive, v1)" -> nothing`},
		},
		"a folded value that drifted is shown by size and digest": {
			manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: folded}, data: {long: "` + strings.Repeat("x", 10000) + `", short: "1"}}`,
			id:       "ConfigMap/NAMESPACE/folded",
			edits:    []edit{{"kubectl-edit", `{"data": {"long": "` + strings.Repeat("y", 20000) + `"}}`}},
			want:     []string{`.data.long: "` + fold(strings.Repeat("x", 10000)) + `" -> "` + fold(strings.Repeat("y", 20000)) + `"`},
		},
		"a schema of a CRD that drifted is shown by size and digest": {
			manifest: strings.ReplaceAll(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.GROUP}, spec: {group: GROUP, scope: Namespaced, names: {kind: Thing, plural: things}, versions: [VERSION]}}`,
				"VERSION", `{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`),
			id:    "CustomResourceDefinition.apiextensions.k8s.io/things.GROUP",
			edits: []edit{{"kubectl-edit", `{"spec": {"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}`}},
			want:  []string{`.spec.versions[0].schema: "(0.1 KiB, sha256:3db8be538ab8dd89)" -> "(0.0 KiB, sha256:28ec55202b90e6b0)"`},
		},
		"a custom resource with a schema: its lists are those of the schema": {
			manifest: `{apiVersion: GROUP/v1, kind: Widget, metadata: {name: lists, namespace: NAMESPACE}, spec: {atomic: [a, b], set: [a, b], parts: [{name: one, num: 1}, {name: two, num: 2}]}}`,
			id:       "Widget.GROUP/NAMESPACE/lists",
			edits:    []edit{{"some-controller", `{"spec": {"set": ["z", "b", "a"], "parts": [{"name": "three", "num": 3}, {"name": "two", "num": 2}, {"name": "one", "num": 1}], "size": 9}}`}},
		},
		"a custom resource with a schema: what is ours in its lists": {
			manifest: `{apiVersion: GROUP/v1, kind: Widget, metadata: {name: ours, namespace: NAMESPACE}, spec: {atomic: [a, b], set: [a, b], parts: [{name: one, num: 1}, {name: two, num: 2}]}}`,
			id:       "Widget.GROUP/NAMESPACE/ours",
			edits:    []edit{{"some-controller", `{"spec": {"atomic": ["a", "b", "z"], "set": ["z", "a"], "parts": [{"name": "three", "num": 3}, {"name": "two", "num": 4}]}}`}},
			want: []string{
				`.spec.atomic: ["a","b"] -> ["a","b","z"]`, `.spec.parts: [{"name":"one","num":1},{"name":"two","num":2}] -> [{"name":"two","num":4}]`,
				`.spec.set: ["a","b"] -> ["a"]`,
			},
		},
		"a custom resource with a schema: int or string, defaults, nulls and empty maps (B04)": {
			manifest: `{apiVersion: GROUP/v1, kind: Widget, metadata: {name: nothing, namespace: NAMESPACE}, spec: {port: "5", tls: {}, template: null, free: {a: 1000m, list: [{x: 1}, {x: 2}]}}}`,
			id:       "Widget.GROUP/NAMESPACE/nothing",
		},
		"a custom resource with a schema: a string that became a number": {
			manifest: `{apiVersion: GROUP/v1, kind: Widget, metadata: {name: number, namespace: NAMESPACE}, spec: {port: "5", free: {a: {b: "1"}}}}`,
			id:       "Widget.GROUP/NAMESPACE/number",
			edits:    []edit{{"kubectl-edit", `{"spec": {"port": 5, "free": {"a": {"b": 1}, "c": "theirs"}}}`}},
			want:     []string{`.spec.free.a.b: "1" -> 1`, `.spec.port: "5" -> 5`},
		},
		"a custom resource without a schema: maps by key, lists whole": {
			manifest: `{apiVersion: GROUP/v1, kind: Blob, metadata: {name: free, namespace: NAMESPACE}, spec: {a: {b: "1", n: null, e: {}}, list: [{name: x, v: 1}]}}`,
			id:       "Blob.GROUP/NAMESPACE/free",
			edits:    []edit{{"kubectl-edit", `{"spec": {"a": {"b": "2", "theirs": "3"}, "list": [{"name": "x", "v": 1}, {"name": "y", "v": 2}]}, "other": "theirs"}`}},
			want:     []string{`.spec.a.b: "1" -> "2"`, `.spec.list: [{"name":"x","v":1}] -> [{"name":"x","v":1},{"name":"y","v":2}]`},
		},
		"an object that is gone": {
			manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: vanished}}`,
			id:       "ConfigMap/NAMESPACE/vanished",
			edits:    []edit{{"", ""}},
			want:     []string{"gone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := *r
			r.T = t
			_, object, _ := strings.Cut(c.id, "/")
			s := r.story(slug(strings.ReplaceAll(r.place(object), r.namespace, "")), c.manifest)
			s.mustApply()
			for _, edit := range c.edits {
				if edit.manager == "" {
					r.remove(c.id)
					continue
				}
				r.editAs(edit.manager, c.id, edit.patch)
			}
			if diff := cmp.Diff(c.want, placed(&r, s.drift(c.id))); diff != "" {
				t.Error(diff)
			}
			healed, err := s.apply()
			if err != nil {
				t.Fatal(err)
			}
			if healed.Status != StatusReady {
				t.Errorf("the component is %s", healed.Status)
			}
			s.wantNothingToDo()
			if live := r.named(c.id); len(c.want) > 0 && live.GetNamespace() == "" {
				s.mustDestroy()
			}
		})
	}
}

// placed takes the names of a rig out of texts.
func placed(r *rig, texts []string) []string {
	for i := range texts {
		texts[i] = strings.NewReplacer(r.namespace+".example", "GROUP", r.namespace, "NAMESPACE").Replace(texts[i])
	}
	return texts
}

// deploymentOf is a Deployment whose container has some more fields.
func deploymentOf(name, fields string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `}
spec:
  replicas: 0
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {containers: [{name: c, image: "registry.example/app:1", ` + fields + `}]}
`
}
