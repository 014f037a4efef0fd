package provider

import (
	"context"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
)

// sameValues keeps the values of the state when those of the configuration are
// the same but for their Terraform types: an object that became a map renders
// nothing else. Terraform lets a provider keep a prior value that means the
// same.
type sameValues struct{}

var _ planmodifier.Dynamic = sameValues{}

// Description says what the modifier does.
func (sameValues) Description(context.Context) string {
	return "Values that differ in nothing but their Terraform types are the same."
}

// MarkdownDescription says what the modifier does.
func (m sameValues) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

// PlanModifyDynamic compares the converted values.
func (sameValues) PlanModifyDynamic(_ context.Context, req planmodifier.DynamicRequest, resp *planmodifier.DynamicResponse) {
	if req.StateValue.IsNull() || req.PlanValue.IsNull() {
		return
	}
	before, _, err := valuesOf(req.StateValue)
	if err != nil {
		return
	}
	after, unknown, err := valuesOf(req.PlanValue)
	if err == nil && len(unknown) == 0 && reflect.DeepEqual(before, after) {
		resp.PlanValue = req.StateValue
	}
}
