package provider

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// number reads a number as Terraform does.
func number(t *testing.T, digits string) types.Number {
	t.Helper()
	parsed, _, err := big.ParseFloat(digits, 10, 512, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	return types.NumberValue(parsed)
}

// dynamicObject is an object as Terraform sends it.
func dynamicObject(t *testing.T, elements map[string]attr.Value) types.Dynamic {
	t.Helper()
	kinds := map[string]attr.Type{}
	for name, element := range elements {
		kinds[name] = element.Type(t.Context())
	}
	return types.DynamicValue(types.ObjectValueMust(kinds, elements))
}

func TestValuesOf(t *testing.T) {
	third := types.NumberValue(new(big.Float).SetPrec(512).Quo(big.NewFloat(1), new(big.Float).SetPrec(512).SetInt64(3)))
	list := types.ListValueMust(types.StringType, []attr.Value{types.StringValue("b"), types.StringValue("a")})
	tests := map[string]struct {
		value   types.Dynamic
		want    map[string]any
		unknown []string
	}{
		"null":                     {types.DynamicNull(), nil, nil},
		"null of a known type":     {types.DynamicValue(types.ObjectNull(nil)), nil, nil},
		"unknown":                  {types.DynamicUnknown(), nil, []string{""}},
		"unknown of a known type":  {types.DynamicValue(types.MapUnknown(types.StringType)), nil, []string{""}},
		"an empty object":          {dynamicObject(t, nil), map[string]any{}, nil},
		"texts are never numbers":  {dynamicObject(t, map[string]attr.Value{"v": types.StringValue("1.10")}), map[string]any{"v": "1.10"}, nil},
		"a truth value":            {dynamicObject(t, map[string]attr.Value{"v": types.BoolValue(false)}), map[string]any{"v": false}, nil},
		"a whole number":           {dynamicObject(t, map[string]attr.Value{"v": number(t, "21600000")}), map[string]any{"v": int64(21600000)}, nil},
		"more than a float holds":  {dynamicObject(t, map[string]attr.Value{"v": number(t, "9007199254740993")}), map[string]any{"v": int64(9007199254740993)}, nil},
		"the smallest int64":       {dynamicObject(t, map[string]attr.Value{"v": number(t, "-9223372036854775808")}), map[string]any{"v": int64(math.MinInt64)}, nil},
		"more than an int64 holds": {dynamicObject(t, map[string]attr.Value{"v": number(t, "123456789012345678901234567890")}), map[string]any{"v": json.Number("123456789012345678901234567890")}, nil},
		"a number with an exponent": {
			dynamicObject(t, map[string]attr.Value{"v": number(t, "1e30")}), map[string]any{"v": json.Number("1" + strings.Repeat("0", 30))}, nil,
		},
		"a fraction":        {dynamicObject(t, map[string]attr.Value{"v": number(t, "0.1")}), map[string]any{"v": 0.1}, nil},
		"a third":           {dynamicObject(t, map[string]attr.Value{"v": third}), map[string]any{"v": 1.0 / 3}, nil},
		"a negative zero":   {dynamicObject(t, map[string]attr.Value{"v": number(t, "-0.0")}), map[string]any{"v": int64(0)}, nil},
		"a null inside":     {dynamicObject(t, map[string]attr.Value{"v": types.DynamicNull()}), map[string]any{"v": nil}, nil},
		"a null of a type":  {dynamicObject(t, map[string]attr.Value{"v": types.StringNull()}), map[string]any{"v": nil}, nil},
		"a dynamic inside":  {dynamicObject(t, map[string]attr.Value{"v": types.DynamicValue(types.BoolValue(true))}), map[string]any{"v": true}, nil},
		"a list":            {dynamicObject(t, map[string]attr.Value{"v": list}), map[string]any{"v": []any{"b", "a"}}, nil},
		"a list of nothing": {dynamicObject(t, map[string]attr.Value{"v": types.TupleValueMust(nil, nil)}), map[string]any{"v": []any{}}, nil},
		"a set": {
			dynamicObject(t, map[string]attr.Value{"v": types.SetValueMust(types.BoolType, []attr.Value{types.BoolValue(true)})}), map[string]any{"v": []any{true}}, nil,
		},
		"a tuple": {
			dynamicObject(t, map[string]attr.Value{"v": types.TupleValueMust(
				[]attr.Type{types.NumberType, types.DynamicType}, []attr.Value{number(t, "1"), types.DynamicNull()},
			)}),
			map[string]any{"v": []any{int64(1), nil}}, nil,
		},
		"a map at the top": {
			types.DynamicValue(types.MapValueMust(types.StringType, map[string]attr.Value{"a": types.StringValue("x")})), map[string]any{"a": "x"}, nil,
		},
		"unknown leaves": {
			dynamicObject(t, map[string]attr.Value{
				"db":    types.MapValueMust(types.StringType, map[string]attr.Value{"password": types.StringUnknown(), "user": types.StringValue("u")}),
				"list":  types.ListValueMust(types.StringType, []attr.Value{types.StringValue("x"), types.StringUnknown()}),
				"a.b":   types.DynamicUnknown(),
				"whole": types.ObjectUnknown(nil),
			}),
			map[string]any{
				"db": map[string]any{"password": unknownMarker, "user": "u"}, "list": []any{"x", unknownMarker}, "a.b": unknownMarker, "whole": unknownMarker,
			},
			[]string{`["a.b"]`, "db.password", "list[1]", "whole"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			values, unknown, err := valuesOf(test.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, values); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.unknown, unknown); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValuesOfErrors(t *testing.T) {
	infinite := types.NumberValue(new(big.Float).SetInf(true))
	tests := map[string]struct {
		value types.Dynamic
		want  string
	}{
		"a text":   {types.DynamicValue(types.StringValue("a: 1")), "it must be an object such as { replicas = 2 }, not a string"},
		"a tuple":  {types.DynamicValue(types.TupleValueMust(nil, nil)), "it must be an object such as { replicas = 2 }, not a tuple"},
		"a number": {types.DynamicValue(number(t, "1")), "it must be an object such as { replicas = 2 }, not a number"},
		"infinite numbers, each named": {
			dynamicObject(t, map[string]attr.Value{"a": infinite, "b": types.TupleValueMust([]attr.Type{types.NumberType}, []attr.Value{infinite})}),
			"a: an infinite number cannot be used\nb[0]: an infinite number cannot be used",
		},
		"a number of a billion digits": {
			dynamicObject(t, map[string]attr.Value{"a": number(t, "1e100000000")}), "a: the number is too large",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := valuesOf(test.value)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDynamicOf(t *testing.T) {
	values := map[string]any{
		"text": "1.10", "whole": int64(9007199254740993), "int": 7, "huge": json.Number("123456789012345678901234567890"), "fraction": 0.1,
		"null": nil, "object": map[string]any{}, "list": []any{"x", nil, true, map[string]any{"a.b": false}},
	}
	value, err := dynamicOf(values)
	if err != nil {
		t.Fatal(err)
	}
	// What Terraform gets must be acceptable to it, and the same as it reads
	// in a configuration.
	if _, err := value.ToTerraformValue(t.Context()); err != nil {
		t.Error(err)
	}
	elements := value.UnderlyingValue().(types.Object).Attributes()
	for name, digits := range map[string]string{"fraction": "0.1", "huge": "123456789012345678901234567890"} {
		if !elements[name].Equal(number(t, digits)) {
			t.Errorf("%s is %s", name, elements[name])
		}
	}
	back, unknown, err := valuesOf(value)
	if err != nil || unknown != nil {
		t.Fatal(unknown, err)
	}
	values["int"] = int64(7)
	if diff := cmp.Diff(values, back); diff != "" {
		t.Error(diff)
	}
	if null, err := dynamicOf(nil); err != nil || !null.IsNull() {
		t.Errorf("nil became %s, %v", null, err)
	}
}

func TestDynamicOfErrors(t *testing.T) {
	for want, v := range map[string]any{
		`a: "NaN" is not a finite number`:       math.NaN(),
		`a: "+Inf" is not a finite number`:      math.Inf(1),
		`a: "x" is not a finite number`:         json.Number("x"),
		`a: a struct {} cannot be converted`:    struct{}{},
		`a[0]: a chan int cannot be converted`:  []any{make(chan int)},
		`a.b: a complex128 cannot be converted`: map[string]any{"b": 1i},
	} {
		if _, err := dynamicOf(map[string]any{"a": v}); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// FuzzValues reads JSON, makes a Terraform value of it and reads it back: text,
// whole numbers and structure are exactly the same, and nothing panics.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1,"b":[1.5,"x",null,true,{"c":{}}]}`, `{"big":9007199254740993,"bigger":123456789012345678901234567890}`,
		`{"n":-0.0,"e":1e400,"small":1e-400}`, `{"":{"a.b":[[]]}}`, `{"e":1e999999999}`, `[1]`, `"x"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		var values map[string]any
		if decoder.Decode(&values) != nil {
			return
		}
		value, err := dynamicOf(values)
		if err != nil {
			return
		}
		back, unknown, err := valuesOf(value)
		if err != nil {
			return
		}
		if unknown != nil {
			t.Fatalf("unknown: %v", unknown)
		}
		if values != nil && !sameValue(values, back) {
			t.Fatalf("%v became %v", values, back)
		}
	})
}

// sameValue compares JSON with what became of it.
func sameValue(want, have any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := have.(map[string]any)
		if !ok || len(object) != len(want) {
			return false
		}
		for key := range want {
			if element, ok := object[key]; !ok || !sameValue(want[key], element) {
				return false
			}
		}
		return true
	case []any:
		list, ok := have.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range want {
			if !sameValue(want[i], list[i]) {
				return false
			}
		}
		return true
	case json.Number:
		return sameNumber(want, have)
	default:
		return reflect.DeepEqual(want, have)
	}
}

func sameNumber(want json.Number, have any) bool {
	if whole, ok := new(big.Int).SetString(want.String(), 10); ok {
		switch have := have.(type) {
		case int64:
			return whole.IsInt64() && whole.Int64() == have
		case json.Number:
			return !whole.IsInt64() && whole.String() == have.String()
		default:
			return false
		}
	}
	switch have := have.(type) {
	case float64:
		parsed, err := want.Float64()
		return err == nil && parsed == have
	case int64, json.Number:
		// Written with a fraction or an exponent, but whole.
		return true
	default:
		return false
	}
}
