package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/kubewave/terraform-provider-component/internal/testcluster"
	"github.com/kubewave/terraform-provider-component/test/live"
	"github.com/kubewave/terraform-provider-component/test/tfcli"
)

const (
	root = "../.."
	// manager is the provider's field manager.
	manager = "terraform-provider-component"
	// editor is the field manager of `kubectl edit`.
	editor = "kubectl-edit"
	// storyTimeout bounds one story. It is generous: what is slow is the machine.
	storyTimeout = 5 * time.Minute
	// patience is how long the cluster may take to do something by itself.
	patience = time.Minute
)

// TestMain gives the tests of this process a folder of their own for what they share.
func TestMain(m *testing.M) {
	os.Exit(inFolder(m.Run))
}

func inFolder(run func() int) (code int) {
	var err error
	if theWorld.dir, err = os.MkdirTemp("", "acceptance"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(theWorld.dir)
	return run()
}

// world is what all stories share: the cluster, the CLI, and the provider, built once.
type world struct {
	dir        string
	terraform  string
	kubeconfig string
	cluster    *live.Cluster
	types      *restmapper.DeferredDiscoveryRESTMapper
}

var (
	theWorld  world
	makeWorld sync.Once
	worldErr  error
)

func sharedWorld(t *testing.T) *world {
	t.Helper()
	kubeconfig := testcluster.Kubeconfig(t)
	makeWorld.Do(func() { worldErr = theWorld.make(t.Context(), kubeconfig) })
	if worldErr != nil {
		t.Fatal(worldErr)
	}
	return &theWorld
}

func (w *world) make(ctx context.Context, kubeconfig string) error {
	var err error
	if w.kubeconfig, err = filepath.Abs(kubeconfig); err != nil {
		return err
	}
	if w.terraform, err = tfcli.Path(); err != nil {
		return err
	}
	if err := tfcli.BuildProvider(ctx, root, w.dir); err != nil {
		return err
	}
	// What the provider remembers from run to run is not for others. Go keeps its cache there, too.
	if err := os.Setenv("XDG_CACHE_HOME", filepath.Join(w.dir, "cache")); err != nil {
		return err
	}
	if w.cluster, err = live.Connect(kubeconfig); err != nil {
		return err
	}
	config, err := live.Config(kubeconfig)
	if err != nil {
		return err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	w.types = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	return nil
}

// A story is a test that runs the Terraform CLI step by step: it has a directory with a
// configuration, and a namespace of its own.
type story struct {
	*testing.T
	*world
	ctx  context.Context
	path string
	dir  *tfcli.Dir
	// namespace and group, an API group, are this story's alone; suffix is what makes them so.
	namespace, group, suffix string
}

// acceptance skips a test that was not asked for.
func acceptance(t *testing.T) {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("acceptance tests run when TF_ACC is set: see make testacc")
	}
	t.Parallel()
}

// newStory begins a story. Its namespace does not exist yet.
func newStory(t *testing.T, name string) *story {
	t.Helper()
	acceptance(t)
	ctx, cancel := context.WithTimeout(t.Context(), storyTimeout)
	t.Cleanup(cancel)
	w := sharedWorld(t)
	s := &story{T: t, world: w, ctx: ctx, path: t.TempDir()}
	// All suffixes have the same length, so that what Terraform prints is laid out alike.
	s.suffix = fmt.Sprintf("-%06x", rand.IntN(1<<24))
	s.namespace, s.group = name+s.suffix, name+s.suffix+".example"
	var err error
	if s.dir, err = tfcli.New(s.path, w.terraform, w.dir); err != nil {
		t.Fatal(err)
	}
	s.provider(`config_path = "KUBECONFIG"`)
	t.Cleanup(s.leave)
	return s
}

// part returns the story for a test that is a part of it.
func (s *story) part(t *testing.T) *story {
	part := *s
	part.T = t
	return &part
}

// place puts the names of a story into a text.
func (s *story) place(text string) string {
	return strings.NewReplacer("NAMESPACE", s.namespace, "KUBECONFIG", s.kubeconfig, "GROUP", s.group).Replace(text)
}

// leave removes what the story has left in the cluster, without waiting for it.
func (s *story) leave() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), patience)
	defer cancel()
	for _, gvr := range []schema.GroupVersionResource{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
		{Version: "v1", Resource: "namespaces"},
	} {
		list, err := s.cluster.Dynamic.Resource(gvr).List(ctx, metav1.ListOptions{})
		if err != nil {
			s.Errorf("list %s: %v", gvr.Resource, err)
			continue
		}
		for _, item := range list.Items {
			if !strings.HasPrefix(item.GetName(), s.namespace) && !strings.HasSuffix(item.GetName(), s.group) {
				continue
			}
			err := s.cluster.Dynamic.Resource(gvr).Delete(ctx, item.GetName(), metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				s.Errorf("delete %s/%s: %v", gvr.Resource, item.GetName(), err)
			}
		}
	}
}

