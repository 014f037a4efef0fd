package engine

import (
	"context"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

func (r *rig) identity(name string) Identity { return Identity{Namespace: r.namespace, Name: name} }

// header is what the metadata of a component's record says.
func (r *rig) header(name string) record.Header {
	r.Helper()
	headers, err := record.Headers(r.Context(), r.others, r.namespace)
	if err != nil {
		r.Fatal(err)
	}
	for _, header := range headers {
		if header.Name == name {
			return header
		}
	}
	return record.Header{}
}

// inNamespaceOnly is the engine of somebody who may do everything in the
// namespace and nothing outside.
func (r *rig) inNamespaceOnly() *Engine {
	r.Helper()
	r.create(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: all}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: all}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: all}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: NAMESPACE}]
`)
	id, err := r.engine.cluster.ID(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	e := r.newEngine(Options{}, func(config *rest.Config) { config.Impersonate.UserName = r.namespace })
	e.cluster.UseID(id)
	r.eventually("the right is in force", func() bool {
		_, err := e.store(r.namespace, "none").Load(r.Context())
		return err == nil
	})
	return e
}

func configMap(name string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}}"
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	t.Run("apply waits until all are ready", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		first, second := r.story("first", configMap("first")), r.story("second", configMap("second"))
		second.component.Dependencies = []Identity{r.identity("first")}
		plan := second.mustPlan()
		if said := text(plan.Warnings); !strings.Contains(said, r.place("will wait for 1 dependency")) || !strings.Contains(said, r.place("NAMESPACE/first: it does not exist")) {
			t.Errorf("the plan says %q", said)
		}
		var group errgroup.Group
		group.Go(func() error {
			_, err := second.run(t.Context(), plan, plan.Planned.Objects)
			return err
		})
		r.eventually("the second one waits", func() bool {
			return r.header("second").Phase == record.Pending && r.header("second").Reason == reasonDependencies
		})
		if r.live("ConfigMap/second") != nil {
			t.Error("it did not wait")
		}
		first.mustApply()
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		r.mustLive("ConfigMap/second")
		second.wantNothingToDo()
		if said := text(second.mustPlan().Warnings); said != "" {
			t.Errorf("the plan says %q", said)
		}
	})
	t.Run("apply fails naming those that do not come", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		broken := r.story("broken", "{apiVersion: v1, kind: Pod, metadata: {name: x, annotations: {cluster.test/fail: not-ready}}, spec: {containers: [{name: x, image: registry.example/app:1}]}}")
		broken.component.ReadyTimeout = 100 * time.Millisecond
		if _, err := broken.apply(); err == nil {
			t.Fatal("it became ready")
		}
		s := r.story("c", configMap("x"))
		s.component.ReadyTimeout = 100 * time.Millisecond
		s.component.Dependencies = []Identity{r.identity("broken"), {Namespace: r.namespace + "-none", Name: "absent"}}
		_, err := s.apply()
		r.wantError(err, "Dependencies are not ready", "waited 100ms", "NAMESPACE/broken: it is Error (ApplyFailed)", "NAMESPACE-none/absent: it does not exist", "Nothing was applied")
		if s.prior == nil || s.prior.Status != string(record.Pending) || len(s.prior.Objects) > 0 {
			t.Errorf("state has %+v", s.prior)
		}
		if r.live("ConfigMap/x") != nil {
			t.Error("something was applied")
		}
		s.component.Dependencies = nil
		s.component.ReadyTimeout = patience
		s.mustApply()
	})
	t.Run("an interrupted wait is resumed", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", configMap("x"))
		s.component.Dependencies = []Identity{r.identity("first")}
		plan := s.mustPlan()
		ctx, cancel := context.WithCancel(t.Context())
		var group errgroup.Group
		group.Go(func() error {
			_, err := s.run(ctx, plan, plan.Planned.Objects)
			return err
		})
		r.eventually("it waits", func() bool { return r.header("c").Phase == record.Pending })
		cancel()
		r.wantError(group.Wait(), "The operation was interrupted")
		r.story("first", configMap("first")).mustApply()
		s.mustApply()
	})
	t.Run("a circle is refused at plan", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		a, b, c := r.story("a", configMap("a")), r.story("b", configMap("b")), r.story("c", configMap("c"))
		a.mustApply()
		b.component.Dependencies = []Identity{r.identity("a")}
		b.mustApply()
		c.component.Dependencies = []Identity{r.identity("b")}
		c.mustApply()
		a.component.Dependencies = []Identity{r.identity("c")}
		a.write(configMap("a2"))
		_, err := a.plan()
		r.wantError(err, "component NAMESPACE/a depends on itself: NAMESPACE/a -> NAMESPACE/c -> NAMESPACE/b -> NAMESPACE/a")
		a.component.Dependencies = []Identity{r.identity("a")}
		_, err = a.plan()
		r.wantError(err, "depends on itself: NAMESPACE/a -> NAMESPACE/a")
	})
}

func TestDependents(t *testing.T) {
	t.Parallel()
	t.Run("a component that others depend on is not deleted", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		first, second := r.story("first", configMap("first")), r.story("second", configMap("second"))
		second.component.Dependencies = []Identity{r.identity("first")}
		first.mustApply()
		second.mustApply()
		r.wantError(first.destroy(), "NAMESPACE/first cannot be deleted yet", "NAMESPACE/second (Ready)", "Nothing was deleted")
		r.mustLive("ConfigMap/first")
		if header := r.header("first"); header.Phase != record.DeletionPending || header.Reason != reasonDependents {
			t.Errorf("it is %+v", header)
		}
		// The user changes his mind.
		first.mustApply()
		second.component.Dependencies = nil
		second.mustApply()
		first.mustDestroy()
	})
	t.Run("a chain that is destroyed at once goes in reverse order", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		names := []string{"a", "b", "c"}
		var stories []*story
		for i, name := range names {
			s := r.story(name, configMap(name))
			if i > 0 {
				s.component.Dependencies = []Identity{r.identity(names[i-1])}
			}
			s.mustApply()
			s.refresh()
			stories = append(stories, s)
		}
		r.wire.clear()
		var group errgroup.Group
		for _, s := range stories {
			group.Go(func() error {
				_, err := s.engine.Delete(t.Context(), Deletion{Identity: s.identity(), Prior: *s.prior, Timeout: patience})
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, request := range r.wire.all(func(q request) bool { return q.method == http.MethodDelete && strings.Contains(q.path, "/configmaps/") }) {
			order = append(order, path.Base(request))
		}
		if diff := cmp.Diff([]string{"c", "b", "a"}, order); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("who may not see all namespaces is told so", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", configMap("x"))
		s.mustApply()
		s.refresh()
		s.engine = r.inNamespaceOnly()
		warnings, err := s.engine.Delete(t.Context(), Deletion{Identity: s.identity(), Prior: *s.prior, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text(warnings), "were looked for in its namespace only") {
			t.Errorf("it says %q", text(warnings))
		}
	})
}
