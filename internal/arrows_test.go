// Package internal_test holds the arrows between the packages: who may import whom.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = ".."
	module = "github.com/kubewave/terraform-provider-component"
)

// arrows names, for each package, the packages of the module that it may import: what is below it,
// never what is beside or above it.
var arrows = map[string][]string{
	"main":                    {"internal/provider"},
	"internal/provider":       {"internal/engine", "internal/engine/source", "internal/engine/cluster", "internal/engine/object"},
	"internal/engine":         {"internal/engine/source", "internal/engine/render", "internal/engine/cluster", "internal/engine/status", "internal/engine/record", "internal/engine/object"},
	"internal/engine/source":  {"internal/engine/object"},
	"internal/engine/render":  {"internal/engine/object"},
	"internal/engine/cluster": {"internal/engine/object"},
	"internal/engine/status":  {"internal/engine/object"},
	"internal/engine/record":  {"internal/engine/cluster", "internal/engine/object"},
	"internal/engine/object":  {},
	"internal/testcluster":    {},
}

// fences name packages of others, by prefix, and the only packages that may import them. A package
// that has a fence of its own prefix is judged by the longest one.
var fences = map[string][]string{
	"github.com/hashicorp/terraform-": {"main", "internal/provider"},
	"k8s.io/":                         belowProvider(),
	"sigs.k8s.io/":                    belowProvider(),
	"helm.sh/":                        {"internal/engine/source", "internal/engine/render"},
	"sigs.k8s.io/kustomize/":          {"internal/engine/render", "internal/engine/object"},
	// One package talks to an API server. Helm's lookup has client-go's types in its interface.
	"k8s.io/client-go/": {"internal/engine/cluster", "internal/engine/render", "internal/testcluster"},
}

// belowProvider returns the packages that know Kubernetes, which is all but the two on top.
func belowProvider() []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(arrows)), func(pkg string) bool {
		return pkg == "main" || pkg == "internal/provider"
	})
}

func TestArrows(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range imports(t) {
		seen[i.pkg] = true
		allowed, ok := arrows[i.pkg]
		if !ok {
			t.Errorf("%s: the arrows do not say what %s may import", i.file, i.pkg)
			continue
		}
		if own, ok := strings.CutPrefix(i.path, module+"/"); ok {
			if !slices.Contains(allowed, own) {
				t.Errorf("%s: %s may not import %s", i.file, i.pkg, own)
			}
			continue
		}
		if fence := longestFence(i.path); fence != "" && !slices.Contains(fences[fence], i.pkg) {
			t.Errorf("%s: %s may not import %s", i.file, i.pkg, i.path)
		}
	}
	for pkg := range arrows {
		if !seen[pkg] {
			t.Errorf("%s was not found: the arrows name a package that does not exist", pkg)
		}
	}
}

// longestFence returns the most specific fence that an import path stands behind.
func longestFence(path string) string {
	longest := ""
	for prefix := range fences {
		if strings.HasPrefix(path, prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	return longest
}

// An imported package, and where. Files of tests are not looked at: they may use what they test.
type imported struct {
	file, pkg, path string
}

func imports(t *testing.T) []imported {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(root, "internal"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.Contains(path, "testdata") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []imported
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			found = append(found, importsOf(t, file)...)
		}
	}
	return found
}

func importsOf(t *testing.T, file string) []imported {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := filepath.Rel(root, filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	if pkg == "." {
		pkg = "main"
	}
	var found []imported
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, imported{file, filepath.ToSlash(pkg), path})
	}
	return found
}
