package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/source"
)

// renderedWants renders YAML documents, one a file (a.yaml, b.yaml …), as the
// component app/web, and returns its objects and the problems one by one.
func renderedWants(t *testing.T, documents ...string) ([]*Want, []error) {
	t.Helper()
	files := source.Files{}
	for i, document := range documents {
		files[string(rune('a'+i))+".yaml"] = document
	}
	c := Component{Namespace: "app", Name: "web", Source: files, Defaults: componentDefaults()}
	rendered, err := Offline(Options{}).render(t.Context(), c, releaseState{revision: 1}, nil)
	if err != nil {
		return nil, object.Problems(err)
	}
	return rendered.Wants, nil
}

func asObjectError(err error, target **ObjectError) bool { return errors.As(err, target) }

const widgetCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec: {group: example.org, scope: SCOPE, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true}, {name: v1alpha1, served: false}]}
`

func TestKeysOfObjects(t *testing.T) {
	crd := func(scope string) string { return strings.ReplaceAll(widgetCRD, "SCOPE", scope) }
	for name, c := range map[string]struct {
		manifests []string
		// want are the keys of all objects but CRDs, with " managed" behind those of the component's types.
		want []string
	}{
		"a namespaced object without a namespace gets that of the component": {
			manifests: []string{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: ""}}`},
			want:      []string{"ConfigMap/app/x", "Deployment.apps/app/x"},
		},
		"a namespace that is written stays": {
			manifests: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: other}}`},
			want:      []string{"ConfigMap/other/x"},
		},
		"a cluster-scoped object loses its namespace": {
			manifests: []string{`{apiVersion: v1, kind: Namespace, metadata: {name: x, namespace: other}}`, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x, namespace: other}}`},
			want:      []string{"ClusterRole.rbac.authorization.k8s.io/x", "Namespace/x"},
		},
		"the scope of an instance is that of the CRD in the same component: namespaced": {
			manifests: []string{`{apiVersion: example.org/v1, kind: Widget, metadata: {name: w}}`, crd("Namespaced")},
			want:      []string{"Widget.example.org/app/w managed"},
		},
		"the scope of an instance is that of the CRD in the same component: cluster": {
			manifests: []string{`{apiVersion: example.org/v1, kind: Widget, metadata: {name: w, namespace: other}}`, crd("Cluster")},
			want:      []string{"Widget.example.org/w managed"},
		},
		"a version that the CRD does not serve is no type of the component": {
			manifests: []string{`{apiVersion: example.org/v1alpha1, kind: Widget, metadata: {name: w, namespace: other}}`, crd("Cluster")},
			want:      []string{"Widget.example.org/other/w"},
		},
		"a kind that only the cluster knows stays as it is written": {
			manifests: []string{`{apiVersion: example.net/v1, kind: Gadget, metadata: {name: with, namespace: other}}`, `{apiVersion: example.net/v1, kind: Gadget, metadata: {name: without}}`},
			want:      []string{"Gadget.example.net/other/with", "Gadget.example.net/without"},
		},
		"objects of the same name in other groups, kinds and namespaces are other objects": {
			manifests: []string{
				`{apiVersion: v1, kind: Service, metadata: {name: x}}`, `{apiVersion: serving.example.net/v1, kind: Service, metadata: {name: x, namespace: app}}`,
				`{apiVersion: v1, kind: Secret, metadata: {name: x}}`, `{apiVersion: v1, kind: Secret, metadata: {name: x, namespace: b}}`,
			},
			want: []string{"Secret/app/x", "Secret/b/x", "Service.serving.example.net/app/x", "Service/app/x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			wants, problems := renderedWants(t, c.manifests...)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var got []string
			for _, want := range wants {
				switch {
				case want.ID.GroupKind() == crdKind:
				case want.Managed:
					got = append(got, want.Key+" managed")
				default:
					got = append(got, want.Key)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDuplicatesNameBothPlaces(t *testing.T) {
	for name, manifests := range map[string][]string{
		"the same document twice": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`,
		},
		"the same object with and without the namespace of the component": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: app}}`,
		},
		"the same object in two versions of its group": {
			`{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: x}}`, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: x}}`,
		},
		"a cluster-scoped object with two namespaces": {
			`{apiVersion: v1, kind: Namespace, metadata: {name: x, namespace: a}}`, `{apiVersion: v1, kind: Namespace, metadata: {name: x, namespace: b}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := renderedWants(t, manifests...)
			if len(problems) != 1 {
				t.Fatalf("got %d problems, want one: %v", len(problems), problems)
			}
			for _, part := range []string{`files["a.yaml"]`, `files["b.yaml"]`, "/x"} {
				if !strings.Contains(problems[0].Error(), part) {
					t.Errorf("%q does not name %s", problems[0], part)
				}
			}
		})
	}
}

// Everything that is wrong with the manifests is reported at once.
func TestProblemsOfManifestsAreReportedTogether(t *testing.T) {
	_, problems := renderedWants(t,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, annotations: {component-operator.cs.sap.com/apply-order: first, component-operator.cs.sap.com/delete-policy: never}}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: twice}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: twice, namespace: app}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: ns, annotations: {component-operator.cs.sap.com/purge-order: "0"}}}`,
	)
	var got []string
	for _, problem := range problems {
		var of *ObjectError
		if !errors.As(problem, &of) {
			t.Fatalf("%v names no object", problem)
		}
		got = append(got, of.Title+": "+of.ID.String())
	}
	slices.Sort(got)
	want := []string{
		"Invalid annotation: ConfigMap/app/bad", "Invalid annotation: ConfigMap/app/bad",
		"Invalid order: Namespace/ns", "Object occurs twice: ConfigMap/app/twice",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsSentCarriesOwnerAndDigest(t *testing.T) {
	wants, problems := renderedWants(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: x
  labels: {app: web, component-operator.cs.sap.com/owner-id: stolen}
  annotations: {note: kept, component-operator.cs.sap.com/owner-id: stolen, component-operator.cs.sap.com/digest: stolen}
data: {k: v}
`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	owner := ownerOf("cluster", "app", "web")
	sent := Offline(Options{}).annotate(wants[0], owner)
	wantLabels := map[string]string{"app": "web", "component-operator.cs.sap.com/owner-id": owner.Hash}
	if diff := cmp.Diff(wantLabels, sent.GetLabels()); diff != "" {
		t.Error(diff)
	}
	wantAnnotations := map[string]string{
		"note": "kept", "component-operator.cs.sap.com/owner-id": "terraform-provider-component/cluster/app/web",
		"component-operator.cs.sap.com/digest": wants[0].Digest,
	}
	if diff := cmp.Diff(wantAnnotations, sent.GetAnnotations()); diff != "" {
		t.Error(diff)
	}
	if _, stolen := wants[0].Object.GetLabels()["component-operator.cs.sap.com/owner-id"]; stolen {
		t.Error("the owner that the manifest sets stays in the object that the plan shows")
	}
}

