package provider

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestComponentSchema(t *testing.T) {
	if diags := componentSchema().ValidateImplementation(t.Context()); diags.HasError() {
		t.Fatal(diags)
	}
	var computed, required, optional []string
	for name, attribute := range componentSchema().Attributes {
		if attribute.GetMarkdownDescription() == "" || !strings.HasSuffix(attribute.GetMarkdownDescription(), ".") {
			t.Errorf("the description of %s is no sentence", name)
		}
		switch {
		case attribute.IsComputed():
			computed = append(computed, name)
		case attribute.IsRequired():
			required = append(required, name)
		default:
			optional = append(optional, name)
		}
	}
	for _, names := range [][]string{computed, required, optional} {
		slices.Sort(names)
	}
	want := [][]string{
		{"artifact", "id", "objects", "revision", "status", "summary"},
		{"name", "namespace", "source"},
		{
			"additional_managed_types", "adoption_policy", "delete_policy", "dependencies", "missing_namespaces_policy", "path", "ready_timeout",
			"reapply_interval", "skip_safeguards", "suspend", "target_name", "target_namespace", "update_policy", "values",
		},
	}
	if diff := cmp.Diff(want, [][]string{computed, required, optional}); diff != "" {
		t.Error(diff)
	}
}

// The model reads the whole schema, and what is not set has its default.
func TestComponentModel(t *testing.T) {
	kind := componentSchema().Type().TerraformType(t.Context())
	config := tfsdk.Config{Schema: componentSchema(), Raw: raw(t, kind, attributes{
		"name": "web", "namespace": "shop", "update_policy": "Recreate", "ready_timeout": "90s",
		"source": attributes{"helm_chart": attributes{"path": "./chart"}},
	})}
	var model componentModel
	if diags := config.Get(t.Context(), &model); diags.HasError() {
		t.Fatal(diags)
	}
	source, diags := objectAs[sourceModel](t.Context(), model.Source)
	if diags.HasError() || source == nil {
		t.Fatal(diags)
	}
	chart, diags := objectAs[helmChartModel](t.Context(), source.HelmChart)
	if diags.HasError() || chart.Path.ValueString() != "./chart" {
		t.Fatal(chart, diags)
	}
	have := []any{
		policy("adoption_policy", model.AdoptionPolicy), policy("update_policy", model.UpdatePolicy),
		policy("delete_policy", model.DeletePolicy), policy("missing_namespaces_policy", model.MissingNamespacesPolicy),
		durationOr(model.ReadyTimeout, defaultReadyTimeout), durationOr(model.ReapplyInterval, defaultReapplyInterval),
	}
	want := []any{"IfUnowned", "Recreate", "Delete", "Create", 90 * time.Second, time.Hour}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
	if limit, diags := model.Timeouts.Create(t.Context(), 0); limit != 0 || diags.HasError() {
		t.Errorf("timeouts that are not set: %v, %v", limit, diags)
	}
	if artifact, diags := types.ObjectValueFrom(t.Context(), artifactTypes(), artifactModel{}); diags.HasError() || !artifact.Type(t.Context()).Equal(
		componentSchema().Attributes["artifact"].(schema.SingleNestedAttribute).GetType()) {
		t.Errorf("artifact: %v, %v", artifact, diags)
	}
}

// Every policy is described with what it accepts, and nothing else.
func TestPolicyDescriptions(t *testing.T) {
	for name, attribute := range policyAttributes() {
		values := policyValues(name)
		for _, value := range values {
			if strings.Count(attribute.GetMarkdownDescription(), "`"+value+"`") < 2 {
				t.Errorf("the description of %s does not explain and list %s", name, value)
			}
		}
	}
}

// What Terraform says about components that are wrong, all in one run.
func TestTerraformRefusesComponents(t *testing.T) {
	source := `source = { files = { "a.yaml" = "" } }`
	tests := map[string]struct{ attributes, want string }{
		"no source":               {"", `The argument "source" is required`},
		"a misspelt source":       {`source = { fils = {} }`, `Set exactly one of: directory, files, helm_chart. Set now: none. Terraform leaves out keys`},
		"two sources":             {`source = { directory = ".", helm_chart = { path = "." } }`, `Set now: directory, helm_chart.`},
		"a chart without a path":  {`source = { helm_chart = {} }`, `attribute "path" is required`},
		"no files":                {`source = { files = {} }`, `The map of files is empty`},
		"a misspelt timeout":      {source + "\ntimeouts {\ncrate = \"3m\"\n}", `argument named "crate" is not expected`},
		"a timeout below zero":    {source + "\ntimeouts {\ncreate = \"-3m\"\n}", `"-3m" is not a duration above zero`},
		"values that are a text":  {source + "\n" + `values = "a: 1"`, `values: it must be an object such as { replicas = 2 }, not a string`},
		"values that are a tuple": {source + "\n" + `values = [1]`, `not a tuple`},
		"an infinite value":       {source + "\n" + `values = yamldecode("a: {b: .inf}")`, `values: a.b: an infinite number cannot be used`},
		"a computed attribute":    {source + "\n" + `status = "Ready"`, `Invalid Configuration for Read-Only Attribute`},
	}
	config, wants := "", map[string]string{}
	for name, test := range tests {
		config += component(len(wants), "", test.attributes)
		wants[name] = test.want
	}
	terraform(t, config, wants)
}
