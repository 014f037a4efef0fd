package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/source"
	"github.com/kubewave/terraform-provider-component/internal/testcluster"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// rig is one test's place in the test cluster: a namespace and an API group of
// its own, an engine whose requests are watched, and the connection of
// somebody else who works in the same cluster.
type rig struct {
	*testing.T
	engine *Engine
	wire   *wire
	// others is the connection of kubectl and the like.
	others *cluster.Cluster
	// namespace exists. The API group of CRDs is namespace + ".example".
	namespace string
}

func newRig(t *testing.T) *rig { return newRigWith(t, Options{}) }

func newRigWith(t *testing.T, options Options) *rig {
	t.Helper()
	r := &rig{T: t, wire: &wire{}, namespace: fmt.Sprintf("%s-%08x", slug(t.Name()), rand.Uint32())}
	r.engine = r.newEngine(options, nil)
	var err error
	if r.others, err = cluster.New(r.config(), "kubectl-edit"); err != nil {
		t.Fatal(err)
	}
	r.create("{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE}}")
	return r
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slug makes a name for a namespace of that of a test.
func slug(name string) string {
	name = notSlug.ReplaceAllString(strings.ToLower(strings.TrimPrefix(name, "Test")), "-")
	return strings.Trim(name[:min(len(name), 30)], "-")
}

func (r *rig) config() *rest.Config {
	r.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", testcluster.Kubeconfig(r.T))
	if err != nil {
		r.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	return config
}

// newEngine makes an engine as the provider does, with its requests on the
// wire. change, if any, changes how it connects.
func (r *rig) newEngine(options Options, change func(*rest.Config)) *Engine {
	r.Helper()
	if options.ReclaimedFieldManagers == nil {
		options.ReclaimedFieldManagers = []string{"kubectl"}
	}
	if options.AdoptedFieldManagers == nil {
		options.AdoptedFieldManagers = []string{"helm", "Terraform", "kustomize-controller", "argocd-controller"}
	}
	config := r.config()
	if change != nil {
		change(config)
	}
	config.Wrap(r.wire.wrap)
	e := Offline(options)
	var err error
	if e.cluster, err = cluster.New(config, e.options.FieldManager); err != nil {
		r.Fatal(err)
	}
	return e
}

// place puts the names of a rig into a manifest.
func (r *rig) place(text string) string {
	return strings.NewReplacer("NAMESPACE", r.namespace, "GROUP", r.namespace+".example").Replace(text)
}

// request is what was asked of the API server.
type request struct {
	method, path, query string
}

func (q request) String() string { return strings.TrimSuffix(q.method+" "+q.path+"?"+q.query, "?") }

// writes: the request was to change something.
func (q request) writes() bool {
	return q.method != http.MethodGet && !strings.Contains(q.query, "dryRun=All")
}

// writesObjects: it was to change an object of a component, not its record or
// an event about it.
func (q request) writesObjects() bool {
	return q.writes() && !strings.Contains(q.path, "/secrets/component.") && !strings.HasSuffix(q.path, "/events")
}

// dryRun: the request was to try something.
func (q request) dryRun() bool { return strings.Contains(q.query, "dryRun=All") }

// wire records the requests of an engine, which all go to the real API server,
// and lets a test do something between them.
type wire struct {
	mu       sync.Mutex
	requests []request
	before   func(*http.Request)
	after    func(*http.Request, *http.Response) (*http.Response, error)
	// last is the last request that is sent; all later ones fail.
	last    func(request) bool
	over    bool
	refused bool
}

// refuseAfter cuts the connection after the first request that a condition
// holds for, as the death of the process would. nil mends it.
func (w *wire) refuseAfter(last func(request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.over, w.refused = last, false, false
}

func (w *wire) wrap(next http.RoundTripper) http.RoundTripper { return &tap{w, next} }

type tap struct {
	wire *wire
	next http.RoundTripper
}

func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	w := t.wire
	w.mu.Lock()
	w.requests = append(w.requests, request{req.Method, req.URL.Path, req.URL.RawQuery})
	before, after, over := w.before, w.after, w.over
	w.over = over || w.last != nil && w.last(request{req.Method, req.URL.Path, req.URL.RawQuery})
	w.refused = w.refused || over
	w.mu.Unlock()
	if over {
		return nil, syscall.ECONNREFUSED
	}
	if before != nil {
		before(req)
	}
	resp, err := t.next.RoundTrip(req)
	if err == nil && after != nil {
		return after(req, resp)
	}
	return resp, err
}

// clear forgets the requests made so far.
func (w *wire) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = nil
}

// all returns the requests that a condition holds for.
func (w *wire) all(condition func(request) bool) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []string
	for _, q := range w.requests {
		if condition(q) {
			found = append(found, q.String())
		}
	}
	return found
}

