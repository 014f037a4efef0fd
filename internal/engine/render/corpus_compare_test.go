package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// objects are the objects of a build by id; of one that is there twice, the
// second has "#2" behind its id.
type objects map[string]any

// reference reads the objects that helm or kustomize printed, and how many
// problems we find in them.
func (b corpusBuild) reference() (objects, int, error) {
	text, err := os.ReadFile(b.expected)
	if err != nil {
		return nil, 0, err
	}
	manifests, err := object.Decode(object.Origin{File: b.Expected}, text)
	if err != nil {
		return nil, 0, err
	}
	found, problems := indexed(manifests)
	return found, problems, nil
}

// indexed normalises objects as far as they can be, and counts the problems.
func indexed(manifests []object.Manifest) (objects, int) {
	_, problems := finish(Input{AnnotationPrefix: DefaultAnnotationPrefix}, manifests)
	found := objects{}
	for _, manifest := range manifests {
		key := manifest.ID().String()
		if _, again := found[key]; again {
			key += "#2"
		}
		found[key] = manifest.Object.Object
	}
	return found, len(problems)
}

// sameProblems checks that a rendering is refused for as many problems as the
// reference has.
func sameProblems(want int, err error) error {
	if got := len(object.Problems(err)); got != want {
		return errors.Join(fmt.Errorf("%d problems, want %d", got, want), err)
	}
	return nil
}

func (b corpusBuild) checkKustomization(t *testing.T, in Input) error {
	want, problems, err := b.reference()
	if err != nil {
		return err
	}
	manifests, err := kustomized(t.Context(), in)
	if err != nil {
		return err
	}
	for _, manifest := range manifests {
		if !exists(in.FS, manifest.Origin.File) {
			return fmt.Errorf("%s has no origin: %s", manifest.ID(), manifest.Origin)
		}
	}
	got, _ := indexed(manifests)
	if err := difference(want, got); err != nil || problems == 0 {
		return err
	}
	_, err = Render(t.Context(), in)
	return sameProblems(problems, err)
}

func (b corpusBuild) checkChart(t *testing.T, in Input) error {
	want, problems, err := b.reference()
	if err != nil {
		return err
	}
	r, err := newRelease(in, in.FS)
	if err != nil {
		return err
	}
	pass, err := r.pass(t.Context(), keepClock)
	if err != nil {
		return err
	}
	var all []object.Manifest
	if slices.Contains(b.Command, "--include-crds") {
		all = append(all, pass.crds...)
	}
	for _, templated := range pass.objects {
		all = append(all, templated.Manifest)
	}
	got, _ := indexed(all)
	out, err := Render(t.Context(), in)
	if err != nil || problems > 0 {
		return errors.Join(difference(want, got), sameProblems(problems, err))
	}
	if !b.Deterministic {
		return b.sameInstability(pass, want, got, out)
	}
	if len(out.Unstable) > 0 {
		return fmt.Errorf("taken for unstable: %v", out.Unstable)
	}
	return difference(want, got)
}

// sameInstability compares what we found to be unstable with the paths of the
// index, and the stable objects with the reference. Test hooks are in the
// reference, but not among the manifests.
func (b corpusBuild) sameInstability(pass *rendered, want, got objects, out *Output) error {
	names := map[string]bool{}
	for _, entry := range b.NondeterministicIDs {
		name, _, _ := strings.Cut(entry, " ")
		names[withoutRandom(name)] = true
	}
	found := map[string]bool{}
	for id := range out.Unstable {
		found[withoutRandom(id.Kind+"/"+id.Name)] = true
	}
	for _, templated := range pass.objects {
		name := withoutRandom(templated.ID().Kind + "/" + templated.ID().Name)
		if hook := templated.hook; hook != nil && !hook.applied() && names[name] {
			found[name] = true
		}
	}
	if diff := cmp.Diff(names, found); diff != "" {
		return fmt.Errorf("unstable objects (-want +got):\n%s", diff)
	}
	isUnstable := func(id string, _ any) bool {
		parsed, _ := object.ParseID(id)
		return names[withoutRandom(parsed.Kind+"/"+parsed.Name)]
	}
	maps.DeleteFunc(want, isUnstable)
	maps.DeleteFunc(got, isUnstable)
	return difference(want, got)
}

var randomSuffix = regexp.MustCompile(`-[a-z0-9]{5}$`)

func withoutRandom(name string) string { return randomSuffix.ReplaceAllString(name, "-*") }

