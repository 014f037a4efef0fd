package render

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/source"
)

// files makes an input of files, for release shop in namespace shop.
func files(t testing.TB, contents map[string]string) Input {
	t.Helper()
	artifact, err := source.Files(contents).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return Input{FS: artifact.FS, Name: "shop", Namespace: "shop", Revision: 1, IsInstall: true}
}

// folder makes an input of a directory, for the same release.
func folder(t testing.TB, name string) Input {
	t.Helper()
	artifact, err := source.Directory{Path: name}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return Input{FS: artifact.FS, Name: "shop", Namespace: "shop", Revision: 1, IsInstall: true}
}

// helmChart makes an input of a chart named app from its templates and other files.
func helmChart(t testing.TB, contents map[string]string) Input {
	t.Helper()
	all := map[string]string{"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n"}
	for name, content := range contents {
		all[name] = content
	}
	return files(t, all)
}

func mustRender(t testing.TB, in Input) *Output {
	t.Helper()
	out, err := Render(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// manifest returns the one manifest with an id.
func manifest(t testing.TB, out *Output, id string) object.Manifest {
	t.Helper()
	for _, m := range out.Manifests {
		if m.ID().String() == id {
			return m
		}
	}
	t.Fatalf("there is no %s among the manifests", id)
	return object.Manifest{}
}

// ids lists manifests as "id from origin".
func ids(manifests []object.Manifest) []string {
	var all []string
	for _, m := range manifests {
		all = append(all, m.ID().String()+" from "+m.Origin.String())
	}
	return all
}

// wantProblems checks that an error joins exactly these problems, in order:
// each has to hold its text.
func wantProblems(t testing.TB, err error, want ...string) {
	t.Helper()
	problems := object.Problems(err)
	if len(problems) != len(want) {
		t.Fatalf("%d problems, want %d:\n%v", len(problems), len(want), err)
	}
	for i, problem := range problems {
		if !strings.Contains(problem.Error(), want[i]) {
			t.Errorf("problem %d is %q, want %q in it", i+1, problem, want[i])
		}
	}
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

func TestPath(t *testing.T) {
	contents := map[string]string{"a.yaml": configMap("root"), "apps/web/b.yaml": configMap("web")}
	tests := map[string]struct {
		path string
		want string // an id, or "error: " and a text
	}{
		"the root is the default":         {"", "ConfigMap/root"},
		"a dot is the root":               {".", "ConfigMap/root"},
		"a folder":                        {"apps/web", "ConfigMap/web"},
		"a folder with needless parts":    {"./apps//web/", "ConfigMap/web"},
		"a folder that is not there":      {"apps/api", `error: path "apps/api" does not exist in the source`},
		"a file":                          {"a.yaml", `error: path "a.yaml" is a file of the source: give the folder`},
		"a folder above the source":       {"../x", `error: path "../x" leaves the source`},
		"a folder above, by a detour":     {"apps/../../x", "leaves the source"},
		"a folder that looks like a root": {"/apps/web", "ConfigMap/web"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := files(t, contents)
			in.Path = test.path
			out, err := Render(t.Context(), in)
			if !strings.HasPrefix(test.want, "ConfigMap") {
				wantProblems(t, err, strings.TrimPrefix(test.want, "error: "))
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			manifest(t, out, test.want)
		})
	}
}

func TestKindOfSource(t *testing.T) {
	template := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Chart.Name }}'}\n"
	tests := map[string]struct {
		files map[string]string
		chart bool
		want  []string
	}{
		"a chart": {
			map[string]string{"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "templates/a.yaml": template, "b.yaml": configMap("b")},
			false, []string{"ConfigMap/app from templates/a.yaml, document 1"},
		},
		"a chart that is also a kustomization": {
			map[string]string{"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "templates/a.yaml": template, "kustomization.yaml": "resources: [b.yaml]", "b.yaml": configMap("b")},
			true, []string{"ConfigMap/app from templates/a.yaml, document 1"},
		},
		"a kustomization, of each name": {
			map[string]string{"Kustomization": "resources: [b.yaml]", "b.yaml": configMap("b"), "c.yaml": configMap("c")},
			false, []string{"ConfigMap/b from b.yaml, document 1, line 1"},
		},
		"plain YAML": {
			map[string]string{"b.yaml": configMap("b"), "c.yml": configMap("c"), "d.txt": "x", "e.json": "{"},
			false, []string{"ConfigMap/b from b.yaml, document 1, line 1", "ConfigMap/c from c.yml, document 1, line 1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := files(t, test.files)
			in.Chart = test.chart
			if diff := cmp.Diff(test.want, ids(mustRender(t, in).Manifests)); diff != "" {
				t.Errorf("manifests (-want +got):\n%s", diff)
			}
		})
	}
	in := files(t, map[string]string{"sub/a.yaml": configMap("a")})
	in.Chart = true
	_, err := Render(t.Context(), in)
	wantProblems(t, err, "the source has no Chart.yaml: helm_chart takes a Helm chart only")
	in.Path = "sub"
	_, err = Render(t.Context(), in)
	wantProblems(t, err, `path "sub" of the source has no Chart.yaml`)
}

// TestB05 checks that Windows line ends in the files of a source change no
// object: neither plain YAML nor what a chart makes of its templates. Files
// that are read as content do differ.
func TestB05WindowsLineEnds(t *testing.T) {
	plain := map[string]string{
		"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a.txt: |\n    one\n    two\n  q: \"x\\r\\ny\"\n---\n" + configMap("b"),
	}
	templates := map[string]string{
		"Chart.yaml":       "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"values.yaml":      "text: |\n  one\n  two\n",
		"templates/a.yaml": "{{- range tuple \"a\" \"b\" }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ . }}\ndata:\n  text: {{ $.Values.text | quote }}\n{{- end }}\n",
		"templates/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sum\ndata:\n  sum: {{ include (print $.Template.BasePath \"/a.yaml\") . | sha256sum }}\n",
	}
	kustomization := map[string]string{"kustomization.yaml": "namePrefix: p-\nresources:\n- a.yaml\n", "a.yaml": plain["a.yaml"]}
	for name, contents := range map[string]map[string]string{"plain": plain, "chart": templates, "kustomization": kustomization} {
		t.Run(name, func(t *testing.T) {
			windows := map[string]string{}
			for file, content := range contents {
				windows[file] = strings.ReplaceAll(content, "\n", "\r\n")
			}
			want := objectsOf(mustRender(t, files(t, contents)))
			got := objectsOf(mustRender(t, files(t, windows)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("objects (-unix +windows):\n%s", diff)
			}
		})
	}
	out := mustRender(t, files(t, map[string]string{"a.yaml": strings.ReplaceAll(plain["a.yaml"], "\n", "\r\n")}))
	data, _ := manifest(t, out, "ConfigMap/a").Object.Object["data"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"a.txt": "one\ntwo\n", "q": "x\r\ny"}, data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

func objectsOf(out *Output) map[string]any {
	all := map[string]any{}
	for _, m := range out.Manifests {
		all[m.ID().String()] = m.Object.Object
	}
	return all
}

// TestB02 checks what is taken out of a manifest: leftovers of generators, and
// marks of ownership.
func TestB02Leftovers(t *testing.T) {
	in := files(t, map[string]string{"a.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  uid: x
  creationTimestamp: null
  labels: {app: web, component-operator.cs.sap.com/owner-id: other}
  annotations: {component-operator.cs.sap.com/owner-id: other, component-operator.cs.sap.com/digest: x}
spec:
  template:
    metadata: {creationTimestamp: null, labels: {app: web}}
status: {}
`})
	want := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "labels": map[string]any{"app": "web"}},
		"spec":     map[string]any{"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}}},
	}
	out := mustRender(t, in)
	got := manifest(t, out, "Deployment.apps/web").Object.Object
	annotations, _ := got["metadata"].(map[string]any)["annotations"].(map[string]any)
	if len(annotations) > 0 {
		t.Errorf("annotations are left: %v", annotations)
	}
	delete(got["metadata"].(map[string]any), "annotations")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, contents := range map[string]map[string]string{
		"plain":         {"a.yaml": configMap("a")},
		"chart":         {"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n"},
		"kustomization": {"kustomization.yaml": "resources: [a.yaml]", "a.yaml": configMap("a")},
	} {
		if _, err := Render(ctx, files(t, contents)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a cancelled rendering gives %v", name, err)
		}
	}
}

// TestInputIsKept checks that rendering changes neither the values nor the
// files that it is given.
func TestInputIsKept(t *testing.T) {
	in := helmChart(t, map[string]string{
		"values.yaml":      "a: {b: 1, c: 2}\n",
		"templates/a.yaml": `{{- $_ := set .Values.a "b" 3 }}` + configMap("x"),
	})
	in.Values = map[string]any{"a": map[string]any{"b": int64(2)}}
	before, err := fs.ReadFile(in.FS, "values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	mustRender(t, in)
	if diff := cmp.Diff(map[string]any{"a": map[string]any{"b": int64(2)}}, in.Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	after, err := fs.ReadFile(in.FS, "values.yaml")
	if err != nil || string(after) != string(before) {
		t.Errorf("values.yaml is now %q (%v)", after, err)
	}
}
