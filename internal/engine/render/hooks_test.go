package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

const prefix = DefaultAnnotationPrefix + "/"

// ours returns the annotations with our prefix, without it.
func ours(m object.Manifest) map[string]string {
	found := map[string]string{}
	for name, value := range m.Object.GetAnnotations() {
		if short, ok := strings.CutPrefix(name, prefix); ok {
			found[short] = value
		}
	}
	return found
}

// testHook makes a Job, or another kind, with annotations written as
// "name: value" lines; names without a slash are Helm's.
func testHook(t *testing.T, kind string, annotations ...string) templated {
	t.Helper()
	entries := map[string]any{}
	for _, annotation := range annotations {
		name, value, _ := strings.Cut(annotation, ": ")
		if !strings.Contains(name, "/") {
			name = "helm.sh/" + name
		}
		entries[name] = value
	}
	content := map[string]any{
		"apiVersion": "v1", "kind": kind,
		"metadata": map[string]any{"name": "x", "annotations": entries},
	}
	if kind == "CustomResourceDefinition" {
		content["apiVersion"] = "apiextensions.k8s.io/v1"
	}
	found, err := object.FromMap(object.Origin{File: "templates/x.yaml", Document: 1}, content)
	if err != nil {
		t.Fatal(err)
	}
	hook, err := hookOf(content)
	if err != nil {
		t.Fatal(err)
	}
	return templated{Manifest: found[0], hook: hook}
}

