package engine

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ownerPrefix begins every owner id of this provider.
const ownerPrefix = "terraform-provider-component/"

// Owner is the identity of a component as its objects carry it (semantics.md,
// section 1).
type Owner struct {
	// ID is the text in the annotation; Hash the value of the label.
	ID, Hash string
}

func ownerOf(clusterID, namespace, name string) Owner {
	id := ownerPrefix + clusterID + "/" + namespace + "/" + name
	sum := sha256.Sum256([]byte(id))
	hash := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
	return Owner{ID: id, Hash: strings.ToLower(hash)}
}

// liveOwner is what a live object says about its owner.
type liveOwner struct {
	// hash is the label; empty when the object has no owner.
	hash string
	// id is the annotation; it may be missing on objects of other tools.
	id string
}

func (e *Engine) ownerOnObject(live *unstructured.Unstructured) liveOwner {
	return liveOwner{hash: live.GetLabels()[e.ownerLabel()], id: live.GetAnnotations()[e.ownerLabel()]}
}

// String names an owner for a message: "component infra/base
// (terraform-provider-component)".
func (o liveOwner) String() string {
	rest, ours := strings.CutPrefix(o.id, ownerPrefix)
	switch {
	case o.id == "":
		return "another owner (label value " + o.hash + ")"
	case ours:
		_, name, _ := strings.Cut(rest, "/")
		return "component " + name + " (terraform-provider-component)"
	default:
		return o.id
	}
}

// ours reports whether the owner is of this provider's kind and returns the
// cluster id, namespace and name in it.
func (o liveOwner) ours() (clusterID, namespace, name string, ok bool) {
	rest, found := strings.CutPrefix(o.id, ownerPrefix)
	parts := strings.Split(rest, "/")
	if !found || len(parts) != 3 {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}