// onceBefore does something before the first request that a condition holds
// for.
func (w *wire) onceBefore(condition func(request) bool, do func()) {
	var once sync.Once
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = func(req *http.Request) {
		if condition(request{req.Method, req.URL.Path, req.URL.RawQuery}) {
			once.Do(do)
		}
	}
}

// writesTo holds for the requests that change an object, named as in a URL:
// "configmaps/x". A create by POST does not name it.
func writesTo(name string) func(request) bool {
	plural, _, _ := strings.Cut(name, "/")
	return func(q request) bool {
		return q.writes() && (strings.HasSuffix(q.path, "/"+name) || q.method == http.MethodPost && strings.HasSuffix(q.path, "/"+plural))
	}
}

// parse reads objects, NAMESPACE and GROUP filled in, and gives namespaced
// ones the namespace of the rig.
func (r *rig) parse(manifests string) []*unstructured.Unstructured {
	r.Helper()
	found, err := object.Decode(object.Origin{File: "test"}, []byte(r.place(manifests)))
	if err != nil {
		r.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, manifest := range found {
		obj := manifest.Object
		if served := r.typeOf(obj); served.Namespaced && obj.GetNamespace() == "" {
			obj.SetNamespace(r.namespace)
		}
		objects = append(objects, obj)
	}
	return objects
}

func (r *rig) typeOf(obj *unstructured.Unstructured) cluster.Type {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	served, err := cluster.Eventually(ctx, func() (cluster.Type, error) {
		found, err := r.others.TypeFor(ctx, obj.GroupVersionKind())
		if err != nil {
			r.others.ForgetTypes(ctx)
		}
		return found, err
	}, cluster.NotServed)
	if err != nil {
		r.Fatal(err)
	}
	return served
}

// create makes objects as somebody else. Cluster-scoped ones go with the test.
func (r *rig) create(manifests string) []*unstructured.Unstructured {
	r.Helper()
	var created []*unstructured.Unstructured
	for _, obj := range r.parse(manifests) {
		served := r.typeOf(obj)
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		live, err := cluster.Eventually(ctx, func() (*unstructured.Unstructured, error) {
			return r.others.Create(ctx, served, obj, cluster.Persist)
		}, cluster.NotServed)
		if err != nil {
			r.Fatal(err)
		}
		if !served.Namespaced {
			r.leaves(obj)
		}
		created = append(created, live)
	}
	return created
}

// leaves removes an object at the end of the test, whoever made it.
func (r *rig) leaves(obj *unstructured.Unstructured) {
	r.Cleanup(func() {
		err := r.client(obj).Delete(context.WithoutCancel(r.Context()), obj.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			r.Error(err)
		}
	})
}

func (r *rig) client(obj *unstructured.Unstructured) dynamic.ResourceInterface {
	r.Helper()
	served := r.typeOf(obj)
	if !served.Namespaced {
		return r.others.Dynamic().Resource(served.Resource)
	}
	return r.others.Dynamic().Resource(served.Resource).Namespace(obj.GetNamespace())
}

// named turns an id as the plan prints it, "Kind.group/name" in the namespace
// of the rig or with its own, into what a client needs. GROUP is filled in.
func (r *rig) named(id string) *unstructured.Unstructured {
	r.Helper()
	parsed, err := object.ParseID(r.place(id))
	if err != nil {
		r.Fatal(err)
	}
	mapping, err := r.others.Mapper().RESTMapping(parsed.GroupKind())
	if err != nil {
		// A type that came after the last look.
		r.others.ForgetTypes(r.Context())
		mapping, err = r.others.Mapper().RESTMapping(parsed.GroupKind())
	}
	if err != nil {
		r.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(mapping.GroupVersionKind)
	obj.SetName(parsed.Name)
	obj.SetNamespace(parsed.Namespace)
	if parsed.Namespace == "" && mapping.Scope.Name() == "namespace" {
		obj.SetNamespace(r.namespace)
	}
	return obj
}

// gvk is a kind of the rig's API group.
func (r *rig) gvk(kind, version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.namespace + ".example", Version: version, Kind: kind}
}

// live reads an object; nil when there is none.
func (r *rig) live(id string) *unstructured.Unstructured {
	r.Helper()
	obj := r.named(id)
	found, err := r.client(obj).Get(r.Context(), obj.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.Fatal(err)
	}
	return found
}

// mustLive reads an object that must be there.
func (r *rig) mustLive(id string) *unstructured.Unstructured {
	r.Helper()
	found := r.live(id)
	if found == nil {
		r.Fatalf("%s does not exist", r.place(id))
	}
	return found
}

// field reads a value of a live object, such as "data.k".
func (r *rig) field(id, path string) any {
	r.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(r.mustLive(id).Object, strings.Split(path, ".")...)
	if err != nil {
		r.Fatal(err)
	}
	return value
}

// wantFields compares values of live objects: "ConfigMap/x data.k" to value,
// nil for a field that is not there.
func (r *rig) wantFields(want map[string]any) {
	r.Helper()
	got := map[string]any{}
	for key := range want {
		id, path, _ := strings.Cut(key, " ")
		got[key] = r.field(id, path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Error(diff)
	}
}

// edit merges a patch into a live object, as kubectl edit and kubectl patch
// do.
func (r *rig) edit(id, patch string) { r.Helper(); r.editAs("kubectl-edit", id, patch) }

func (r *rig) editAs(manager, id, patch string) {
	r.Helper()
	obj := r.named(id)
	_, err := r.client(obj).Patch(r.Context(), obj.GetName(), types.MergePatchType, []byte(r.place(patch)), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		r.Fatal(err)
	}
}

// apply applies an object server-side, as another tool does.
func (r *rig) apply(manager, manifest string) {
	r.Helper()
	for _, obj := range r.parse(manifest) {
		_, err := r.client(obj).Apply(r.Context(), obj.GetName(), obj, metav1.ApplyOptions{FieldManager: manager, Force: true})
		if err != nil {
			r.Fatal(err)
		}
	}
}

// remove asks for the deletion of an object, as kubectl delete --wait=false.
func (r *rig) remove(id string) {
	r.Helper()
	obj := r.named(id)
	if err := r.client(obj).Delete(r.Context(), obj.GetName(), metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
}

// eventually waits for what somebody else does.
func (r *rig) eventually(what string, condition func() bool) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			r.Fatalf("waited %v in vain: %s", patience, what)
		case <-tick.C:
		}
	}
}

