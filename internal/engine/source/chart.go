package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// HelmChart is a Helm chart on the machine that runs Terraform: a directory,
// or an archive as `helm package` writes it.
type HelmChart struct{ Path string }

// Load reads the chart. The revision of the artifact is the chart's version.
func (h HelmChart) Load(ctx context.Context) (*Artifact, error) {
	tree, err := h.read(ctx)
	if err != nil {
		return nil, err
	}
	metadata, ok := tree.files["Chart.yaml"]
	if !ok {
		return nil, fmt.Errorf("%q is not a Helm chart: it has no Chart.yaml", h.Path)
	}
	var chart struct {
		Version string `json:"version"`
	}
	if err := yaml.Unmarshal(metadata, &chart); err != nil {
		return nil, fmt.Errorf("chart %q: Chart.yaml: %w", h.Path, err)
	}
	return &Artifact{
		FS: tree, Chart: true, URL: "chart " + filepath.ToSlash(h.Path),
		Digest: tree.digest(), Revision: chart.Version,
	}, nil
}

func (h HelmChart) read(ctx context.Context) (*tree, error) {
	info, err := os.Stat(h.Path)
	switch {
	case h.Path == "":
		return nil, errors.New("the path of the chart is empty")
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("chart %q does not exist", h.Path)
	case err != nil:
		return nil, fmt.Errorf("chart %q cannot be read: %w", h.Path, withoutPath(err))
	case info.IsDir():
		return readDirectory(ctx, h.Path)
	}
	opened, err := os.Open(h.Path)
	if err != nil {
		return nil, fmt.Errorf("chart %q cannot be read: %w", h.Path, withoutPath(err))
	}
	defer opened.Close()
	files, err := unpack(ctx, opened)
	if err != nil {
		return nil, fmt.Errorf("chart %q: %w", h.Path, err)
	}
	files, err = withoutBase(files)
	if err != nil {
		return nil, fmt.Errorf("chart %q: %w", h.Path, err)
	}
	// Helm ignores files when it packages a chart, not when it reads the
	// package. Without the file of rules the renderer ignores nothing either.
	delete(files, ".helmignore")
	return newTree(files), nil
}
