package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// renderPlain reads all YAML files of a folder and the folders below, as a
// kustomization over them would, but with the file, document and line of each
// object. Names that begin with a dot are left out: they are settings of tools.
func renderPlain(ctx context.Context, in Input, folder fs.FS) (*Output, error) {
	names, err := yamlFiles(folder)
	if err != nil {
		return nil, err
	}
	var manifests []object.Manifest
	var problems []error
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		file := path.Join(in.root(), name)
		if err := belongsElsewhere(in, file); err != nil {
			problems = append(problems, err)
			continue
		}
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		found, err := object.Decode(in.origin(file), text)
		manifests = append(manifests, found...)
		problems = append(problems, object.Problems(err)...)
	}
	if len(manifests) == 0 && len(problems) == 0 {
		return nil, fmt.Errorf("%s holds no manifest: there is no Chart.yaml, no kustomization.yaml, and no object in any *.yaml or *.yml file", in.folderName())
	}
	manifests, found := finish(in, manifests)
	if err := errors.Join(append(problems, found...)...); err != nil {
		return nil, err
	}
	return &Output{Manifests: manifests}, nil
}

// yamlFiles lists the YAML files of a tree in the order of their paths.
func yamlFiles(folder fs.FS) ([]string, error) {
	var names []string
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && name != "."
		switch {
		case hidden && entry.IsDir():
			return fs.SkipDir
		case !hidden && !entry.IsDir() && isYAML(name):
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

func isYAML(name string) bool {
	extension := path.Ext(name)
	return extension == ".yaml" || extension == ".yml"
}

// belongsElsewhere refuses the main file of a chart or kustomization that lies
// deeper in a folder of plain YAML: reading it as a manifest would only give a
// confusing error.
func belongsElsewhere(in Input, file string) error {
	what := ""
	switch base := path.Base(file); {
	case base == "Chart.yaml":
		what = "Helm chart"
	case slices.Contains(konfig.RecognizedKustomizationFileNames(), base):
		what = "kustomization"
	default:
		return nil
	}
	return &object.Error{Origin: in.origin(file), Err: fmt.Errorf(
		"%q is a %s below a folder of plain manifests: render it on its own with path = %[1]q, or write a kustomization.yaml above it",
		path.Dir(file), what)}
}
