// Package object holds what a Kubernetes object is to this provider: its
// identity, the way from YAML to objects and back, and the normalisation that
// every manifest passes before it is compared or applied.
package object

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Manifest is one object as a source renders it.
type Manifest struct {
	Object *unstructured.Unstructured
	Origin Origin
}

// ID returns the identity of the object as it is written.
func (m Manifest) ID() ID { return IDOf(m.Object) }

// Origin says where a manifest was written, for error messages.
type Origin struct {
	// File is the path within the source, or `files["name"]` for an inline one.
	File string
	// Document counts the YAML documents of the file from 1; 0 when unknown.
	Document int
	// Line is the first line of the document in the file, from 1; 0 when the
	// file is a template, whose lines are not those that its author wrote.
	Line int
}

// String prints the origin as it stands in an error message.
func (o Origin) String() string {
	switch {
	case o.File == "":
		return "the rendered manifests"
	case o.Document == 0:
		return o.File
	case o.Line == 0:
		return fmt.Sprintf("%s, document %d", o.File, o.Document)
	default:
		return fmt.Sprintf("%s, document %d, line %d", o.File, o.Document, o.Line)
	}
}

// Error is a problem of one manifest. ID is zero when the document could not
// be read far enough to know it.
type Error struct {
	ID     ID
	Origin Origin
	Err    error
}

func (e *Error) Error() string {
	if e.ID.Kind == "" || e.ID.Name == "" {
		return fmt.Sprintf("%s: %v", e.Origin, e.Err)
	}
	return fmt.Sprintf("%s, from %s: %v", e.ID, e.Origin, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
