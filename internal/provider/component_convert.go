package provider

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubewave/terraform-provider-component/internal/engine"
	"github.com/kubewave/terraform-provider-component/internal/engine/source"
)

// component turns the model into what the engine applies. unknown names the
// inputs that are not known until apply; the component is then not usable.
func (m componentModel) component(ctx context.Context, diags *diag.Diagnostics) (c engine.Component, unknown []string) {
	unknown = m.unknownInputs(ctx)
	src, unknownSource := m.source(ctx, diags)
	unknown = append(unknown, unknownSource...)
	values, unknownValues, err := valuesOf(m.Values)
	if err != nil {
		diags.AddAttributeError(path.Root("values"), "Invalid values", err.Error())
	}
	for _, name := range unknownValues {
		unknown = append(unknown, underValues(name))
	}
	c = engine.Component{
		Namespace: m.Namespace.ValueString(), Name: m.Name.ValueString(),
		Source: src, Path: m.Path.ValueString(), Values: values,
		TargetNamespace: m.TargetNamespace.ValueString(), TargetName: m.TargetName.ValueString(),
		Defaults: engine.Defaults{
			Adoption:        engine.AdoptionPolicy(policy("adoption_policy", m.AdoptionPolicy)),
			Update:          engine.UpdatePolicy(policy("update_policy", m.UpdatePolicy)),
			Delete:          engine.DeletePolicy(policy("delete_policy", m.DeletePolicy)),
			ReapplyInterval: durationOr(m.ReapplyInterval, defaultReapplyInterval),
		},
		MissingNamespaces: engine.MissingNamespacesPolicy(policy("missing_namespaces_policy", m.MissingNamespacesPolicy)),
		ReadyTimeout:      durationOr(m.ReadyTimeout, defaultReadyTimeout),
		Suspend:           m.Suspend.ValueBool(), SkipSafeguards: m.SkipSafeguards.ValueBool(),
		AdditionalManagedTypes: texts(m.AdditionalManagedTypes),
	}
	for _, name := range texts(m.Dependencies) {
		c.Dependencies = append(c.Dependencies, identityOf(name))
	}
	c.Inputs = m.inputs(values)
	return c, unknown
}

func underValues(name string) string {
	if name == "" {
		return "values"
	}
	if name[0] == '[' {
		return "values" + name
	}
	return "values." + name
}

