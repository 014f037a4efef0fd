package source

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// read returns the contents of an artifact by path.
func read(t *testing.T, artifact *Artifact) map[string]string {
	t.Helper()
	contents := map[string]string{}
	err := fs.WalkDir(artifact.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(artifact.FS, name)
		contents[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return contents
}

// write makes a directory of files; a content "-> x" makes a link to x.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		err := error(nil)
		if target, isLink := strings.CutPrefix(files[name], "-> "); isLink {
			err = os.Symlink(target, full)
		} else {
			err = os.WriteFile(full, []byte(files[name]), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// wantError checks that an error has all the parts, and that it is one line a
// problem.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not contain %q", err, part)
		}
	}
}

func TestFiles(t *testing.T) {
	artifact, err := Files{"a.yaml": "a: 1\n", "sub/b.yaml": "b: 2\n"}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.yaml": "a: 1\n", "sub/b.yaml": "b: 2\n"}
	if diff := cmp.Diff(want, read(t, artifact)); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
	if !artifact.Inline || artifact.Chart || artifact.URL != "files" {
		t.Errorf("unexpected artifact: %+v", artifact)
	}
	if err := fstest.TestFS(artifact.FS, "a.yaml", "sub/b.yaml"); err != nil {
		t.Error(err)
	}
}

func TestFileNames(t *testing.T) {
	tests := map[string]struct {
		files Files
		want  []string // one part an expected problem, in order
	}{
		"an empty map": {Files{}, []string{"files is empty"}},
		"an empty name": {
			Files{"": "x"}, []string{`files[""]: the name is empty`},
		},
		"a path out of the tree, in three spellings": {
			Files{"../a": "", "b/../../c": "", "d/..": ""},
			[]string{`files["../a"]: the name holds ".."`, `files["b/../../c"]: the name holds ".."`, `files["d/.."]: the name holds ".."`},
		},
		"absolute paths of both systems": {
			Files{"/etc/passwd": "", "c:/x": ""},
			[]string{`files["/etc/passwd"]: the name is an absolute path`, `files["c:/x"]: the name is an absolute path`},
		},
		"a backslash": {Files{`a\b.yaml`: ""}, []string{`holds a backslash: separate folders with "/"`}},
		"paths that are not plain": {
			Files{"./a.yaml": "", "b//c.yaml": "", "d/": ""},
			[]string{`write it as "a.yaml"`, `write it as "b/c.yaml"`, `write it as "d"`},
		},
		"names that differ only in case": {
			Files{"A.yaml": "", "a.yaml": ""}, []string{`files["a.yaml"]: the name differs from "A.yaml" only in upper and lower case`},
		},
		"a name that is also a folder": {
			Files{"a": "", "A/b": ""}, []string{`files["a"]: the name is also a folder, that of "A/b"`},
		},
		"control characters": {Files{"a\nb": ""}, []string{"holds control characters"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := test.files.Load(t.Context())
			wantError(t, err, test.want...)
			if got := strings.Count(err.Error(), "\n") + 1; got != len(test.want) {
				t.Errorf("%d problems, want %d: %v", got, len(test.want), err)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	base := map[string]string{"a.yaml": "a", "b/c.yaml": "c"}
	digest := func(files map[string]string) string {
		artifact, err := Files(files).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return artifact.Digest
	}
	if got, want := digest(base), "sha256:"; !strings.HasPrefix(got, want) || len(got) != len(want)+64 {
		t.Errorf("digest %q", got)
	}
	others := map[string]map[string]string{
		"another content":                      {"a.yaml": "x", "b/c.yaml": "c"},
		"another name":                         {"a.yml": "a", "b/c.yaml": "c"},
		"a byte moved from name to content":    {"a.yam": "la", "b/c.yaml": "c"},
		"a file more":                          {"a.yaml": "a", "b/c.yaml": "c", "d": ""},
		"contents exchanged":                   {"a.yaml": "c", "b/c.yaml": "a"},
		"one file with the text of the others": {"a.yaml": "ab/c.yamlc"},
	}
	for name, files := range others {
		if digest(files) == digest(base) {
			t.Errorf("%s has the same digest", name)
		}
	}
	artifact, err := Directory{write(t, base)}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if artifact.Digest != digest(base) {
		t.Error("a directory and inline files of the same content have different digests")
	}
}

func TestDirectory(t *testing.T) {
	folder := write(t, map[string]string{
		"a.yaml": "a", "deep/er/b.yaml": "b", "README.md": "read",
		".git/config": "no", "vendor/.git": "gitdir: no", ".hidden/c.yaml": "c",
		"link.yaml": "-> deep/er/b.yaml", "folder": "-> deep", "deep/up.yaml": "-> ../a.yaml",
	})
	if err := os.MkdirAll(filepath.Join(folder, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	artifact, err := Directory{folder}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a.yaml": "a", "deep/er/b.yaml": "b", "README.md": "read", ".hidden/c.yaml": "c",
		"link.yaml": "b", "folder/er/b.yaml": "b", "folder/up.yaml": "a", "deep/up.yaml": "a",
	}
	if diff := cmp.Diff(want, read(t, artifact)); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
	if artifact.Inline || artifact.Chart || artifact.URL != "directory:"+filepath.ToSlash(folder) {
		t.Errorf("unexpected artifact: %+v", artifact)
	}
}

func TestDirectoryRefusals(t *testing.T) {
	outside := write(t, map[string]string{"secret": "s3cr3t"})
	file := filepath.Join(outside, "secret")
	links := write(t, map[string]string{
		"abs": "-> " + file, "rel": "-> ../" + filepath.Base(outside) + "/secret",
		"dir/out": "-> ../..", "gone": "-> nowhere", "dir/loop": "-> ../dir", "self": "-> self",
	})
	tests := map[string]struct {
		path string
		want []string
	}{
		"an empty path":         {"", []string{"path of the directory is empty"}},
		"a path that is not":    {filepath.Join(outside, "x"), []string{"directory", "x", "does not exist"}},
		"a file":                {file, []string{"is a file, not a directory"}},
		"links, all of them":    {links, []string{"abs: the symbolic link leaves", "rel: the symbolic link leaves", "dir/out: the symbolic link leaves"}},
		"a link to nothing":     {links, []string{"gone: the symbolic link points to nothing"}},
		"a link to its own dir": {links, []string{"dir/loop: the symbolic link points to a folder that it lies in"}},
		"a link to itself":      {links, []string{"self: too many levels of symbolic links"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Directory{test.path}.Load(t.Context())
			wantError(t, err, test.want...)
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the error shows the content of a file: %v", err)
			}
		})
	}
}

func TestDirectoryLimits(t *testing.T) {
	large := write(t, map[string]string{"a": "x"})
	if err := os.Truncate(filepath.Join(large, "a"), maxBytes+1); err != nil {
		t.Fatal(err)
	}
	_, err := Directory{large}.Load(t.Context())
	wantError(t, err, "more than 64 MiB", large)

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Directory{large}).Load(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled read gives %v", err)
	}
}

func TestTreeGivesItsContentsAway(t *testing.T) {
	artifact, err := Files{"a": "one"}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	content, err := fs.ReadFile(artifact.FS, "a")
	if err != nil {
		t.Fatal(err)
	}
	content[0] = 'X'
	if got := read(t, artifact)["a"]; got != "one" {
		t.Errorf("a reader changed the tree: %q", got)
	}
}
