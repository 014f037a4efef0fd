package provider_test

import (
	"strings"
	"testing"
)

// Bad input is refused whole, at plan, with object and place; nothing is applied.
func TestAccComponentRefuses(t *testing.T) {
	tests := map[string]struct {
		files string
		// golden is the file with the text of the refusal.
		golden string
	}{
		"broken YAML": {golden: "refused-broken-yaml", files: `
-- manifests/good.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
-- manifests/sub/broken.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: fine}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: broken
   namespace: t
`},
		"an unknown kind in a group of Kubernetes": {golden: "refused-unknown-kind", files: `
-- manifests/app.yaml --
apiVersion: apps/v1
kind: Deploymnt
metadata: {name: web}
---
apiVersion: apps/v1beta1
kind: Deployment
metadata: {name: old}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
`},
		"B43 an object that occurs twice in two versions": {golden: "refused-duplicate-version", files: `
-- manifests/a.yaml --
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: web}
-- manifests/b.yaml --
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
`},
		"B43 an object that occurs twice, with its namespace and without": {golden: "refused-duplicate", files: `
-- manifests/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
-- manifests/b.yaml --
apiVersion: v1
kind: Secret
metadata: {name: settings}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NAMESPACE}
`},
		"B45 what identifies an object is missing": {golden: "refused-missing-name", files: `
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {labels: {a: b}}
---
apiVersion: v1
kind: ConfigMap
metadata: {generateName: web-}
---
piVersion: v1
kind: ConfigMap
metadata: {name: typo}
---
apiVersion: v1
metadata: {name: no-kind}
---
- apiVersion: v1
`},
		"B08 a schema error that only the server sees": {golden: "refused-by-the-server", files: `
-- manifests/app.yaml --
apiVersion: v1
kind: Service
metadata: {name: target}
spec: {ports: [{name: http, port: 80, targetPort: "8080"}]}
---
apiVersion: v1
kind: Service
metadata: {name: port}
spec: {ports: [{name: http, port: "80"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: other}}
    spec:
      containers:
      - {name: web, image: "registry.example/web:1", readinessProbe: {httpGet: {port: "8080"}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: env}
spec:
  selector: {matchLabels: {app: env}}
  template:
    metadata: {labels: {app: env}}
    spec:
      containers:
      - {name: web, image: "registry.example/web:1", env: [{name: A, value: "1"}, {name: A, value: "2"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: "not-json-s3cret"}
`},
		"annotations with invalid values": {golden: "refused-annotations", files: `
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations:
    component-operator.cs.sap.com/update-policy: overwrite
    component-operator.cs.sap.com/apply-order: first
    component-operator.cs.sap.com/reapply-interval: "10"
    component-operator.cs.sap.com/status-hint: is-ready
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: more
  annotations:
    component-operator.cs.sap.com/adoption-policy: if-owned
    component-operator.cs.sap.com/delete-order: "40000"
`},
		"orders that contradict each other": {golden: "refused-orders", files: `
-- manifests/app.yaml --` + strings.Replace(widgetCRD, "metadata: {name: widgets.GROUP}", `metadata:
  name: widgets.GROUP
  annotations: {component-operator.cs.sap.com/apply-order: "1", component-operator.cs.sap.com/purge-order: "1"}`, 1) + `
---
apiVersion: GROUP/v1
kind: Widget
metadata: {name: early}
---
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE-x, annotations: {component-operator.cs.sap.com/delete-order: "-1"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: NAMESPACE-x}
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, "refused")
			// The server looks into an object only when its namespace exists.
			s.makeNamespace()
			s.files(test.files)
			s.component()
			s.golden(test.golden, s.refused())
			s.expectNothingApplied()
		})
	}
}

// Problems of several kinds, of objects and of the cluster, are reported together.
func TestAccComponentReportsAllProblemsTogether(t *testing.T) {
	s := newStory(t, "together")
	s.makeNamespace()
	s.create(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "exists"}})
	s.files(`
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: exists}
---
apiVersion: apps/v1
kind: Deploymnt
metadata: {name: web}
---
apiVersion: v1
kind: Service
metadata: {name: port}
spec: {ports: [{name: http, port: "80"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
`)
	s.component(`adoption_policy = "Never"`)
	s.golden("refused-together", s.refused())
	s.expectNothingApplied()
	// What plan says apply says, too, and does as little.
	s.applyFails()
	s.expectNothingApplied()
}

const minimalChart = `
-- chart/Chart.yaml --
apiVersion: v2
name: shop
version: 1.2.3
-- chart/values.yaml --
tag: "1.0"
`

// A chart that cannot be rendered is refused with the template, the line and Helm's own words.
func TestAccComponentRefusesCharts(t *testing.T) {
	tests := map[string]struct{ files, more, golden string }{
		"a template that fails": {golden: "refused-template", files: minimalChart + `
-- chart/templates/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  tag: {{ .Values.tag }}
  mode: {{ required "values.mode is required" .Values.mode }}
`},
		"a template that is no template": {golden: "refused-template-syntax", files: minimalChart + `
-- chart/templates/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  tag: {{ .Values.tag
`},
		"a template that gives no YAML": {golden: "refused-template-yaml", files: minimalChart + `
-- chart/templates/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  tag: {{ .Values.tag }}
   mode: x
`},
		"values that the chart's schema refuses": {golden: "refused-values", more: `values = { replicas = 70, password = "s3cret-Zq9" }`, files: minimalChart + `
-- chart/values.schema.json --
{"type": "object", "properties": {"replicas": {"type": "integer", "maximum": 10}, "password": {"type": "integer"}}}
-- chart/templates/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
`},
		"a chart that needs another Kubernetes": {golden: "refused-kube-version", files: strings.Replace(minimalChart, "version: 1.2.3", "version: 1.2.3\nkubeVersion: \">=2.0.0\"", 1)},
		"a chart that is not there":             {golden: "refused-no-chart", files: "-- other/empty --\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, "charts")
			s.files(test.files)
			s.chart(test.more)
			said := s.refused()
			s.golden(test.golden, said)
			s.expectGone("Namespace/NAMESPACE")
			if strings.Contains(said, "s3cret-Zq9") {
				t.Error("the refusal quotes a value")
			}
			s.expectNothingApplied()
		})
	}
}

// B45: a document of a working component gets a typo. The plan names it, and the live object stays.
func TestAccComponentB45TypoInAWorkingComponent(t *testing.T) {
	s := newStory(t, "typo")
	s.files(`
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
`)
	s.component()
	s.apply()
	before := s.uids("ConfigMap/NAMESPACE/one", "ConfigMap/NAMESPACE/two")
	for _, typo := range []struct{ old, young string }{
		{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}", "piVersion: v1\nkind: ConfigMap\nmetadata: {name: two}"},
		{"piVersion: v1\nkind: ConfigMap\nmetadata: {name: two}", "apiVersion: v1\nmetadata: {name: two}"},
		{"apiVersion: v1\nmetadata: {name: two}", "apiVersion: v1\nkind: ConfigMap\nmetadata: {nam: two}"},
		{"metadata: {nam: two}", "metadata: {generateName: two}"},
	} {
		s.replace("manifests/app.yaml", typo.old, typo.young)
		s.expectSays(s.applyFails(), "app.yaml", "document 2")
		s.expectSame(before)
	}
}
