package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Files are files written in the configuration: name to content.
type Files map[string]string

// Load checks the names and counts the bytes. A name is a slash-separated
// relative path, the same on every operating system.
func (f Files) Load(context.Context) (*Artifact, error) {
	names := slices.Sorted(maps.Keys(f))
	if problems := checkNames(names); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if len(f) == 0 {
		return nil, errors.New("files is empty: add at least one file")
	}
	if len(f) > maxFiles {
		return nil, tooMany("files")
	}
	contents := make(map[string][]byte, len(f))
	size := 0
	for _, name := range names {
		if size += len(f[name]); size > maxBytes {
			return nil, tooLarge("files")
		}
		contents[name] = []byte(f[name])
	}
	tree := newTree(contents)
	return &Artifact{FS: tree, Inline: true, URL: "files", Digest: tree.digest()}, nil
}

// checkNames returns one error for every name that is no path of a file in a
// tree, or that a file system without case would take for another one.
func checkNames(names []string) []error {
	var problems []error
	folders := map[string]string{}
	for _, name := range names {
		if problem := checkName(name); problem != "" {
			problems = append(problems, fmt.Errorf("files[%q]: %s", name, problem))
			continue
		}
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			folders[strings.ToLower(folder)] = name
		}
	}
	seen := map[string]string{}
	for _, name := range names {
		key := strings.ToLower(name)
		if other, ok := seen[key]; ok {
			problems = append(problems, fmt.Errorf("files[%q]: the name differs from %q only in upper and lower case: rename one of them", name, other))
		}
		seen[key] = name
		if inside, ok := folders[key]; ok {
			problems = append(problems, fmt.Errorf("files[%q]: the name is also a folder, that of %q: rename one of them", name, inside))
		}
	}
	return problems
}

func checkName(name string) string {
	switch {
	case name == "":
		return "the name is empty"
	case strings.Contains(name, `\`):
		return `the name holds a backslash: separate folders with "/"`
	case strings.HasPrefix(name, "/"), len(name) > 1 && name[1] == ':':
		return "the name is an absolute path: make it relative"
	case slices.Contains(strings.Split(name, "/"), ".."):
		return `the name holds "..": files cannot lie outside of the source`
	case !fs.ValidPath(name) || name == ".":
		return fmt.Sprintf("the name is not a plain path: write it as %q", path.Clean(name))
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "the name holds control characters"
	}
	return ""
}
