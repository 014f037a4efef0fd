package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// tree is a file system of regular files in memory. Folders exist because
// files are in them.
type tree struct {
	files   map[string][]byte
	folders map[string][]fs.DirEntry // sorted by name
}

// newTree makes a file system of valid paths ([fs.ValidPath]) and contents.
// No path may be a folder of another one.
func newTree(files map[string][]byte) *tree {
	t := &tree{files: files, folders: map[string][]fs.DirEntry{".": nil}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.enter(entry{name: path.Base(name), size: int64(len(files[name]))}, path.Dir(name))
	}
	for _, entries := range t.folders {
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return t
}

// enter adds an entry to a folder, and the folder to the one above when it is
// new.
func (t *tree) enter(e entry, folder string) {
	_, known := t.folders[folder]
	t.folders[folder] = append(t.folders[folder], fs.FileInfoToDirEntry(e))
	if !known {
		t.enter(entry{name: path.Base(folder), folder: true}, path.Dir(folder))
	}
}

// digest identifies the content. Lengths are part of what is hashed, so that
// no two trees give the same stream.
func (t *tree) digest() string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		for _, part := range [][]byte{[]byte(name), t.files[name]} {
			var length [8]byte
			binary.BigEndian.PutUint64(length[:], uint64(len(part)))
			hash.Write(length[:])
			hash.Write(part)
		}
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}

// Open implements [fs.FS].
func (t *tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if content, ok := t.files[name]; ok {
		return &file{entry: entry{name: path.Base(name), size: int64(len(content))}, Reader: bytes.NewReader(content)}, nil
	}
	if entries, ok := t.folders[name]; ok {
		return &folder{entry: entry{name: path.Base(name), folder: true}, rest: entries}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadFile implements [fs.ReadFileFS]. The caller owns the returned bytes.
func (t *tree) ReadFile(name string) ([]byte, error) {
	content, ok := t.files[name]
	if !ok {
		err := fs.ErrNotExist
		if _, isFolder := t.folders[name]; isFolder || !fs.ValidPath(name) {
			err = fs.ErrInvalid
		}
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return append([]byte{}, content...), nil
}

// entry describes a file or folder. It has no time and a fixed mode: nothing
// that is rendered may depend on them.
type entry struct {
	name   string
	size   int64
	folder bool
}

func (e entry) Name() string       { return e.name }
func (e entry) Size() int64        { return e.size }
func (e entry) IsDir() bool        { return e.folder }
func (e entry) ModTime() time.Time { return time.Time{} }
func (e entry) Sys() any           { return nil }

func (e entry) Mode() fs.FileMode {
	if e.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

type file struct {
	entry
	*bytes.Reader
}

func (f *file) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (f *file) Close() error               { return nil }

// Size is that of the entry: both embedded types have one.
func (f *file) Size() int64 { return f.entry.size }

type folder struct {
	entry
	rest []fs.DirEntry
}

func (f *folder) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (f *folder) Close() error               { return nil }

func (f *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.name, Err: fs.ErrInvalid}
}

// ReadDir implements [fs.ReadDirFile].
func (f *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(f.rest) == 0 {
		return nil, io.EOF
	}
	count := len(f.rest)
	if n > 0 {
		count = min(n, count)
	}
	entries := slices.Clone(f.rest[:count])
	f.rest = f.rest[count:]
	return entries, nil
}
