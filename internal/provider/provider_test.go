package provider

import (
	"context"
	"os"
	"os/exec"
	"regexp"
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
)

// notKnown is the value of an option in tests that is not known until apply.
type notKnown struct{}

// object is a block or an object in tests; what is left out is null.
type object map[string]any

// raw makes a value of a type from a plain one.
func raw(t *testing.T, kind tftypes.Type, value any) tftypes.Value {
	t.Helper()
	switch value := value.(type) {
	case nil:
		return tftypes.NewValue(kind, nil)
	case notKnown:
		return tftypes.NewValue(kind, tftypes.UnknownValue)
	case object:
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
func providerConfig(t *testing.T, config object) tfsdk.Config {
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
		config object
		want   []string
	}{
		"a cluster that is not there": {object{"kubernetes": object{"host": "https://127.0.0.1:1", "token": "t"}}, nil},
		"a file that is not there":    {object{"kubernetes": object{"config_path": "/nowhere"}}, nil},
		"nothing at all":              {object{}, nil},
		"an unknown host":             {object{"kubernetes": object{"host": notKnown{}, "token": "t"}}, []string{"kubernetes.host"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var resp provider.ConfigureResponse
			p.Configure(t.Context(), provider.ConfigureRequest{Config: providerConfig(t, test.config)}, &resp)
			if resp.Diagnostics.HasError() {
				t.Fatal(resp.Diagnostics)
			}
			have := resp.ResourceData.(*settings)
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
	exec := object{"api_version": "client.authentication.k8s.io/v1", "command": "c"}
	tests := map[string]struct {
		kubernetes any
		want       []path.Path
	}{
		"no block":                        {nil, nil},
		"an empty block":                  {object{}, nil},
		"a host":                          {object{"host": "https://h"}, nil},
		"a file that does not exist":      {object{"config_path": "/nowhere"}, nil},
		"options that are set but empty":  {object{"host": "", "token": " "}, []path.Path{at("host"), at("token")}},
		"a list that is empty":            {object{"config_paths": []any{}}, []path.Path{at("config_paths")}},
		"a list of nothing":               {object{"config_paths": []any{"/a", ""}}, []path.Path{at("config_paths")}},
		"config_path and config_paths":    {object{"config_path": "/a", "config_paths": []any{"/b"}}, []path.Path{at("config_path")}},
		"token and exec":                  {object{"host": "h", "token": "t", "exec": exec}, []path.Path{at("token")}},
		"a certificate without a key":     {object{"host": "h", "client_certificate": "c"}, []path.Path{at("client_certificate")}},
		"exec without a command":          {object{"host": "h", "exec": object{"api_version": "client.authentication.k8s.io/v1"}}, []path.Path{at("exec").AtName("command")}},
		"a context without a kubeconfig":  {object{"host": "h", "config_context": "c"}, []path.Path{at("config_context")}},
		"a host that is no URL":           {object{"host": "https://"}, []path.Path{at("host")}},
		"what is wrong beside an unknown": {object{"host": notKnown{}, "token": ""}, nil},
		"a block that is unknown":         {notKnown{}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var resp provider.ValidateConfigResponse
			req := provider.ValidateConfigRequest{Config: providerConfig(t, object{"kubernetes": test.kubernetes})}
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

// terraform runs a configuration through the real Terraform CLI.
func terraform(t *testing.T, config, wantError string) {
	t.Helper()
	if os.Getenv("TF_ACC_TERRAFORM_PATH") == "" {
		binary, err := exec.LookPath("terraform")
		if err != nil {
			t.Fatal("this test runs Terraform: install it (https://developer.hashicorp.com/terraform/install) so that terraform is on PATH, " +
				"or name a Terraform or OpenTofu binary in TF_ACC_TERRAFORM_PATH")
		}
		t.Setenv("TF_ACC_TERRAFORM_PATH", binary)
	}
	testresource.UnitTest(t, testresource.TestCase{
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"component": providerserver.NewProtocol6WithError(&validatingProvider{}),
		},
		Steps: []testresource.TestStep{{Config: config, PlanOnly: true, ExpectError: regexp.MustCompile(wantError)}},
	})
}

const validComponent = `
resource "component" "x" {
  name      = "web"
  namespace = "shop"
  source    = { files = { "a.yaml" = "" } }
}
`

func TestTerraformRefuses(t *testing.T) {
	tests := map[string]struct{ config, want string }{
		"a misspelt option of the provider": {`
provider "component" {
  kubernetes {
    config_contxt = "prod"
  }
}`, `argument named "config_contxt" is not expected`},
		"a misspelt option of exec": {`
provider "component" {
  kubernetes {
    exec {
      comand = "x"
    }
  }
}`, `argument named "comand" is not expected`},
		"kubernetes as an attribute": {`
provider "component" {
  kubernetes = { host = "h" }
}`, `Unsupported argument`},
		"an option that is set but empty": {`
provider "component" {
  kubernetes {
    host = ""
  }
}`, `host is set but empty`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { terraform(t, test.config+validComponent, test.want) })
	}
}
