package provider_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

const numbers = minimalChart + `
-- chart/templates/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: numbers}
data:
  small: {{ .Values.small | quote }}
  retention: {{ .Values.retentionMs | quote }}
  retention-whole: {{ .Values.retentionMs | int64 | quote }}
  big-whole: {{ .Values.big | int64 | quote }}
  big-text: {{ .Values.bigText | quote }}
  fraction: {{ .Values.fraction | quote }}
  text: {{ .Values.text | quote }}
  flag: {{ .Values.flag | quote }}
  date: {{ .Values.date | quote }}
  json: {{ toJson .Values.nested | quote }}
---
apiVersion: GROUP/v1
kind: Widget
metadata: {name: exact}
spec: {big: 9007199254740993}
-- chart/crds/widget.yaml --` + widgetCRD

// B34, B42: numbers and texts reach a chart as they reach it with Helm, whether values come from HCL
// or from YAML; what a template prints reaches the cluster with all digits.
func TestAccComponentB34ExactValues(t *testing.T) {
	tests := map[string]string{
		"HCL": `values = {
    small = 3, retentionMs = 21600000, big = 9007199254740993, bigText = "9007199254740993", fraction = 0.1
    text = "0999991", flag = "yes", date = "2024-01-01", nested = { list = [1, "a", true, null], size = 21600000 }
  }`,
		"YAML": `values = yamldecode(file("values.yaml"))`,
		"JSON": `values = jsondecode(jsonencode(yamldecode(file("values.yaml"))))`,
	}
	for name, values := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, "values")
			s.files(numbers)
			s.file("values.yaml", `
small: 3
retentionMs: 21600000
big: 9007199254740993
bigText: "9007199254740993"
fraction: 0.1
text: "0999991"
flag: "yes"
date: "2024-01-01"
nested: {list: [1, a, true, null], size: 21600000}
`)
			s.chart(values)
			s.apply()
			want := map[string]any{
				"small": "3", "retention": "2.16e+07", "retention-whole": "21600000",
				"big-whole": "9007199254740992", "big-text": "9007199254740993", "fraction": "0.1", "text": "0999991",
				"flag": "yes", "date": "2024-01-01", "json": `{"list":[1,"a",true,null],"size":21600000}`,
			}
			if diff := cmp.Diff(want, s.field("ConfigMap/NAMESPACE/numbers", "data")); diff != "" {
				t.Error(diff)
			}
			if big := s.field("Widget.GROUP/NAMESPACE/exact", "spec", "big"); big != int64(9007199254740993) {
				t.Errorf("the custom resource has %v", big)
			}
			// A change in the last digit is a change.
			s.replace("chart/templates/app.yaml", "9007199254740993", "9007199254740992")
			s.apply()
			if big := s.field("Widget.GROUP/NAMESPACE/exact", "spec", "big"); big != int64(9007199254740992) {
				t.Errorf("the custom resource has %v", big)
			}
		})
	}
}

// B04: an HCL null inside values is what a YAML null is.
func TestAccComponentB04NullInValues(t *testing.T) {
	s := newStory(t, "nulls")
	s.files(minimalChart + `
-- chart/templates/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: nul}
data: {{ toYaml .Values.data | nindent 2 }}
`)
	s.chart(`values = { data = { a = "1", b = null }, tag = null }`)
	s.apply()
	s.expectNoWrites()
	s.chart(`values = { data = { a = "1" } }`)
	s.apply()
	if diff := cmp.Diff(map[string]any{"a": "1"}, s.field("ConfigMap/NAMESPACE/nul", "data")); diff != "" {
		t.Error(diff)
	}
}

