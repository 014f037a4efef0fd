package render

import (
	"strings"
	"testing"
)

const subchart = "apiVersion: v2\nname: sub\nversion: 1.0.0\n"

func TestChartRefusals(t *testing.T) {
	dependency := "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- {name: sub, version: 1.0.0, repository: https://example.org}\n- {name: other, version: 1.0.0, condition: other.enabled}\n"
	tests := map[string]struct {
		files  map[string]string
		values map[string]any
		want   []string
	}{
		"a Chart.yaml without version": {
			map[string]string{"Chart.yaml": "apiVersion: v2\nname: app\n"}, nil,
			[]string{"the Helm chart cannot be loaded: validation: chart.metadata.version is required"},
		},
		"broken values.yaml": {
			map[string]string{"values.yaml": "a: b: c\n"}, nil, []string{"the Helm chart cannot be loaded: cannot load values.yaml"},
		},
		"missing dependencies, disabled ones too": {
			map[string]string{"Chart.yaml": dependency}, nil,
			[]string{`chart "app" names dependencies in Chart.yaml that are missing in its charts/ folder: sub, other; run ` + "`helm dependency update`"},
		},
		"a library chart that wants another cluster": {
			map[string]string{"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\ntype: library\nkubeVersion: '>=1.99.0-0'\n"}, nil,
			[]string{"library charts are not installable", `chart "app" requires kubeVersion: >=1.99.0-0 which is incompatible with Kubernetes v1.37.0`},
		},
		"a template that does not parse": {
			map[string]string{"templates/a.yaml": "a\n{{ if }}\n"}, nil,
			[]string{"templates/a.yaml: parse error at (app/templates/a.yaml:2): missing value for if"},
		},
		"a template that fails": {
			map[string]string{"templates/a.yaml": "\n{{ fail \"give a name\" }}"}, nil,
			[]string{"templates/a.yaml: execution error at (app/templates/a.yaml:2:3): give a name"},
		},
		"a template of a subchart that reads a field of nothing": {
			map[string]string{"charts/sub/Chart.yaml": subchart, "charts/sub/templates/a.yaml": "{{ .Values.a.b.c }}"}, nil,
			[]string{"charts/sub/templates/a.yaml: template: app/charts/sub/templates/a.yaml:1:10: executing \"app/charts/sub/templates/a.yaml\" at <.Values.a.b.c>: nil pointer evaluating .b"},
		},
		"rendered YAML that does not parse, in all documents": {
			map[string]string{"templates/a.yaml": configMap("a") + "---\na: b: c\n---\n- a\n", "charts/sub/Chart.yaml": subchart, "charts/sub/templates/b.yaml": "\n\na: [\n"}, nil,
			[]string{
				"charts/sub/templates/b.yaml, document 1: the rendered template is not valid YAML: line ",
				"templates/a.yaml, document 2: the rendered template is not valid YAML: mapping values are not allowed",
				"templates/a.yaml, document 3: the rendered template is not a Kubernetes object (not a map)",
			},
		},
		"objects without a name": {
			map[string]string{"templates/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n---\nkind: Pod\nmetadata: {name: a}\n"}, nil,
			[]string{"templates/a.yaml, document 1: metadata.generateName is not supported", "templates/a.yaml, document 2: apiVersion is missing"},
		},
		"an object twice": {
			map[string]string{"templates/a.yaml": configMap("a"), "charts/sub/Chart.yaml": subchart, "charts/sub/templates/a.yaml": configMap("a")}, nil,
			[]string{"ConfigMap/a, from templates/a.yaml, document 1: the object is also in charts/sub/templates/a.yaml, document 1"},
		},
		"a Secret that is not base64": {
			map[string]string{"templates/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: s3cr3t!}\n"}, nil,
			[]string{`Secret/s, from templates/a.yaml, document 1: data: the value of "k" is not base64`},
		},
		"a value of a subchart that is no map": {
			map[string]string{"charts/sub/Chart.yaml": subchart}, map[string]any{"sub": "s3cr3t!"},
			[]string{`the value of "sub" must be a map: it holds the values of the subchart of that name`},
		},
		"B39: schemas of chart and subchart": {
			map[string]string{
				"values.schema.json":             `{"properties": {"retentionMs": {"type": "integer", "maximum": 10}}}`,
				"charts/sub/Chart.yaml":          subchart,
				"charts/sub/values.schema.json":  `{"additionalProperties": false}`,
				"charts/sub/templates/noop.yaml": "",
			},
			map[string]any{"retentionMs": int64(21600001), "global": map[string]any{"region": "x"}},
			[]string{
				"the values do not meet the schema of the chart app:\n- at '/retentionMs': maximum: got 2.1600001",
				"the values do not meet the schema of the chart app/sub:\n- at '': additional properties 'global' not allowed",
			},
		},
		"a schema on the network": {
			map[string]string{"values.schema.json": `{"$ref": "https://schemas.invalid/a.json#/definitions/x"}`}, nil,
			[]string{"values.schema.json refers to https://schemas.invalid/a.json, which could not be read: make that schema part of the chart"},
		},
		"broken rules of ignored files": {
			map[string]string{".helmignore": "a/**\n"}, nil, []string{".helmignore: double-star (**) syntax is not supported"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := helmChart(t, test.files)
			in.Values = test.values
			_, err := Render(t.Context(), in)
			wantProblems(t, err, test.want...)
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the error shows a value: %v", err)
			}
		})
	}
}

