package render

import (
	"reflect"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// Instability says in what an object differs when the same input is rendered
// again.
type Instability string

const (
	// UnstableContent: the object is there each time, with other content.
	UnstableContent Instability = "content"
	// UnstableIdentity: the next rendering has another object in its place,
	// mostly one with another name. Such an object is created anew each time.
	UnstableIdentity Instability = "identity"
)

// unstable compares two renderings of the same input, object by object.
func unstable(first, second []object.Manifest) map[object.ID]Instability {
	again := make(map[object.ID]object.Manifest, len(second))
	for _, manifest := range second {
		again[manifest.ID()] = manifest
	}
	found := map[object.ID]Instability{}
	for _, manifest := range first {
		other, ok := again[manifest.ID()]
		switch {
		case !ok:
			found[manifest.ID()] = UnstableIdentity
		case !reflect.DeepEqual(manifest.Object.Object, other.Object.Object):
			found[manifest.ID()] = UnstableContent
		}
	}
	return found
}