// B05: the same files with Windows line ends are the same manifests.
func TestAccComponentB05WindowsLineEnds(t *testing.T) {
	s := newStory(t, "windows")
	archive := sections(minimalChart + `
-- chart/templates/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: chart}
data:
  tag: {{ .Values.tag | quote }}
  text: {{ .Values.text | quote }}
  script: |
    first
    second
---
apiVersion: v1
kind: ConfigMap
metadata: {name: content}
data: {file: {{ .Files.Get "file.txt" | quote }}}
-- chart/file.txt --
one
two
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
data:
  a.txt: |
    first
    second
  quoted: "x\r\ny"
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
-- values.yaml --
text: |
  first
  second
tag: "3"
`)
	for name, content := range archive {
		s.file(name, content)
	}
	s.chart(`values = yamldecode(file("values.yaml"))`)
	s.file("plain.tf", strings.ReplaceAll(webComponent(`source = { directory = "./manifests" }`), `"web"`, `"plain"`))
	s.apply()
	if quoted := s.field("ConfigMap/NAMESPACE/plain", "data", "quoted"); quoted != "x\r\ny" {
		t.Errorf("the quoted text is %q", quoted)
	}
	before := s.versions()

	for name, content := range archive {
		if name != "chart/file.txt" {
			s.file(name, strings.ReplaceAll(content, "\n", "\r\n"))
		}
	}
	s.expectEmptyPlan()
	s.apply()
	s.expectVersions("an apply after the conversion", before)

	// What a chart takes in as content has changed.
	s.file("chart/file.txt", "one\r\ntwo\r\n")
	said := s.plan()
	if !strings.Contains(said, `~ "ConfigMap/`+s.namespace+`/content"`) || strings.Contains(said, `~ "ConfigMap/`+s.namespace+`/chart"`) {
		t.Errorf("the plan is not that of the content:\n%s", said)
	}
	s.apply()
}

// B01, B08: another spelling of the same quantity is a change of the text, and none of the object;
// another type is a change of both.
func TestAccComponentB01AnotherSpelling(t *testing.T) {
	s := newStory(t, "spelling")
	s.files(`
-- manifests/app.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: q}
spec:
  selector: {matchLabels: {a: q}}
  template:
    metadata: {labels: {a: q}}
    spec:
      containers:
      - name: c
        image: example.invalid/x:1
        resources: {limits: {cpu: 1000m}}
---
apiVersion: GROUP/v1
kind: Widget
metadata: {name: w}
spec: {size: 5}
-- manifests/crd.yaml --` + widgetCRD)
	s.component()
	s.apply()
	s.replace("manifests/app.yaml", "cpu: 1000m", `cpu: "1"`)
	s.replace("manifests/app.yaml", "size: 5", `size: "5"`)
	s.expectSays(s.plan(), `cpu = "1000m" -> "1"`, `size = 5 -> "5"`)
	s.apply()
	if generation := s.get("Deployment.apps/NAMESPACE/q").GetGeneration(); generation != 1 {
		t.Errorf("the generation of the Deployment is %d, want 1", generation)
	}
	if size := s.field("Widget.GROUP/NAMESPACE/w", "spec", "size"); size != "5" {
		t.Errorf("the size is %#v", size)
	}
	s.expectNoWrites()
}

// B11: where namespaces are not made, one that is missing is a warning at plan and an error at
// apply.
func TestAccComponentB11MissingNamespace(t *testing.T) {
	s := newStory(t, "missing")
	s.files(`
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: NAMESPACE-other}
`)
	s.component(`missing_namespaces_policy = "DoNotCreate"`, `ready_timeout = "5s"`)
	s.golden("missing-namespace", warnings(s.plan()))
	s.expectSays(s.applyFails(), "NAMESPACE-other", "does not exist", `missing_namespaces_policy = "Create"`)
	s.expectGone("Namespace/NAMESPACE-other")
	s.create(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "NAMESPACE-other"}})
	s.apply()
	s.expectExists("ConfigMap/NAMESPACE-other/c")
}

// A component whose record lives in a namespace that it brings itself.
func TestAccComponentB11BringsItsOwnNamespace(t *testing.T) {
	s := newStory(t, "own")
	const files = `
-- app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
---
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE, labels: {team: blue}}
`
	s.steps(
		resource.TestStep{Config: s.inline(files), Check: nothing(func() {
			if labels := s.get("Namespace/NAMESPACE").GetLabels(); labels["team"] != "blue" || labels[ownerLabel] == "" {
				s.Errorf("the labels are %v", labels)
			}
		})},
		resource.TestStep{Config: s.inline(files), ConfigPlanChecks: emptyPlan()},
	)
	s.expectGone("Namespace/NAMESPACE")
}
