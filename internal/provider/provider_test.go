package provider

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	testresource "github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/kubewave/terraform-provider-component/test/tfcli"
)

// notKnown is the value of an option in tests that is not known until apply.
type notKnown struct{}

// attributes are a block or an object in tests; what is left out is null.
type attributes map[string]any

// raw makes a value of a type from a plain one.
func raw(t *testing.T, kind tftypes.Type, value any) tftypes.Value {
	t.Helper()
	switch value := value.(type) {
	case nil:
		return tftypes.NewValue(kind, nil)
	case notKnown:
		return tftypes.NewValue(kind, tftypes.UnknownValue)
	case attributes:
		kinds := kind.(tftypes.Object).AttributeTypes
		attributes := map[string]tftypes.Value{}
		for name := range value {
			if kinds[name] == nil {
				t.Fatalf("there is no option %q", name)
			}
		}
		for name, kind := range kinds {
			attributes[name] = raw(t, kind, value[name])
		}
		return tftypes.NewValue(kind, attributes)
	case []any:
		elements := []tftypes.Value{}
		for _, element := range value {
			elements = append(elements, raw(t, kind.(tftypes.List).ElementType, element))
		}
		return tftypes.NewValue(kind, elements)
	case map[string]any:
		elements := map[string]tftypes.Value{}
		for name, element := range value {
			elements[name] = raw(t, kind.(tftypes.Map).ElementType, element)
		}
		return tftypes.NewValue(kind, elements)
	default:
		return tftypes.NewValue(kind, value)
	}
}

// providerConfig makes a configuration of the provider.
func providerConfig(t *testing.T, config attributes) tfsdk.Config {
	t.Helper()
	schema := providerSchema()
	return tfsdk.Config{Schema: schema, Raw: raw(t, schema.Type().TerraformType(t.Context()), config)}
}

func TestProviderSchema(t *testing.T) {
	server := providerserver.NewProtocol6(New("test")())()
	response, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range response.Diagnostics {
		t.Errorf("%s: %s", d.Summary, d.Detail)
	}
	var sensitive []string
	for _, block := range response.Provider.Block.BlockTypes {
		for _, attribute := range block.Block.Attributes {
			if attribute.Sensitive {
				sensitive = append(sensitive, attribute.Name)
			}
		}
	}
	if diff := cmp.Diff([]string{"client_key", "proxy_url", "token"}, sensitive); diff != "" {
		t.Errorf("sensitive options: %s", diff)
	}
}

// Nothing is dialled and no file is read: what is configured here exists
// nowhere.
func TestConfigure(t *testing.T) {
	p := New("1.2.3")()
	tests := map[string]struct {
		config attributes
		want   []string
	}{
		"a cluster that is not there": {attributes{"kubernetes": attributes{"host": "https://127.0.0.1:1", "token": "t"}}, nil},
		"a file that is not there":    {attributes{"kubernetes": attributes{"config_path": "/nowhere"}}, nil},
		"nothing at all":              {attributes{}, nil},
		"an unknown host":             {attributes{"kubernetes": attributes{"host": notKnown{}, "token": "t"}}, []string{"kubernetes.host"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var resp provider.ConfigureResponse
			p.Configure(t.Context(), provider.ConfigureRequest{Config: providerConfig(t, test.config)}, &resp)
			if resp.Diagnostics.HasError() {
				t.Fatal(resp.Diagnostics)
			}
			have := resp.ResourceData.(*connection).settings
			if have.Version != "1.2.3" || resp.DataSourceData != resp.ResourceData {
				t.Errorf("handed over: %+v", have)
			}
			if diff := cmp.Diff(test.want, have.Unknown); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// ValidateConfig points at options of the configuration only: an environment
// that is wrong does not fail what needs no cluster.
func TestValidateConfig(t *testing.T) {
	for _, option := range textOptions() {
		t.Setenv(option.env, "")
	}
	t.Setenv("KUBE_CONFIG_PATH", "/a")
	t.Setenv("KUBE_CONFIG_PATHS", "/b")
	t.Setenv("KUBE_INSECURE", "perhaps")

	at := func(name string) path.Path { return path.Root("kubernetes").AtName(name) }
	exec := attributes{"api_version": "client.authentication.k8s.io/v1", "command": "c"}
	tests := map[string]struct {
		kubernetes any
		want       []path.Path
	}{
		"no block":                        {nil, nil},
		"an empty block":                  {attributes{}, nil},
		"a host":                          {attributes{"host": "https://h"}, nil},
		"a file that does not exist":      {attributes{"config_path": "/nowhere"}, nil},
		"options that are set but empty":  {attributes{"host": "", "token": " "}, []path.Path{at("host"), at("token")}},
		"a list that is empty":            {attributes{"config_paths": []any{}}, []path.Path{at("config_paths")}},
		"a list of nothing":               {attributes{"config_paths": []any{"/a", ""}}, []path.Path{at("config_paths")}},
		"config_path and config_paths":    {attributes{"config_path": "/a", "config_paths": []any{"/b"}}, []path.Path{at("config_path")}},
		"token and exec":                  {attributes{"host": "h", "token": "t", "exec": exec}, []path.Path{at("token")}},
		"a certificate without a key":     {attributes{"host": "h", "client_certificate": "c"}, []path.Path{at("client_certificate")}},
		"exec without a command":          {attributes{"host": "h", "exec": attributes{"api_version": "client.authentication.k8s.io/v1"}}, []path.Path{at("exec").AtName("command")}},
		"a context without a kubeconfig":  {attributes{"host": "h", "config_context": "c"}, []path.Path{at("config_context")}},
		"a host that is no URL":           {attributes{"host": "https://"}, []path.Path{at("host")}},
		"what is wrong beside an unknown": {attributes{"host": notKnown{}, "token": ""}, nil},
		"a block that is unknown":         {notKnown{}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var resp provider.ValidateConfigResponse
			req := provider.ValidateConfigRequest{Config: providerConfig(t, attributes{"kubernetes": test.kubernetes})}
			New("test")().(provider.ProviderWithValidateConfig).ValidateConfig(t.Context(), req, &resp)
			var have []path.Path
			for _, d := range resp.Diagnostics.Errors() {
				have = append(have, d.(interface{ Path() path.Path }).Path())
			}
			if diff := cmp.Diff(test.want, have); diff != "" {
				t.Errorf("%s\n%v", diff, resp.Diagnostics)
			}
		})
	}
}

// schemaOnly is a component that can be validated and nothing else.
type schemaOnly struct{}

func (schemaOnly) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "component"
}

func (schemaOnly) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = componentSchema()
}
func (schemaOnly) Create(context.Context, resource.CreateRequest, *resource.CreateResponse) {}
func (schemaOnly) Read(context.Context, resource.ReadRequest, *resource.ReadResponse)       {}
func (schemaOnly) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}
func (schemaOnly) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// validatingProvider is the provider with a component that can be validated
// and nothing else.
type validatingProvider struct{ componentProvider }

