package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// unknownMarker stands in values for what is not known until apply, so that
// lists keep their length and the names of objects their keys.
const unknownMarker = "(known after apply)"

// Numbers of more bits are refused: a short literal such as 1e100000000 would
// have as many digits as it says.
const maxNumberBits = 1 << 13

// numberBits is the precision of Terraform's numbers.
const numberBits = 512

// valuesOf converts values for rendering. Null is a nil map, and whole numbers
// stay exact: they are an int64 or, beyond its range, a json.Number. unknown
// lists the paths of what is not known until apply ("" for all of it), in
// whose place [unknownMarker] stands.
func valuesOf(v types.Dynamic) (values map[string]any, unknown []string, err error) {
	if v.IsUnknown() || v.IsUnderlyingValueUnknown() {
		return nil, []string{""}, nil
	}
	if v.IsNull() || v.IsUnderlyingValueNull() {
		return nil, nil, nil
	}
	reader := valueReader{}
	switch value := v.UnderlyingValue().(type) {
	case types.Object:
		values = reader.mapping("", value.Attributes())
	case types.Map:
		values = reader.mapping("", value.Elements())
	default:
		return nil, nil, fmt.Errorf("it must be an object such as { replicas = 2 }, not a %s", kindOf(value))
	}
	return values, reader.unknown, errors.Join(reader.errs...)
}

// valueReader collects what is found on the way down.
type valueReader struct {
	unknown []string
	errs    []error
}

func (r *valueReader) value(path string, v attr.Value) any {
	if v.IsUnknown() {
		r.unknown = append(r.unknown, path)
		return unknownMarker
	}
	if v.IsNull() {
		return nil
	}
	switch v := v.(type) {
	case types.String:
		return v.ValueString()
	case types.Bool:
		return v.ValueBool()
	case types.Number:
		number, err := plainNumber(v.ValueBigFloat())
		if err != nil {
			r.errs = append(r.errs, fmt.Errorf("%s: %w", path, err))
		}
		return number
	case types.Object:
		return r.mapping(path, v.Attributes())
	case types.Map:
		return r.mapping(path, v.Elements())
	case types.List:
		return r.sequence(path, v.Elements())
	case types.Set:
		return r.sequence(path, v.Elements())
	case types.Tuple:
		return r.sequence(path, v.Elements())
	case types.Dynamic:
		return r.value(path, v.UnderlyingValue())
	default:
		r.errs = append(r.errs, fmt.Errorf("%s: a value of type %s cannot be converted", path, kindOf(v)))
		return nil
	}
}

func (r *valueReader) mapping(path string, elements map[string]attr.Value) map[string]any {
	values := make(map[string]any, len(elements))
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		values[key] = r.value(atKey(path, key), elements[key])
	}
	return values
}

func (r *valueReader) sequence(path string, elements []attr.Value) []any {
	values := make([]any, len(elements))
	for i, element := range elements {
		values[i] = r.value(path+"["+strconv.Itoa(i)+"]", element)
	}
	return values
}

// plainNumber leaves whole numbers exact. Others become what a YAML reader
// would make of them: Terraform computes with more digits than Kubernetes
// stores.
func plainNumber(number *big.Float) (any, error) {
	switch {
	case number.IsInf():
		return nil, errors.New("an infinite number cannot be used")
	case number.MantExp(nil) > maxNumberBits:
		return nil, errors.New("the number is too large")
	case !number.IsInt():
		float, _ := number.Float64()
		return float, nil
	}
	whole, _ := number.Int(nil)
	if whole.IsInt64() {
		return whole.Int64(), nil
	}
	return json.Number(whole.String()), nil
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// atKey writes a path as Terraform does: a.b, or a["b.c"].
func atKey(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	default:
		return path + "." + key
	}
}

// kindOf names a type as a user of Terraform knows it.
func kindOf(v attr.Value) string {
	switch v.(type) {
	case types.String:
		return "string"
	case types.Bool:
		return "bool"
	case types.Number:
		return "number"
	case types.List:
		return "list"
	case types.Set:
		return "set"
	case types.Tuple:
		return "tuple"
	default:
		return fmt.Sprintf("%T", v)
	}
}

// dynamicOf is the way back: it makes of values what Terraform would read in a
// configuration that says the same. A nil map is null.
func dynamicOf(values map[string]any) (types.Dynamic, error) {
	if values == nil {
		return types.DynamicNull(), nil
	}
	_, object, err := objectOf("", values)
	if err != nil {
		return types.DynamicNull(), err
	}
	return types.DynamicValue(object), nil
}

func valueOf(path string, v any) (attr.Type, attr.Value, error) {
	switch v := v.(type) {
	case nil:
		return types.DynamicType, types.DynamicNull(), nil
	case string:
		return types.StringType, types.StringValue(v), nil
	case bool:
		return types.BoolType, types.BoolValue(v), nil
	case int:
		return numberOf(path, strconv.Itoa(v))
	case int64:
		return numberOf(path, strconv.FormatInt(v, 10))
	case float64:
		// The shortest digits and not the binary value: 0.1 must be the 0.1 of
		// a configuration.
		return numberOf(path, strconv.FormatFloat(v, 'g', -1, 64))
	case json.Number:
		return numberOf(path, v.String())
	case map[string]any:
		return objectOf(path, v)
	case []any:
		return tupleOf(path, v)
	default:
		return nil, nil, fmt.Errorf("%s: a %T cannot be converted", path, v)
	}
}

// numberOf reads digits as Terraform does; whole numbers are exact whatever
// their length.
func numberOf(path, digits string) (attr.Type, attr.Value, error) {
	if whole, ok := new(big.Int).SetString(digits, 10); ok {
		return types.NumberType, types.NumberValue(new(big.Float).SetInt(whole)), nil
	}
	number, _, err := big.ParseFloat(digits, 10, numberBits, big.ToNearestEven)
	if err != nil || number.IsInf() {
		return nil, nil, fmt.Errorf("%s: %q is not a finite number", path, digits)
	}
	return types.NumberType, types.NumberValue(number), nil
}

func objectOf(path string, values map[string]any) (attr.Type, attr.Value, error) {
	kinds := make(map[string]attr.Type, len(values))
	elements := make(map[string]attr.Value, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		var err error
		if kinds[key], elements[key], err = valueOf(atKey(path, key), values[key]); err != nil {
			return nil, nil, err
		}
	}
	object, diags := types.ObjectValue(kinds, elements)
	return types.ObjectType{AttrTypes: kinds}, object, asError(path, diags)
}

func tupleOf(path string, values []any) (attr.Type, attr.Value, error) {
	kinds := make([]attr.Type, len(values))
	elements := make([]attr.Value, len(values))
	for i, v := range values {
		var err error
		if kinds[i], elements[i], err = valueOf(path+"["+strconv.Itoa(i)+"]", v); err != nil {
			return nil, nil, err
		}
	}
	tuple, diags := types.TupleValue(kinds, elements)
	return types.TupleType{ElemTypes: kinds}, tuple, asError(path, diags)
}

// asError names only the path: a diagnostic of the framework may quote values.
func asError(path string, diags diag.Diagnostics) error {
	if !diags.HasError() {
		return nil
	}
	return fmt.Errorf("%s: it cannot be converted: %s", path, diags.Errors()[0].Summary())
}