// TestSensitive: a value that is marked sensitive is in no error, whoever
// quotes it, also in base64.
func TestSensitive(t *testing.T) {
	const secret = "S3cr3t-Zq9!"
	tests := map[string]map[string]string{
		"a template that fails":             {"templates/a.yaml": `{{ fail (printf "no %s" .Values.db.password) }}`},
		"a template that fails with base64": {"templates/a.yaml": `{{ fail (.Values.db.password | b64enc) }}`},
		"a value where a map is expected":   {"templates/a.yaml": `{{ .Values.db.password.x }}{{ index .Values.db.password "x" }}`},
		"a template in the value":           {"templates/a.yaml": `{{ tpl (print "{{ fail " (.Values.db.password | quote) " }}") . }}`},
		"rendered YAML that does not parse": {"templates/a.yaml": "a: {{ .Values.db.password }}: x\n"},
		"a schema of the value":             {"values.schema.json": `{"properties": {"db": {"properties": {"password": {"pattern": "^[0-9]*$"}}}}}`},
		"a schema of a short value":         {"values.schema.json": `{"properties": {"db": {"properties": {"pin": {"maximum": 1}}}}}`},
		"a schema of a subchart, by a global": {
			"charts/sub/Chart.yaml": subchart, "charts/sub/values.schema.json": `{"properties": {"global": {"properties": {"pin": {"maximum": 1}}}}}`,
		},
		"a schema of the map around the value": {"values.schema.json": `{"properties": {"db": {"const": {}}}}`},
	}
	for name, contents := range tests {
		t.Run(name, func(t *testing.T) {
			in := helmChart(t, contents)
			in.Values = map[string]any{"db": map[string]any{"password": secret, "pin": int64(987), "user": "admin"}, "global": map[string]any{"pin": int64(987)}}
			in.Sensitive = map[string]any{"db": map[string]any{"password": secret, "pin": int64(987)}, "global": map[string]any{"pin": int64(987)}}
			_, err := Render(t.Context(), in)
			if err == nil {
				t.Fatal("it is rendered")
			}
			for _, text := range []string{secret, "UzNjcjN0LVpxOSE=", "987"} {
				if strings.Contains(err.Error(), text) {
					t.Errorf("the error shows %q: %v", text, err)
				}
			}
		})
	}
}
