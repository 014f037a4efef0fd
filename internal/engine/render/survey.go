package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// surveyed is what the files of a kustomization say before it is built.
type surveyed struct {
	in       Input
	visited  map[string]bool
	written  []writtenObject
	problems []error
}

// writtenObject is an object as a file of the source describes it, before
// kustomize changes its name or namespace.
type writtenObject struct {
	id     object.ID
	origin object.Origin
}

// survey reads all kustomization files that a build would read, and the
// manifests that they name. It refuses what is not there, what is on the
// network, and manifests that could never be applied, all at once and in words
// that name the file: kustomize stops at the first, or prints it unchanged.
func survey(in Input) (*surveyed, []error) {
	s := &surveyed{in: in, visited: map[string]bool{}}
	s.folder(in.root())
	return s, s.problems
}

func (s *surveyed) refuse(file string, err error) {
	s.problems = append(s.problems, &object.Error{Origin: s.in.origin(file), Err: err})
}

// folder surveys the kustomization in a folder.
func (s *surveyed) folder(folder string) {
	if s.visited[folder] {
		return
	}
	s.visited[folder] = true
	file := kustomizationFile(s.in.FS, folder)
	text, err := fs.ReadFile(s.in.FS, file)
	if err != nil {
		s.refuse(file, err)
		return
	}
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if other := path.Join(folder, name); other != file && exists(s.in.FS, other) {
			s.refuse(other, fmt.Errorf("the folder has another kustomization file, %s: keep one of them", path.Base(file)))
		}
	}
	var k types.Kustomization
	if err := k.Unmarshal(text); err != nil {
		text := strings.ReplaceAll(err.Error(), "json: ", "")
		s.refuse(file, errors.New(shorten(wrongType.ReplaceAllString(text, "$2 must be a $3, not a $1"))))
		return
	}
	k.FixKustomization()
	if len(k.HelmCharts) > 0 {
		s.refuse(file, errors.New("helmCharts is not supported: kustomize would run the helm command; use helm_chart as the source"))
	}
	for _, list := range entriesOf(&k) {
		for _, entry := range list.entries {
			s.entry(folder, file, list, entry)
		}
	}
	s.generated(file, &k)
}

// wrongType is how Go's JSON reader says that a field has another type.
var wrongType = regexp.MustCompile(`cannot unmarshal (\w+) into Go struct field \w+\.(\S+) of type (\S+)`)

// entry surveys what one entry names.
func (s *surveyed) entry(folder, file string, list entryList, entry string) {
	inline := strings.Contains(entry, "\n") && (list.kind == pluginEntry || list.kind == patchEntry)
	target := path.Join(folder, entry)
	switch {
	case entry == "" && list.kind == fileEntry, inline && list.kind == patchEntry:
	case inline:
		s.pluginSettings(file, []byte(entry))
	case isRemote(s.in.FS, entry, target):
		s.refuse(file, onNetwork(list.field, entry))
	case path.IsAbs(entry):
		s.refuse(file, fmt.Errorf("%s: %q is an absolute path: make it relative to the kustomization file", list.field, entry))
	case !fs.ValidPath(target):
		s.refuse(file, fmt.Errorf("%s: %q lies outside of the source: choose a source that holds both, and set path", list.field, entry))
	case exists(s.in.FS, target) && !s.readable(folder, target):
		s.refuse(file, fmt.Errorf("%s: %q lies outside of the folder of this kustomization, which kustomize does not read: "+
			"give its folder a kustomization file and name the folder", list.field, entry))
	case exists(s.in.FS, target):
		s.content(file, target, list, entry)
	case list.kind != fileEntry && kustomizationFile(s.in.FS, target) != "":
		s.folder(target)
	case list.kind != patchEntry:
		s.refuse(file, fmt.Errorf("%s: %q %s", list.field, entry, s.absence(list, target)))
	}
}

