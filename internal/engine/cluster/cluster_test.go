package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewave/terraform-provider-component/internal/testcluster"
)

// patience is how long a test waits for what a cluster does by itself.
const patience = time.Minute

// restConfig is how the administrator of the test cluster connects.
func restConfig(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", testcluster.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

func connect(t *testing.T, config *rest.Config) *Cluster {
	t.Helper()
	c, err := New(config, "terraform-provider-component")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// place is one test's place in the test cluster.
type place struct {
	*testing.T
	*Cluster
	namespace string
}

// newPlace makes a namespace that goes with the test.
func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{T: t, Cluster: connect(t, restConfig(t)), namespace: fmt.Sprintf("cluster-%08x", rand.Uint32())}
	p.create("{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE}}")
	return p
}

// object reads a manifest. NAMESPACE in it stands for that of the test, which
// is also the default.
func (p *place) object(manifest string) (Type, *unstructured.Unstructured) {
	p.Helper()
	obj := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(manifest, "NAMESPACE", p.namespace)))
	if err != nil {
		p.Fatal(err)
	}
	if err := json.Unmarshal(text, &obj.Object); err != nil {
		p.Fatal(err)
	}
	served, err := p.TypeFor(p.Context(), obj.GroupVersionKind())
	if err != nil {
		p.Fatal(err)
	}
	if served.Namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace(p.namespace)
	}
	return served, obj
}

// create makes an object that goes with the test.
func (p *place) create(manifest string) *unstructured.Unstructured {
	p.Helper()
	served, obj := p.object(manifest)
	created, err := p.Create(p.Context(), served, obj, Persist)
	if err != nil {
		p.Fatal(err)
	}
	if !served.Namespaced {
		p.Cleanup(func() {
			ctx := context.WithoutCancel(p.Context())
			if err := p.Delete(ctx, served, "", obj.GetName(), ""); err != nil && ReasonOf(err) != NotFound {
				p.Error(err)
			}
		})
	}
	return created
}

// apply tries an object and returns what the server says.
func (p *place) apply(manifest string) error {
	p.Helper()
	served, obj := p.object(manifest)
	_, err := p.Apply(p.Context(), served, obj, DryRun)
	return err
}

