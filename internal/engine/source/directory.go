package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Directory is a folder on the machine that runs Terraform.
type Directory struct{ Path string }

// Load reads the regular files of the folder. Folders and files called .git
// are left out. A symbolic link stands for what it points to, which has to lie
// in the folder as well.
func (d Directory) Load(ctx context.Context) (*Artifact, error) {
	tree, err := readDirectory(ctx, d.Path)
	if err != nil {
		return nil, err
	}
	return &Artifact{FS: tree, URL: "directory:" + filepath.ToSlash(d.Path), Digest: tree.digest()}, nil
}

// readDirectory reads a folder through [os.Root], which refuses every path
// that leaves it, also by a link that is changed while we read.
func readDirectory(ctx context.Context, name string) (*tree, error) {
	if name == "" {
		return nil, errors.New("the path of the directory is empty")
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("directory %q does not exist", name)
	case err != nil:
		return nil, fmt.Errorf("directory %q cannot be read: %w", name, withoutPath(err))
	case !info.IsDir():
		return nil, fmt.Errorf("%q is a file, not a directory", name)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("directory %q cannot be read: %w", name, withoutPath(err))
	}
	defer root.Close()
	r := reader{name: name, root: root, files: map[string][]byte{}}
	if err := r.folder(ctx, ".", nil); err != nil {
		return nil, err
	}
	if err := errors.Join(r.problems...); err != nil {
		return nil, err
	}
	return newTree(r.files), nil
}

// reader collects the files of a directory. Files that cannot be taken are
// collected as well, so that all of them are reported at once.
type reader struct {
	name     string
	root     *os.Root
	files    map[string][]byte
	size     int64
	problems []error
}

// folder reads the entries of one folder. above are the folders that lead to
// it: a link to one of them would never end.
func (r *reader) folder(ctx context.Context, folder string, above []fs.FileInfo) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := r.root.Stat(folder)
	if err != nil {
		r.refuse(folder, err)
		return nil
	}
	for _, other := range above {
		if os.SameFile(info, other) {
			r.refuse(folder, errors.New("the symbolic link points to a folder that it lies in"))
			return nil
		}
	}
	entries, err := fs.ReadDir(r.root.FS(), folder)
	if err != nil {
		r.refuse(folder, err)
		return nil
	}
	above = append(slices.Clip(above), info)
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		if err := r.entry(ctx, path.Join(folder, e.Name()), above); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) entry(ctx context.Context, name string, above []fs.FileInfo) error {
	info, err := r.root.Stat(name)
	switch {
	case err != nil:
		r.refuse(name, err)
		return nil
	case !utf8.ValidString(name):
		r.refuse(name, errors.New("the name is not UTF-8"))
		return nil
	case info.IsDir():
		return r.folder(ctx, name, above)
	case !info.Mode().IsRegular():
		r.refuse(name, errors.New("it is not a regular file"))
		return nil
	case len(r.files) == maxFiles:
		return tooMany(fmt.Sprintf("directory %q", r.name))
	case r.size+info.Size() > maxBytes:
		return tooLarge(fmt.Sprintf("directory %q", r.name))
	}
	return r.regular(name)
}

func (r *reader) regular(name string) error {
	opened, err := r.root.Open(name)
	if err != nil {
		r.refuse(name, err)
		return nil
	}
	defer opened.Close()
	// The file may grow while it is read: the limit is on what was read.
	content, err := io.ReadAll(io.LimitReader(opened, maxBytes-r.size+1))
	if err != nil {
		r.refuse(name, err)
		return nil
	}
	if r.size += int64(len(content)); r.size > maxBytes {
		return tooLarge(fmt.Sprintf("directory %q", r.name))
	}
	r.files[name] = content
	return nil
}

// refuse notes a file that cannot be part of the source, and why.
func (r *reader) refuse(name string, err error) {
	info, statErr := r.root.Lstat(name)
	isLink := statErr == nil && info.Mode()&fs.ModeSymlink != 0
	switch {
	case isLink && errors.Is(err, fs.ErrNotExist):
		err = errors.New("the symbolic link points to nothing")
	case strings.Contains(err.Error(), "path escapes"):
		err = errors.New("the symbolic link leaves the directory: copy the file, or choose a directory above both and set path")
	default:
		err = withoutPath(err)
	}
	r.problems = append(r.problems, fmt.Errorf("directory %q: %s: %w", r.name, name, err))
}

// withoutPath returns the reason in a [fs.PathError]: our messages name the
// path themselves, as the user wrote it.
func withoutPath(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
