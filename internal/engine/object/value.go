package object

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// DecodeValue reads one YAML or JSON document into maps, slices, strings,
// bools, int64, float64 and nil. Whole numbers beyond int64 whose digits a
// float64 does not keep are an error instead of being rounded.
func DecodeValue(text []byte) (any, error) {
	if err := containsNUL(text); err != nil {
		return nil, err
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return exactNumbers(value, longNumbers(text))
}

func containsNUL(text []byte) error {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return fmt.Errorf("yaml: line %d: control characters are not allowed", bytes.Count(text[:i], []byte("\n"))+1)
	}
	return nil
}

// longNumbers returns the whole numbers of a text that may be too long for any
// integer type, by the float64 that the YAML reader makes of them.
func longNumbers(text []byte) map[float64]string {
	const digitsOfInt64 = 19
	var found map[float64]string
	start := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] >= '0' && text[i] <= '9' {
			continue
		}
		if i-start >= digitsOfInt64 {
			digits := string(text[start:i])
			if f, err := strconv.ParseFloat(digits, 64); err == nil {
				if found == nil {
					found = map[float64]string{}
				}
				found[f] = digits
			}
		}
		start = i + 1
	}
	return found
}

func exactNumbers(value any, long map[float64]string) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		return exactNumber(v, long)
	case map[string]any:
		for key, item := range v {
			if v[key], err = exactNumbers(item, long); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, item := range v {
			if v[i], err = exactNumbers(item, long); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func exactNumber(number json.Number, long map[float64]string) (any, error) {
	if i, err := strconv.ParseInt(number.String(), 10, 64); err == nil {
		return i, nil
	}
	f, err := number.Float64()
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("number %s is out of range", number)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		// 1e3 and the like: a whole number, kept as one.
		return int64(f), nil
	}
	digits, isLong := long[math.Abs(f)]
	if isLong && strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64), "-") != digits {
		return nil, fmt.Errorf("number %s does not fit into 64 bits: quote it", digits)
	}
	return f, nil
}

// EncodeCanonical prints a value as JSON with sorted keys and no HTML
// escapes, so that equal values give equal texts.
func EncodeCanonical(value any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// DecodeCanonical reads what [EncodeCanonical] printed.
func DecodeCanonical(text string) (map[string]any, error) {
	var content map[string]any
	if err := utiljson.Unmarshal([]byte(text), &content); err != nil {
		return nil, err
	}
	return content, nil
}