func TestHookAnnotations(t *testing.T) {
	const once, always = "once", "on-object-or-component-change"
	tests := map[string]struct {
		kind        string
		annotations []string
		upgrade     bool // a later revision
		want        map[string]string
		left        bool // out of the manifests
		onDelete    bool // among the delete hooks
	}{
		"no hook": {annotations: []string{"x: y"}, want: map[string]string{}},
		"pre-install": {
			annotations: []string{"hook: pre-install"},
			want:        map[string]string{"apply-order": "-101", "reconcile-policy": once, "update-policy": "recreate"},
		},
		"pre-install in a later revision stays, or it would be pruned": {
			annotations: []string{"hook: pre-install"}, upgrade: true,
			want: map[string]string{"apply-order": "-101", "reconcile-policy": once, "update-policy": "recreate"},
		},
		"post-install": {
			annotations: []string{"hook: post-install"},
			want:        map[string]string{"apply-order": "101", "reconcile-policy": once, "update-policy": "recreate"},
		},
		"pre-upgrade is skipped at first": {annotations: []string{"hook: pre-upgrade"}, left: true},
		"pre-upgrade": {
			annotations: []string{"hook: pre-upgrade"}, upgrade: true,
			want: map[string]string{"apply-order": "-101", "reconcile-policy": always, "update-policy": "recreate"},
		},
		"post-upgrade": {
			annotations: []string{"hook: post-upgrade"}, upgrade: true,
			want: map[string]string{"apply-order": "101", "reconcile-policy": always, "update-policy": "recreate"},
		},
		"install and upgrade, with blanks and in capitals": {
			annotations: []string{"hook:  Pre-Install , pre-upgrade"},
			want:        map[string]string{"apply-order": "-101", "reconcile-policy": always, "update-policy": "recreate"},
		},
		"pre and post is applied early": {
			annotations: []string{"hook: post-install,pre-install", "hook-weight: 3"},
			want:        map[string]string{"apply-order": "-98", "reconcile-policy": once, "update-policy": "recreate"},
		},
		"the smallest usual weights": {
			annotations: []string{"hook: pre-install", "hook-weight: -100"},
			want:        map[string]string{"apply-order": "-201", "reconcile-policy": once, "update-policy": "recreate"},
		},
		"the largest usual weights": {
			annotations: []string{"hook: post-install", "hook-weight: 100"},
			want:        map[string]string{"apply-order": "201", "reconcile-policy": once, "update-policy": "recreate"},
		},
		"a weight out of the usual range widens it": {
			annotations: []string{"hook: pre-install", "hook-weight: 150"},
			want:        map[string]string{"apply-order": "-1", "reconcile-policy": once, "update-policy": "recreate"},
		},
		"a weight that is no number counts as 0": {
			annotations: []string{"hook: pre-install", "hook-weight: first"},
			want:        map[string]string{"apply-order": "-101", "reconcile-policy": once, "update-policy": "recreate"},
		},
		"hook-succeeded of a pre hook": {
			annotations: []string{"hook: pre-install", "hook-delete-policy: hook-succeeded"},
			want:        map[string]string{"apply-order": "-101", "reconcile-policy": once, "update-policy": "recreate", "purge-order": "-1"},
		},
		"hook-succeeded of a post hook": {
			annotations: []string{"hook: post-install", "hook-delete-policy: before-hook-creation, hook-succeeded"},
			want:        map[string]string{"apply-order": "101", "reconcile-policy": once, "update-policy": "recreate", "purge-order": "201"},
		},
		"hook-succeeded of pre and post": {
			annotations: []string{"hook: pre-install,post-install", "hook-delete-policy: hook-succeeded"},
			want:        map[string]string{"apply-order": "-101", "reconcile-policy": once, "update-policy": "recreate", "purge-order": "201"},
		},
		"hook-succeeded in a wider range": {
			annotations: []string{"hook: post-install", "hook-weight: -200", "hook-delete-policy: hook-succeeded"},
			want:        map[string]string{"apply-order": "1", "reconcile-policy": once, "update-policy": "recreate", "purge-order": "401"},
		},
		"hook-failed alone": {
			annotations: []string{"hook: pre-install", "hook-delete-policy: hook-failed"},
			want:        map[string]string{"apply-order": "-101", "reconcile-policy": once, "update-policy": "recreate"},
		},
		"a Namespace is neither recreated nor purged": {
			kind: "Namespace", annotations: []string{"hook: pre-install", "hook-delete-policy: hook-succeeded"},
			want: map[string]string{"apply-order": "-101", "reconcile-policy": once},
		},
		"nor is a definition": {
			kind: "CustomResourceDefinition", annotations: []string{"hook: pre-install,pre-upgrade"},
			want: map[string]string{"apply-order": "-101", "reconcile-policy": always},
		},
		"keep": {annotations: []string{"resource-policy: keep"}, want: map[string]string{"delete-policy": "orphan"}},
		"keep of a hook": {
			annotations: []string{"hook: pre-install", "resource-policy:  KEEP"},
			want:        map[string]string{"apply-order": "-101", "reconcile-policy": once, "update-policy": "recreate", "delete-policy": "orphan"},
		},
		"the author's annotations win": {
			annotations: []string{"hook: pre-install", "hook-delete-policy: hook-succeeded", "resource-policy: keep", prefix + "apply-order: 7",
				prefix + "reconcile-policy: on-object-change", prefix + "update-policy: replace", prefix + "purge-order: 9", prefix + "delete-policy: delete"},
			want: map[string]string{"apply-order": "7", "reconcile-policy": "on-object-change", "update-policy": "replace", "purge-order": "9", "delete-policy": "delete"},
		},
		"test":               {annotations: []string{"hook: test"}, left: true},
		"test, of Helm 2":    {annotations: []string{"hook: test-success"}, left: true},
		"rollback":           {annotations: []string{"hook: pre-rollback,post-rollback"}, left: true},
		"pre-delete":         {annotations: []string{"hook: pre-delete"}, left: true, onDelete: true},
		"test and post-dele": {annotations: []string{"hook: test,post-delete"}, left: true, onDelete: true},
		"upgrade and rollback": {
			annotations: []string{"hook: pre-upgrade,pre-rollback"}, upgrade: true,
			want: map[string]string{"apply-order": "-101", "reconcile-policy": always, "update-policy": "recreate"},
		},
		"install and delete": {
			annotations: []string{"hook: post-install,pre-delete"}, onDelete: true,
			want: map[string]string{"apply-order": "101", "reconcile-policy": once, "update-policy": "recreate"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kind := test.kind
			if kind == "" {
				kind = "Job"
			}
			in := Input{AnnotationPrefix: DefaultAnnotationPrefix, IsInstall: !test.upgrade}
			out, err := placeHooks(in, nil, []templated{testHook(t, kind, test.annotations...)})
			if err != nil {
				t.Fatal(err)
			}
			if test.left != (len(out.manifests) == 0) {
				t.Fatalf("manifests: %v, want none: %v", ids(out.manifests), test.left)
			}
			if !test.left {
				if diff := cmp.Diff(test.want, ours(out.manifests[0])); diff != "" {
					t.Errorf("annotations (-want +got):\n%s", diff)
				}
			}
			if test.onDelete != (len(out.deleteHooks) == 1) {
				t.Fatalf("delete hooks: %v, want one: %v", ids(out.deleteHooks), test.onDelete)
			}
			if test.onDelete && len(ours(out.deleteHooks[0])) > 0 {
				t.Errorf("a delete hook is annotated: %v", ours(out.deleteHooks[0]))
			}
		})
	}
}

