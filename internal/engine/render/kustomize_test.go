package render

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKustomizeOrigins: objects name the file that they were written in, also
// when kustomize changed their names.
func TestKustomizeOrigins(t *testing.T) {
	in := folder(t, "testdata/kustomize/overlays/in")
	in.Path = "overlays/prod"
	want := []string{
		"Deployment.apps/prod/p-web from base/web.yaml, document 1, line 1",
		"Service/prod/p-web from base/web.yaml, document 2, line 22",
		"ServiceAccount/prod/p-web from base/sub+folder/role.yaml, document 1, line 1",
		"Widget.example.org/prod/p-big from base/sub+folder/role.yaml, document 1, line 1",
		"ConfigMap/prod/p-settings-<hash> from overlays/prod/Kustomization",
		"Secret/prod/p-token from overlays/prod/Kustomization",
	}
	var got []string
	for _, line := range ids(mustRender(t, in).Manifests) {
		if head, tail, ok := strings.Cut(line, "p-settings-"); ok {
			_, tail, _ = strings.Cut(tail, " ")
			line = head + "p-settings-<hash> " + tail
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
}

// TestKustomizeAllowOutside: the check of outside files can be switched off,
// but nothing outside of the source is ever there.
func TestKustomizeAllowOutside(t *testing.T) {
	in := files(t, map[string]string{"k/kustomization.yaml": "resources: [../a.yaml]\n", "a.yaml": configMap("a")})
	in.Path = "k"
	in.AllowOutside = true
	manifest(t, mustRender(t, in), "ConfigMap/a")
}

// TestKustomizeInParallel: kustomize has global state, which kustomizations
// with schemas of their own change.
func TestKustomizeInParallel(t *testing.T) {
	var group sync.WaitGroup
	for i := range 8 {
		in := files(t, map[string]string{
			"kustomization.yaml": fmt.Sprintf("namePrefix: p%d-\nresources: [a.yaml]\nopenapi: {version: v1.21.2}\n", i), "a.yaml": configMap("a"),
		})
		group.Go(func() {
			out, err := Render(t.Context(), in)
			if err != nil || out.Manifests[0].ID().Name != fmt.Sprintf("p%d-a", i) {
				t.Errorf("rendering %d: %v, %v", i, out, err)
			}
		})
	}
	group.Wait()
}

// TestKustomizeKeepsScalars: texts that look like something else, and numbers
// of 64 bits, come through a build as they are written.
func TestKustomizeKeepsScalars(t *testing.T) {
	in := files(t, map[string]string{
		"kustomization.yaml": "namePrefix: p-\nlabels: [{pairs: {ver: \"2.4\"}}]\nresources: [a.yaml]\npatches:\n- patch: |-\n    apiVersion: ex.io/v1\n    kind: Widget\n    metadata: {name: w}\n    spec: {more: 9007199254740995}\n",
		"a.yaml":             "apiVersion: ex.io/v1\nkind: Widget\nmetadata: {name: w}\nspec: {big: 9007199254740993, account: \"0999991\", flag: \"yes\", ver: \"2.4\", day: \"2024-01-01\", float: 1.5, min: -9223372036854775808}\n",
	})
	want := map[string]any{
		"big": int64(9007199254740993), "more": int64(9007199254740995), "account": "0999991", "flag": "yes", "ver": "2.4",
		"day": "2024-01-01", "float": 1.5, "min": int64(-9223372036854775808),
	}
	if diff := cmp.Diff(want, manifest(t, mustRender(t, in), "Widget.ex.io/p-w").Object.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}
