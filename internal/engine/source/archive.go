package source

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// unpack reads a gzipped tar archive into memory. Nothing in it can reach
// outside (semantics.md, section 9): absolute paths, "..", links out of the
// tree and devices are errors, and so are more bytes or files than the limits.
func unpack(ctx context.Context, archive io.Reader) (map[string][]byte, error) {
	buffered := bufio.NewReader(archive)
	if magic, _ := buffered.Peek(2); string(magic) != "\x1f\x8b" {
		return nil, errors.New("the file is not a gzipped tar archive (.tgz)")
	}
	unzipped, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("the archive cannot be unpacked: %w", err)
	}
	defer unzipped.Close()
	u := unpacker{tar: tar.NewReader(unzipped), files: map[string][]byte{}, links: map[string]string{}}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		header, err := u.tar.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the archive cannot be unpacked: %w", err)
		}
		if err := u.entry(header); err != nil {
			return nil, err
		}
	}
	if err := u.resolve(); err != nil {
		return nil, err
	}
	return u.files, checkTree(u.files)
}

// maxLinks is how many links may lead to one file, as on Linux.
const maxLinks = 40

type unpacker struct {
	tar   *tar.Reader
	files map[string][]byte
	links map[string]string // symbolic and hard links: name to target
	size  int64
	count int
}

func (u *unpacker) entry(header *tar.Header) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := entryName(header.Name)
	if err != nil {
		return err
	}
	if u.count++; u.count > maxFiles {
		return tooMany("the archive")
	}
	if header.Typeflag == tar.TypeDir {
		return nil
	}
	if name == "." {
		return fmt.Errorf("%q in the archive is not the name of a file", header.Name)
	}
	switch header.Typeflag {
	case tar.TypeReg:
		return u.regular(name)
	case tar.TypeSymlink, tar.TypeLink:
		return u.link(name, header)
	}
	return fmt.Errorf("%q in the archive is not a regular file", header.Name)
}

func (u *unpacker) regular(name string) error {
	// The size in the header may be a lie: the limit is on what was read.
	content, err := io.ReadAll(io.LimitReader(u.tar, maxBytes-u.size+1))
	if err != nil {
		return fmt.Errorf("the archive cannot be unpacked: %s: %w", name, err)
	}
	if u.size += int64(len(content)); u.size > maxBytes {
		return tooLarge("the archive")
	}
	delete(u.links, name)
	u.files[name] = content
	return nil
}

// link notes where a link points to, as a path of the tree. A symbolic link
// counts from its own folder, a hard link from the root of the archive.
func (u *unpacker) link(name string, header *tar.Header) error {
	target := path.Clean(strings.ReplaceAll(header.Linkname, `\`, "/"))
	if header.Typeflag == tar.TypeSymlink && !path.IsAbs(target) {
		target = path.Join(path.Dir(name), target)
	}
	if !fs.ValidPath(target) {
		return fmt.Errorf("%q in the archive is a link out of it, to %q", header.Name, header.Linkname)
	}
	delete(u.files, name)
	u.links[name] = target
	return nil
}

// resolve puts the content of its target in the place of each link. Only links
// to files are needed by any packaging tool; others are refused.
func (u *unpacker) resolve() error {
	for name := range u.links {
		target := name
		for range maxLinks {
			next, isLink := u.links[target]
			if !isLink {
				break
			}
			target = next
		}
		content, ok := u.files[target]
		if !ok {
			return fmt.Errorf("%q in the archive is a link to %q, which is no file of the archive", name, u.links[name])
		}
		if u.size += int64(len(content)); u.size > maxBytes {
			return tooLarge("the archive")
		}
		u.files[name] = content
	}
	return nil
}

// entryName returns the path of an entry in the tree.
func entryName(name string) (string, error) {
	slashed := strings.ReplaceAll(name, `\`, "/")
	clean := path.Clean(slashed)
	if path.IsAbs(slashed) || len(slashed) > 1 && slashed[1] == ':' || !fs.ValidPath(clean) {
		return "", fmt.Errorf("%q in the archive lies outside of it", name)
	}
	return clean, nil
}

// checkTree refuses an archive in which a file is also a folder.
func checkTree(files map[string][]byte) error {
	for name := range files {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			if _, ok := files[folder]; ok {
				return fmt.Errorf("%q in the archive is both a file and a folder", folder)
			}
		}
	}
	return nil
}

// withoutBase takes off the one folder that all files of a chart's archive lie
// in.
func withoutBase(files map[string][]byte) (map[string][]byte, error) {
	inner := make(map[string][]byte, len(files))
	base := ""
	for name, content := range files {
		folder, rest, ok := strings.Cut(name, "/")
		if !ok {
			return nil, fmt.Errorf("%q lies beside the chart's folder in the archive: package it with `helm package`", name)
		}
		if base == "" {
			base = folder
		}
		if folder != base {
			return nil, errors.New("the archive has several top folders: package the chart with `helm package`")
		}
		inner[rest] = content
	}
	return inner, nil
}
