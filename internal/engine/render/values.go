package render

import (
	"encoding/json"
	"math"
)

// helmValues copies values into the types that Helm gives them when it reads
// them from a YAML file: all numbers are float64, so that a chart prints them
// exactly as under `helm template -f`, its rounding included.
func helmValues(values map[string]any) map[string]any {
	if values == nil {
		return map[string]any{}
	}
	return helmValue(values).(map[string]any)
}

func helmValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, item := range v {
			copied[key] = helmValue(item)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, item := range v {
			copied[i] = helmValue(item)
		}
		return copied
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case json.Number:
		number, err := v.Float64()
		if err != nil || math.IsInf(number, 0) {
			// Out of the range of a float64: YAML readers give the text.
			return v.String()
		}
		return number
	}
	return value
}