// readable says whether kustomize reads a file for a kustomization: by default
// only those in and below its folder.
func (s *surveyed) readable(folder, target string) bool {
	return s.in.AllowOutside || folder == "." || strings.HasPrefix(target, folder+"/")
}

// absence says what is wrong with a target that is neither file nor
// kustomization.
func (s *surveyed) absence(list entryList, target string) string {
	info, err := fs.Stat(s.in.FS, target)
	switch {
	case err != nil || !info.IsDir():
		return "does not exist"
	case list.kind == fileEntry:
		return "is a folder, not a file"
	}
	return "is a folder without a kustomization file"
}

// content surveys a file that an entry names.
func (s *surveyed) content(file, target string, list entryList, entry string) {
	if list.kind == folderEntry {
		s.refuse(file, fmt.Errorf("%s: %q is a file, not the folder of a component", list.field, entry))
		return
	}
	if s.visited[target] || list.kind != manifestEntry && list.kind != pluginEntry {
		return
	}
	s.visited[target] = true
	text, err := fs.ReadFile(s.in.FS, target)
	if err != nil {
		s.refuse(target, err)
		return
	}
	if list.kind == pluginEntry {
		s.pluginSettings(target, text)
		return
	}
	found, err := object.Decode(s.in.origin(target), text)
	s.problems = append(s.problems, object.Problems(err)...)
	for _, manifest := range found {
		if manifest.Object.GetAPIVersion() == "builtin" {
			// A kustomization may hold the plugins of another one.
			s.pluginSetting(target, manifest)
		}
		s.written = append(s.written, writtenObject{id: manifest.ID(), origin: manifest.Origin})
	}
}

// pluginSettings refuses remote files in the settings of generators and
// transformers. What else they hold is kustomize's to judge.
func (s *surveyed) pluginSettings(file string, text []byte) {
	found, _ := object.Decode(object.Origin{}, text)
	for _, manifest := range found {
		s.pluginSetting(file, manifest)
	}
}

func (s *surveyed) pluginSetting(file string, manifest object.Manifest) {
	for _, entry := range remotePaths("", manifest.Object.Object) {
		s.refuse(file, onNetwork(manifest.ID(), entry))
	}
}

// onNetwork refuses an entry of a field or of a plugin.
func onNetwork(of any, entry string) error {
	return fmt.Errorf("%s: %q is on the network, which is not read while rendering: copy it into the source", of, entry)
}

// generated notes the objects that generators make: their place is the
// kustomization file.
func (s *surveyed) generated(file string, k *types.Kustomization) {
	where := s.in.origin(file)
	for _, args := range k.ConfigMapGenerator {
		s.written = append(s.written, writtenObject{object.ID{Kind: "ConfigMap", Namespace: args.Namespace, Name: args.Name}, where})
	}
	for _, args := range k.SecretGenerator {
		s.written = append(s.written, writtenObject{object.ID{Kind: "Secret", Namespace: args.Namespace, Name: args.Name}, where})
	}
}

// origin finds where an object of the build was written. Kustomize changes
// names by prefixes and suffixes only, so the longest name that is part of the
// new one is taken; when several files could be meant, the kustomization is
// named that was built.
func (s *surveyed) origin(id object.ID) object.Origin {
	var best []writtenObject
	for _, w := range s.written {
		if w.id.GroupKind() != id.GroupKind() || !strings.Contains(id.Name, w.id.Name) {
			continue
		}
		if len(best) > 0 && len(w.id.Name) < len(best[0].id.Name) {
			continue
		}
		if len(best) > 0 && len(w.id.Name) > len(best[0].id.Name) {
			best = nil
		}
		best = append(best, w)
	}
	if len(best) > 1 {
		best = slices.DeleteFunc(best, func(w writtenObject) bool { return w.id.Namespace != id.Namespace })
	}
	if len(best) == 1 {
		return best[0].origin
	}
	return s.root()
}

// root is the kustomization file that is built.
func (s *surveyed) root() object.Origin {
	return s.in.origin(kustomizationFile(s.in.FS, s.in.root()))
}