// file writes a file of the configuration.
func (s *story) file(name, content string) {
	s.Helper()
	path := filepath.Join(s.path, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(s.place(content)), 0o600); err != nil {
		s.Fatal(err)
	}
}

// files writes files from an archive: each begins with a line "-- NAME --".
func (s *story) files(archive string) {
	s.Helper()
	for name, content := range sections(archive) {
		s.file(name, content)
	}
}

var sectionHead = regexp.MustCompile(`(?m)^-- (\S+) --\n`)

func sections(archive string) map[string]string {
	all := map[string]string{}
	heads := sectionHead.FindAllStringSubmatchIndex(archive, -1)
	for i, head := range heads {
		end := len(archive)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		all[archive[head[2]:head[3]]] = archive[head[1]:end]
	}
	return all
}

// removeFile takes a file out of the configuration.
func (s *story) removeFile(name string) {
	s.Helper()
	if err := os.RemoveAll(filepath.Join(s.path, name)); err != nil {
		s.Fatal(err)
	}
}

// replace changes a file of the configuration.
func (s *story) replace(name, old, young string) {
	s.Helper()
	path := filepath.Join(s.path, name)
	content, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	if !strings.Contains(string(content), s.place(old)) {
		s.Fatalf("%s does not contain %q", name, old)
	}
	s.file(name, strings.ReplaceAll(string(content), s.place(old), s.place(young)))
}

// provider configures the provider's connection.
func (s *story) provider(kubernetes string) {
	s.Helper()
	s.file("provider.tf", `
terraform {
  required_providers {
    component = { source = "kubewave/component" }
  }
}

provider "component" {
  kubernetes {
    `+kubernetes+`
  }
}
`)
}

// component configures the component NAMESPACE/web, the resource component.web, whose source is
// the directory manifests; more are further attributes.
func (s *story) component(more ...string) {
	s.Helper()
	s.file("main.tf", webComponent(`source = { directory = "./manifests" }`, more...))
}

// chart configures the component NAMESPACE/web, the resource component.web, whose source is the
// chart in the directory chart.
func (s *story) chart(more ...string) {
	s.Helper()
	s.file("main.tf", webComponent(`source = { helm_chart = { path = "./chart" } }`, more...))
}

func webComponent(source string, more ...string) string {
	return `
resource "component" "web" {
  name      = "web"
  namespace = "NAMESPACE"
  ` + strings.Join(append([]string{source}, more...), "\n  ") + `
}
`
}

// Exit codes of terraform plan -detailed-exitcode.
const (
	nothingToDo = 0
	failure     = 1
	changes     = 2
)

// terraform runs a command that has to end with the exit code given, and returns what it printed.
func (s *story) terraform(exitCode int, args ...string) string {
	s.Helper()
	result, err := s.dir.Run(s.ctx, args...)
	if err != nil {
		s.Fatalf("terraform %s: %v", args[0], err)
	}
	said := strippedOfOverrides(result.Stdout + result.Stderr)
	if result.ExitCode != exitCode {
		s.Fatalf("terraform %s: exit code %d, want %d\n%s", strings.Join(args, " "), result.ExitCode, exitCode, said)
	}
	return said
}

