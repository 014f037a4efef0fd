package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// sourceRoot is where kustomize sees the files of the source. Its messages
// name paths below it; no file of a source is called like it.
const sourceRoot = "/component.source"

var errReadOnly = errors.New("the source is read-only")

// sourceFiles shows a source to kustomize. Kustomize's own file system in
// memory would be a copy, and refuses names with characters such as "+".
type sourceFiles struct{ source fs.FS }

var _ filesys.FileSystem = sourceFiles{}

// inner turns a path of kustomize's into one of the source; "" when it lies
// outside.
func inner(name string) string {
	name = path.Clean(filepath.ToSlash(name))
	if name == sourceRoot {
		return "."
	}
	rest, ok := strings.CutPrefix(name, sourceRoot+"/")
	if !ok || !fs.ValidPath(rest) {
		return ""
	}
	return rest
}

func (s sourceFiles) stat(name string) (fs.FileInfo, error) { return fs.Stat(s.source, inner(name)) }

// IsDir implements [filesys.FileSystem].
func (s sourceFiles) IsDir(name string) bool {
	info, err := s.stat(name)
	return err == nil && info.IsDir()
}

// Exists implements [filesys.FileSystem].
func (s sourceFiles) Exists(name string) bool {
	_, err := s.stat(name)
	return err == nil
}

// ReadFile implements [filesys.FileSystem].
func (s sourceFiles) ReadFile(name string) ([]byte, error) { return fs.ReadFile(s.source, inner(name)) }

// ReadDir implements [filesys.FileSystem].
func (s sourceFiles) ReadDir(name string) ([]string, error) {
	entries, err := fs.ReadDir(s.source, inner(name))
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names, err
}

// CleanedAbs implements [filesys.FileSystem]: folder and file of a path.
func (s sourceFiles) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	info, err := s.stat(name)
	if err != nil {
		return "", "", fmt.Errorf("'%s' doesn't exist", name)
	}
	clean := filepath.Clean(name)
	if info.IsDir() {
		return filesys.ConfirmedDir(clean), "", nil
	}
	return filesys.ConfirmedDir(filepath.Dir(clean)), filepath.Base(clean), nil
}

// Glob implements [filesys.FileSystem].
func (s sourceFiles) Glob(pattern string) ([]string, error) {
	found, err := fs.Glob(s.source, inner(pattern))
	for i, name := range found {
		found[i] = path.Join(sourceRoot, name)
	}
	return found, err
}

// Walk implements [filesys.FileSystem].
func (s sourceFiles) Walk(name string, visit filepath.WalkFunc) error {
	return fs.WalkDir(s.source, inner(name), func(name string, entry fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil {
			info, err = entry.Info()
		}
		return visit(path.Join(sourceRoot, name), info, err)
	})
}

// Open implements [filesys.FileSystem]. Kustomize reads files whole.
func (s sourceFiles) Open(string) (filesys.File, error) { return nil, errReadOnly }

// Create implements [filesys.FileSystem].
func (s sourceFiles) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir implements [filesys.FileSystem].
func (s sourceFiles) Mkdir(string) error { return errReadOnly }

// MkdirAll implements [filesys.FileSystem].
func (s sourceFiles) MkdirAll(string) error { return errReadOnly }

// RemoveAll implements [filesys.FileSystem].
func (s sourceFiles) RemoveAll(string) error { return errReadOnly }

// WriteFile implements [filesys.FileSystem].
func (s sourceFiles) WriteFile(string, []byte) error { return errReadOnly }
