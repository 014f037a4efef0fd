package provider

import (
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubewave/terraform-provider-component/internal/engine"
)

// addError turns an error of the engine into diagnostics, one a problem. It is
// the only place where an error becomes a text for the user.
func addError(diags *diag.Diagnostics, err error) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			addError(diags, e)
		}
		return
	}
	var input *engine.InputError
	var object *engine.ObjectError
	var component *engine.ComponentError
	var notReady *engine.NotReadyError
	switch {
	case errors.As(err, &notReady):
		diags.AddError(notReady.Title(), notReady.Error())
	case errors.As(err, &object):
		diags.AddError(object.Title, object.Error())
	case errors.As(err, &component):
		diags.AddError(component.Title, component.Error())
	case errors.As(err, &input):
		addJoined(input.Err, func(e error) {
			diags.AddAttributeError(path.Root(input.Field), "Invalid component input", e.Error())
		})
	default:
		diags.AddError("The manifests cannot be used", err.Error())
	}
}

// addJoined calls report for each part of an error.
func addJoined(err error, report func(error)) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			addJoined(e, report)
		}
		return
	}
	report(err)
}

// addWarnings prints warnings of the engine. Their lines begin with a blank,
// so that Terraform prints them as they are.
func addWarnings(diags *diag.Diagnostics, warnings []engine.Warning) {
	for _, warning := range warnings {
		diags.AddWarning(warning.Title, strings.Join(warning.Lines, "\n"))
	}
}