// overrides is the warning that the provider is one under development.
var overrides = regexp.MustCompile(`(?s)\n?Warning: Provider development overrides are in effect\n.*?releases\.\n`)

func strippedOfOverrides(text string) string { return overrides.ReplaceAllString(text, "") }

// plan returns a plan that has something to do.
func (s *story) plan(args ...string) string {
	s.Helper()
	return s.terraform(changes, append([]string{"plan", "-no-color", "-input=false", "-detailed-exitcode"}, args...)...)
}

// expectEmptyPlan is PLAN0 of the cases.
func (s *story) expectEmptyPlan(args ...string) {
	s.Helper()
	s.terraform(nothingToDo, append([]string{"plan", "-no-color", "-input=false", "-detailed-exitcode"}, args...)...)
}

// refused returns what a plan says that fails.
func (s *story) refused(args ...string) string {
	s.Helper()
	return s.terraform(failure, append([]string{"plan", "-no-color", "-input=false"}, args...)...)
}

// apply applies the configuration, after which nothing is left to do.
func (s *story) apply(args ...string) string {
	s.Helper()
	said := s.terraform(0, append([]string{"apply", "-no-color", "-input=false", "-auto-approve"}, args...)...)
	s.expectEmptyPlan()
	return said
}

// applyFails returns what an apply says that fails.
func (s *story) applyFails(args ...string) string {
	s.Helper()
	return s.terraform(failure, append([]string{"apply", "-no-color", "-input=false", "-auto-approve"}, args...)...)
}

// destroy destroys all, after which no object of the component is left.
func (s *story) destroy(components ...string) string {
	s.Helper()
	said := s.terraform(0, "destroy", "-no-color", "-input=false", "-auto-approve")
	for _, name := range append(components, "web") {
		for _, object := range s.owned(name) {
			s.Errorf("destroy left %s", live.ID(&object))
		}
		if s.exists("Secret/NAMESPACE/component." + name) {
			s.Errorf("destroy left the record of %s", name)
		}
	}
	return said
}

// state is what Terraform keeps of a component.
type state struct {
	Tainted  bool              `json:"-"`
	Status   string            `json:"status"`
	Revision int64             `json:"revision"`
	Objects  map[string]string `json:"objects"`
}

// states returns what Terraform keeps of each resource.
func (s *story) states() map[string]state {
	s.Helper()
	var shown struct {
		Values struct {
			RootModule struct {
				Resources []struct {
					Address string `json:"address"`
					Tainted bool   `json:"tainted"`
					Values  state  `json:"values"`
				} `json:"resources"`
			} `json:"root_module"`
		} `json:"values"`
	}
	if err := json.Unmarshal([]byte(s.terraform(0, "show", "-json")), &shown); err != nil {
		s.Fatal(err)
	}
	states := map[string]state{}
	for _, resource := range shown.Values.RootModule.Resources {
		resource.Values.Tainted = resource.Tainted
		states[resource.Address] = resource.Values
	}
	return states
}

// web returns what Terraform keeps of component.web.
func (s *story) web() state {
	s.Helper()
	return s.states()["component.web"]
}

// expectState fails when component.web has another status, or is tainted when it should not be.
func (s *story) expectState(want state) {
	s.Helper()
	if web := s.web(); web.Status != want.Status || web.Tainted != want.Tainted {
		s.Errorf("component.web has status %q (tainted: %v), want %q (%v)", web.Status, web.Tainted, want.Status, want.Tainted)
	}
}

// resource finds where an object such as "Deployment.apps/NAMESPACE/web" is served.
func (s *story) resource(id string) (dynamic.ResourceInterface, string) {
	s.Helper()
	parts := strings.Split(s.place(id), "/")
	resource := s.cluster.Dynamic.Resource(s.mapping(parts[0]).Resource)
	if len(parts) == 3 {
		return resource.Namespace(parts[1]), parts[2]
	}
	return resource, parts[1]
}

