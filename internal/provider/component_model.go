package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/kubewave/terraform-provider-component/internal/engine"
)

// What an attribute of a component is when it is not set. It stays null in
// plan and state, so that neither prints what nobody wrote.
const (
	defaultReadyTimeout    = 10 * time.Minute
	defaultReapplyInterval = 60 * time.Minute
)

// maxNameLength leaves room for the prefix of the record's name.
const maxNameLength = 253 - len("component.")

// policyValues lists what a policy attribute accepts, the default first.
func policyValues(attribute string) []string {
	return map[string][]string{
		"adoption_policy":           engine.AdoptionPolicies,
		"update_policy":             engine.UpdatePolicies,
		"delete_policy":             engine.DeletePolicies,
		"missing_namespaces_policy": engine.MissingNamespacesPolicies,
	}[attribute]
}

// componentModel is a component in configuration, plan and state.
type componentModel struct {
	Name      types.String `tfsdk:"name"`
	Namespace types.String `tfsdk:"namespace"`

	Source types.Object  `tfsdk:"source"`
	Path   types.String  `tfsdk:"path"`
	Values types.Dynamic `tfsdk:"values"`

	TargetNamespace types.String `tfsdk:"target_namespace"`
	TargetName      types.String `tfsdk:"target_name"`

	AdoptionPolicy          types.String   `tfsdk:"adoption_policy"`
	UpdatePolicy            types.String   `tfsdk:"update_policy"`
	DeletePolicy            types.String   `tfsdk:"delete_policy"`
	MissingNamespacesPolicy types.String   `tfsdk:"missing_namespaces_policy"`
	ReapplyInterval         types.String   `tfsdk:"reapply_interval"`
	ReadyTimeout            types.String   `tfsdk:"ready_timeout"`
	Timeouts                timeouts.Value `tfsdk:"timeouts"`

	Dependencies           types.Set  `tfsdk:"dependencies"`
	AdditionalManagedTypes types.Set  `tfsdk:"additional_managed_types"`
	Suspend                types.Bool `tfsdk:"suspend"`
	SkipSafeguards         types.Bool `tfsdk:"skip_safeguards"`

	ID       types.String `tfsdk:"id"`
	Objects  types.Map    `tfsdk:"objects"`
	Summary  types.String `tfsdk:"summary"`
	Status   types.String `tfsdk:"status"`
	Artifact types.Object `tfsdk:"artifact"`
	Revision types.Int64  `tfsdk:"revision"`
}

// sourceModel is the attribute source of which the children are known or not.
type sourceModel struct {
	Files     types.Map    `tfsdk:"files"`
	Directory types.String `tfsdk:"directory"`
	HelmChart types.Object `tfsdk:"helm_chart"`
}

// helmChartModel is the attribute source.helm_chart.
type helmChartModel struct {
	Path types.String `tfsdk:"path"`
}

// artifactModel is the computed attribute artifact.
type artifactModel struct {
	URL      types.String `tfsdk:"url"`
	Digest   types.String `tfsdk:"digest"`
	Revision types.String `tfsdk:"revision"`
}

// artifactTypes are the types of the children of artifact.
func artifactTypes() map[string]attr.Type {
	return map[string]attr.Type{"url": types.StringType, "digest": types.StringType, "revision": types.StringType}
}

// objectAs reads an object attribute, whose children may be unknown. It is nil
// when the object itself is null or unknown.
func objectAs[T any](ctx context.Context, object types.Object) (*T, diag.Diagnostics) {
	if object.IsNull() || object.IsUnknown() {
		return nil, nil
	}
	var model T
	diags := object.As(ctx, &model, basetypes.ObjectAsOptions{})
	return &model, diags
}

// policy returns the value of a policy attribute, or its default.
func policy(attribute string, value types.String) string {
	return stringOr(value, policyValues(attribute)[0])
}

// durationOr returns the value of a duration attribute, or its default.
func durationOr(value types.String, otherwise time.Duration) time.Duration {
	duration, err := time.ParseDuration(value.ValueString())
	if err != nil {
		return otherwise
	}
	return duration
}