func (*validatingProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return schemaOnly{} }}
}

// component writes a component with attributes; provider chooses an alias.
func component(number int, provider, attributes string) string {
	if provider != "" {
		attributes += "\nprovider = component." + provider
	}
	return fmt.Sprintf(`
resource "component" "x%d" {
name      = "web"
namespace = "shop"
%s
}
`, number, attributes)
}

// terraform plans a configuration with the real Terraform CLI. Without wants
// it must succeed; otherwise it must say all of them. What is wanted is looked
// for regardless of line breaks, which depend on the width of the screen.
func terraform(t *testing.T, config string, wants map[string]string) {
	t.Helper()
	binary, err := tfcli.Path()
	if err != nil {
		t.Fatalf("%v; or install Terraform: https://developer.hashicorp.com/terraform/install", err)
	}
	t.Setenv("TF_ACC_TERRAFORM_PATH", binary)
	said := false
	testresource.UnitTest(t, testresource.TestCase{
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"component": providerserver.NewProtocol6WithError(&validatingProvider{}),
		},
		ErrorCheck: func(err error) error {
			said = true
			for name, want := range wants {
				if !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), want) {
					return fmt.Errorf("%s: %q is not in: %w", name, want, err)
				}
			}
			if len(wants) == 0 {
				return err
			}
			return nil
		},
		Steps: []testresource.TestStep{{Config: config, PlanOnly: true, ExpectNonEmptyPlan: len(wants) == 0}},
	})
	if len(wants) > 0 && !said {
		t.Error("Terraform accepted it")
	}
}

// Misspelt options, each in the configuration of a provider of its own.
func TestTerraformRefusesProviders(t *testing.T) {
	tests := map[string]struct{ options, want string }{
		"a misspelt option":               {"kubernetes {\nconfig_contxt = \"prod\"\n}", `argument named "config_contxt" is not expected`},
		"a misspelt option of exec":       {"kubernetes {\nexec {\ncomand = \"x\"\n}\n}", `argument named "comand" is not expected`},
		"kubernetes as an attribute":      {"kubernetes = { host = \"h\" }", `argument named "kubernetes" is not expected`},
		"an option that is set but empty": {"kubernetes {\nhost = \"\"\n}", "host is set but empty"},
		"a prefix that matches everybody": {"reclaimed_field_managers = [\"\"]", "string length must be at least 1"},
	}
	config, wants := "", map[string]string{}
	for name, test := range tests {
		alias := fmt.Sprintf("p%d", len(wants))
		config += fmt.Sprintf("provider \"component\" {\nalias = %q\n%s\n}\n", alias, test.options)
		config += component(len(wants), alias, `source = { directory = "." }`)
		wants[name] = test.want
	}
	terraform(t, config, wants)
}

// What is not known until apply may still be right, and nothing is dialled.
func TestTerraformAcceptsUnknown(t *testing.T) {
	terraform(t, `
resource "terraform_data" "later" { input = "x" }
provider "component" {
  kubernetes {
    host  = terraform_data.later.output
    token = terraform_data.later.output
    exec {
      command = terraform_data.later.output
    }
  }
}
`+component(0, "", `source = { files = { "a.yaml" = terraform_data.later.output } }`)+
		component(1, "", `source = { directory = terraform_data.later.output }`)+
		component(2, "", `source = jsondecode(terraform_data.later.output)`)+
		component(3, "", "source = { helm_chart = { path = \".\" } }\nvalues = { a = terraform_data.later.output }")+
		component(4, "", "source = { helm_chart = { path = \".\" } }\nvalues = jsondecode(terraform_data.later.output)"), nil)
}