// versions returns the resourceVersions of objects.
func (r *rig) versions(ids ...string) map[string]string {
	r.Helper()
	found := map[string]string{}
	for _, id := range ids {
		found[id] = r.mustLive(id).GetResourceVersion()
	}
	return found
}

// story is one component, and what Terraform remembers of it from step to
// step.
type story struct {
	*rig
	engine    *Engine
	component Component
	prior     *Prior
}

// story begins with a component that was never applied.
func (r *rig) story(name, manifests string) *story {
	s := &story{rig: r, engine: r.engine, component: Component{
		Namespace: r.namespace, Name: name, Defaults: componentDefaults(), ReadyTimeout: patience,
	}}
	s.write(manifests)
	return s
}

// write replaces the manifests of the source.
func (s *story) write(manifests string) {
	s.component.Source = source.Files{"all.yaml": s.place(manifests)}
}

// refresh is what Terraform does before a plan.
func (s *story) refresh() {
	s.Helper()
	if s.prior == nil {
		return
	}
	found, err := s.engine.Refresh(s.Context(), s.identity(), *s.prior)
	if err != nil {
		s.Fatal(err)
	}
	if found.Gone {
		s.prior = nil
		return
	}
	s.prior = &Prior{Objects: found.Objects, Revision: found.Revision, Status: found.Status, Artifact: found.Artifact, Memory: stored(s.T, found.Memory)}
}

func (s *story) identity() Identity {
	return Identity{Namespace: s.component.Namespace, Name: s.component.Name}
}

