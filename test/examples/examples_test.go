// Package examples_test runs every example of the folder examples/ with the real Terraform CLI.
// An example is tested by existing: see CONTRIBUTING.md for what it consists of.
package examples_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubewave/terraform-provider-component/internal/testcluster"
	"github.com/kubewave/terraform-provider-component/test/live"
	"github.com/kubewave/terraform-provider-component/test/tfcli"
)

const (
	root    = "../.."
	manager = "terraform-provider-component"
	// timeout bounds one example. It is generous: what is slow is the machine.
	timeout = 5 * time.Minute
)

func TestExamples(t *testing.T) {
	terraform, err := tfcli.Path()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := testcluster.Kubeconfig(t)
	providerDir := t.TempDir()
	if err := tfcli.BuildProvider(t.Context(), root, providerDir); err != nil {
		t.Fatal(err)
	}
	mains, err := filepath.Glob(root + "/examples/*/main.tf")
	if err != nil || len(mains) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	for _, main := range mains {
		source := filepath.Dir(main)
		t.Run(filepath.Base(source), func(t *testing.T) {
			t.Parallel()
			e := newExample(t, source, terraform, providerDir, kubeconfig)
			e.run()
		})
	}
}

// An example is one folder of examples/, copied to where Terraform may leave its files.
type example struct {
	t         *testing.T
	ctx       context.Context
	dir       *tfcli.Dir
	cluster   *live.Cluster
	namespace string
	variables []string
	changes   map[string]string
}

