package provider_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const shop = `
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {LOG_LEVEL: info, MODE: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: spare}
data: {used: "no"}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {password: first-secret, user: admin}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80}, {name: admin, port: 81}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example/web:1.4.2
        args: [--listen=:8080, --log-level=info, --metrics]
        resources: {limits: {cpu: 1000m}}
`

// What somebody changed in the cluster is shown field by field, and healed by the next apply.
func TestAccComponentDrift(t *testing.T) {
	s := newStory(t, "drift")
	s.files(shop)
	s.component()
	s.apply()

	// An applied field, an element of a list, a key of a Secret, an object.
	s.set("ConfigMap/NAMESPACE/settings", "debug", "data", "LOG_LEVEL")
	s.edit("Deployment.apps/NAMESPACE/web", func(object map[string]any) {
		container := firstContainer(s, object)
		container["args"] = []any{"--listen=:8080", "--metrics"}
		container["image"] = "registry.example/web:hacked"
	})
	s.set("Secret/NAMESPACE/password", "aGFja2Vk", "data", "password")
	s.edit("Service/NAMESPACE/web", func(object map[string]any) {
		ports, _, _ := unstructured.NestedSlice(object, "spec", "ports")
		if err := unstructured.SetNestedSlice(object, ports[:1], "spec", "ports"); err != nil {
			s.Fatal(err)
		}
	})
	s.delete("ConfigMap/NAMESPACE/spare")
	// And what is not ours: a field and a whole map that we do not apply, the status.
	s.edit("Deployment.apps/NAMESPACE/web", func(object map[string]any) {
		object["metadata"].(map[string]any)["labels"].(map[string]any)["team"] = "blue"
		object["spec"].(map[string]any)["minReadySeconds"] = int64(0)
		object["spec"].(map[string]any)["paused"] = false
	})

	s.golden("drift", s.plan())
	s.golden("drift-refresh-only", s.terraform(changes, "plan", "-no-color", "-input=false", "-detailed-exitcode", "-refresh-only"))

	before := s.uids("ConfigMap/NAMESPACE/settings", "Deployment.apps/NAMESPACE/web", "Secret/NAMESPACE/password", "Service/NAMESPACE/web")
	s.apply()
	s.expectSame(before)
	s.expectExists("ConfigMap/NAMESPACE/spare")
	if level := s.field("ConfigMap/NAMESPACE/settings", "data", "LOG_LEVEL"); level != "info" {
		s.Errorf("LOG_LEVEL is %v", level)
	}
	if password := s.field("Secret/NAMESPACE/password", "data", "password"); password != "Zmlyc3Qtc2VjcmV0" {
		s.Errorf("the password is %v", password)
	}
	if ports := s.field("Service/NAMESPACE/web", "spec", "ports"); len(ports.([]any)) != 2 {
		s.Errorf("the ports are %v", ports)
	}
	container := firstContainer(s, s.get("Deployment.apps/NAMESPACE/web").Object)
	if args := container["args"].([]any); len(args) != 3 || container["image"] != "registry.example/web:1.4.2" {
		s.Errorf("the container is %v", container)
	}
	if web := s.web(); web.Revision != 1 || web.Status != "Ready" {
		s.Errorf("drift that is healed is no revision: %d, %s", web.Revision, web.Status)
	}
}

func firstContainer(s *story, object map[string]any) map[string]any {
	s.Helper()
	containers, _, err := unstructured.NestedFieldNoCopy(object, "spec", "template", "spec", "containers")
	if err != nil {
		s.Fatal(err)
	}
	return containers.([]any)[0].(map[string]any)
}

// What nobody applies is nobody's drift.
func TestAccComponentDriftThatIsNotOurs(t *testing.T) {
	s := newStory(t, "notours")
	s.files(shop)
	s.component()
	s.apply()

	s.edit("Deployment.apps/NAMESPACE/web", func(object map[string]any) {
		object["metadata"].(map[string]any)["annotations"].(map[string]any)["team"] = "blue"
		object["spec"].(map[string]any)["minReadySeconds"] = int64(3)
		firstContainer(s, object)["env"] = []any{map[string]any{"name": "INJECTED", "value": "yes"}}
	})
	s.edit("Service/NAMESPACE/web", func(object map[string]any) {
		object["spec"].(map[string]any)["sessionAffinity"] = "ClientIP"
	})
	s.expectEmptyPlan()
}

// Drift and a change of the configuration are one diff, and an object that drifted and leaves the
// component is pruned.
func TestAccComponentDriftBesideAChange(t *testing.T) {
	s := newStory(t, "beside")
	s.files(shop)
	s.component()
	s.apply()

	s.set("ConfigMap/NAMESPACE/settings", "debug", "data", "LOG_LEVEL")
	s.set("ConfigMap/NAMESPACE/spare", "yes", "data", "used")
	s.replace("manifests/app.yaml", "MODE: blue", "MODE: green")
	s.replace("manifests/app.yaml", `apiVersion: v1
kind: ConfigMap
metadata: {name: spare}
data: {used: "no"}
---
`, "")
	s.golden("drift-beside-a-change", s.plan())
	s.apply()
	s.expectGone("ConfigMap/NAMESPACE/spare")
	if web := s.web(); web.Revision != 2 {
		s.Errorf("the revision is %d, want 2", web.Revision)
	}
}

// Everything gone is a component that is created again; the record gone is none.
func TestAccComponentVanishes(t *testing.T) {
	s := newStory(t, "vanish")
	s.files(`
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {LOG_LEVEL: info}
`)
	s.component()
	s.apply()

	s.delete("Secret/NAMESPACE/component.web")
	before := s.uids("ConfigMap/NAMESPACE/settings")
	s.golden("vanished-record", s.plan())
	s.apply()
	s.expectSame(before)
	s.expectExists("Secret/NAMESPACE/component.web")

	s.delete("ConfigMap/NAMESPACE/settings")
	s.delete("Secret/NAMESPACE/component.web")
	if said := s.plan(); !strings.Contains(said, "component.web will be created") {
		s.Errorf("the plan does not create the component:\n%s", said)
	}
	s.apply()
	s.expectExists("ConfigMap/NAMESPACE/settings", "Secret/NAMESPACE/component.web")
}
