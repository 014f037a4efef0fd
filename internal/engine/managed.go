package engine

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// managedTypes are the types that a component brings (semantics.md, "managed
// type"): by its CRDs, by its APIServices, and those that the user names.
type managedTypes struct {
	// declared are those of CRDs, which say how they are served.
	declared map[schema.GroupVersionKind]cluster.Type
	// aggregated are the group-versions of APIServices.
	aggregated map[schema.GroupVersion]bool
	patterns   []TypePattern
}

func managedTypesOf(manifests []object.Manifest, additional []string) managedTypes {
	brought := managedTypes{declared: typesOfCRDs(manifests), aggregated: map[schema.GroupVersion]bool{}, patterns: typePatterns(additional)}
	for _, manifest := range manifests {
		if manifest.Object.GroupVersionKind().GroupKind() == apiServiceKind {
			brought.aggregated[groupVersionOf(manifest.Object)] = true
		}
	}
	return brought
}

// includes reports whether objects of a type are managed instances.
func (m managedTypes) includes(gvk schema.GroupVersionKind) bool {
	if _, ok := m.declared[gvk]; ok || m.aggregated[gvk.GroupVersion()] {
		return true
	}
	return matchesAny(m.patterns, gvk.GroupKind())
}

// groupVersionOf is what an APIService serves.
func groupVersionOf(apiService *unstructured.Unstructured) schema.GroupVersion {
	group, _, _ := unstructured.NestedString(apiService.Object, "spec", "group")
	version, _, _ := unstructured.NestedString(apiService.Object, "spec", "version")
	return schema.GroupVersion{Group: group, Version: version}
}

// TypePattern names types: "Kind.group", where the kind may be "*" and the
// group "*" or "*.suffix" (semantics.md, section 2). A kind alone is one of the
// core group.
type TypePattern struct{ kind, group string }

// ParseTypePattern reads a pattern. ok is false when it is none.
func ParseTypePattern(text string) (pattern TypePattern, ok bool) {
	kind, group, _ := strings.Cut(text, ".")
	suffix := strings.TrimPrefix(group, "*")
	wild := strings.Contains(suffix, "*") || group != suffix && suffix != "" && !strings.HasPrefix(suffix, ".")
	if kind == "" || wild || strings.HasSuffix(text, ".") || kind != "*" && strings.ContainsAny(kind, "*/ ") {
		return TypePattern{}, false
	}
	return TypePattern{kind: kind, group: group}, true
}

func typePatterns(texts []string) []TypePattern {
	var patterns []TypePattern
	for _, text := range texts {
		if pattern, ok := ParseTypePattern(text); ok {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}

func matchesAny(patterns []TypePattern, gk schema.GroupKind) bool {
	for _, pattern := range patterns {
		if pattern.matches(gk) {
			return true
		}
	}
	return false
}

func (p TypePattern) matches(gk schema.GroupKind) bool {
	suffix, wild := strings.CutPrefix(p.group, "*")
	group := gk.Group == p.group || wild && strings.HasSuffix(gk.Group, suffix)
	return group && (p.kind == "*" || p.kind == gk.Kind)
}

// typesOfCRDs returns the types that the CustomResourceDefinitions among the
// manifests bring, with the scope and plural that they declare.
func typesOfCRDs(manifests []object.Manifest) map[schema.GroupVersionKind]cluster.Type {
	types := map[schema.GroupVersionKind]cluster.Type{}
	for _, manifest := range manifests {
		obj := manifest.Object
		if obj.GroupVersionKind().GroupKind() != crdKind {
			continue
		}
		group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
		plural, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "plural")
		scope, _, _ := unstructured.NestedString(obj.Object, "spec", "scope")
		for _, version := range servedVersions(obj) {
			gv := schema.GroupVersion{Group: group, Version: version}
			types[gv.WithKind(kind)] = cluster.Type{
				GVK: gv.WithKind(kind), Resource: gv.WithResource(plural), Namespaced: scope == "Namespaced",
			}
		}
	}
	return types
}

func servedVersions(crd *unstructured.Unstructured) []string {
	entries, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var versions []string
	for _, entry := range entries {
		version, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		name, _ := version["name"].(string)
		if served, _ := version["served"].(bool); served && name != "" {
			versions = append(versions, name)
		}
	}
	return versions
}