// patch changes an object as kubectl would.
func (p *place) patch(of *unstructured.Unstructured, patch string) {
	p.Helper()
	served, err := p.TypeFor(p.Context(), of.GroupVersionKind())
	if err != nil {
		p.Fatal(err)
	}
	_, err = p.resource(served, of.GetNamespace()).
		Patch(p.Context(), of.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-patch"})
	if err != nil {
		p.Fatal(err)
	}
}

// eventually waits until an attempt gives an error of the reason.
func (p *place) eventually(reason Reason, attempt func() error) error {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	for {
		err := attempt()
		if err != nil && ReasonOf(err) == reason {
			return err
		}
		select {
		case <-ctx.Done():
			p.Fatalf("got %v, want an error of reason %v", err, reason)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	c := connect(t, restConfig(t))
	for name, step := range map[string]struct {
		gvk  schema.GroupVersionKind
		want Type
	}{
		"a namespaced kind": {
			schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			Type{Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Namespaced: true},
		},
		"a cluster-scoped kind": {
			schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
			Type{Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}},
		},
		"an older version of a kind": {
			schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"},
			Type{Resource: schema.GroupVersionResource{Group: "autoscaling", Version: "v1", Resource: "horizontalpodautoscalers"}, Namespaced: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			step.want.GVK = step.gvk
			got, err := c.TypeFor(t.Context(), step.gvk)
			if err != nil || got != step.want {
				t.Errorf("got %v (%v), want %v", got, err, step.want)
			}
		})
	}
}

func TestTypesThatAreNotServed(t *testing.T) {
	t.Parallel()
	c := connect(t, restConfig(t))
	for name, step := range map[string]struct {
		gvk  schema.GroupVersionKind
		want string
	}{
		"an unknown group":           {schema.GroupVersionKind{Group: "nowhere.example", Version: "v1", Kind: "Thing"}, "the cluster does not serve the kind Thing of nowhere.example/v1"},
		"an unknown kind of a group": {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deploymnet"}, "the cluster does not serve the kind Deploymnet of apps/v1"},
		"a version that is gone": {
			schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"},
			"the cluster does not serve Deployment.apps in version apps/v1beta1 (it serves [v1])",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.TypeFor(t.Context(), step.gvk)
			if err == nil || err.Error() != step.want || ReasonOf(err) != NotServed {
				t.Errorf("got %v (%v), want %q", err, ReasonOf(err), step.want)
			}
		})
	}
	gone := schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"}
	if got, err := c.AnyTypeFor(t.Context(), gone); err != nil || got.GVK.Version != "v1" {
		t.Errorf("an object whose version is gone is read in another one: got %v, %v", got, err)
	}
}

// A CRD that comes while a run is on is known after ForgetTypes, with its
// schema.
func TestNewTypesAreKnownAfterForgetTypes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	group := p.namespace + ".example"
	gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Widget"}
	if _, err := p.TypeFor(t.Context(), gvk); ReasonOf(err) != NotServed {
		t.Fatalf("got %v", err)
	}
	if _, known, err := p.TypeConverter(t.Context(), gvk.GroupVersion()); known || err != nil {
		t.Fatalf("got a schema of a group that is not served: %v, %v", known, err)
	}
	p.create(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.NAMESPACE.example}
spec:
  group: NAMESPACE.example
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}]
`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	served, err := Eventually(ctx, func() (Type, error) {
		p.ForgetTypes(ctx)
		return p.TypeFor(ctx, gvk)
	}, NotServed)
	if err != nil || !served.Namespaced {
		t.Fatalf("got %v, %v", served, err)
	}
	// The schema is published a little later.
	for {
		p.ForgetTypes(ctx)
		_, known, err := p.TypeConverter(ctx, gvk.GroupVersion())
		if err != nil {
			t.Fatal(err)
		}
		if known {
			break
		}
	}
}

func TestClusterSaysWhoItIs(t *testing.T) {
	t.Parallel()
	c := connect(t, restConfig(t))
	id, err := c.ID(t.Context())
	if err != nil || id == "" {
		t.Errorf("got %q, %v", id, err)
	}
	c.UseID("mine")
	if got, err := c.ID(t.Context()); got != "mine" || err != nil {
		t.Errorf("got %q, %v, want the id that was set", got, err)
	}
	version, err := c.Version(t.Context())
	if err != nil || !strings.HasPrefix(version, "v1.") {
		t.Errorf("got version %q, %v", version, err)
	}
	versions, err := c.APIVersions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"v1", "v1/ConfigMap", "apps/v1", "apps/v1/Deployment", "autoscaling/v1", "autoscaling/v2"} {
		found := false
		for _, version := range versions {
			found = found || version == want
		}
		if !found {
			t.Errorf("%q is not among the versions of the cluster", want)
		}
	}
}

func TestListReadsAllPages(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	served, obj := p.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {page: test}}}")
	const objects = pageSize + 1
	work, failures := make(chan int), make(chan error, objects)
	for range 8 {
		go func() {
			for i := range work {
				numbered := obj.DeepCopy()
				numbered.SetName(fmt.Sprintf("x-%d", i))
				_, err := p.Create(t.Context(), served, numbered, Persist)
				failures <- err
			}
		}()
	}
	for i := range objects {
		work <- i
	}
	close(work)
	for range objects {
		if err := <-failures; err != nil {
			t.Fatal(err)
		}
	}
	list, err := p.List(t.Context(), served, p.namespace, "page=test")
	if err != nil || len(list) != objects {
		t.Errorf("got %d objects (%v), want %d", len(list), err, objects)
	}
	metadata, err := p.ListMetadata(t.Context(), served, p.namespace, "page=test")
	if err != nil || len(metadata) != objects {
		t.Errorf("got the metadata of %d objects (%v), want %d", len(metadata), err, objects)
	}
}

func TestAwaitGone(t *testing.T) {
	t.Parallel()
	held := "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, finalizers: [example.org/hold]}}"
	for name, leave := range map[string]func(p *place, served Type, live *unstructured.Unstructured){
		"it goes when its finalizer does": func(p *place, _ Type, live *unstructured.Unstructured) {
			p.patch(live, `{"metadata": {"finalizers": null}}`)
		},
		"another one under the same name is not it": func(p *place, _ Type, live *unstructured.Unstructured) {
			p.patch(live, `{"metadata": {"finalizers": null}}`)
			p.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			live := p.create(held)
			served, _ := p.object(held)
			if err := p.Delete(t.Context(), served, p.namespace, "x", live.GetUID()); err != nil {
				t.Fatal(err)
			}
			brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if err := p.AwaitGone(brief, served, p.namespace, "x", live.GetUID()); err == nil {
				t.Error("it is gone, although a finalizer holds it")
			}
			done := make(chan error)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			go func() { done <- p.AwaitGone(ctx, served, p.namespace, "x", live.GetUID()) }()
			leave(p, served, live)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if err := p.AwaitGone(ctx, served, p.namespace, "x", live.GetUID()); err != nil {
				t.Errorf("what is gone already is waited for: %v", err)
			}
		})
	}
}

var configMaps = Type{
	GVK:      schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
	Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespaced: true,
}

// testObject is an object that no server needs to see.
func testObject() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(configMaps.GVK)
	obj.SetNamespace("n")
	obj.SetName("x")
	return obj
}

// An API server behind an APIService that does not answer makes discovery fail
// in part. It has a cluster of its own: it would stop the deletion of every
// namespace.
func TestBrokenAPIServiceHidesOnlyItsGroup(t *testing.T) {
	t.Parallel()
	config, err := clientcmd.BuildConfigFromFlags("", testcluster.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	p := &place{T: t, Cluster: connect(t, config), namespace: "default"}
	p.create(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.broken.example}
spec: {group: broken.example, version: v1, groupPriorityMinimum: 1000, versionPriority: 10, insecureSkipTLSVerify: true, service: {namespace: default, name: nowhere}}
`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	broken := schema.GroupVersionKind{Group: "broken.example", Version: "v1", Kind: "Thing"}
	for {
		// Until the server knows the group, it is like any unknown one.
		groups, err := p.discovery.ServerGroupsWithContext(ctx)
		if err != nil {
			t.Fatal(err)
		}
		known := false
		for _, group := range groups.Groups {
			known = known || group.Name == broken.Group
		}
		if known {
			break
		}
	}
	p.ForgetTypes(ctx)
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	if _, err := p.TypeFor(ctx, deployment); err != nil {
		t.Errorf("a group that works: %v", err)
	}
	if found, err := p.TypeFor(ctx, broken); err == nil || ReasonOf(err) == NotServed {
		t.Errorf("what a group that does not answer has is not known; got %v, %v", found, err)
	}
	if versions, err := p.APIVersions(ctx); err != nil || len(versions) == 0 {
		t.Errorf("the versions of the cluster: got %d, %v", len(versions), err)
	}
	if types, err := p.ListableTypes(ctx, func(Type) bool { return true }); err != nil || len(types) == 0 {
		t.Errorf("the types of the cluster: got %d, %v", len(types), err)
	}
}
