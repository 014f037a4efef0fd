package provider_test

import (
	"fmt"
	"strings"
	"testing"
)

// ours are the objects of the stories about adoption, and what somebody has made of them before.
const adoptable = `
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {tier: front}}
data: {LOG_LEVEL: info}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {password: ours-secret}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: "registry.example/once:1"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAMESPACE-reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`

var adoptableIDs = []string{
	"ConfigMap/NAMESPACE/settings", "Secret/NAMESPACE/password", "Service/NAMESPACE/web", "Job.batch/NAMESPACE/once",
	"ClusterRole.rbac.authorization.k8s.io/NAMESPACE-reader", "CustomResourceDefinition.apiextensions.k8s.io/widgets.GROUP",
}

// createAdoptable makes the objects as `kubectl create` does: one has other labels and a value of
// its own.
func (s *story) createAdoptable() {
	s.Helper()
	s.makeNamespace()
	for _, manifest := range s.manifests(strings.NewReplacer("tier: front", "tier: old", "LOG_LEVEL: info", "LOG_LEVEL: debug, LEGACY: '1'").
		Replace(sections(adoptable)["manifests/app.yaml"]) + "\n---" + widgetCRD) {
		s.create(manifest)
	}
}

// What exists without an owner is adopted, and stays what it is.
func TestAccComponentB32EverythingExists(t *testing.T) {
	s := newStory(t, "exists")
	s.createAdoptable()
	s.files(adoptable)
	s.file("manifests/crd.yaml", widgetCRD)
	before := s.uids(adoptableIDs...)

	s.component(`adoption_policy = "Never"`)
	s.golden("adoption-refused", s.refused())
	s.expectGone("Secret/NAMESPACE/component.web")

	s.component()
	s.golden("adoption", warnings(s.plan()))
	s.apply()
	s.expectSame(before)
	data := s.field("ConfigMap/NAMESPACE/settings", "data").(map[string]any)
	if data["LOG_LEVEL"] != "info" || data["LEGACY"] != nil {
		t.Errorf("the data are %v", data)
	}
	s.terraform(0, "destroy", "-no-color", "-input=false", "-auto-approve")
	// What was there before and holds the data of others stays.
	s.expectExists("CustomResourceDefinition.apiextensions.k8s.io/widgets.GROUP")
	s.expectGone(adoptableIDs[:5]...)
}

// Two components cannot have the same object. The refusal names object and owner, and touches
// nothing.
func TestAccComponentB31OwnedByAnother(t *testing.T) {
	s := newStory(t, "claims")
	const common = `
-- base/app.yaml --
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAMESPACE-common}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: common}
data: {from: base}
`
	s.files(common + strings.NewReplacer("-- base/", "-- other/", "from: base", "from: other", "verbs: [get]", "verbs: [list]").Replace(common))
	component := func(name, more string) string {
		return fmt.Sprintf(`
resource "component" %[1]q {
  name      = %[1]q
  namespace = "NAMESPACE"
  source    = { directory = "./%[1]s" }
  %[2]s
}
`, name, more)
	}
	s.file("base.tf", component("base", ""))
	s.apply()
	ids := []string{"ClusterRole.rbac.authorization.k8s.io/NAMESPACE-common", "ConfigMap/NAMESPACE/common"}
	before := s.uids(ids...)
	version := s.get(ids[0]).GetResourceVersion()

	s.file("other.tf", component("other", ""))
	s.golden("owned-by-another", s.refused())
	s.applyFails()
	s.expectGone("Secret/NAMESPACE/component.other")
	if now := s.get(ids[0]).GetResourceVersion(); now != version {
		t.Errorf("the refused component wrote %s", ids[0])
	}
	// Destroying what was refused leaves the objects of the other one.
	s.terraform(0, "destroy", "-no-color", "-input=false", "-auto-approve", "-refresh=false", "-target=component.other")
	s.expectSame(before)

	s.file("other.tf", component("other", `adoption_policy = "Always"`))
	said := s.plan()
	s.golden("taken-over", warnings(said))
	s.terraform(0, "apply", "-no-color", "-input=false", "-auto-approve")
	s.expectSame(before)
	if from := s.field(ids[1], "data", "from"); from != "other" {
		t.Errorf("the ConfigMap is still from %v", from)
	}

	// The former owner learns of its loss, and does not fight.
	s.golden("loss-of-objects", s.refused())
	s.removeFile("base.tf")
	s.apply()
	s.expectSame(before)
	s.terraform(0, "destroy", "-no-color", "-input=false", "-auto-approve")
	s.expectGone(ids...)
}
