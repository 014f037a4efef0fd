package provider_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/kubewave/terraform-provider-component/internal/provider"
)

// steps runs steps of terraform-plugin-testing with the provider in this process. After each that
// applies, it asserts an empty plan by itself. At the end all is destroyed.
func (s *story) steps(steps ...resource.TestStep) {
	s.Helper()
	resource.Test(s.T, resource.TestCase{
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"component": providerserver.NewProtocol6WithError(provider.New("test")()),
		},
		Steps: steps,
		CheckDestroy: func(*terraform.State) error {
			for _, object := range s.owned("web") {
				s.Errorf("destroy left %s/%s", object.GetKind(), object.GetName())
			}
			return nil
		},
	})
}

// inline is a configuration with the provider and the component NAMESPACE/web of the given files.
func (s *story) inline(archive string, more ...string) string {
	var source strings.Builder
	source.WriteString("source = { files = {\n")
	for name, content := range sections(archive) {
		source.WriteString("    \"" + name + "\" = <<-EOT\n" + content + "\nEOT\n")
	}
	source.WriteString("  } }")
	return s.place(`
provider "component" {
  kubernetes {
    config_path = "KUBECONFIG"
  }
}
` + webComponent(source.String(), more...))
}

func nothing(check func()) resource.TestCheckFunc {
	return func(*terraform.State) error {
		check()
		return nil
	}
}

func emptyPlan() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
}

func inPlace() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
		plancheck.ExpectResourceAction("component.web", plancheck.ResourceActionUpdate),
	}}
}

const widgetCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {x-kubernetes-int-or-string: true}
              memory: {x-kubernetes-int-or-string: true}
              tls: {type: object, properties: {secret: {type: string}}}
              template: {type: object, nullable: true, properties: {a: {type: string}}}
              big: {type: integer, format: int64}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
`

// After an apply there is nothing to do, and a second apply writes nothing, whatever the API
// server has made of the manifests.
func TestAccComponentSettles(t *testing.T) {
	tests := map[string]struct {
		files string
		check func(s *story)
	}{
		"B01 quantities that the server spells otherwise": {
			files: `
-- app.yaml --
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
        resources: {limits: {cpu: 1000m, memory: 1.7Gi}, requests: {cpu: "0.5", memory: 1024Mi}}
---
apiVersion: GROUP/v1
kind: Widget
metadata: {name: w}
spec: {memory: 1000m}
-- crd.yaml --
` + widgetCRD,
			check: func(s *story) {
				if generation := s.get("Deployment.apps/NAMESPACE/q").GetGeneration(); generation != 1 {
					s.Errorf("the generation of the Deployment is %d, want 1", generation)
				}
				if memory := s.field("Widget.GROUP/NAMESPACE/w", "spec", "memory"); memory != "1000m" {
					s.Errorf("the custom resource has %v, want 1000m", memory)
				}
			},
		},
		"B02 what code generators leave behind": {
			files: `
-- app.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, creationTimestamp: null}
spec:
  selector: {matchLabels: {a: d}}
  strategy: {}
  template:
    metadata: {labels: {a: d}, creationTimestamp: null}
    spec:
      containers: [{name: c, image: "example.invalid/x:1", resources: {}}]
status: {}
---
apiVersion: GROUP/v1
kind: Widget
metadata: {name: w, creationTimestamp: null}
spec: {size: 3}
status: {}
-- crd.yaml --
` + strings.Replace(widgetCRD, "metadata: {name: widgets.GROUP}", "metadata: {name: widgets.GROUP, creationTimestamp: null}", 1) + `
status:
  acceptedNames: {kind: "", plural: ""}
  conditions: []
  storedVersions: []
`,
			check: func(s *story) {
				for _, id := range []string{
					"Deployment.apps/NAMESPACE/d", "Widget.GROUP/NAMESPACE/w", "CustomResourceDefinition.apiextensions.k8s.io/widgets.GROUP",
				} {
					for _, entry := range s.get(id).GetManagedFields() {
						if fields := entry.FieldsV1.String(); entry.Manager == manager && regexp.MustCompile(`f:(creationTimestamp|status)"`).MatchString(fields) {
							s.Errorf("%s: we own %s", id, fields)
						}
					}
				}
			},
		},
		"B04 nulls and empty maps": {
			files: `
-- app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: nul, annotations: {}, labels: null}
data: {a: "1", b: null}
---
apiVersion: GROUP/v1
kind: Widget
metadata: {name: w}
spec: {size: 3, tls: {}, template: null}
-- crd.yaml --
` + widgetCRD,
			check: func(s *story) {
				want := map[string]any{"size": int64(3), "tls": map[string]any{}, "template": nil}
				if diff := cmp.Diff(want, s.field("Widget.GROUP/NAMESPACE/w", "spec")); diff != "" {
					s.Error(diff)
				}
				if diff := cmp.Diff(map[string]any{"a": "1", "b": ""}, s.field("ConfigMap/NAMESPACE/nul", "data")); diff != "" {
					s.Error(diff)
				}
			},
		},
		"B08 an integer or a string": {
			files: `
-- app.yaml --
apiVersion: v1
kind: Service
metadata: {name: s}
spec:
  selector: {a: b}
  ports: [{name: http, port: 80, targetPort: 8080}, {name: admin, port: 81, targetPort: admin}]
---
apiVersion: GROUP/v1
kind: Widget
metadata: {name: number}
spec: {size: 5}
---
apiVersion: GROUP/v1
kind: Widget
metadata: {name: text}
spec: {size: "5"}
-- crd.yaml --
` + widgetCRD,
			check: func(s *story) {
				number, text := s.field("Widget.GROUP/NAMESPACE/number", "spec", "size"), s.field("Widget.GROUP/NAMESPACE/text", "spec", "size")
				if number != int64(5) || text != "5" {
					s.Errorf("the sizes are %#v and %#v, want 5 and \"5\"", number, text)
				}
			},
		},
		"B11 a namespace and what is in it": {
			files: `
-- app.yaml --
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: NAMESPACE-fresh}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: NAMESPACE-fresh}
data: {a: b}
---
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE-fresh}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: NAMESPACE-other}
`,
			check: func(s *story) {
				s.expectExists("Role.rbac.authorization.k8s.io/NAMESPACE-fresh/r", "ConfigMap/NAMESPACE-fresh/c", "ConfigMap/NAMESPACE-other/c")
				fresh, other := s.get("Namespace/NAMESPACE-fresh"), s.get("Namespace/NAMESPACE-other")
				if fresh.GetLabels()[ownerLabel] == "" || other.GetLabels()[ownerLabel] != "" {
					s.Errorf("the component owns the namespace that it brings, and not the one that was made for it: %v, %v", fresh.GetLabels(), other.GetLabels())
				}
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, "settles")
			var before map[string]string
			same := nothing(func() {
				if diff := cmp.Diff(before, s.versions()); diff != "" {
					s.Errorf("objects were written: %s", diff)
				}
			})
			s.steps(
				resource.TestStep{Config: s.inline(test.files), Check: nothing(func() {
					test.check(s)
					before = maps.Clone(s.versions())
				})},
				resource.TestStep{Config: s.inline(test.files), ConfigPlanChecks: emptyPlan(), Check: same},
				resource.TestStep{Config: s.inline(test.files, `reapply_interval = "48h"`), ConfigPlanChecks: inPlace(), Check: same},
			)
		})
	}
}

const ownerLabel = "component-operator.cs.sap.com/owner-id"