// stored sends what private state keeps through JSON, as Terraform does.
func stored(t *testing.T, memory Memory) Memory {
	t.Helper()
	text, err := json.Marshal(memory)
	if err != nil {
		t.Fatal(err)
	}
	var read Memory
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// plan is terraform plan.
func (s *story) plan() (*Plan, error) {
	s.Helper()
	s.refresh()
	return s.engine.Plan(s.Context(), s.component, s.prior, PlanOptions{})
}

// mustPlan is a plan without an error.
func (s *story) mustPlan() *Plan {
	s.Helper()
	plan, err := s.plan()
	if err != nil {
		s.Fatal(err)
	}
	return plan
}

// apply is terraform apply: a plan, and its execution also when there is
// nothing to do.
func (s *story) apply() (*Result, error) {
	s.Helper()
	plan, err := s.plan()
	if err != nil {
		return &Result{}, err
	}
	return s.execute(s.Context(), plan.Planned.Objects)
}

// execute applies what was approved, as Create and Update of the provider do.
func (s *story) execute(ctx context.Context, approved map[string]string) (*Result, error) {
	s.Helper()
	plan, err := s.engine.Plan(ctx, s.component, s.prior, PlanOptions{Apply: true})
	if err != nil {
		return &Result{}, err
	}
	return s.run(ctx, plan, approved)
}

func (s *story) run(ctx context.Context, plan *Plan, approved map[string]string) (*Result, error) {
	s.Helper()
	result, err := s.engine.Apply(ctx, plan, approved)
	if result.Started {
		s.prior = &Prior{
			Objects: maps.Clone(result.Objects), Revision: result.Revision, Status: result.Status, Artifact: result.Artifact,
			Memory: stored(s.T, result.Memory),
		}
	}
	return result, err
}

// mustApply is an apply without an error, after which there is nothing to do.
func (s *story) mustApply() *Result {
	s.Helper()
	result, err := s.apply()
	if err != nil {
		s.Fatal(err)
	}
	if result.Status != StatusReady {
		s.Fatalf("the component is %s", result.Status)
	}
	s.wantNothingToDo()
	return result
}

// wantNothingToDo is terraform plan -detailed-exitcode.
func (s *story) wantNothingToDo() {
	s.Helper()
	plan := s.mustPlan()
	if plan.NothingToDo {
		return
	}
	s.Errorf("the plan is not empty: status %s, %s", s.prior.Status, plan.Planned.Summary)
	if diff := cmp.Diff(s.prior.Objects, plan.Planned.Objects); diff != "" {
		s.Error(diff)
	}
}

// destroy is terraform destroy.
func (s *story) destroy() error {
	s.Helper()
	s.refresh()
	if s.prior == nil {
		return nil
	}
	_, err := s.engine.Delete(s.Context(), Deletion{
		Identity: s.identity(), Prior: *s.prior, Timeout: s.component.ReadyTimeout, SkipSafeguards: s.component.SkipSafeguards,
	})
	if err == nil {
		s.prior = nil
	}
	return err
}

// mustDestroy is a destroy without an error.
func (s *story) mustDestroy() {
	s.Helper()
	if err := s.destroy(); err != nil {
		s.Fatal(err)
	}
}

// actions is what a plan decided about each object.
func actions(plan *Plan) map[string]Action {
	all := map[string]Action{}
	for _, change := range plan.Changes {
		all[change.Key] = change.Action
	}
	return all
}

// text prints warnings as the provider does.
func text(warnings []Warning) string {
	var out strings.Builder
	for _, warning := range warnings {
		out.WriteString(warning.Title + "\n" + strings.Join(warning.Lines, "\n") + "\n")
	}
	return out.String()
}

// wantError checks that there is an error that says all of these.
func (r *rig) wantError(err error, says ...string) {
	r.Helper()
	if err == nil {
		r.Fatalf("there is no error, want one that says %q", says)
	}
	full := full(err)
	for _, part := range says {
		if part = r.place(part); !strings.Contains(full, part) {
			r.Errorf("the error does not say %q:\n%s", part, full)
		}
	}
}

// full is the text of an error with the titles that the provider prints.
func full(err error) string {
	var lines []string
	for _, part := range object.Problems(err) {
		title := ""
		var of *ObjectError
		var component *ComponentError
		var unready *NotReadyError
		switch {
		case errors.As(part, &of):
			title = of.Title + ": "
		case errors.As(part, &component):
			title = component.Title + ": "
		case errors.As(part, &unready):
			title = unready.Title() + ": "
		}
		lines = append(lines, title+part.Error())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
