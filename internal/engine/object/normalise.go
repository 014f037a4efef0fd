package object

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// serverFields are fields of metadata that only the API server sets.
var serverFields = []string{"creationTimestamp", "managedFields", "uid", "resourceVersion", "generation", "selfLink"}

// Normalise brings a manifest into the form in which it is compared and
// applied (semantics.md, section 3): fields that belong to the server are
// dropped, a Secret's stringData is merged into data, and values of data are
// encoded in the one way in which the API server prints them. Labels and
// annotations that are null become empty, which is what the API server stores.
func Normalise(obj *unstructured.Unstructured) error {
	delete(obj.Object, "status")
	if metadata, ok := obj.Object["metadata"].(map[string]any); ok {
		for _, field := range serverFields {
			delete(metadata, field)
		}
		emptyForNull(metadata["labels"])
		emptyForNull(metadata["annotations"])
	}
	dropNullTimestamps(obj.Object)
	if obj.GroupVersionKind().GroupKind().String() == "Secret" {
		return normaliseSecret(obj)
	}
	return nil
}

// emptyForNull makes a map one of strings: with a null in it, the accessors of
// unstructured objects would return no label or annotation at all.
func emptyForNull(value any) {
	entries, _ := value.(map[string]any)
	for key, entry := range entries {
		if entry == nil {
			entries[key] = ""
		}
	}
}

// dropNullTimestamps removes the `creationTimestamp: null` that code
// generators leave in pod and volume claim templates: server-side apply would
// make us the owner of that field.
func dropNullTimestamps(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if metadata, ok := item.(map[string]any); ok && key == "metadata" {
				if stamp, set := metadata["creationTimestamp"]; set && stamp == nil {
					delete(metadata, "creationTimestamp")
				}
			}
			dropNullTimestamps(item)
		}
	case []any:
		for _, item := range v {
			dropNullTimestamps(item)
		}
	}
}

func normaliseSecret(obj *unstructured.Unstructured) error {
	data, err := stringMap(obj.Object["data"], "data")
	if err != nil {
		return err
	}
	for key, value := range data {
		text, ok := value.(string)
		if !ok {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(strings.NewReplacer("\n", "", "\r", "", " ", "").Replace(text))
		if err != nil {
			return fmt.Errorf("data: the value of %q is not base64", key)
		}
		data[key] = base64.StdEncoding.EncodeToString(raw)
	}
	plain, err := stringMap(obj.Object["stringData"], "stringData")
	if err != nil {
		return err
	}
	delete(obj.Object, "stringData")
	for key, value := range plain {
		if data == nil {
			data = map[string]any{}
		}
		text, _ := value.(string)
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	if data != nil {
		obj.Object["data"] = data
	}
	return nil
}

// stringMap reads a map of strings or nulls. The error never holds a value:
// it is one of a Secret.
func stringMap(value any, field string) (map[string]any, error) {
	if value == nil {
		return nil, nil
	}
	entries, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New(field + " must be a map of strings")
	}
	for key, entry := range entries {
		if _, ok := entry.(string); !ok && entry != nil {
			return nil, fmt.Errorf("%s: the value of %q must be a string: quote it", field, key)
		}
	}
	return entries, nil
}
