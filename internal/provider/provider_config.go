package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubewave/terraform-provider-component/internal/engine"
)

// What an option of the provider is when it is not set.
const (
	defaultAnnotationPrefix      = engine.DefaultAnnotationPrefix
	defaultFieldManager          = engine.DefaultFieldManager
	defaultMaxConcurrentRequests = engine.DefaultWorkers
)

func defaultReclaimedFieldManagers() []string { return []string{"kubectl"} }

func defaultAdoptedFieldManagers() []string {
	return []string{"helm", "Terraform", "kustomize-controller", "argocd-controller"}
}

// providerModel is the configuration of the provider.
type providerModel struct {
	Kubernetes             types.Object `tfsdk:"kubernetes"`
	AnnotationPrefix       types.String `tfsdk:"annotation_prefix"`
	FieldManager           types.String `tfsdk:"field_manager"`
	ReclaimedFieldManagers types.List   `tfsdk:"reclaimed_field_managers"`
	AdoptedFieldManagers   types.List   `tfsdk:"adopted_field_managers"`
	ClusterID              types.String `tfsdk:"cluster_id"`
	MaxConcurrentRequests  types.Int64  `tfsdk:"max_concurrent_requests"`
}

func providerSchema() schema.Schema {
	notEmpty := stringvalidator.LengthAtLeast(1)
	managers := []validator.List{listvalidator.NoNullValues(), listvalidator.ValueStringsAre(notEmpty)}
	return schema.Schema{
		MarkdownDescription: "Applies components (sets of Kubernetes objects with one life cycle) and shows in the plan what will change in every object. " +
			"Configuring the provider connects to nothing: the cluster may be created in the same run.",
		Blocks: map[string]schema.Block{
			"kubernetes": kubernetesSchema(),
		},
		Attributes: map[string]schema.Attribute{
			"annotation_prefix": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Prefix of the annotations that manifests may carry and of the labels that mark whose an object is. " +
					"It must be a DNS name. Changing it orphans what was applied under the old one. Default: " + code(defaultAnnotationPrefix) + ".",
				Validators: []validator.String{dnsSubdomain(253)},
			},
			"field_manager": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Name under which the API server records the fields that are applied, of at most 128 characters. " +
					"Default: " + code(defaultFieldManager) + ".",
				Validators: []validator.String{stringvalidator.LengthBetween(1, 128)},
			},
			"reclaimed_field_managers": schema.ListAttribute{
				Optional:    true,
				ElementType: types.StringType,
				MarkdownDescription: "Prefixes of the names of field managers whose fields are taken over at every update, so that what somebody set by hand is " +
					"removed when the manifest does not set it. An empty list takes over nothing. Default: " + codes(defaultReclaimedFieldManagers()) + ".",
				Validators: managers,
			},
			"adopted_field_managers": schema.ListAttribute{
				Optional:    true,
				ElementType: types.StringType,
				MarkdownDescription: "Names of the field managers of former tools, whose fields are taken over once, when an object is adopted. " +
					"An empty list takes over nothing. Default: " + codes(defaultAdoptedFieldManagers()) + ".",
				Validators: managers,
			},
			"cluster_id": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Identity of the cluster, part of the owner id of every object. It is for users who may not read the namespace " +
					"`kube-system`, whose UID is the default. It contains neither `/` nor white space.",
				Validators: []validator.String{pattern(`^[^/\s]+$`, "must contain neither a slash nor white space")},
			},
			"max_concurrent_requests": schema.Int64Attribute{
				Optional: true,
				MarkdownDescription: "How many requests of one component may be under way at once, from 1 to 1000. There is no other limit on our side: " +
					"the API server's priority and fairness is respected. Default: `16`.",
				Validators: []validator.Int64{int64validator.Between(1, 1000)},
			},
		},
	}
}

// settings reads the configuration and, where it leaves something open, the
// environment.
func (m providerModel) settings(ctx context.Context, getenv func(string) string) *settings {
	have := &settings{
		Unknown:                m.unknown(ctx),
		ClusterID:              m.ClusterID.ValueString(),
		AnnotationPrefix:       stringOr(m.AnnotationPrefix, defaultAnnotationPrefix),
		FieldManager:           stringOr(m.FieldManager, defaultFieldManager),
		ReclaimedFieldManagers: stringsOr(m.ReclaimedFieldManagers, defaultReclaimedFieldManagers()),
		AdoptedFieldManagers:   stringsOr(m.AdoptedFieldManagers, defaultAdoptedFieldManagers()),
		MaxConcurrentRequests:  defaultMaxConcurrentRequests,
	}
	if n := m.MaxConcurrentRequests; !n.IsNull() && !n.IsUnknown() {
		have.MaxConcurrentRequests = int(n.ValueInt64())
	}
	if len(have.Unknown) == 0 {
		have.Cluster, have.ConfigError = kubernetesBlock{m.Kubernetes}.config(getenv)
	}
	return have
}

// unknown names the options whose value, or a part of it, is not known yet.
func (m providerModel) unknown(ctx context.Context) []string {
	options := map[string]attr.Value{
		"annotation_prefix":        m.AnnotationPrefix,
		"field_manager":            m.FieldManager,
		"reclaimed_field_managers": m.ReclaimedFieldManagers,
		"adopted_field_managers":   m.AdoptedFieldManagers,
		"cluster_id":               m.ClusterID,
		"max_concurrent_requests":  m.MaxConcurrentRequests,
	}
	if m.Kubernetes.IsUnknown() {
		options["kubernetes"] = m.Kubernetes
	}
	for name, value := range m.Kubernetes.Attributes() {
		options["kubernetes."+name] = value
	}
	var unknown []string
	for name, value := range options {
		if raw, err := value.ToTerraformValue(ctx); err != nil || !raw.IsFullyKnown() {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// stringOr is a default for what is null, or not known yet.
func stringOr(value types.String, otherwise string) string {
	if value.IsNull() || value.IsUnknown() {
		return otherwise
	}
	return value.ValueString()
}

// stringsOr is a default for a list that is null or not known yet; an empty
// list is not.
func stringsOr(list types.List, otherwise []string) []string {
	if list.IsNull() || list.IsUnknown() {
		return otherwise
	}
	texts := []string{}
	for _, element := range list.Elements() {
		if text, ok := element.(types.String); ok && !text.IsNull() && !text.IsUnknown() {
			texts = append(texts, text.ValueString())
		}
	}
	return texts
}
