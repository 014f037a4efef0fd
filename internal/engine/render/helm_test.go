package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// TestB34LargeIntegers: a chart prints numbers as under helm template, however
// they reach it: from a YAML file, or as the numbers of Terraform.
func TestB34LargeIntegers(t *testing.T) {
	feeds := map[string]map[string]any{
		"whole numbers":  {"retentionMs": int64(21600000), "big": int64(9007199254740993), "tag": "20161216"},
		"numbers of HCL": {"retentionMs": json.Number("21600000"), "big": json.Number("9007199254740993"), "tag": "20161216"},
		"floats":         {"retentionMs": 21600000.0, "big": 9007199254740992.0, "tag": "20161216"},
	}
	want := map[string]any{
		"plain": "2.16e+07", "quoted": "2.16e+07", "int64": "21600000",
		"big": "9.007199254740992e+15 9007199254740992", "tag": "20161216",
	}
	for name, values := range feeds {
		t.Run(name, func(t *testing.T) {
			in := folder(t, "testdata/helm/files/chart")
			in.Values = values
			data, _ := manifest(t, mustRender(t, in), "ConfigMap/numbers").Object.Object["data"].(map[string]any)
			got := map[string]any{}
			for key := range want {
				got[key] = data[key]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}

// TestB36OwnDefinitions: a chart sees the API versions that its own
// definitions bring in the first rendering, whether they are in crds/ or in a
// template, and even one after the other.
func TestB36OwnDefinitions(t *testing.T) {
	definition := func(group, guard string) string {
		return guard + fmt.Sprintf("\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %[1]ss.%[2]s}\n"+
			"spec: {group: %[2]s, names: {kind: Kind, plural: kinds}, scope: Cluster, versions: [{name: v1, served: true, storage: true}]}\n", "kind", group)
	}
	in := helmChart(t, map[string]string{
		"crds/a.yaml":      definition("a.io", ""),
		"templates/b.yaml": definition("b.io", `{{ if .Capabilities.APIVersions.Has "a.io/v1/Kind" }}`) + "{{ end }}",
		"templates/c.yaml": `{{ if .Capabilities.APIVersions.Has "b.io/v1" }}` + configMap("c") + "{{ end }}",
		"templates/d.yaml": `{{ if .Capabilities.APIVersions.Has "c.io/v1" }}` + configMap("d") + "{{ end }}",
	})
	want := []string{
		"CustomResourceDefinition.apiextensions.k8s.io/kinds.a.io from crds/a.yaml, document 1, line 1",
		"CustomResourceDefinition.apiextensions.k8s.io/kinds.b.io from templates/b.yaml, document 1",
		"ConfigMap/c from templates/c.yaml, document 1",
	}
	if diff := cmp.Diff(want, ids(mustRender(t, in).Manifests)); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
	in.APIVersions = append(DefaultAPIVersions(), "c.io/v1")
	manifest(t, mustRender(t, in), "ConfigMap/d")
}

func TestRelease(t *testing.T) {
	in := folder(t, "testdata/helm/release/chart")
	in.IsInstall, in.IsUpgrade, in.Revision, in.KubeVersion = false, true, 7, "v1.33.4-gke.12"
	in.APIVersions = []string{"v1", "ex.io/v1", "ex.io/v1/Widget"}
	var asked []string
	in.Lookup = func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		asked = append(asked, strings.Join([]string{apiVersion, kind, namespace, name}, " "))
		if name == "" {
			return map[string]any{"apiVersion": "v1", "kind": "SecretList", "items": []any{map[string]any{"kind": "Secret"}}}, nil
		}
		return map[string]any{"kind": "Secret", "data": map[string]any{"n": int64(1)}}, nil
	}
	out := mustRender(t, in)
	want := map[string]any{
		"release":  "shop/shop/Helm",
		"install":  "false true 7",
		"kube":     "v1.33.4-gke.12 1 33",
		"apps":     "false true",
		"lookup":   `{"data":{"n":1},"kind":"Secret"}`,
		"items":    `[{"kind":"Secret"}]`,
		"template": "release/templates/config.yaml release/templates",
	}
	if diff := cmp.Diff(want, manifest(t, out, "ConfigMap/release").Object.Object["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"v1 Secret shop s", "v1 Secret  "}, asked); diff != "" {
		t.Errorf("each lookup should be asked once (-want +got):\n%s", diff)
	}
	if out.ChartName != "release" || out.ChartVersion != "0.1.0" {
		t.Errorf("chart %s %s", out.ChartName, out.ChartVersion)
	}
	if diff := cmp.Diff([]string{"The chart release is deprecated by its authors."}, out.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	in.Lookup = func(string, string, string, string) (map[string]any, error) { return nil, errors.New("forbidden") }
	_, err := Render(t.Context(), in)
	wantProblems(t, err, `lookup of Secret "s" in namespace "shop": forbidden`)
}

// TestDefaultKubeVersion keeps the default in step with the libraries.
func TestDefaultKubeVersion(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`k8s\.io/client-go v0\.(\d+)\.`).FindSubmatch(text)
	if match == nil || defaultKubeVersion != "v1."+string(match[1])+".0" {
		t.Errorf("defaultKubeVersion is %s, but go.mod has client-go %q", defaultKubeVersion, match)
	}
}

func TestUnstable(t *testing.T) {
	tests := map[string]struct {
		template string
		want     map[object.ID]Instability
	}{
		"nothing at random": {configMap("a"), map[object.ID]Instability{}},
		"a random value": {
			configMap("a") + "data: {a: {{ randAlphaNum 9 }}}\n", map[object.ID]Instability{{Kind: "ConfigMap", Name: "a"}: UnstableContent},
		},
		"a random name": {
			configMap("a-{{ if .Release.IsInstall }}{{ uuidv4 }}{{ end }}"), map[object.ID]Instability{{Kind: "ConfigMap", Name: "a-*"}: UnstableIdentity},
		},
		"the time in seconds": {
			configMap("a") + "data: {a: '{{ now | unixEpoch }}'}\n", map[object.ID]Instability{{Kind: "ConfigMap", Name: "a"}: UnstableContent},
		},
		"the date, in a partial, with trimmed blanks and a variable named now": {
			"{{- define \"date\" -}}\n{{- $now := now -}}\n{{ $now | date \"2006-01-02\" }}{{ end -}}\n" + configMap("a") + "data: {a: '{{ include \"date\" . }}'}\n",
			map[object.ID]Instability{{Kind: "ConfigMap", Name: "a"}: UnstableContent},
		},
		"a chart that will not be rendered next year": {
			fmt.Sprintf(`{{ if gt (now | unixEpoch | int64) %d }}{{ fail "expired" }}{{ end }}`, time.Now().Add(time.Hour).Unix()) + configMap("a"),
			map[object.ID]Instability{},
		},
		"a clock that does not matter": {
			configMap("a") + "data: {a: '{{ if now }}yes{{ end }}'} # now {{/* now */}}\n", map[object.ID]Instability{},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out := mustRender(t, helmChart(t, map[string]string{"templates/a.yaml": test.template, "templates/b.yaml": configMap("b")}))
			got := map[object.ID]Instability{}
			for id, instability := range out.Unstable {
				if head, _, random := strings.Cut(id.Name, "-"); random {
					id.Name = head + "-*"
				}
				got[id] = instability
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("unstable (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDefinitionsOfSubcharts: as with Helm, the first chart that brings a
// definition wins. A second one of other content is worth a note.
func TestDefinitionsOfSubcharts(t *testing.T) {
	definition := func(version string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b.c, labels: {version: " + version + "}}\n"
	}
	in := helmChart(t, map[string]string{
		"crds/a.yaml":            definition("one"),
		"charts/sub/Chart.yaml":  subchart,
		"charts/sub/crds/a.yaml": definition("one"),
		"charts/two/Chart.yaml":  strings.Replace(subchart, "sub", "two", 1),
		"charts/two/crds/a.yaml": definition("two"),
	})
	out := mustRender(t, in)
	if diff := cmp.Diff([]string{"CustomResourceDefinition.apiextensions.k8s.io/a.b.c from crds/a.yaml, document 1, line 1"}, ids(out.Manifests)); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
	if len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "charts/two/crds/a.yaml, document 1, line 1 is left out: crds/a.yaml, document 1, line 1 has it as well") {
		t.Errorf("notes: %q", out.Notes)
	}
	in = helmChart(t, map[string]string{"crds/a.yaml": definition("one") + "---\n" + definition("one")})
	_, err := Render(t.Context(), in)
	wantProblems(t, err, "crds/a.yaml, document 2, line 5: the object is also in crds/a.yaml, document 1, line 1")
}

// TestChartOrigins: a path in the source and inline files show in origins.
func TestChartOrigins(t *testing.T) {
	contents := map[string]string{
		"app/Chart.yaml": "apiVersion: v2\nname: other-name\nversion: 1.0.0\n", "app/templates/a.yaml": configMap("a"),
		"app/charts/sub/Chart.yaml": subchart, "app/charts/sub/templates/b.yaml": configMap("b"), "app/crds/c.yaml": configMap("c"),
	}
	in := files(t, contents)
	in.Path = "app"
	want := []string{
		"ConfigMap/c from app/crds/c.yaml, document 1, line 1",
		"ConfigMap/b from app/charts/sub/templates/b.yaml, document 1",
		"ConfigMap/a from app/templates/a.yaml, document 1",
	}
	if diff := cmp.Diff(want, ids(mustRender(t, in).Manifests)); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
	in.Inline = true
	if got := mustRender(t, in).Manifests[2].Origin.String(); got != `files["app/templates/a.yaml"], document 1` {
		t.Errorf("an inline origin prints as %s", got)
	}
}

// TestListsAreTakenApart: the hook annotation of a List counts for its items.
func TestListsAreTakenApart(t *testing.T) {
	in := helmChart(t, map[string]string{"templates/a.yaml": `
apiVersion: v1
kind: List
metadata: {annotations: {helm.sh/hook: pre-install}}
items:
- {apiVersion: v1, kind: Pod, metadata: {name: a}}
- {apiVersion: v1, kind: Pod, metadata: {name: b, annotations: {helm.sh/hook: test}}}
---
apiVersion: v1
kind: List
items:
`})
	out := mustRender(t, in)
	if diff := cmp.Diff([]string{"Pod/a from templates/a.yaml, document 1", "Pod/b from templates/a.yaml, document 1"}, ids(out.Manifests)); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
	for _, m := range out.Manifests {
		if ours(m)["apply-order"] != "-101" {
			t.Errorf("%s has the annotations %v", m.ID(), ours(m))
		}
	}
}
