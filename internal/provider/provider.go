// Package provider is the Terraform side of the engine: schemas, the way from
// configuration to the engine's values and back, and diagnostics.
package provider

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

var (
	_ provider.Provider                   = (*componentProvider)(nil)
	_ provider.ProviderWithValidateConfig = (*componentProvider)(nil)
)

type componentProvider struct {
	version string
}

// New returns what makes a provider of the given version.
func New(version string) func() provider.Provider {
	return func() provider.Provider {
		return &componentProvider{version: version}
	}
}

// Metadata names the provider.
func (p *componentProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "component"
	resp.Version = p.version
}

// Schema describes the provider's options.
func (p *componentProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = providerSchema()
}

// ValidateConfig reports what the configuration has wrong by itself, at the
// option concerned. What only the environment or a file has wrong waits until
// the cluster is needed.
func (p *componentProvider) ValidateConfig(ctx context.Context, req provider.ValidateConfigRequest, resp *provider.ValidateConfigResponse) {
	var model providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	have := model.settings(ctx, os.Getenv)
	if len(have.Unknown) > 0 {
		return
	}
	addOptionErrors(&resp.Diagnostics, kubernetesBlock{model.Kubernetes}, errors.Join(have.ConfigError, have.Cluster.Check()))
}

// Configure makes the settings. It connects to nothing, and what is not known
// yet is no error: the resources decide what they can do without.
func (p *componentProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var model providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	have := model.settings(ctx, os.Getenv)
	have.Version = p.version
	shared := &connection{settings: have, leaving: newLeaving()}
	resp.ResourceData = shared
	resp.DataSourceData = shared
}

// Resources lists the resource types.
func (p *componentProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{newComponentResource}
}

// DataSources lists the data sources.
func (p *componentProvider) DataSources(context.Context) []func() datasource.DataSource {
	return nil
}

// addOptionErrors reports the problems of the options that are set in the
// configuration, each at its attribute.
func addOptionErrors(diags *diag.Diagnostics, block kubernetesBlock, err error) {
	for _, problem := range object.Problems(err) {
		var option *cluster.OptionError
		if !errors.As(problem, &option) {
			continue
		}
		if at := slices.IndexFunc(option.Options, block.isSet); at >= 0 {
			diags.AddAttributeError(optionPath(option.Options[at]), "Invalid provider configuration", option.Text+".")
		}
	}
}

// optionPath is where an option such as "exec.command" stands.
func optionPath(name string) path.Path {
	at := path.Root("kubernetes")
	for _, step := range strings.Split(name, ".") {
		at = at.AtName(step)
	}
	return at
}
