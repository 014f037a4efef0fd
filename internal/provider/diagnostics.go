package provider

import (
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubewave/terraform-provider-component/internal/engine"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// addError turns an error of the engine into diagnostics, one a problem. It is
// the only place where an error becomes a text for the user.
func addError(diags *diag.Diagnostics, err error) {
	for _, problem := range object.Problems(err) {
		addProblem(diags, problem)
	}
}

func addProblem(diags *diag.Diagnostics, err error) {
	var input *engine.InputError
	var ofObject *engine.ObjectError
	var component *engine.ComponentError
	var notReady *engine.NotReadyError
	switch {
	case errors.As(err, &notReady):
		diags.AddError(notReady.Title(), notReady.Error())
	case errors.As(err, &ofObject):
		diags.AddError(ofObject.Title, ofObject.Error())
	case errors.As(err, &component):
		diags.AddError(component.Title, component.Error())
	case errors.As(err, &input):
		for _, problem := range object.Problems(input.Err) {
			diags.AddAttributeError(path.Root(input.Field), "Invalid component input", problem.Error())
		}
	default:
		diags.AddError("The manifests cannot be used", err.Error())
	}
}

// addWarnings prints warnings of the engine. Their lines begin with a blank,
// so that Terraform prints them as they are.
func addWarnings(diags *diag.Diagnostics, warnings []engine.Warning) {
	for _, warning := range warnings {
		diags.AddWarning(warning.Title, strings.Join(warning.Lines, "\n"))
	}
}