// mapping says how a kind such as "Deployment.apps" is served.
func (s *story) mapping(kind string) *meta.RESTMapping {
	s.Helper()
	mapping, err := s.types.RESTMapping(schema.ParseGroupKind(kind))
	if meta.IsNoMatchError(err) {
		s.types.Reset()
		mapping, err = s.types.RESTMapping(schema.ParseGroupKind(kind))
	}
	if err != nil {
		s.Fatal(err)
	}
	return mapping
}

// get reads an object that has to exist.
func (s *story) get(id string) *unstructured.Unstructured {
	s.Helper()
	resource, name := s.resource(id)
	object, err := resource.Get(s.ctx, name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return object
}

func (s *story) exists(id string) bool {
	s.Helper()
	resource, name := s.resource(id)
	_, err := resource.Get(s.ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.Fatal(err)
	}
	return err == nil
}

func (s *story) expectExists(ids ...string) {
	s.Helper()
	for _, id := range ids {
		if !s.exists(id) {
			s.Errorf("%s does not exist", s.place(id))
		}
	}
}

func (s *story) expectGone(ids ...string) {
	s.Helper()
	for _, id := range ids {
		if s.exists(id) {
			s.Errorf("%s exists", s.place(id))
		}
	}
}

// field reads a field of an object; nil when it has none.
func (s *story) field(id string, path ...string) any {
	s.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(s.get(id).Object, path...)
	if err != nil {
		s.Fatal(err)
	}
	return value
}

// edit changes a live object as kubectl edit does.
func (s *story) edit(id string, change func(object map[string]any)) {
	s.Helper()
	resource, _ := s.resource(id)
	err := wait.PollUntilContextTimeout(s.ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		object := s.get(id)
		change(object.Object)
		_, err := resource.Update(ctx, object, metav1.UpdateOptions{FieldManager: editor})
		if apierrors.IsConflict(err) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		s.Fatalf("edit %s: %v", id, err)
	}
}

// set changes one field of a live object as kubectl edit does.
func (s *story) set(id string, value any, path ...string) {
	s.Helper()
	s.edit(id, func(object map[string]any) {
		if err := unstructured.SetNestedField(object, value, path...); err != nil {
			s.Fatal(err)
		}
	})
}

// delete removes a live object and waits until it is gone.
func (s *story) delete(id string) {
	s.Helper()
	resource, name := s.resource(id)
	policy := metav1.DeletePropagationBackground
	if err := resource.Delete(s.ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		s.Fatal(err)
	}
	s.eventually(id+" is gone", func() bool { return !s.exists(id) })
}

// create makes an object as kubectl create does.
func (s *story) create(manifest map[string]any) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{Object: manifest}
	s.placeIn(object.Object)
	if s.mapping(object.GroupVersionKind().GroupKind().String()).Scope.Name() == meta.RESTScopeNameNamespace {
		object.SetNamespace(s.namespace)
	}
	resource, _ := s.resource(live.ID(object))
	created, err := resource.Create(s.ctx, object, metav1.CreateOptions{FieldManager: "kubectl-create"})
	if err != nil {
		s.Fatal(err)
	}
	return created
}

// manifests reads the documents of a YAML file.
func (s *story) manifests(text string) []map[string]any {
	s.Helper()
	var all []map[string]any
	for _, document := range strings.Split(text, "\n---") {
		manifest := map[string]any{}
		if err := yaml.Unmarshal([]byte(s.place(document)), &manifest); err != nil {
			s.Fatal(err)
		}
		all = append(all, manifest)
	}
	return all
}

func (s *story) placeIn(content map[string]any) {
	for key, value := range content {
		switch value := value.(type) {
		case string:
			content[key] = s.place(value)
		case map[string]any:
			s.placeIn(value)
		}
	}
}

// makeNamespace makes the namespace of the story, for what others have in it.
func (s *story) makeNamespace() {
	s.Helper()
	s.create(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "NAMESPACE"}})
}

// eventually waits for a condition.
func (s *story) eventually(what string, condition func() bool) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.ctx, 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		s.Fatalf("waiting until %s: %v", what, err)
	}
}

