package render

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// entryKind says what an entry of a kustomization file may name.
type entryKind int

const (
	fileEntry     entryKind = iota // a file
	manifestEntry                  // a file of manifests, or a kustomization
	folderEntry                    // a kustomization
	pluginEntry                    // a file of plugin settings, a kustomization of them, or the settings themselves
	patchEntry                     // a file, or the patch itself
)

type entryList struct {
	field   string
	kind    entryKind
	entries []string
}

// entriesOf lists everything in a kustomization file that names a file or a
// folder.
func entriesOf(k *types.Kustomization) []entryList {
	var patches, replacements, generated, strategic []string
	for _, patch := range append(slices.Clone(k.Patches), k.PatchesJson6902...) {
		patches = append(patches, patch.Path)
	}
	for _, replacement := range k.Replacements {
		replacements = append(replacements, replacement.Path)
	}
	for _, patch := range k.PatchesStrategicMerge {
		strategic = append(strategic, string(patch))
	}
	for _, args := range generatorArgs(k) {
		generated = append(generated, args.EnvSources...)
		for _, file := range args.FileSources {
			if _, after, named := strings.Cut(file, "="); named {
				file = after
			}
			generated = append(generated, file)
		}
	}
	return []entryList{
		{"resources", manifestEntry, k.Resources},
		{"components", folderEntry, k.Components},
		{"generators", pluginEntry, k.Generators},
		{"transformers", pluginEntry, k.Transformers},
		{"validators", pluginEntry, k.Validators},
		{"crds", fileEntry, k.Crds},
		{"configurations", fileEntry, k.Configurations},
		{"openapi", fileEntry, []string{k.OpenAPI["path"]}},
		{"patches", fileEntry, patches},
		{"replacements", fileEntry, replacements},
		{"patchesStrategicMerge", patchEntry, strategic},
		{"configMapGenerator and secretGenerator", fileEntry, generated},
	}
}

func generatorArgs(k *types.Kustomization) []types.GeneratorArgs {
	var all []types.GeneratorArgs
	for _, args := range k.ConfigMapGenerator {
		all = append(all, args.GeneratorArgs)
	}
	for _, args := range k.SecretGenerator {
		all = append(all, args.GeneratorArgs)
	}
	return all
}

var userAtHost = regexp.MustCompile(`^[a-z][a-z0-9-]*@`)

// isRemote says whether kustomize would look for an entry on the network. Files
// of the source come before repositories: a file may be called like a user.
func isRemote(fsys fs.FS, entry, target string) bool {
	return isAddress(entry) || isRepository(entry) && !exists(fsys, target)
}

func isAddress(entry string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(strings.TrimSpace(entry)), ":")
	return ok && (scheme == "http" || scheme == "https")
}

// isRepository says whether kustomize would take an entry for a git repository.
func isRepository(entry string) bool {
	entry = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(entry)), "git::")
	for _, prefix := range []string{"http://", "https://", "ssh://", "file://", "github.com/", "github.com:"} {
		if strings.HasPrefix(entry, prefix) {
			return true
		}
	}
	return userAtHost.MatchString(entry)
}

// pathFields are the fields of built-in plugins that name files.
var pathFields = []string{"path", "paths", "file", "files", "env", "envs", "targetFilePath", "valuesFile", "additionalValuesFiles", "argsFromFile"}

func remotePaths(field string, value any) []string {
	var found []string
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			found = append(found, remotePaths(key, item)...)
		}
	case []any:
		for _, item := range v {
			found = append(found, remotePaths(field, item)...)
		}
	case string:
		_, after, named := strings.Cut(v, "=")
		if slices.Contains(pathFields, field) && (isAddress(v) || named && isAddress(after)) {
			found = append(found, v)
		}
	}
	slices.Sort(found)
	return found
}
