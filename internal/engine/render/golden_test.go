package render

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/source"
)

// update lets the real tools write the expected files: go test -run TestGolden
// -update, with helm v3.22 and kustomize v5.8 in PATH.
var update = flag.Bool("update", false, "write the expected files with helm and kustomize from PATH")

// expected reads the objects that a tool printed for a case, after letting it
// print them again with -update.
func expected(t *testing.T, file string, command ...string) objects {
	t.Helper()
	if *update {
		var out, problems bytes.Buffer
		run := exec.Command(command[0], command[1:]...)
		run.Stdout, run.Stderr = &out, &problems
		if err := run.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, problems.String())
		}
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := object.Decode(object.Origin{File: file}, text)
	if err != nil {
		t.Fatal(err)
	}
	found, _ := indexed(manifests)
	return found
}

// TestGoldenHelm compares the charts of testdata/helm with what helm template
// prints for each of their values files. Hooks are compared before they get our
// annotations.
func TestGoldenHelm(t *testing.T) {
	values, err := filepath.Glob("testdata/helm/*/*.values.yaml")
	if err != nil || len(values) == 0 {
		t.Fatal("there are no values files in testdata/helm", err)
	}
	for _, file := range values {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "testdata/helm/"), ".values.yaml")
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(filepath.Dir(file), "chart")
			want := expected(t, strings.Replace(file, ".values.", ".want.", 1),
				"helm", "template", "demo", folder, "-n", "demo", "--kube-version", "v1.37.0", "--include-crds", "-f", file)
			in := Input{FS: load(t, source.HelmChart{Path: folder}), Name: "demo", Namespace: "demo", Revision: 1, IsInstall: true}
			in.Values = readValues(t, file)
			r, err := newRelease(in, in.FS)
			if err != nil {
				t.Fatal(err)
			}
			pass, err := r.pass(t.Context(), keepClock)
			if err != nil {
				t.Fatal(err)
			}
			all := pass.crds
			for _, templated := range pass.objects {
				all = append(all, templated.Manifest)
			}
			got, _ := indexed(all)
			if err := difference(want, got); err != nil {
				t.Error(err)
			}
			mustRender(t, in)
		})
	}
}

// readValues reads a values file as our own reader of YAML does: whole numbers
// stay whole, as they do when they come from Terraform.
func readValues(t testing.TB, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	value, err := object.DecodeValue(text)
	if err != nil {
		t.Fatal(err)
	}
	values, _ := value.(map[string]any)
	return values
}

// TestGoldenKustomize compares the kustomizations of testdata/kustomize with
// what kustomize build prints for the folder that their file "path" names.
func TestGoldenKustomize(t *testing.T) {
	cases, err := filepath.Glob("testdata/kustomize/*/path")
	if err != nil || len(cases) == 0 {
		t.Fatal("there are no cases in testdata/kustomize", err)
	}
	for _, file := range cases {
		folder := filepath.Dir(file)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			path := strings.TrimSpace(string(text))
			want := expected(t, filepath.Join(folder, "want.yaml"), "kustomize", "build", filepath.Join(folder, "in", path))
			in := Input{FS: load(t, source.Directory{Path: filepath.Join(folder, "in")}), Path: path}
			got, _ := indexed(mustRender(t, in).Manifests)
			if err := difference(want, got); err != nil {
				t.Error(err)
			}
		})
	}
}
