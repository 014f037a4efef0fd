package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubewave/terraform-provider-component/internal/engine"
)

// Create applies a component for the first time, or resumes where an earlier
// create stopped.
func (r *componentResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan componentModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	limit, problems := plan.Timeouts.Create(ctx, 0)
	resp.Diagnostics.Append(problems...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.apply(ctx, applyRequest{plan: plan, limit: limit}, &resp.State, resp.Private, &resp.Diagnostics)
}

// Update applies what changed.
func (r *componentResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state componentModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	limit, problems := plan.Timeouts.Update(ctx, 0)
	resp.Diagnostics.Append(problems...)
	memory := readMemory(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	prior := state.prior(ctx, memory, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, plannedKey, nil)...)
	r.apply(ctx, applyRequest{plan: plan, prior: &prior, limit: limit}, &resp.State, resp.Private, &resp.Diagnostics)
}

type applyRequest struct {
	// plan holds what the user approved.
	plan componentModel
	// prior is nil for a create.
	prior *engine.Prior
	limit time.Duration
}

// apply is the one path of Create and Update. State is set before an error
// returns, except when nothing was done: an error with state taints a create.
func (r *componentResource) apply(ctx context.Context, req applyRequest, state *tfsdk.State, private privateWriter, diags *diag.Diagnostics) {
	e := r.engine(diags)
	component, unknown := req.plan.component(ctx, diags)
	if len(unknown) > 0 || !r.connection.known() {
		diags.AddError("Inputs are not known", "Terraform asked to apply a component whose inputs are not known.")
	}
	if diags.HasError() {
		return
	}
	ctx, cancel := withLimit(ctx, req.limit)
	defer cancel()
	plan, err := e.Plan(ctx, component, req.prior, engine.PlanOptions{Apply: true})
	if err != nil {
		addError(diags, err)
		return
	}
	result, err := e.Apply(ctx, plan, req.plan.objects())
	if result.Started {
		model := req.plan
		model.ID = types.StringValue(component.String())
		model.Objects = objectsValue(result.Objects)
		model.setStatus(result.Status)
		model.setRevision(result.Revision)
		model.Artifact = artifactValue(result.Artifact)
		if model.Summary.IsUnknown() {
			model.Summary = types.StringValue(result.Summary)
		}
		writePrivate(context.WithoutCancel(ctx), private, memoryKey, result.Memory, diags)
		diags.Append(state.Set(context.WithoutCancel(ctx), &model)...)
	}
	addError(diags, err)
}

// withLimit bounds an operation; no limit is none.
func withLimit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}
