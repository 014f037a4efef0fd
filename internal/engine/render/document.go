package render

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// decode reads the objects of the rendered templates, in the order of their
// paths and documents. Problems of all documents are collected.
func (r *release) decode(templates map[string]string) ([]templated, []error) {
	var objects []templated
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		documents := releaseutil.SplitManifests(templates[name])
		keys := slices.Collect(maps.Keys(documents))
		sort.Sort(releaseutil.BySplitManifestsOrder(keys))
		for i, key := range keys {
			where := r.in.origin(chartPath(r.in, name))
			where.Document = i + 1
			// The line end that was cut off is part of a text in the last field.
			found, err := decodeDocument(where, documents[key]+"\n")
			objects = append(objects, found...)
			problems = append(problems, object.Problems(err)...)
		}
	}
	return objects, problems
}

// decodeDocument reads one document of a template. Whether it is a hook is
// said by the document: of a List, by the List and not by its items.
func decodeDocument(where object.Origin, text string) ([]templated, error) {
	value, err := object.DecodeValue([]byte(text))
	if err != nil {
		return nil, &object.Error{Origin: where, Err: fmt.Errorf("the rendered template is not valid YAML: %s", parserMessage(err))}
	}
	if value == nil {
		return nil, nil
	}
	content, ok := value.(map[string]any)
	if !ok {
		return nil, &object.Error{Origin: where, Err: errors.New("the rendered template is not a Kubernetes object (not a map)")}
	}
	if len(content) == 0 {
		return nil, nil
	}
	return objectsOfDocument(where, content)
}

func objectsOfDocument(where object.Origin, content map[string]any) ([]templated, error) {
	hook, invalid := hookOf(content)
	if hook != nil && hook.skipped() {
		giveName(content)
	}
	found, err := object.FromMap(where, content)
	if err != nil {
		return nil, err
	}
	if invalid != nil {
		id := object.ID{}
		if len(found) > 0 {
			id = found[0].ID()
		}
		return nil, &object.Error{ID: id, Origin: where, Err: invalid}
	}
	objects := make([]templated, len(found))
	for i, manifest := range found {
		objects[i] = templated{Manifest: manifest, hook: hook}
	}
	return objects, nil
}

// giveName names an object that has metadata.generateName only. A test hook may
// have it: it is not applied, but mentioned.
func giveName(content map[string]any) {
	metadata, _ := content["metadata"].(map[string]any)
	if generated, ok := metadata["generateName"].(string); ok && metadata["name"] == nil {
		metadata["name"] = generated + "*"
	}
}

// parserMessage takes the steps of our YAML reader from a message, which mean
// nothing to the author of a template.
func parserMessage(err error) string {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	return shorten(strings.TrimPrefix(text, "yaml: "))
}

// crds reads the objects of the crds/ folders. As with Helm, the first chart
// that brings a definition wins: several subcharts may bring the same.
func (r *release) crds(out *rendered, loaded *chart.Chart) ([]object.Manifest, []error) {
	var manifests []object.Manifest
	var problems []error
	seen := map[object.ID]object.Manifest{}
	texts := map[object.ID][]byte{}
	for _, crd := range loaded.CRDObjects() {
		found, err := object.Decode(r.in.origin(chartPath(r.in, crd.Filename)), crd.File.Data)
		problems = append(problems, object.Problems(err)...)
		for _, manifest := range found {
			first, again := seen[manifest.ID()]
			switch {
			case !again:
				seen[manifest.ID()], texts[manifest.ID()] = manifest, crd.File.Data
				manifests = append(manifests, manifest)
			case first.Origin.File == manifest.Origin.File:
				// Twice in one file is a mistake: left to the check of duplicates.
				manifests = append(manifests, manifest)
			case !bytes.Equal(texts[manifest.ID()], crd.File.Data):
				out.notes = append(out.notes, fmt.Sprintf("%s of %s is left out: %s has it as well, with other content.",
					manifest.ID(), manifest.Origin, first.Origin))
			}
		}
	}
	return manifests, problems
}
