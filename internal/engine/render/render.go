// Package render turns the files of a component into Kubernetes objects: Helm
// charts, kustomizations and plain YAML (semantics.md, section 8). It reads a
// file system and talks to no server; what a template wants to look up in a
// cluster it asks its caller for.
//
// Rendering is a function of [Input]: same input, same output, except for what
// templates draw at random or read from the clock, and that is reported.
package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// DefaultAnnotationPrefix is the prefix of the annotations of semantics.md,
// section 2.
const DefaultAnnotationPrefix = "component-operator.cs.sap.com"

// LookupFunc reads an object of the cluster, or, when name is empty, all
// objects of a kind as a map with "items". It returns nil when there is no such
// object or no such kind.
type LookupFunc func(apiVersion, kind, namespace, name string) (map[string]any, error)

// Input is everything that a rendering depends on.
type Input struct {
	// FS holds the files of the source; Inline says that they are written in
	// the configuration, Chart that the user asked for a Helm chart.
	FS            fs.FS
	Inline, Chart bool
	// Path is the folder in FS to render; "" and "." are its root.
	Path string

	// Name and Namespace are those of the Helm release.
	Name, Namespace      string
	Revision             int
	IsInstall, IsUpgrade bool
	// Values are the user's values: maps, slices, strings, bools, nil, int64,
	// float64 and json.Number.
	Values map[string]any
	// Sensitive is the part of Values that no error and no note may show.
	Sensitive map[string]any
	// KubeVersion and APIVersions are the capabilities of the cluster. When
	// they are empty, those of the Kubernetes release that we link hold.
	KubeVersion string
	APIVersions []string
	// Lookup may be nil: then every lookup gives nothing.
	Lookup LookupFunc

	// AnnotationPrefix is [DefaultAnnotationPrefix] when empty.
	AnnotationPrefix string
	// AllowOutside lets a kustomization read files outside of its own folder,
	// though never outside of FS.
	AllowOutside bool
}

// Output is what the files of a component give.
type Output struct {
	// Manifests are the objects to apply, in the order of their files. Hooks
	// are among them; their annotations say when they are applied.
	Manifests []object.Manifest
	// DeleteHooks are the pre-delete and post-delete hooks, as rendered.
	DeleteHooks []object.Manifest
	// Unstable are those of Manifests that come out differently when the same
	// input is rendered again.
	Unstable map[object.ID]Instability
	// Notes are sentences for the user.
	Notes []string
	// ChartName and ChartVersion are empty when the files are no Helm chart.
	ChartName, ChartVersion string
}

// Render renders the files. It reports every problem that it finds, joined;
// each is an [*object.Error] where the object or the file is known.
func Render(ctx context.Context, in Input) (*Output, error) {
	if in.AnnotationPrefix == "" {
		in.AnnotationPrefix = DefaultAnnotationPrefix
	}
	out, err := render(ctx, in)
	if err != nil {
		return nil, redact(err, in.Sensitive)
	}
	return out, nil
}

func render(ctx context.Context, in Input) (*Output, error) {
	folder, err := subfolder(in)
	if err != nil {
		return nil, err
	}
	switch {
	case exists(folder, "Chart.yaml"):
		return renderChart(ctx, in, folder)
	case in.Chart:
		return nil, fmt.Errorf("%s has no Chart.yaml: helm_chart takes a Helm chart only, directory takes any manifests", in.folderName())
	case kustomizationFile(in.FS, in.root()) != "":
		return renderKustomization(ctx, in)
	}
	return renderPlain(ctx, in, folder)
}

// subfolder returns the folder to render as a file system of its own.
func subfolder(in Input) (fs.FS, error) {
	root := in.root()
	if !fs.ValidPath(root) {
		return nil, fmt.Errorf("path %q leaves the source: give a folder inside of it", in.Path)
	}
	info, err := fs.Stat(in.FS, root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("path %q does not exist in the source", in.Path)
	case err != nil:
		return nil, fmt.Errorf("path %q: %w", in.Path, err)
	case !info.IsDir():
		return nil, fmt.Errorf("path %q is a file of the source: give the folder that it is in", in.Path)
	}
	return fs.Sub(in.FS, root)
}

// root is Path in the form that [fs.FS] wants.
func (in Input) root() string { return path.Clean("./" + in.Path) }

// folderName names the folder to render in a message.
func (in Input) folderName() string {
	if in.root() == "." {
		return "the source"
	}
	return fmt.Sprintf("path %q of the source", in.root())
}

// origin says where a file of FS is, as its author finds it.
func (in Input) origin(name string) object.Origin {
	if in.Inline {
		return object.Origin{File: fmt.Sprintf("files[%q]", name)}
	}
	return object.Origin{File: name}
}

func exists(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && !info.IsDir()
}

// kustomizationFile returns the name of the kustomization file in a folder, or
// "". When there are several, kustomize itself refuses them.
func kustomizationFile(fsys fs.FS, folder string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if file := path.Join(folder, name); exists(fsys, file) {
			return file
		}
	}
	return ""
}
