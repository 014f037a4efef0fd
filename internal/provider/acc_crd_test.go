package provider_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// gadget is a custom resource before its definition, of a kind KIND.
const gadget = `
apiVersion: GROUP/v1
kind: KIND
metadata: {name: g}
spec: {size: 3}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: KIND, plural: PLURAL, singular: SINGULAR}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}}
`

const repetitions = 20

// A definition and its instance come in one first apply, also when twenty components bring
// theirs at the same time.
func TestAccComponentB10DefinitionAndInstance(t *testing.T) {
	s := newStory(t, "together")
	s.file("gadget.yaml", gadget)
	s.file("main.tf", fmt.Sprintf(`
resource "component" "c" {
  count     = %d
  name      = "c${count.index}"
  namespace = "NAMESPACE"
  source = { files = { "gadget.yaml" = replace(replace(replace(file("gadget.yaml"),
    "KIND", "Gadget${count.index}"), "PLURAL", "gadget${count.index}s"), "SINGULAR", "gadget${count.index}") } }
}
`, repetitions))
	said := s.plan()
	for i := range repetitions {
		for _, id := range []string{"Gadget%d.GROUP/NAMESPACE/g", "CustomResourceDefinition.apiextensions.k8s.io/gadget%ds.GROUP"} {
			if id := s.place(fmt.Sprintf(id, i)); !strings.Contains(said, `+ "`+id+`"`) {
				t.Errorf("the plan does not show %s", id)
			}
		}
	}
	s.apply()
	for i := range repetitions {
		s.expectExists(fmt.Sprintf("Gadget%d.GROUP/NAMESPACE/g", i))
	}
	s.terraform(0, "destroy", "-no-color", "-input=false", "-auto-approve")
	for i := range repetitions {
		s.expectGone(fmt.Sprintf("CustomResourceDefinition.apiextensions.k8s.io/gadget%ds.GROUP", i))
	}
}

// The same again and again, each time with a fresh type and a fresh process.
func TestAccComponentB10Repeated(t *testing.T) {
	if os.Getenv("COMPONENT_TEST_LONG") == "" {
		t.Skip("runs when COMPONENT_TEST_LONG is set: see make test-long")
	}
	for i := range repetitions {
		t.Run(fmt.Sprintf("number %d", i+1), func(t *testing.T) {
			s := newStory(t, "repeated")
			s.file("manifests/gadget.yaml", strings.NewReplacer("KIND", "Gadget", "PLURAL", "gadgets", "SINGULAR", "gadget").Replace(gadget))
			s.component()
			s.apply()
			s.expectExists("Gadget.GROUP/NAMESPACE/g")
			s.destroy()
		})
	}
}

// One component brings a type and its operator, another one the instances: both are planned and
// applied in one go, and destroyed in one go.
func TestAccComponentInstancesOfAnotherComponent(t *testing.T) {
	s := newStory(t, "several")
	s.files(`
-- operator/crd.yaml --` + widgetCRD + `
-- operator/deployment.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec:
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec: {containers: [{name: operator, image: "registry.example/operator:1"}]}
-- instances/widgets.yaml --
apiVersion: GROUP/v1
kind: Widget
metadata: {name: large}
spec: {size: 9}
---
apiVersion: GROUP/v1
kind: Widget
metadata: {name: small, namespace: NAMESPACE}
spec: {size: 1}
-- main.tf --
resource "component" "operator" {
  name      = "operator"
  namespace = "NAMESPACE"
  source    = { directory = "./operator" }
}

resource "component" "instances" {
  name       = "instances"
  namespace  = "NAMESPACE"
  source     = { directory = "./instances" }
  depends_on = [component.operator]
}
`)
	s.golden("several-components", s.plan())
	s.apply()
	s.expectExists("Widget.GROUP/NAMESPACE/large", "Widget.GROUP/NAMESPACE/small")
	instances := s.states()["component.instances"]
	if len(instances.Objects) != 2 || instances.Status != "Ready" {
		t.Errorf("the state of the instances is %+v", instances)
	}

	s.set("Widget.GROUP/NAMESPACE/large", int64(8), "spec", "size")
	s.expectSays(s.plan(), "~ size = 8 -> 9")
	s.apply()

	s.terraform(0, "destroy", "-no-color", "-input=false", "-auto-approve")
	s.expectGone("CustomResourceDefinition.apiextensions.k8s.io/widgets.GROUP", "Deployment.apps/NAMESPACE/operator",
		"Secret/NAMESPACE/component.operator", "Secret/NAMESPACE/component.instances")
}

// What nobody brings is waited for, and then named.
func TestAccComponentUnknownKindOfAnotherGroup(t *testing.T) {
	s := newStory(t, "nobody")
	s.files(`
-- manifests/widget.yaml --
apiVersion: GROUP/v1
kind: Widget
metadata: {name: w}
spec: {size: 9}
`)
	s.component(`ready_timeout = "2s"`)
	s.golden("kind-that-nobody-brings", s.applyFails())
	s.expectState(state{Status: "Error", Tainted: true})
}