// unknownInputs names the unknown attributes besides source and values.
func (m componentModel) unknownInputs(ctx context.Context) []string {
	inputs := map[string]attr.Value{
		"name": m.Name, "namespace": m.Namespace, "path": m.Path,
		"target_namespace": m.TargetNamespace, "target_name": m.TargetName,
		"adoption_policy": m.AdoptionPolicy, "update_policy": m.UpdatePolicy, "delete_policy": m.DeletePolicy,
		"missing_namespaces_policy": m.MissingNamespacesPolicy,
		"reapply_interval":          m.ReapplyInterval, "ready_timeout": m.ReadyTimeout,
		"suspend": m.Suspend, "skip_safeguards": m.SkipSafeguards,
		"dependencies": m.Dependencies, "additional_managed_types": m.AdditionalManagedTypes,
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		// An element of a set can be unknown, too.
		if value, err := inputs[name].ToTerraformValue(ctx); err != nil || !value.IsFullyKnown() {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// texts are the known texts of a set, in order.
func texts(set types.Set) []string {
	var all []string
	for _, element := range set.Elements() {
		if text, ok := element.(types.String); ok && !text.IsUnknown() {
			all = append(all, text.ValueString())
		}
	}
	slices.Sort(all)
	return all
}

// identityOf reads "namespace/name".
func identityOf(text string) engine.Identity {
	namespace, name, _ := strings.Cut(text, "/")
	return engine.Identity{Namespace: namespace, Name: name}
}

// source makes the source of the one child that is set.
func (m componentModel) source(ctx context.Context, diags *diag.Diagnostics) (source.Source, []string) {
	if m.Source.IsUnknown() {
		return nil, []string{"source"}
	}
	model, problems := objectAs[sourceModel](ctx, m.Source)
	diags.Append(problems...)
	if model == nil {
		return nil, nil
	}
	switch {
	case model.Files.IsUnknown() || model.Directory.IsUnknown() || model.HelmChart.IsUnknown():
		return nil, []string{"source"}
	case !model.Files.IsNull():
		return filesSource(model.Files)
	case !model.Directory.IsNull():
		return source.Directory{Path: model.Directory.ValueString()}, nil
	case !model.HelmChart.IsNull():
		return chartSource(ctx, model.HelmChart, diags)
	}
	return nil, nil
}

func filesSource(files types.Map) (source.Source, []string) {
	content := source.Files{}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(files.Elements())) {
		text, ok := files.Elements()[name].(types.String)
		if !ok || text.IsUnknown() {
			unknown = append(unknown, `source.files["`+name+`"]`)
			continue
		}
		content[name] = text.ValueString()
	}
	return content, unknown
}

func chartSource(ctx context.Context, object types.Object, diags *diag.Diagnostics) (source.Source, []string) {
	chart, problems := objectAs[helmChartModel](ctx, object)
	diags.Append(problems...)
	if chart == nil || chart.Path.IsUnknown() {
		return nil, []string{"source.helm_chart.path"}
	}
	return source.HelmChart{Path: chart.Path.ValueString()}, nil
}

// inputs are the attributes as the record keeps them, unset ones left out.
func (m componentModel) inputs(values map[string]any) map[string]any {
	inputs := map[string]any{}
	for name, value := range map[string]types.String{
		"path": m.Path, "target_namespace": m.TargetNamespace, "target_name": m.TargetName,
		"adoption_policy": m.AdoptionPolicy, "update_policy": m.UpdatePolicy, "delete_policy": m.DeletePolicy,
		"missing_namespaces_policy": m.MissingNamespacesPolicy,
		"reapply_interval":          m.ReapplyInterval, "ready_timeout": m.ReadyTimeout,
	} {
		if !value.IsNull() && !value.IsUnknown() {
			inputs[name] = value.ValueString()
		}
	}
	for name, value := range map[string]types.Bool{"suspend": m.Suspend, "skip_safeguards": m.SkipSafeguards} {
		if !value.IsNull() && !value.IsUnknown() {
			inputs[name] = value.ValueBool()
		}
	}
	for name, value := range map[string]types.Set{"dependencies": m.Dependencies, "additional_managed_types": m.AdditionalManagedTypes} {
		if names := texts(value); len(names) > 0 {
			inputs[name] = names
		}
	}
	if values != nil {
		inputs["values"] = values
	}
	return inputs
}

// identity names the component of a model.
func (m componentModel) identity() engine.Identity {
	return engine.Identity{Namespace: m.Namespace.ValueString(), Name: m.Name.ValueString()}
}

// prior is what state and private state know of the component.
func (m componentModel) prior(ctx context.Context, memory engine.Memory, diags *diag.Diagnostics) engine.Prior {
	prior := engine.Prior{
		Objects: m.objects(), Revision: m.Revision.ValueInt64(), Status: m.Status.ValueString(), Memory: memory,
	}
	artifact, problems := objectAs[artifactModel](ctx, m.Artifact)
	diags.Append(problems...)
	if artifact != nil {
		prior.Artifact = engine.Artifact{
			URL: artifact.URL.ValueString(), Digest: artifact.Digest.ValueString(), Revision: artifact.Revision.ValueString(),
		}
	}
	return prior
}

// objects are the known objects of the model; nil when they are not known.
func (m componentModel) objects() map[string]string {
	if m.Objects.IsNull() || m.Objects.IsUnknown() {
		return nil
	}
	objects := make(map[string]string, len(m.Objects.Elements()))
	for key, value := range m.Objects.Elements() {
		text, ok := value.(types.String)
		if !ok || text.IsUnknown() {
			return nil
		}
		objects[key] = text.ValueString()
	}
	return objects
}

// objectsValue is the attribute objects.
func objectsValue(objects map[string]string) types.Map {
	elements := make(map[string]attr.Value, len(objects))
	for key, text := range objects {
		elements[key] = types.StringValue(text)
	}
	return types.MapValueMust(types.StringType, elements)
}

// artifactValue is the attribute artifact; what is empty is null.
func artifactValue(artifact engine.Artifact) types.Object {
	text := func(s string) types.String {
		if s == "" {
			return types.StringNull()
		}
		return types.StringValue(s)
	}
	return types.ObjectValueMust(artifactTypes(), map[string]attr.Value{
		"url": text(artifact.URL), "digest": text(artifact.Digest), "revision": text(artifact.Revision),
	})
}
