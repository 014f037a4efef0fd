package examples_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Changes are a map from the id of an object to what happens to it: "+", "-", or "~" with the
// fields that change.

// expectedChanges reads the comments of a change.tfvars that list the changes, one line each, in
// the signs of a plan:
//
//	#   ~ Deployment.apps/NAMESPACE/web: spec.replicas, spec.template.spec.containers[0].image
//	#   + ConfigMap/NAMESPACE/new
func expectedChanges(t *testing.T, path, namespace string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("an example has a change.tfvars with one change: %v", err)
	}
	changes := map[string]string{}
	for line := range strings.Lines(string(data)) {
		rest, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "#   ")
		if !ok || !strings.ContainsAny(rest[:1], "+-~") {
			continue
		}
		id, fields, _ := strings.Cut(strings.ReplaceAll(rest[2:], "NAMESPACE", namespace), ": ")
		changes[id] = strings.TrimSpace(rest[:1] + " " + fields)
	}
	if len(changes) == 0 {
		t.Fatalf("%s does not list the objects that change", path)
	}
	return changes
}

// objectChanges compares two states of the attribute objects.
func (e *example) objectChanges(before, after map[string]string) map[string]string {
	e.t.Helper()
	changes := map[string]string{}
	for id, old := range before {
		desired, ok := after[id]
		switch {
		case !ok:
			changes[id] = "-"
		case desired != old:
			var a, b any
			e.decode(&a, old)
			e.decode(&b, desired)
			fields := changedFields("", a, b)
			slices.Sort(fields)
			changes[id] = "~ " + strings.Join(fields, ", ")
		}
	}
	for id := range after {
		if _, ok := before[id]; !ok {
			changes[id] = "+"
		}
	}
	return changes
}

// changedFields returns the paths of the leaves in which two JSON values differ.
func changedFields(path string, a, b any) []string {
	var fields []string
	switch b := b.(type) {
	case map[string]any:
		a, ok := a.(map[string]any)
		if !ok {
			return []string{path}
		}
		keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			fields = append(fields, changedFields(strings.TrimPrefix(path+"."+key, "."), a[key], b[key])...)
		}
	case []any:
		a, ok := a.([]any)
		if !ok || len(a) != len(b) {
			return []string{path}
		}
		for i := range b {
			fields = append(fields, changedFields(fmt.Sprintf("%s[%d]", path, i), a[i], b[i])...)
		}
	default:
		if !reflect.DeepEqual(a, b) {
			fields = []string{path}
		}
	}
	return fields
}

// describe prints changes as change.tfvars lists them.
func describe(changes map[string]string) string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(changes)) {
		sign, fields, _ := strings.Cut(changes[id], " ")
		fmt.Fprintf(&b, "  %s %s: %s\n", sign, id, fields)
	}
	return strings.ReplaceAll(b.String(), ": \n", "\n")
}

func TestChangedFields(t *testing.T) {
	cases := map[string]struct {
		before, after string
		want          []string
	}{
		"nothing":              {`{"a":{"b":1}}`, `{"a":{"b":1}}`, nil},
		"a leaf":               {`{"a":{"b":1}}`, `{"a":{"b":2}}`, []string{"a.b"}},
		"an element of a list": {`{"a":[{"b":1},{"b":1}]}`, `{"a":[{"b":1},{"b":2}]}`, []string{"a[1].b"}},
		"a longer list":        {`{"a":[1]}`, `{"a":[1,2]}`, []string{"a"}},
		"a new leaf":           {`{}`, `{"a":1}`, []string{"a"}},
		"a removed map":        {`{"a":{"b":1}}`, `{}`, []string{"a"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := parseJSON(t, c.before), parseJSON(t, c.after)
			if got := changedFields("", before, after); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func parseJSON(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