// owned returns the live objects of the component NAMESPACE/name.
func (s *story) owned(name string) []unstructured.Unstructured {
	s.Helper()
	objects, err := s.cluster.Objects(s.ctx, s.namespace, name)
	if err != nil {
		s.Fatal(err)
	}
	return objects
}

// uids returns the identity of objects.
func (s *story) uids(ids ...string) map[string]types.UID {
	s.Helper()
	uids := map[string]types.UID{}
	for _, id := range ids {
		uids[id] = s.get(id).GetUID()
	}
	return uids
}

// expectSame is SAMEUID of the cases.
func (s *story) expectSame(before map[string]types.UID) {
	s.Helper()
	after := s.uids(slices.Collect(maps.Keys(before))...)
	for id, uid := range before {
		if after[id] != uid {
			s.Errorf("%s was deleted and created anew", s.place(id))
		}
	}
}

// expectOther fails for objects that are still the same.
func (s *story) expectOther(before map[string]types.UID) {
	s.Helper()
	after := s.uids(slices.Collect(maps.Keys(before))...)
	for id, uid := range before {
		if after[id] == uid {
			s.Errorf("%s was not created anew", s.place(id))
		}
	}
}

// versions returns the resource versions of the objects of component web, once their controllers
// have nothing more to write.
func (s *story) versions() map[string]string {
	s.Helper()
	versions := map[string]string{}
	s.eventually("the objects have settled", func() bool {
		objects := s.owned("web")
		for _, object := range objects {
			versions[live.ID(&object)] = object.GetResourceVersion()
		}
		return !slices.ContainsFunc(objects, unsettled)
	})
	return versions
}

// unsettled reports whether the Deployment controller is still at work on an object.
func unsettled(object unstructured.Unstructured) bool {
	if object.GetKind() != "Deployment" {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	settled := 0
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)
		if condition["type"] == "Available" && condition["status"] == "True" || condition["reason"] == "NewReplicaSetAvailable" {
			settled++
		}
	}
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return settled < 2 || observed != object.GetGeneration()
}

// expectNoWrites is NOWRITE of the cases: a second apply, and one of an input that changes no
// object, leave all objects as they are.
func (s *story) expectNoWrites() {
	s.Helper()
	before := s.versions()
	if len(before) == 0 {
		s.Fatal("the component has no objects")
	}
	s.apply()
	s.expectVersions("the second apply", before)
	s.replace("main.tf", "namespace = \"NAMESPACE\"\n", "namespace = \"NAMESPACE\"\n  reapply_interval = \"48h\"\n")
	s.apply()
	s.expectVersions("an update of nothing but the resource's own settings", before)
}

func (s *story) expectVersions(what string, before map[string]string) {
	s.Helper()
	after := s.versions()
	for id, version := range after {
		if before[id] != version {
			s.Errorf("%s wrote %s", what, id)
		}
	}
	if len(after) != len(before) {
		s.Errorf("%s changed the number of objects from %d to %d", what, len(before), len(after))
	}
}

// expectNothingApplied fails when a refused component left a trace.
func (s *story) expectNothingApplied() {
	s.Helper()
	for _, object := range s.owned("web") {
		s.Errorf("%s was applied", live.ID(&object))
	}
	s.expectGone("Secret/NAMESPACE/component.web")
	if _, err := os.Stat(filepath.Join(s.path, "terraform.tfstate")); !errors.Is(err, os.ErrNotExist) {
		s.Errorf("there is a state: %v", err)
	}
}

// warnings are the warnings of what Terraform said.
func warnings(text string) string {
	at := strings.Index(text, "\nWarning: ")
	if at < 0 {
		return ""
	}
	return text[at:]
}

// expectSays fails when a text does not contain all parts, whatever the line breaks.
func (s *story) expectSays(text string, parts ...string) {
	s.Helper()
	flat := strings.Join(strings.Fields(text), " ")
	for _, part := range parts {
		if !strings.Contains(flat, strings.Join(strings.Fields(s.place(part)), " ")) {
			s.Errorf("it does not say %q:\n%s", s.place(part), text)
		}
	}
}
