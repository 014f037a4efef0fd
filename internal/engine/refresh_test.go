package engine

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// What somebody changes between plan and apply in an object that the apply
// does not write stays drift.
func TestDriftBetweenPlanAndApplyIsNotForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", twoMaps)
	s.mustApply()
	s.write(strings.Replace(twoMaps, `"1"`, `"2"`, 1))
	approved := s.mustPlan().Planned.Objects
	r.edit("ConfigMap/two", `{"data": {"k": "by hand"}}`)
	if _, err := s.execute(t.Context(), approved); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`.data.k: "1" -> "by hand"`}, s.drift("ConfigMap/NAMESPACE/two")); diff != "" {
		t.Error(diff)
	}
	s.mustApply()
	r.wantFields(map[string]any{"ConfigMap/one data.k": "2", "ConfigMap/two data.k": "1"})
}

// An object that somebody deletes after the plan was approved is created by
// the apply when that sees it, and is missed by the next refresh when not.
func TestAnObjectThatVanishesAfterThePlanIsMissed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", twoMaps)
	s.mustApply()
	s.write(strings.Replace(twoMaps, `"1"`, `"2"`, 1))
	approved := s.mustPlan().Planned.Objects
	r.remove("ConfigMap/two")
	if _, err := s.execute(t.Context(), approved); err != nil {
		t.Fatal(err)
	}
	s.wantNothingToDo()
	r.mustLive("ConfigMap/two")

	s.write(strings.Replace(twoMaps, `"1"`, `"3"`, 1))
	plan, err := r.engine.Plan(t.Context(), s.component, s.prior, PlanOptions{Apply: true})
	if err != nil {
		t.Fatal(err)
	}
	r.remove("ConfigMap/two")
	if _, err := s.run(t.Context(), plan, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("1 to create", s.mustPlan().Planned.Summary); diff != "" {
		t.Error(diff)
	}
	s.mustApply()
}

// Anything but an answer is an error, never "gone".
func TestARefreshThatCannotLookIsAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", twoMaps)
	s.mustApply()
	r.create(`
{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader}, rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reader}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}, subjects: [{kind: ServiceAccount, name: reader, namespace: NAMESPACE}]}
`)
	reader := func(config *rest.Config) {
		config.Impersonate.UserName = "system:serviceaccount:" + r.namespace + ":reader"
	}
	clusterID, err := r.engine.cluster.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.eventually("the right is in force", func() bool {
		_, err := r.newEngine(Options{}, reader).store(r.namespace, "c").Load(t.Context())
		return err == nil
	})
	for name, c := range map[string]struct {
		change func(*rest.Config)
		says   []string
	}{
		"a server that does not listen": {
			func(config *rest.Config) { config.Host = "https://127.0.0.1:1" }, []string{"The cluster cannot be reached", "Nothing was changed"},
		},
		"credentials that are refused": {
			func(config *rest.Config) {
				config.CertData, config.KeyData, config.CertFile, config.KeyFile, config.BearerToken = nil, nil, "", "", "wrong"
			}, []string{"The cluster refused the credentials"},
		},
		"no right to read the record": {
			func(config *rest.Config) { config.Impersonate.UserName = "nobody" }, []string{"A right is missing", "secrets"},
		},
		"no right to read the objects": {
			reader, []string{"A right is missing", "configmaps"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := r.newEngine(Options{}, c.change)
			if strings.HasPrefix(name, "no right") {
				// Whoever may not read kube-system sets the id.
				e.cluster.UseID(clusterID)
			}
			start := time.Now()
			found, err := e.Refresh(t.Context(), s.identity(), *s.prior)
			if found != nil && found.Gone {
				t.Error("it counts as gone")
			}
			r := *r
			r.T = t
			r.wantError(err, c.says...)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v to say so", took)
			}
		})
	}
}