func TestOwnerIsAFunctionOfClusterNamespaceAndName(t *testing.T) {
	got := ownerOf("1c9d", "app", "web")
	want := Owner{
		ID: "terraform-provider-component/1c9d/app/web",
		// printf terraform-provider-component/1c9d/app/web | sha256sum | xxd -r -p | base32 | tr -d = | tr A-Z a-z
		Hash: "gc7mhsl4joppr2jt6pg6pe6a22bk2g7rqkhxebb3yfaqos6seuaq",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLiveOwnerIsNamedForPeople(t *testing.T) {
	for name, c := range map[string]struct {
		owner liveOwner
		want  string
	}{
		"a component of this provider": {
			liveOwner{hash: "h", id: "terraform-provider-component/uid/infra/base"}, "component infra/base (terraform-provider-component)",
		},
		"another tool that says who it is": {liveOwner{hash: "h", id: "cop/infra/base"}, "cop/infra/base"},
		"only a label":                     {liveOwner{hash: "abc"}, "another owner (label value abc)"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.owner.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNamespacesOfObjects(t *testing.T) {
	wants, problems := renderedWants(t,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: b}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: brought}}`, `{apiVersion: v1, kind: Namespace, metadata: {name: brought}}`,
	)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff([]string{"app", "b"}, namespacesOf(wants)); diff != "" {
		t.Error(diff)
	}
}

// What the plan could not know is filled in when the cluster answers.
func TestResolvedObjects(t *testing.T) {
	gadget := schema.GroupVersionKind{Group: "example.net", Version: "v1", Kind: "Gadget"}
	for name, c := range map[string]struct {
		manifest   string
		namespaced bool
		want       string
	}{
		"a namespaced kind gets the namespace of the component": {`{apiVersion: example.net/v1, kind: Gadget, metadata: {name: g}}`, true, "Gadget.example.net/app/g"},
		"a namespaced kind keeps the namespace that is written": {`{apiVersion: example.net/v1, kind: Gadget, metadata: {name: g, namespace: b}}`, true, "Gadget.example.net/b/g"},
		"a cluster-scoped kind loses its namespace":             {`{apiVersion: example.net/v1, kind: Gadget, metadata: {name: g, namespace: b}}`, false, "Gadget.example.net/g"},
		"a cluster-scoped kind without one stays without":       {`{apiVersion: example.net/v1, kind: Gadget, metadata: {name: g}}`, false, "Gadget.example.net/g"},
	} {
		t.Run(name, func(t *testing.T) {
			wants, problems := renderedWants(t, c.manifest)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			key := wants[0].Key
			got := withType(wants[0], cluster.Type{GVK: gadget, Resource: gadget.GroupVersion().WithResource("gadgets"), Namespaced: c.namespaced}, "app")
			if diff := cmp.Diff([]string{c.want, c.want, key}, []string{got.ID.String(), gotID(got), got.Key}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// gotID is the identity of the object as it is sent.
func gotID(want *Want) string {
	id := want.ID
	id.Namespace = want.Object.GetNamespace()
	return id.String()
}

// Terraform shows a note; a misspelt order must not be lost without a word.
func TestUnknownAnnotationsAreNamed(t *testing.T) {
	const prefix = "component-operator.cs.sap.com"
	got := unknownAnnotations(map[string]string{
		prefix + "/aply-order": "1", prefix + "/apply-order": "1", prefix + "/digest": "x", prefix + "/Purge-order": "1", "example.org/any": "x", prefix + ".example/x": "y",
	}, prefix)
	if diff := cmp.Diff([]string{prefix + "/Purge-order", prefix + "/aply-order"}, got); diff != "" {
		t.Error(diff)
	}
	c := Component{Namespace: "app", Name: "c", Defaults: componentDefaults(), Source: source.Files{
		"a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {" + prefix + "/aply-order: '1'}}}",
	}}
	rendered, err := Offline(Options{}).render(t.Context(), c, releaseState{revision: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ConfigMap/app/x: the annotation " + prefix + "/aply-order is not known and has no effect"}, rendered.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestDurationsAreSpelled(t *testing.T) {
	for text, want := range map[string]string{"10m": "10m", "1h": "1h", "90m": "1h30m", "1h0m5s": "1h0m5s", "1s": "1s", "100ms": "100ms"} {
		duration, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := spelled(duration); got != want {
			t.Errorf("%s is spelled %s, want %s", text, got, want)
		}
	}
}
