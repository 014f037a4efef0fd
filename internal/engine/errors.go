package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// InputError is a problem of an input of the component. Field is the name of
// the attribute, such as "source" or "values".
type InputError struct {
	Field string
	Err   error
}

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// ObjectError is a problem of one object. Title is the same for every object
// with the same kind of problem; Advice says what to do, when there is more to
// say than the error does.
type ObjectError struct {
	ID     object.ID
	Origin object.Origin
	Title  string
	Err    error
	Advice string
}

func (e *ObjectError) Error() string {
	text := e.ID.String()
	if e.Origin.File != "" {
		text += ", from " + e.Origin.String()
	}
	text += ": " + e.Err.Error()
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	if e.Advice != "" {
		text += "\n\n" + e.Advice
	}
	return text
}

func (e *ObjectError) Unwrap() error { return e.Err }

// ComponentError is a problem of the component as a whole. Title heads the
// message.
type ComponentError struct {
	Title string
	Err   error
}

func (e *ComponentError) Error() string { return e.Err.Error() }
func (e *ComponentError) Unwrap() error { return e.Err }

func componentErrorf(title, format string, args ...any) error {
	return &ComponentError{Title: title, Err: fmt.Errorf(format, args...)}
}

// Warning is something to know that stops nothing. Title names the topic and
// the component, so that Terraform does not fold warnings of two components
// into one; Lines are printed as they are.
type Warning struct {
	Title string
	Lines []string
}

// headline names the problems of an error without what servers or manifests
// say, which is too much for an event.
func headline(err error) string {
	var texts []string
	for _, problem := range object.Problems(err) {
		texts = append(texts, headlineOf(problem))
	}
	slices.Sort(texts)
	return listed(slices.Compact(texts))
}

func headlineOf(problem error) string {
	var notReady *NotReadyError
	var object *ObjectError
	var component *ComponentError
	switch {
	case errors.As(problem, &notReady):
		return notReady.Title()
	case errors.As(problem, &object):
		return object.ID.String() + ": " + object.Title
	case errors.As(problem, &component):
		return component.Title
	default:
		return "an error"
	}
}