func TestRefreshWithoutARecord(t *testing.T) {
	t.Parallel()
	t.Run("objects are there: what private state knows stands in, with a warning, and the next apply mends it", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", twoMaps)
		s.mustApply()
		before := r.versions("ConfigMap/one", "ConfigMap/two")
		r.remove("Secret/component.c")
		found, err := r.engine.Refresh(t.Context(), s.identity(), *s.prior)
		if err != nil {
			t.Fatal(err)
		}
		if found.Gone || len(found.Objects) != 2 || !strings.Contains(text(found.Warnings), "Secret/"+r.namespace+"/component.c does not exist") {
			t.Errorf("got %v, %s", found.Objects, text(found.Warnings))
		}
		if plan := s.mustPlan(); plan.NothingToDo {
			t.Error("the plan is empty although there is no record")
		}
		s.mustApply()
		if s.record() == nil {
			t.Error("there is no record")
		}
		if got := r.versions("ConfigMap/one", "ConfigMap/two"); len(got) != len(before) {
			t.Errorf("got %v", got)
		}
		s.mustDestroy()
	})

	t.Run("objects are there and it is deleted: they go", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", twoMaps)
		s.mustApply()
		r.remove("Secret/component.c")
		s.mustDestroy()
		if r.live("ConfigMap/one") != nil || r.live("ConfigMap/two") != nil {
			t.Error("something is left")
		}
	})

	t.Run("nothing is there: it is gone", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", twoMaps)
		s.mustApply()
		for _, id := range []string{"Secret/component.c", "ConfigMap/one", "ConfigMap/two"} {
			r.remove(id)
		}
		found, err := r.engine.Refresh(t.Context(), s.identity(), *s.prior)
		if err != nil || !found.Gone {
			t.Errorf("got %+v, %v", found, err)
		}
	})

	t.Run("nothing but the record is there: all objects are missed", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", twoMaps)
		s.mustApply()
		r.remove("ConfigMap/one")
		r.remove("ConfigMap/two")
		s.refresh()
		if s.prior == nil || len(s.prior.Objects) > 0 {
			t.Errorf("got %v", s.prior)
		}
		s.mustApply()
	})
}

func TestAnotherClusterUnderTheSameName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", twoMaps)
	s.mustApply()
	id := s.prior.Memory.ClusterID
	elsewhere := r.newEngine(Options{}, nil)
	elsewhere.cluster.UseID("another-cluster")
	_, err := elsewhere.Refresh(t.Context(), s.identity(), *s.prior)
	r.wantError(err, "The cluster is another one", id, "another-cluster")
	_, err = elsewhere.Delete(t.Context(), Deletion{Identity: s.identity(), Prior: *s.prior, Timeout: patience})
	r.wantError(err, "The cluster is another one", id, "another-cluster", "Nothing was deleted")
	if r.live("ConfigMap/one") == nil {
		t.Error("something was deleted")
	}
}

func TestAComponentThatExistsIsNotCreatedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.story("c", twoMaps).mustApply()
	other := r.story("c", "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
	_, err := other.plan()
	r.wantError(err, "The component exists already", "component NAMESPACE/c is in the cluster already (revision 1, 2 objects)",
		"moved", "terraform import component.NAME NAMESPACE/c")
	if r.live("ConfigMap/other") != nil {
		t.Error("something was applied")
	}
}

// The lists of an owner are read where they may be, and single objects where
// not.
func TestObjectsAreReadOneByOneWithoutTheRightToList(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", twoMaps)
	s.mustApply()
	r.create(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: getter}, rules: [{apiGroups: [""], resources: [secrets, configmaps], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: getter}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: getter}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: NAMESPACE}]}
`)
	e := r.newEngine(Options{}, func(config *rest.Config) { config.Impersonate.UserName = r.namespace })
	e.cluster.UseID(s.prior.Memory.ClusterID)
	r.eventually("the right is in force", func() bool {
		_, err := e.store(r.namespace, "c").Load(t.Context())
		return err == nil
	})
	found, err := e.Refresh(t.Context(), s.identity(), *s.prior)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.prior.Objects, found.Objects); diff != "" {
		t.Errorf("%s\n%v", diff, slices.Sorted(maps.Keys(found.Objects)))
	}
}