// checkManifests compares file by file. Most folders hold examples that were
// never meant to be applied together: whole, they must be refused with one
// problem for each object that is there again, has no name or does not parse.
func (b corpusBuild) checkManifests(t *testing.T, files fs.FS) error {
	text, err := os.ReadFile(b.expected)
	if err != nil {
		return err
	}
	var reference []struct {
		File        string
		ParseErrors []string
		Objects     []struct{ APIVersion, Kind, Namespace, Name string }
	}
	if err := json.Unmarshal(text, &reference); err != nil {
		return err
	}
	var problems []error
	refused := 0
	seen := map[string]bool{}
	for _, file := range reference {
		var want, got []string
		wantRefused := len(file.ParseErrors)
		for _, o := range file.Objects {
			if strings.HasSuffix(o.Name, "*") {
				wantRefused++ // so the reference prints metadata.generateName
				continue
			}
			want = append(want, strings.Join([]string{o.APIVersion, o.Kind, o.Namespace, o.Name}, " "))
		}
		content, err := fs.ReadFile(files, file.File)
		if err != nil {
			return err
		}
		manifests, err := object.Decode(object.Origin{File: file.File}, content)
		for _, m := range manifests {
			got = append(got, strings.Join([]string{m.Object.GetAPIVersion(), m.Object.GetKind(), m.Object.GetNamespace(), m.Object.GetName()}, " "))
			if seen[m.ID().String()] {
				refused++
			}
			seen[m.ID().String()] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			problems = append(problems, fmt.Errorf("%s (-want +got):\n%s", file.File, diff))
		}
		refused += wantRefused
		if err := sameProblems(wantRefused, err); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file.File, err))
		}
	}
	_, err = Render(t.Context(), Input{FS: files})
	return errors.Join(append(problems, sameProblems(refused, err))...)
}

// difference compares two sets of objects and prints the first differences.
func difference(want, got objects) error {
	var problems []string
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[id]; !ok {
			problems = append(problems, fmt.Sprintf("%s is missing", id))
		} else if diff := cmp.Diff(want[id], got[id]); diff != "" {
			problems = append(problems, fmt.Sprintf("%s (-want +got):\n%s", id, diff))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[id]; !ok {
			problems = append(problems, fmt.Sprintf("%s is not in the reference", id))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%d differences, among them:\n%s", len(problems), strings.Join(problems[:min(len(problems), 3)], "\n"))
}

// refusals are fragments of our own messages for the kustomizations that must
// fail, by variant. For charts, helm's own message is looked for.
var refusals = map[string]string{
	"load-restrictor":      `"../bases/cluster-with-kcp.yaml" lies outside of the folder of this kustomization`,
	"remote-base-git":      `resources: "github.com/argoproj/argo-cd//manifests/cluster-install?ref=stable" is on the network`,
	"remote-file-https":    `resources: "https://github.com/fluxcd/helm-controller/releases/download/v1.6.3/helm-controller.crds.yaml" is on the network`,
	"helm-chart-inflation": "kustomization.yaml: helmCharts is not supported",
	"exec-function":        "external plugins disabled; unable to load external plugin 'ConfigMap'",
	"container-function":   "external plugins disabled; unable to load external plugin 'tshirt'",
	"invalid-field":        `kustomization.yaml: invalid Kustomization: unknown field "spec"`,
	"empty-kustomization":  "kustomization.yaml is empty",
	"missing-resource":     `configurations: "does-not-exist.yaml" does not exist`,
	"panic":                "number of previous names, number of previous namespaces, number of previous kinds not equal",
	"component-alone":      "no resource matches strategic merge patch",
}

// sameFailure checks that an error says what helm or kustomize say, as far as
// that is worth repeating, and no more.
func sameFailure(variant, want string, err error) error {
	if err == nil {
		return fmt.Errorf("it is rendered, want an error like %q", want)
	}
	fragment, ok := refusals[variant]
	if !ok {
		lines := strings.Split(strings.TrimPrefix(want, "Error: "), "\n")
		fragment = lines[0]
		if strings.HasPrefix(fragment, "values don't meet") {
			fragment = lines[2]
		}
		fragment = strings.TrimPrefix(fragment, "chart ")
	}
	text := err.Error()
	if !strings.Contains(text, fragment) || strings.Contains(text, "internal.config.kubernetes.io") || len(text) > 2000 {
		return fmt.Errorf("error %q, want %q in it", text, fragment)
	}
	return nil
}
