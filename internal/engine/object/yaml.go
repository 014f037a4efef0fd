package object

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Decode reads the YAML documents of one file into manifests, in order. Empty
// documents are left out and Lists are taken apart, as kubectl does. YAML is
// read as the API server reads it (sigs.k8s.io/yaml), whole numbers exactly.
// All documents are read; the errors, one a document, are joined and are of
// type [*Error].
func Decode(origin Origin, text []byte) ([]Manifest, error) {
	var manifests []Manifest
	var problems []error
	for _, doc := range splitDocuments(text) {
		where := Origin{File: origin.File, Document: doc.number, Line: doc.line}
		found, err := decodeDocument(where, doc.text)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		manifests = append(manifests, found...)
	}
	return manifests, errors.Join(problems...)
}

func decodeDocument(where Origin, text []byte) ([]Manifest, error) {
	value, err := DecodeValue(text)
	if err != nil {
		return nil, &Error{Origin: where, Err: absoluteLine(err, where.Line)}
	}
	if value == nil {
		return nil, nil
	}
	content, ok := value.(map[string]any)
	if !ok {
		return nil, &Error{Origin: where, Err: errors.New("the document is not a Kubernetes object (not a map)")}
	}
	if len(content) == 0 {
		return nil, nil
	}
	return FromMap(where, content)
}

// FromMap makes manifests of one decoded document: one, or those of a List.
// Objects that cannot be identified are errors of type [*Error].
func FromMap(where Origin, content map[string]any) ([]Manifest, error) {
	obj := &unstructured.Unstructured{Object: content}
	items, isList := content["items"].([]any)
	if nothing, ok := content["items"]; ok && nothing == nil {
		// A template that lists nothing.
		isList = true
	}
	if isList && strings.HasSuffix(obj.GetKind(), "List") {
		return listItems(where, items)
	}
	if err := identifiable(obj); err != nil {
		return nil, &Error{ID: IDOf(obj), Origin: where, Err: err}
	}
	return []Manifest{{Object: obj, Origin: where}}, nil
}

func listItems(where Origin, items []any) ([]Manifest, error) {
	var manifests []Manifest
	var problems []error
	for i, item := range items {
		content, ok := item.(map[string]any)
		if !ok {
			problems = append(problems, &Error{Origin: where, Err: fmt.Errorf("item %d of the list is not a Kubernetes object", i+1)})
			continue
		}
		found, err := FromMap(where, content)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		manifests = append(manifests, found...)
	}
	return manifests, errors.Join(problems...)
}

// identifiable reports what is missing in an object that could never be
// applied: server-side apply needs apiVersion, kind and a name.
func identifiable(obj *unstructured.Unstructured) error {
	for _, key := range []string{"apiVersion", "kind"} {
		switch value := obj.Object[key].(type) {
		case string:
			if value == "" {
				return fmt.Errorf("%s is empty", key)
			}
		case nil:
			return fmt.Errorf("%s is missing%s", key, misspelt(obj.Object, key))
		default:
			return fmt.Errorf("%s must be a string: quote it", key)
		}
	}
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		return errors.New("metadata is missing")
	}
	if name, ok := metadata["name"].(string); ok && name != "" {
		return malformedMetadata(metadata)
	}
	if _, ok := metadata["generateName"]; ok {
		return errors.New("metadata.generateName is not supported: server-side apply needs metadata.name")
	}
	if metadata["name"] != nil && metadata["name"] != "" {
		return errors.New("metadata.name must be a string: quote it")
	}
	return errors.New("metadata.name is missing")
}

// malformedMetadata finds labels and annotations that are no maps of strings:
// the accessors of unstructured objects would silently drop them.
func malformedMetadata(metadata map[string]any) error {
	for _, key := range []string{"labels", "annotations"} {
		if metadata[key] == nil {
			continue
		}
		entries, ok := metadata[key].(map[string]any)
		if !ok {
			return fmt.Errorf("metadata.%s must be a map of strings", key)
		}
		for name, value := range entries {
			if _, ok := value.(string); !ok && value != nil {
				return fmt.Errorf("metadata.%s: the value of %q must be a string: quote it", key, name)
			}
		}
	}
	if ns := metadata["namespace"]; ns != nil {
		if _, ok := ns.(string); !ok {
			return errors.New("metadata.namespace must be a string: quote it")
		}
	}
	return nil
}

// misspelt names a key of the document that looks like the missing one.
func misspelt(content map[string]any, want string) string {
	for _, key := range slices.Sorted(maps.Keys(content)) {
		if key != want && len(key) > 2 && (strings.Contains(strings.ToLower(want), strings.ToLower(key)) || strings.EqualFold(key, want)) {
			return fmt.Sprintf(" (there is %q)", key)
		}
	}
	return ""
}
