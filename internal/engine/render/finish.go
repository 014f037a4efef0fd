package render

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// reserved are the labels and annotations that only the engine sets
// (semantics.md, section 1).
var reserved = []string{"owner-id", "digest"}

// finish normalises objects and refuses those that occur twice. It returns the
// good ones and all problems.
func finish(in Input, manifests []object.Manifest) ([]object.Manifest, []error) {
	good, problems := normalise(in, manifests)
	return good, append(problems, duplicates(good)...)
}

// normalise brings objects into the form in which they are compared and
// applied, in place, and returns those that have one.
func normalise(in Input, manifests []object.Manifest) ([]object.Manifest, []error) {
	var problems []error
	good := make([]object.Manifest, 0, len(manifests))
	for _, manifest := range manifests {
		err := encrypted(manifest.Object)
		if err == nil {
			err = object.Normalise(manifest.Object)
		}
		if err != nil {
			problems = append(problems, &object.Error{ID: manifest.ID(), Origin: manifest.Origin, Err: err})
			continue
		}
		stripReserved(manifest.Object, in.AnnotationPrefix)
		good = append(good, manifest)
	}
	return good, problems
}

// encrypted refuses an object as SOPS writes it to a repository. The API server
// would store it like that when its fields allow it.
func encrypted(obj *unstructured.Unstructured) error {
	if sops, _ := obj.Object["sops"].(map[string]any); sops["mac"] != nil {
		return errors.New("it is encrypted with SOPS and was not decrypted")
	}
	return nil
}

// stripReserved drops the marks of ownership from a manifest: an object copied
// from a cluster must not carry those of its former owner.
func stripReserved(obj *unstructured.Unstructured, prefix string) {
	for _, field := range []string{"labels", "annotations"} {
		entries, ok, _ := unstructured.NestedMap(obj.Object, "metadata", field)
		if !ok {
			continue
		}
		found := false
		for _, name := range reserved {
			if _, set := entries[prefix+"/"+name]; set {
				found = true
				unstructured.RemoveNestedField(obj.Object, "metadata", field, prefix+"/"+name)
			}
		}
		if found && len(entries) == 1 {
			unstructured.RemoveNestedField(obj.Object, "metadata", field)
		}
	}
}

// duplicates returns one error for every object that an earlier manifest
// describes as well. The version does not count: it is the same object.
func duplicates(manifests []object.Manifest) []error {
	var problems []error
	first := make(map[object.ID]object.Origin, len(manifests))
	for _, manifest := range manifests {
		id := manifest.ID()
		if origin, ok := first[id]; ok {
			problems = append(problems, &object.Error{ID: id, Origin: manifest.Origin, Err: fmt.Errorf(
				"the object is also in %s: an object may occur once in a component, whatever its version", origin)})
			continue
		}
		first[id] = manifest.Origin
	}
	return problems
}