func TestHookRefusals(t *testing.T) {
	job := func(annotations string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, annotations: {" + annotations + "}}\n"
	}
	tests := map[string]struct {
		template string
		want     []string
	}{
		"an unknown event": {
			job(`helm.sh/hook: "pre-install,pre-instal"`),
			[]string{`Job.batch/j, from templates/a.yaml, document 1: annotation helm.sh/hook: "pre-instal" is not one of pre-install, post-install`},
		},
		"an event of Helm 2": {job(`helm.sh/hook: crd-install`), []string{"move the definition into the crds/ folder"}},
		"all documents": {
			job(`helm.sh/hook: a`) + "---\n" + job(`helm.sh/hook: b`),
			[]string{`document 1: annotation helm.sh/hook: "a"`, `document 2: annotation helm.sh/hook: "b"`},
		},
		"a weight out of all ranges": {
			job(`helm.sh/hook: pre-install, helm.sh/hook-weight: "16001"`),
			[]string{"annotation helm.sh/hook-weight: 16001 is not between -16000 and 16000"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Render(t.Context(), helmChart(t, map[string]string{"templates/a.yaml": test.template}))
			wantProblems(t, err, test.want...)
		})
	}
}

// TestHooksOfOneName: Helm runs the hooks of one event, so that a chart may
// have one Job for the installation and another of the same name for upgrades.
func TestHooksOfOneName(t *testing.T) {
	in := helmChart(t, map[string]string{"templates/a.yaml": `
apiVersion: batch/v1
kind: Job
metadata: {name: j, annotations: {helm.sh/hook: pre-install}, labels: {for: install}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j, annotations: {helm.sh/hook: pre-upgrade}, labels: {for: upgrade}}
`})
	if got := manifest(t, mustRender(t, in), "Job.batch/j").Object.GetLabels()["for"]; got != "install" {
		t.Errorf("the first revision has the Job for %s", got)
	}
	in.IsInstall, in.IsUpgrade, in.Revision = false, true, 2
	if got := manifest(t, mustRender(t, in), "Job.batch/j").Object.GetLabels()["for"]; got != "upgrade" {
		t.Errorf("the second revision has the Job for %s", got)
	}
}

// TestTestHooksNeedNoName: an object that is not applied may be one that could
// not be.
func TestTestHooksNeedNoName(t *testing.T) {
	in := helmChart(t, map[string]string{"templates/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {generateName: check-, annotations: {helm.sh/hook: test}}\n"})
	want := []string{"Test and rollback hooks of the chart are not applied: Pod/check-*."}
	if diff := cmp.Diff(want, mustRender(t, in).Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestHookNotes(t *testing.T) {
	in := Input{AnnotationPrefix: DefaultAnnotationPrefix, IsInstall: true}
	out, err := placeHooks(in, nil, []templated{
		testHook(t, "Pod", "hook: test"), testHook(t, "Job", "hook: post-rollback"), testHook(t, "Job", "hook: pre-delete"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Test and rollback hooks of the chart are not applied: Pod/x, Job/x.",
		"Delete hooks of the chart are not run yet: Job/x.",
	}
	if diff := cmp.Diff(want, out.notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestHooksChart renders a chart with a crds/ folder and hooks of all kinds.
func TestHooksChart(t *testing.T) {
	in := folder(t, "testdata/helm/hooks/chart")
	out := mustRender(t, in)
	want := []string{
		"CustomResourceDefinition.apiextensions.k8s.io/widgets.ex.io from crds/widgets.yaml, document 1, line 1",
		"PersistentVolumeClaim/data from templates/data.yaml, document 1",
		"Widget.ex.io/needs-its-own-crd from templates/data.yaml, document 2",
		"ServiceAccount/setup from templates/hooks.yaml, document 1",
		"Job.batch/migrate from templates/hooks.yaml, document 2",
		"Job.batch/seed from templates/hooks.yaml, document 3",
	}
	if diff := cmp.Diff(want, ids(out.Manifests)); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
	wantCRD := map[string]string{"apply-order": "-202", "delete-policy": "orphan"}
	if diff := cmp.Diff(wantCRD, ours(out.Manifests[0])); diff != "" {
		t.Errorf("annotations of the definition (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Job.batch/cleanup from templates/hooks.yaml, document 5"}, ids(out.DeleteHooks)); diff != "" {
		t.Errorf("delete hooks (-want +got):\n%s", diff)
	}
	in.IsInstall, in.IsUpgrade = false, true
	manifest(t, mustRender(t, in), "Job.batch/reindex")
}
