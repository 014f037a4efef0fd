package provider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestTextValidators(t *testing.T) {
	tests := map[string]struct {
		validator validator.String
		accepted  []string
		refused   []string
	}{
		"dnsLabel": {
			dnsLabel(),
			[]string{"a", "0", "shop-1", strings.Repeat("a", 63)},
			[]string{"", "-a", "a-", "a.b", "A", "a_b", "a\n", strings.Repeat("a", 64)},
		},
		"dnsSubdomain": {
			dnsSubdomain(20),
			[]string{"a", "a.b", "shop-1.example", strings.Repeat("a", 20)},
			[]string{"", ".a", "a.", "a..b", "a.-b", "Web", "a/b", strings.Repeat("a", 21)},
		},
		"positiveDuration": {
			positiveDuration(),
			[]string{"1s", "90s", "1h30m", "0.5h", "1ms"},
			[]string{"", "10", "3 minutes", "0s", "-1m", "1d", "5M"},
		},
		"insidePath": {
			insidePath(),
			[]string{"a", "overlays/prod", "./a", "a/", "..a", "a..b"},
			[]string{"", "/a", "..", "../a", "a/../../b", "a/..", `a\b`},
		},
		"policies": {
			policyAttribute("update_policy", "").Validators[0],
			[]string{"SsaOverride", "SsaMerge", "Replace", "Recreate"},
			[]string{"", "ssa-override", "ssaOverride", "Override"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check := func(value types.String) bool {
				var resp validator.StringResponse
				test.validator.ValidateString(t.Context(), validator.StringRequest{Path: path.Root("x"), ConfigValue: value}, &resp)
				return !resp.Diagnostics.HasError()
			}
			for _, text := range test.accepted {
				if !check(types.StringValue(text)) {
					t.Errorf("%q is refused", text)
				}
			}
			for _, text := range test.refused {
				if check(types.StringValue(text)) {
					t.Errorf("%q is accepted", text)
				}
			}
			if !check(types.StringNull()) || !check(types.StringUnknown()) {
				t.Error("null or unknown is refused")
			}
			if test.validator.Description(t.Context()) == "" {
				t.Error("there is no description")
			}
		})
	}
}

func TestOneChild(t *testing.T) {
	kinds := map[string]attr.Type{"a": types.StringType, "b": types.StringType, "c": types.StringType}
	set, null, unknown := types.StringValue("x"), types.StringNull(), types.StringUnknown()
	tests := map[string]struct {
		a, b, c types.String
		want    string
	}{
		"one":                      {set, null, null, ""},
		"one that is empty":        {types.StringValue(""), null, null, ""},
		"one that is unknown":      {unknown, null, null, ""},
		"all unknown":              {unknown, unknown, unknown, ""},
		"one, and another unknown": {set, unknown, null, ""},
		"none":                     {null, null, null, "Set exactly one of: a, b, c. Set now: none. Terraform leaves out keys that it does not know: look for a misspelt one."},
		"two":                      {set, null, set, "Set exactly one of: a, b, c. Set now: a, c."},
		"two, and another unknown": {set, unknown, set, "Set exactly one of: a, b, c. Set now: a, c."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			value := types.ObjectValueMust(kinds, map[string]attr.Value{"a": test.a, "b": test.b, "c": test.c})
			if diff := cmp.Diff(test.want, oneChildSays(t, value)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, value := range []types.Object{types.ObjectNull(kinds), types.ObjectUnknown(kinds)} {
		if says := oneChildSays(t, value); says != "" {
			t.Errorf("%s: %s", value, says)
		}
	}
}

func oneChildSays(t *testing.T, value types.Object) string {
	t.Helper()
	var resp validator.ObjectResponse
	oneChild{}.ValidateObject(t.Context(), validator.ObjectRequest{Path: path.Root("source"), ConfigValue: value}, &resp)
	if !resp.Diagnostics.HasError() {
		return ""
	}
	return resp.Diagnostics[0].Detail()
}

func TestSomeFiles(t *testing.T) {
	file := types.StringValue("content")
	tests := map[string]struct {
		files map[string]attr.Value
		want  []path.Path
	}{
		"files":                     {map[string]attr.Value{"a.yaml": file, "b/c.yaml": types.StringValue("")}, nil},
		"a file that is not known":  {map[string]attr.Value{"a.yaml": types.StringUnknown()}, nil},
		"no files":                  {map[string]attr.Value{}, []path.Path{path.Root("files")}},
		"a file that leads outside": {map[string]attr.Value{"../a": file}, []path.Path{path.Root("files").AtMapKey("../a")}},
		"a file that is null":       {map[string]attr.Value{"a": types.StringNull()}, []path.Path{path.Root("files").AtMapKey("a")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var resp validator.MapResponse
			value := types.MapValueMust(types.StringType, test.files)
			someFiles{}.ValidateMap(t.Context(), validator.MapRequest{Path: path.Root("files"), ConfigValue: value}, &resp)
			var have []path.Path
			for _, d := range resp.Diagnostics {
				have = append(have, d.(interface{ Path() path.Path }).Path())
			}
			if diff := cmp.Diff(test.want, have); diff != "" {
				t.Errorf("%s\n%v", diff, resp.Diagnostics)
			}
		})
	}
}
