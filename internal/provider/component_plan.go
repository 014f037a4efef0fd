package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubewave/terraform-provider-component/internal/engine"
)

// ModifyPlan plans all computed values. Terraform calls it twice, at plan and
// again at apply, and refuses values that differ: they depend on
// configuration, state and private state only.
func (r *componentResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.connection == nil {
		return
	}
	if !req.State.Raw.IsNull() {
		r.connection.leaving.planned(readMemory(ctx, req.Private, &resp.Diagnostics))
	}
	if req.Plan.Raw.IsNull() {
		return
	}
	var plan componentModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	prior, state, options := r.priorOf(ctx, req, plan, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	component, unknown := plan.component(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.planID()
	if req.State.Raw.IsNull() && !plan.Name.IsUnknown() && !plan.Namespace.IsUnknown() {
		writePrivate(ctx, resp.Private, plannedKey, plan.identity(), &resp.Diagnostics)
	}
	if len(unknown) > 0 {
		plan.setUnknown()
		addWarnings(&resp.Diagnostics, []engine.Warning{unknownWarning(component, unknown)})
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
		return
	}
	if r.planComponent(ctx, component, prior, options, &plan, &resp.Diagnostics) {
		plan.keepComputed(state)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// priorOf reads state and private state. For a create there is no prior: the
// private state that comes with the create half of a replacement is that of
// the replaced instance, and only says what is no obstacle.
func (r *componentResource) priorOf(ctx context.Context, req resource.ModifyPlanRequest, plan componentModel, diags *diag.Diagnostics) (*engine.Prior, componentModel, engine.PlanOptions) {
	var state componentModel
	memory := readMemory(ctx, req.Private, diags)
	if !req.State.Raw.IsNull() {
		diags.Append(req.State.Get(ctx, &state)...)
		if state.identity() == plan.identity() {
			prior := state.prior(ctx, memory, diags)
			return &prior, state, engine.PlanOptions{}
		}
		// A rename: Terraform asks once more, for the create half.
		addWarnings(diags, []engine.Warning{replacementWarning(state)})
	}
	if memory.Instance != "" {
		return nil, state, engine.PlanOptions{Replaces: &memory}
	}
	return nil, state, engine.PlanOptions{Leaves: func(owner string) bool { return r.connection.leaving.includes(ctx, owner) }}
}

// planComponent sets the planned values. It returns true when there is nothing
// to do.
func (r *componentResource) planComponent(ctx context.Context, component engine.Component, prior *engine.Prior, options engine.PlanOptions, plan *componentModel, diags *diag.Diagnostics) bool {
	e := r.engine(diags)
	if diags.HasError() {
		return false
	}
	planned, err := e.Plan(ctx, component, prior, options)
	if err != nil {
		addError(diags, err)
		return false
	}
	addWarnings(diags, planned.Warnings)
	if planned.NothingToDo {
		return true
	}
	plan.setPlanned(planned.Planned)
	if r.connection.known() {
		return false
	}
	addWarnings(diags, []engine.Warning{offlineWarning(component, r.connection.settings.Unknown)})
	plan.Status = types.StringUnknown()
	if prior != nil || planned.AsksCluster() {
		plan.setUnknown()
	}
	return false
}

// keepComputed copies the computed values of a state: nothing is to be done.
func (m *componentModel) keepComputed(prior componentModel) {
	m.Objects, m.Summary, m.Status, m.Artifact, m.Revision = prior.Objects, prior.Summary, prior.Status, prior.Artifact, prior.Revision
}

func (m *componentModel) planID() {
	if m.Name.IsUnknown() || m.Namespace.IsUnknown() {
		m.ID = types.StringUnknown()
		return
	}
	m.ID = types.StringValue(m.Namespace.ValueString() + "/" + m.Name.ValueString())
}

func (m *componentModel) setPlanned(p engine.Planned) {
	m.Objects = plannedObjects(p)
	m.Summary = types.StringValue(p.Summary)
	m.Artifact = artifactValue(p.Artifact)
	m.setStatus(p.Status)
	m.setRevision(p.Revision)
}

// plannedObjects leaves those objects open that come out differently at each
// rendering.
func plannedObjects(p engine.Planned) types.Map {
	if p.Open {
		return types.MapUnknown(types.StringType)
	}
	elements := objectsValue(p.Objects).Elements()
	for key := range p.Unknown {
		elements[key] = types.StringUnknown()
	}
	return types.MapValueMust(types.StringType, elements)
}

// setUnknown leaves all computed values but the id open until apply.
func (m *componentModel) setUnknown() {
	m.Objects = types.MapUnknown(types.StringType)
	m.Summary, m.Status = types.StringUnknown(), types.StringUnknown()
	m.Artifact = types.ObjectUnknown(artifactTypes())
	m.Revision = types.Int64Unknown()
}

func (m *componentModel) setStatus(status string) { m.Status = types.StringValue(status) }

func (m *componentModel) setRevision(revision int64) { m.Revision = types.Int64Value(revision) }

func replacementWarning(state componentModel) engine.Warning {
	return engine.Warning{
		Title: fmt.Sprintf("Component %s will be deleted", state.ID.ValueString()),
		Lines: []string{
			fmt.Sprintf(" Another name or namespace makes it another component: the %d objects of the former one are deleted first, those of the new one are created then.", len(state.Objects.Elements())),
		},
	}
}

func unknownWarning(c engine.Component, unknown []string) engine.Warning {
	return engine.Warning{
		Title: fmt.Sprintf("The objects of component %s are not known yet", c),
		Lines: []string{
			" They depend on inputs that are known only at apply: " + strings.Join(unknown, ", ") + ".",
			" They are rendered and checked then, before anything is applied.",
		},
	}
}

func offlineWarning(c engine.Component, unknown []string) engine.Warning {
	return engine.Warning{
		Title: fmt.Sprintf("The cluster of component %s is not known yet", c),
		Lines: []string{
			" The plan was made without it, since options of the provider are known only at apply: " + strings.Join(unknown, ", ") + ".",
		},
	}
}
