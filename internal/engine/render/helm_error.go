package render

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// templateOf finds the template that a message of Helm's engine is about.
var templateOf = regexp.MustCompile(`(?:\(|template: )([^\s():]+):\d+`)

// templateError names the template that failed. The message stays Helm's own,
// which has the line; only type names of Go and long quotes are taken out.
func (r *release) templateError(err error) error {
	text := strings.NewReplacer(
		"evaluating interface {}.", "evaluating .",
		"in type interface {}", "in the value",
		"<nil>", "nothing",
		"reflect.Value.Interface", "value",
	).Replace(shorten(err.Error()))
	match := templateOf.FindStringSubmatch(text)
	if match == nil || !strings.Contains(match[1], "/") {
		return errors.New(text)
	}
	return &object.Error{Origin: r.in.origin(chartPath(r.in, match[1])), Err: errors.New(text)}
}

// quotedValue is how Helm prints the value of a subchart that is not a map.
var quotedValue = regexp.MustCompile(`: %!t\(.*\)$`)

// valuesError explains the one error that merging values can give, without the
// value that Helm quotes in it.
func valuesError(err error) error {
	text := quotedValue.ReplaceAllString(err.Error(), "")
	if name, ok := strings.CutPrefix(text, "type mismatch on "); ok {
		return fmt.Errorf("the value of %q must be a map: it holds the values of the subchart of that name", name)
	}
	return fmt.Errorf("the values cannot be merged into those of the chart: %s", text)
}
