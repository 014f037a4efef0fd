package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/kubewave/terraform-provider-component/internal/engine"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

var (
	_ resource.Resource                = (*componentResource)(nil)
	_ resource.ResourceWithConfigure   = (*componentResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*componentResource)(nil)
	_ resource.ResourceWithImportState = (*componentResource)(nil)
)

// componentResource is the resource component.
type componentResource struct {
	connection *connection
}

func newComponentResource() resource.Resource { return &componentResource{} }

// Metadata names the resource type: "component", like the provider.
func (r *componentResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "component"
}

// Schema describes the resource.
func (r *componentResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = componentSchema()
}

// Configure takes over the connection of the provider.
func (r *componentResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	if req.ProviderData == nil {
		return
	}
	shared, ok := req.ProviderData.(*connection)
	if !ok {
		resp.Diagnostics.AddError("Unexpected provider data", fmt.Sprintf("got %T", req.ProviderData))
		return
	}
	r.connection = shared
}

// engine returns the engine, or reports why there is none.
func (r *componentResource) engine(diags *diag.Diagnostics) *engine.Engine {
	if r.connection == nil {
		diags.AddError("The provider is not configured", "The resource was used before the provider was configured.")
		return nil
	}
	e, err := r.connection.engine()
	for _, problem := range object.Problems(err) {
		diags.AddError("Invalid provider configuration", problem.Error())
	}
	return e
}

// Read looks at the live objects. It keeps state while the provider's
// configuration is not known.
func (r *componentResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	e := r.engine(&resp.Diagnostics)
	var state componentModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	memory := readMemory(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.connection.known() {
		return
	}
	refreshed, err := e.Refresh(ctx, state.identity(), state.prior(ctx, memory, &resp.Diagnostics))
	if err != nil {
		addError(&resp.Diagnostics, err)
		return
	}
	if refreshed.Gone {
		resp.State.RemoveResource(ctx)
		return
	}
	addWarnings(&resp.Diagnostics, refreshed.Warnings)
	state.Objects = objectsValue(refreshed.Objects)
	state.setStatus(refreshed.Status)
	state.setRevision(refreshed.Revision)
	state.Artifact = artifactValue(refreshed.Artifact)
	writePrivate(ctx, resp.Private, memoryKey, refreshed.Memory, &resp.Diagnostics)
	r.connection.leaving.saw(refreshed.Memory)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Delete removes the component, or leaves it to the create that follows (see
// [engine.Verdict]).
func (r *componentResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	e := r.engine(&resp.Diagnostics)
	var state componentModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	memory := readMemory(ctx, req.Private, &resp.Diagnostics)
	planned := readPlanned(ctx, req.Private, &resp.Diagnostics)
	if r.connection != nil && !r.connection.known() {
		resp.Diagnostics.AddError("The cluster is not known", "The provider's configuration is not known, so nothing can be deleted.")
	}
	limit, problems := state.Timeouts.Delete(ctx, 0)
	resp.Diagnostics.Append(problems...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := withLimit(ctx, limit)
	defer cancel()
	warnings, err := e.Delete(ctx, engine.Deletion{
		Identity: state.identity(), Planned: planned, Prior: state.prior(ctx, memory, &resp.Diagnostics),
		Timeout: durationOr(state.ReadyTimeout, defaultReadyTimeout), SkipSafeguards: state.SkipSafeguards.ValueBool(),
	})
	addWarnings(&resp.Diagnostics, warnings)
	addError(&resp.Diagnostics, err)
}

// ImportState takes "namespace/name". What the component is made of comes from
// its record at the read that follows.
func (r *componentResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	namespace, name, ok := strings.Cut(req.ID, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		resp.Diagnostics.AddError("Invalid import id", fmt.Sprintf("%q is not of the form NAMESPACE/NAME.", req.ID))
		return
	}
	if r.connection != nil && !r.connection.known() {
		resp.Diagnostics.AddError("The cluster is not known", "The provider's configuration is not known until apply, so nothing can be imported from it.")
		return
	}
	for attribute, value := range map[string]string{"id": req.ID, "namespace": namespace, "name": name} {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(attribute), value)...)
	}
}
