package render

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

var crdKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// newAPIs returns the API versions, with and without kinds, that the
// CustomResourceDefinitions of a chart bring and that it does not see yet.
func newAPIs(known []string, pass *rendered) []string {
	have := make(map[string]bool, len(known))
	for _, version := range known {
		have[version] = true
	}
	manifests := slices.Clone(pass.crds)
	for _, t := range pass.objects {
		manifests = append(manifests, t.Manifest)
	}
	var brought []string
	for _, manifest := range manifests {
		for _, version := range servedBy(manifest) {
			if !have[version] {
				have[version] = true
				brought = append(brought, version)
			}
		}
	}
	return brought
}

// servedBy returns "group/version" and "group/version/Kind" for all served
// versions of a CRD, as Helm's capabilities list them.
func servedBy(manifest object.Manifest) []string {
	obj := manifest.Object
	if obj.GroupVersionKind().GroupKind() != crdKind {
		return nil
	}
	group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "versions")
	entries, _ := versions.([]any)
	var served []string
	for _, entry := range entries {
		version, _ := entry.(map[string]any)
		name, _ := version["name"].(string)
		if isServed, _ := version["served"].(bool); isServed && group != "" && kind != "" && name != "" {
			served = append(served, group+"/"+name, group+"/"+name+"/"+kind)
		}
	}
	return served
}