func newExample(t *testing.T, source, terraform, providerDir, kubeconfig string) *example {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	work := t.TempDir()
	if err := os.CopyFS(work, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	dir, err := tfcli.New(work, terraform, providerDir)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := live.Connect(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	e := &example{
		t: t, ctx: ctx, dir: dir, cluster: cluster,
		namespace: fmt.Sprintf("example-%s-%04x", filepath.Base(source), rand.IntN(1<<16)),
	}
	e.variables = []string{"-var=kubeconfig=" + kubeconfig, "-var=namespace=" + e.namespace}
	e.changes = expectedChanges(t, filepath.Join(source, "change.tfvars"), e.namespace)
	t.Cleanup(e.removeNamespace)
	return e
}

// run tells the story of an example: it is created, nothing is left to do, one thing is changed,
// and it is destroyed.
func (e *example) run() {
	components := e.apply()
	e.expectEmptyPlan()

	before := e.settled(components)
	e.apply()
	e.expectUntouched(before, e.settled(components))
	e.expectSameState()

	change := "-var-file=change.tfvars"
	if got := e.plan(change); !maps.Equal(got, e.changes) {
		e.t.Errorf("the plan of the change shows\n%s\nand change.tfvars says\n%s", describe(got), describe(e.changes))
	}
	components = e.apply(change)
	e.expectEmptyPlan(change)

	e.terraform(0, e.withVariables("destroy", "-auto-approve", change)...)
	for _, c := range components {
		for _, object := range e.objects(c) {
			e.t.Errorf("destroy left %s", live.ID(&object))
		}
	}
}

// terraform runs a command that has to end with the exit code given, and returns what it printed.
func (e *example) terraform(exitCode int, args ...string) string {
	e.t.Helper()
	result, err := e.dir.Run(e.ctx, args...)
	if err != nil {
		e.t.Fatalf("terraform %s: %v", args[0], err)
	}
	if result.ExitCode != exitCode {
		e.t.Fatalf("terraform %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), result.ExitCode, exitCode, result.Stdout, result.Stderr)
	}
	return result.Stdout
}

func (e *example) withVariables(command string, args ...string) []string {
	return slices.Concat([]string{command, "-no-color", "-input=false"}, e.variables, args)
}

// component is the part of a component's state that the test needs.
type component struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Status    string            `json:"status"`
	Objects   map[string]string `json:"objects"`
}

// apply applies the example, and returns its components, all of which have to be Ready.
func (e *example) apply(args ...string) []component {
	e.t.Helper()
	e.terraform(0, e.withVariables("apply", append(args, "-auto-approve")...)...)
	var state struct {
		Values struct {
			RootModule struct {
				Resources []struct {
					Type   string    `json:"type"`
					Values component `json:"values"`
				} `json:"resources"`
			} `json:"root_module"`
		} `json:"values"`
	}
	e.decode(&state, e.terraform(0, "show", "-json"))
	var components []component
	for _, resource := range state.Values.RootModule.Resources {
		if resource.Type != "component" {
			continue
		}
		c := resource.Values
		if c.Status != "Ready" || len(c.Objects) == 0 {
			e.t.Fatalf("component %s/%s has status %s and %d objects", c.Namespace, c.Name, c.Status, len(c.Objects))
		}
		components = append(components, c)
	}
	return components
}

func (e *example) decode(into any, text string) {
	e.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		e.t.Fatalf("%v in %.200s", err, text)
	}
}

func (e *example) expectEmptyPlan(args ...string) {
	e.t.Helper()
	e.terraform(0, e.withVariables("plan", append(args, "-detailed-exitcode")...)...)
}

// expectSameState refreshes: what a refresh stores, also besides the attributes, may not change, or
// every run would write the state anew.
func (e *example) expectSameState() {
	e.t.Helper()
	before := e.stateResources()
	e.terraform(0, e.withVariables("apply", "-refresh-only", "-auto-approve")...)
	if after := e.stateResources(); after != before {
		e.t.Errorf("a refresh changed the state from\n%s\nto\n%s", before, after)
	}
}

func (e *example) stateResources() string {
	e.t.Helper()
	var state struct {
		Resources json.RawMessage `json:"resources"`
	}
	e.decode(&state, e.terraform(0, "state", "pull"))
	return string(state.Resources)
}

// plan returns the changes of objects that a plan announces.
func (e *example) plan(args ...string) map[string]string {
	e.t.Helper()
	e.terraform(2, e.withVariables("plan", append(args, "-detailed-exitcode", "-out=change.tfplan")...)...)
	var plan struct {
		ResourceChanges []struct {
			Type   string `json:"type"`
			Change struct {
				Before, After struct {
					Objects map[string]string `json:"objects"`
				}
			} `json:"change"`
		} `json:"resource_changes"`
	}
	e.decode(&plan, e.terraform(0, "show", "-json", "change.tfplan"))
	changes := map[string]string{}
	for _, resource := range plan.ResourceChanges {
		if resource.Type == "component" {
			maps.Copy(changes, e.objectChanges(resource.Change.Before.Objects, resource.Change.After.Objects))
		}
	}
	return changes
}

// settled returns the live objects of components, once nothing writes to them any more.
func (e *example) settled(components []component) map[string]unstructured.Unstructured {
	e.t.Helper()
	read := func() map[string]unstructured.Unstructured {
		objects := map[string]unstructured.Unstructured{}
		for _, c := range components {
			for _, object := range e.objects(c) {
				objects[live.ID(&object)] = object
			}
			for id := range c.Objects {
				if _, ok := objects[id]; !ok {
					e.t.Fatalf("%s is not in the cluster", id)
				}
			}
		}
		return objects
	}
	objects := read()
	for {
		time.Sleep(time.Second)
		again := read()
		if maps.EqualFunc(objects, again, func(a, b unstructured.Unstructured) bool {
			return a.GetResourceVersion() == b.GetResourceVersion()
		}) {
			return again
		}
		objects = again
	}
}

func (e *example) objects(c component) []unstructured.Unstructured {
	e.t.Helper()
	objects, err := e.cluster.Objects(e.ctx, c.Namespace, c.Name)
	if err != nil {
		e.t.Fatal(err)
	}
	return objects
}

// expectUntouched fails for every object that another resource version has, unless a controller
// wrote it and the provider did not.
func (e *example) expectUntouched(before, after map[string]unstructured.Unstructured) {
	e.t.Helper()
	for id, object := range after {
		old := before[id]
		if old.GetResourceVersion() == object.GetResourceVersion() {
			continue
		}
		if ours(&old) == ours(&object) && len(object.GetManagedFields()) > 1 {
			continue
		}
		e.t.Errorf("the second apply wrote %s", id)
	}
}

// ours returns what the provider's entry in the managed fields of an object says.
func ours(object *unstructured.Unstructured) string {
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == manager {
			return entry.String()
		}
	}
	return ""
}

func (e *example) removeNamespace() {
	namespaces := e.cluster.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := namespaces.Delete(ctx, e.namespace, metav1.DeleteOptions{}); err != nil {
		e.t.Logf("delete namespace %s: %v", e.namespace, err)
	}
}
