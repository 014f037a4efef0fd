package provider

import (
	"fmt"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// componentSchema describes the resource component. Its computed attributes
// have no plan modifiers: ModifyPlan plans all of them.
func componentSchema() schema.Schema {
	attributes := map[string]schema.Attribute{}
	maps.Copy(attributes, identityAttributes())
	maps.Copy(attributes, contentAttributes())
	maps.Copy(attributes, policyAttributes())
	maps.Copy(attributes, orderAttributes())
	maps.Copy(attributes, computedAttributes())
	return schema.Schema{
		MarkdownDescription: "A component is a named set of Kubernetes objects with one life cycle. It is rendered from a source, applied in waves, " +
			"waited for until it is ready, pruned, and deleted as one. The plan shows what will change in every object.",
		Attributes: attributes,
		Blocks:     map[string]schema.Block{"timeouts": timeoutsBlock()},
	}
}

func identityAttributes() map[string]schema.Attribute {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true,
			MarkdownDescription: "Name of the component, a DNS subdomain of at most 243 characters. Together with `namespace` it identifies the component in " +
				"the cluster. Changing it deletes the objects and creates them under the new name; to rename the resource in Terraform only, use a `moved` block.",
			PlanModifiers: replace,
			Validators:    []validator.String{dnsSubdomain(maxNameLength)},
		},
		"namespace": schema.StringAttribute{
			Required: true,
			MarkdownDescription: "Namespace in which the component's record is kept. It is created when it does not exist. Objects without a namespace go there " +
				"too, unless `target_namespace` is set. Changing it deletes the objects and creates them anew.",
			PlanModifiers: replace,
			Validators:    []validator.String{dnsLabel()},
		},
		"target_namespace": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Namespace of the objects that name none, and Helm's release namespace. Default: `namespace`. After a change the objects are applied " +
				"in the new namespace first and removed from the old one when the new ones are ready.",
			Validators: []validator.String{dnsLabel()},
		},
		"target_name": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Name that templates see, and Helm's release name. Default: `name`.",
			Validators:          []validator.String{dnsSubdomain(maxNameLength)},
		},
	}
}

func contentAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"source": schema.SingleNestedAttribute{
			Required:            true,
			MarkdownDescription: "Where the manifests come from. Exactly one of the keys is set.",
			Validators:          []validator.Object{oneChild{}},
			Attributes: map[string]schema.Attribute{
				"files": schema.MapAttribute{
					Optional:    true,
					ElementType: types.StringType,
					MarkdownDescription: "The files themselves: from name to content, such as `{ \"app.yaml\" = file(\"app.yaml\") }`. " +
						"A name is a relative path; it may contain folders.",
					Validators: []validator.Map{someFiles{}},
				},
				"directory": schema.StringAttribute{
					Optional:            true,
					MarkdownDescription: "Path of a directory on the machine that runs Terraform, such as `\"${path.module}/manifests\"`.",
					Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
				},
				"helm_chart": schema.SingleNestedAttribute{
					Optional:            true,
					MarkdownDescription: "A Helm chart.",
					Attributes: map[string]schema.Attribute{
						"path": schema.StringAttribute{
							Required:            true,
							MarkdownDescription: "Path of the chart on the machine that runs Terraform: a directory or a `.tgz` archive.",
							Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
						},
					},
				},
			},
		},
		"path": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Folder inside the source that is rendered, as a relative path such as `overlays/prod`. Default: the top of the source.",
			Validators:          []validator.String{insidePath()},
		},
		"values": schema.DynamicAttribute{
			Optional: true,
			MarkdownDescription: "Values for the templates, as an object. Whole numbers stay exact whatever their size. Terraform keeps the values in its state; " +
				"whether a value is sensitive is not passed on to `objects`.",
			Validators:    []validator.Dynamic{valuesObject{}},
			PlanModifiers: []planmodifier.Dynamic{sameValues{}},
		},
	}
}

const annotationWins = "An annotation of the object beats it."

func policyAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"adoption_policy": policyAttribute("adoption_policy",
			"What happens when an object of the component already exists. `IfUnowned` takes it over if no other component owns it, `Never` refuses it, "+
				"`Always` takes it over from its owner. "+annotationWins),
		"update_policy": policyAttribute("update_policy",
			"How objects are updated. `SsaOverride` applies on the server's side and removes what reclaimed field managers set besides, `SsaMerge` leaves the fields "+
				"of other managers, `Replace` replaces the whole object, `Recreate` deletes it and creates it anew (never namespaces, custom resource definitions "+
				"and volumes, unless their own annotation says so). "+annotationWins),
		"delete_policy": policyAttribute("delete_policy",
			"What happens to the objects when the component is destroyed. `Delete` deletes them, `Orphan` leaves them in the cluster. "+annotationWins),
		"missing_namespaces_policy": policyAttribute("missing_namespaces_policy",
			"What happens when an object names a namespace that does not exist and that the component does not bring. `Create` creates it, "+
				"`DoNotCreate` makes it an error."),
		"reapply_interval": durationAttribute(defaultReapplyInterval,
			"When an update runs, objects that were last applied longer ago than this are applied again even if nothing in them changed. "+
				"It never causes an update by itself. "+annotationWins),
		"ready_timeout": durationAttribute(defaultReadyTimeout,
			"How long the objects may take to become ready after they were applied."),
	}
}

func orderAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"dependencies": schema.SetAttribute{
			Optional:    true,
			ElementType: types.StringType,
			MarkdownDescription: "Other components, as `namespace/name`, that must be `Ready` before this one is applied, also those of other Terraform states. " +
				"The apply waits for them for at most `ready_timeout`. A component that others depend on is deleted after them. " +
				"Inside one configuration `depends_on` does the same, and Terraform then knows the order.",
			Validators: []validator.Set{setvalidator.ValueStringsAre(componentName())},
		},
		"additional_managed_types": schema.SetAttribute{
			Optional:    true,
			ElementType: types.StringType,
			MarkdownDescription: "Types that the component brings without containing their CustomResourceDefinition, because its operator creates it: as `Kind.group`, " +
				"where the kind may be `*` and the group `*` or `*.suffix`. Their objects are applied last and deleted first, and the component cannot be " +
				"deleted while others have objects of them.",
			Validators: []validator.Set{setvalidator.ValueStringsAre(typePattern())},
		},
		"suspend": schema.BoolAttribute{
			Optional:            true,
			MarkdownDescription: "With `true` nothing is applied or pruned; a plan says in a warning what is left undone. Destroying works all the same. Default: `false`.",
		},
		"skip_safeguards": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "With `true` custom resource definitions, API services and namespaces are deleted together with what others have in them, without looking. " +
				"It counts as it was set at the last apply. Default: `false`.",
		},
	}
}

// policyAttribute has no schema default: null is the default, so that nothing
// is printed for it.
func policyAttribute(name, description string) schema.StringAttribute {
	accepted := policyValues(name)
	return schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: description + " Accepted values: " + codes(accepted) + ". Default: " + code(accepted[0]) + ".",
		Validators:          []validator.String{stringvalidator.OneOf(accepted...)},
	}
}

func durationAttribute(otherwise time.Duration, description string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: description + " It is a duration above zero, such as `90s` or `1h30m`. Default: " + code(minutes(otherwise)) + ".",
		Validators:          []validator.String{positiveDuration()},
	}
}

func minutes(d time.Duration) string { return fmt.Sprintf("%dm", int(d.Minutes())) }

func computedAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "The component's identity: `namespace/name`.",
		},
		"objects": schema.MapAttribute{
			Computed:    true,
			ElementType: types.StringType,
			MarkdownDescription: "The objects: from `Kind.group/namespace/name` to the JSON of the fields that are applied, without secrets. It is known in the plan, " +
				"which shows the changes field by field.",
		},
		"summary": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "What the last change did, such as `3 to create, 1 to update`.",
		},
		"status": schema.StringAttribute{
			Computed: true,
			MarkdownDescription: "`Ready` when all objects were applied and became ready; otherwise the reason why not. The next plan then shows an update that goes on " +
				"where the last one ended.",
		},
		"artifact": schema.SingleNestedAttribute{
			Computed:            true,
			MarkdownDescription: "What the source was resolved to.",
			Attributes: map[string]schema.Attribute{
				"url":      schema.StringAttribute{Computed: true, MarkdownDescription: "Where the artifact was read from; null for inline files."},
				"digest":   schema.StringAttribute{Computed: true, MarkdownDescription: "Digest of its content, such as `sha256:…`."},
				"revision": schema.StringAttribute{Computed: true, MarkdownDescription: "Its revision: the version of a chart, for example."},
			},
		},
		"revision": schema.Int64Attribute{
			Computed:            true,
			MarkdownDescription: "Counts the applied changes from 1. Templates see it as Helm's release revision.",
		},
	}
}

// timeoutsBlock is the block of terraform-plugin-framework-timeouts, but
// accepts no duration that is not above zero.
func timeoutsBlock() schema.Block {
	limit := func(what string) schema.StringAttribute {
		return schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "How long " + what + " may take as a whole, such as `30m`. There is no default.",
			Validators:          []validator.String{positiveDuration()},
		}
	}
	return schema.SingleNestedBlock{
		MarkdownDescription: "Limits for whole operations. How long objects may take to become ready is the matter of `ready_timeout`.",
		CustomType: timeouts.Type{ObjectType: types.ObjectType{AttrTypes: map[string]attr.Type{
			"create": types.StringType, "update": types.StringType, "delete": types.StringType,
		}}},
		Attributes: map[string]schema.Attribute{
			"create": limit("the creation"),
			"update": limit("an update"),
			"delete": limit("the deletion (as it was set at the last apply)"),
		},
	}
}
