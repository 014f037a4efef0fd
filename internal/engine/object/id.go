package object

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ID names one Kubernetes object. The version is left out: an object stays
// the same object when it is written in another version of its group.
type ID struct {
	Group     string
	Kind      string
	Namespace string
	Name      string
}

// IDOf returns the identity of an object as it is written.
func IDOf(obj *unstructured.Unstructured) ID {
	gvk := obj.GroupVersionKind()
	return ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// ParseID reads the form that [ID.String] prints.
func ParseID(text string) (ID, error) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return ID{}, fmt.Errorf("object id %q is not of the form Kind.group/namespace/name", text)
	}
	kind, group, _ := strings.Cut(parts[0], ".")
	id := ID{Group: group, Kind: kind, Name: parts[len(parts)-1]}
	if len(parts) == 3 {
		id.Namespace = parts[1]
	}
	return id, nil
}

// GroupKind returns the type of the object without its version.
func (id ID) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: id.Group, Kind: id.Kind}
}

// String prints "Kind.group/namespace/name"; the core group and the namespace
// of a cluster-scoped object are left out.
func (id ID) String() string {
	kind := id.GroupKind().String()
	if id.Namespace == "" {
		return kind + "/" + id.Name
	}
	return kind + "/" + id.Namespace + "/" + id.Name
}

// Compare orders identities by group, kind, namespace and name.
func (id ID) Compare(other ID) int {
	for _, pair := range [][2]string{
		{id.Group, other.Group}, {id.Kind, other.Kind},
		{id.Namespace, other.Namespace}, {id.Name, other.Name},
	} {
		if c := strings.Compare(pair[0], pair[1]); c != 0 {
			return c
		}
	}
	return 0
}
