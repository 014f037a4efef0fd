package render

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kubewave/terraform-provider-component/internal/engine/source"
)

// corpusEntry is one item of the corpus' index.json.
type corpusEntry struct {
	Name   string
	Kind   string
	Builds []corpusBuild
}

type corpusBuild struct {
	Variant             string
	Command             []string
	Expected            string
	Deterministic       bool
	Error               string
	NondeterministicIDs []string `json:"nondeterministic_paths"`
	Kube124             any      `json:"kube_1_24"`
	IsUpgrade           any      `json:"is_upgrade"`
	expected            string
}

// corpusFolders finds the corpus beside the repository, or where the
// environment says.
func corpusFolders(t *testing.T) (corpus, expected string) {
	t.Helper()
	corpus = os.Getenv("COMPONENT_CORPUS")
	if corpus == "" {
		corpus = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	expected = os.Getenv("COMPONENT_CORPUS_EXPECTED")
	if expected == "" {
		expected = filepath.Join(filepath.Dir(corpus), "corpus-expected")
	}
	if _, err := os.Stat(filepath.Join(corpus, "index.json")); err != nil {
		t.Skipf("there is no corpus of charts and kustomizations in %s: set COMPONENT_CORPUS to its folder", corpus)
	}
	return corpus, expected
}

// tally counts the builds of a corpus by what they should do.
type tally struct {
	mutex       sync.Mutex
	want, right map[string]int
}

func (c *tally) count(kind string, right bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.want[kind]++
	if right {
		c.right[kind]++
	}
}

// TestCorpus renders public charts, kustomizations and manifests and compares
// the objects with what helm and kustomize print for them. Both sides are read
// by the same YAML reader and normalised (status and fields of the server
// dropped, Secrets in one form, our own labels stripped); hooks are compared
// before they get our annotations. Nothing else is changed. Where the reference
// holds what we refuse (an object twice, an encrypted Secret), the objects must
// be equal and the rendering must be refused for just that.
func TestCorpus(t *testing.T) {
	corpus, expected := corpusFolders(t)
	text, err := os.ReadFile(filepath.Join(corpus, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var entries []corpusEntry
	if err := json.Unmarshal(text, &entries); err != nil {
		t.Fatal(err)
	}
	counts := &tally{want: map[string]int{}, right: map[string]int{}}
	lines := make([]string, len(entries))
	t.Run("entries", func(t *testing.T) {
		for i, entry := range entries {
			t.Run(entry.Name, func(t *testing.T) {
				t.Parallel()
				var results []string
				for _, build := range entry.Builds {
					build.expected = filepath.Join(expected, build.Expected)
					results = append(results, entry.check(t, corpus, build, counts))
				}
				lines[i] = fmt.Sprintf("%s %s: %s", entry.Kind, entry.Name, strings.Join(results, ", "))
			})
		}
	})
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" }) // left out with -run
	t.Log(strings.Join(lines, "\n"))
	for _, kind := range slices.Sorted(maps.Keys(counts.want)) {
		t.Logf("corpus: %d of %d %s", counts.right[kind], counts.want[kind], kind)
	}
}

// check runs one build and returns its result in a word.
func (e corpusEntry) check(t *testing.T, corpus string, build corpusBuild, counts *tally) string {
	var problem error
	kind := "deterministic builds equal"
	switch {
	case build.Error != "":
		kind = "builds that must fail do, and say why"
		_, err := Render(t.Context(), build.input(t, corpus))
		problem = sameFailure(build.Variant, build.Error, err)
	case e.Kind == "manifests":
		problem = build.checkManifests(t, os.DirFS(filepath.Join(corpus, "manifests", e.Name, "files")))
	case e.Kind == "chart":
		if !build.Deterministic {
			kind = "nondeterministic builds recognised"
		}
		problem = build.checkChart(t, build.input(t, corpus))
	default:
		problem = build.checkKustomization(t, build.input(t, corpus))
	}
	counts.count(kind, problem == nil)
	if problem != nil {
		t.Errorf("%s: %v", build.Variant, problem)
		return build.Variant + " WRONG"
	}
	build.checkOtherCluster(t, corpus, counts)
	return build.Variant
}

// checkOtherCluster renders for an old cluster and as an upgrade, where the
// index knows that helm fails then.
func (b corpusBuild) checkOtherCluster(t *testing.T, corpus string, counts *tally) {
	others := map[string]any{"v1.24.0": b.Kube124, "": b.IsUpgrade}
	for version, result := range others {
		want, _ := result.(string)
		if !strings.HasPrefix(want, "fails: ") {
			continue
		}
		in := b.input(t, corpus)
		if version != "" {
			in.KubeVersion = version
		} else {
			in.IsInstall, in.IsUpgrade = false, true
		}
		_, err := Render(t.Context(), in)
		problem := sameFailure("", strings.TrimPrefix(want, "fails: "), err)
		counts.count("builds that must fail do, and say why", problem == nil)
		if problem != nil {
			t.Errorf("%s: %v", b.Variant, problem)
		}
	}
}

// input reads what a command line of helm or kustomize says.
func (b corpusBuild) input(t *testing.T, corpus string) Input {
	t.Helper()
	if b.Command[0] == "kustomize" {
		return b.kustomizeInput(t, corpus)
	}
	in := Input{Name: b.Command[2], IsInstall: true, Revision: 1, Chart: true, APIVersions: DefaultAPIVersions()}
	in.FS = load(t, source.HelmChart{Path: filepath.Join(corpus, b.Command[3])})
	for i := 4; i < len(b.Command); i += 2 {
		if b.Command[i] == "--include-crds" {
			break
		}
		argument := b.Command[i+1]
		switch b.Command[i] {
		case "-n":
			in.Namespace = argument
		case "--kube-version":
			in.KubeVersion = argument
		case "--api-versions":
			in.APIVersions = append(in.APIVersions, argument)
		case "-f":
			in.Values = readValues(t, filepath.Join(corpus, argument))
		default:
			t.Fatalf("unknown argument %q", b.Command[i])
		}
	}
	return in
}

// kustomizeInput takes the folder that the corpus unpacked of a repository as
// the source, and the folder that is built as the path in it.
func (b corpusBuild) kustomizeInput(t *testing.T, corpus string) Input {
	parts := strings.SplitN(b.Command[2], "/", 4) // kustomizations/NAME/tree/PATH
	in := Input{Name: "demo", Namespace: "demo", Path: parts[3], AllowOutside: slices.Contains(b.Command, "LoadRestrictionsNone")}
	in.FS = load(t, source.Directory{Path: filepath.Join(corpus, parts[0], parts[1], parts[2])})
	return in
}

func load(t *testing.T, from source.Source) fs.FS {
	t.Helper()
	artifact, err := from.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return artifact.FS
}
