package provider_test

import (
	"testing"
)

// Three components of which each needs the one before are applied and
// destroyed at once; Terraform does not know their order.
func TestAccComponentDependencies(t *testing.T) {
	s := newStory(t, "dependencies")
	s.file("main.tf", `
resource "component" "web" {
  name         = "web"
  namespace    = "NAMESPACE"
  dependencies = ["NAMESPACE/queue"]
  source       = { files = { "web.yaml" = yamlencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "web" } }) } }
}

resource "component" "queue" {
  name         = "queue"
  namespace    = "NAMESPACE"
  dependencies = ["NAMESPACE/database"]
  source       = { files = { "queue.yaml" = yamlencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "queue" } }) } }
}

resource "component" "database" {
  name      = "database"
  namespace = "NAMESPACE"
  source = { files = { "database.yaml" = <<EOT
apiVersion: apps/v1
kind: Deployment
metadata: {name: database}
spec:
  selector: {matchLabels: {app: database}}
  template:
    metadata: {labels: {app: database}, annotations: {cluster.test/ready-after: 2s}}
    spec: {containers: [{name: c, image: "registry.example/database:1"}]}
EOT
  } }
}
`)
	s.expectSays(s.plan(), "Component NAMESPACE/web will wait for 1 dependency", "NAMESPACE/queue: it does not exist",
		"Component NAMESPACE/queue will wait for 1 dependency", "NAMESPACE/database: it does not exist", "longer than ready_timeout (10m).")
	s.apply()
	available := s.conditionTime("Deployment.apps/NAMESPACE/database", "Available")
	for _, id := range []string{"ConfigMap/NAMESPACE/queue", "ConfigMap/NAMESPACE/web"} {
		if created := s.get(id).GetCreationTimestamp(); created.Time.Before(available) {
			t.Errorf("%s was created %v before the database was available", id, available.Sub(created.Time))
		}
	}
	s.golden("dependents", problems(s.terraform(failure, "destroy", "-no-color", "-input=false", "-auto-approve", "-target=component.database")))
	s.expectExists("Deployment.apps/NAMESPACE/database")
	s.apply()
	s.destroy("queue", "database")
}

func TestAccComponentDependenciesThatDoNotCome(t *testing.T) {
	s := newStory(t, "dependencies")
	s.file("manifests/app.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}")
	s.component(`dependencies = ["NAMESPACE/database"]`, `ready_timeout = "1s"`)
	s.golden("dependencies-missing", problems(s.applyFails()))
	s.expectGone("ConfigMap/NAMESPACE/web")
	s.expectState(state{Status: "Pending", Tainted: true})
	s.component()
	s.apply()

	s.component(`dependencies = ["NAMESPACE/web"]`)
	s.golden("dependencies-circle", s.refused())
	s.component(`dependencies = ["database", "NAMESPACE/data/base"]`, `additional_managed_types = ["Widget."]`)
	s.expectSays(s.refused(), `"database" is not the "namespace/name" of a component`, `"NAMESPACE/data/base" is not`, `"Widget." is not "Kind.group"`)
	s.component()
	s.destroy()
}

func TestAccComponentSuspended(t *testing.T) {
	s := newStory(t, "suspended")
	s.files(`
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: green}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: old}
`)
	s.component()
	s.apply()
	before := s.versions()

	s.files(`
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: young}
`)
	s.component("suspend = true")
	s.golden("suspended", s.plan())
	s.apply()
	s.expectVersions("a suspended apply", before)
	s.expectState(state{Status: "Suspended"})
	s.set("ConfigMap/NAMESPACE/settings", "red", "data", "colour")
	s.expectEmptyPlan()

	s.component()
	s.golden("suspended-no-more", s.plan())
	s.apply()
	s.expectGone("ConfigMap/NAMESPACE/old")
	s.expectState(state{Status: "Ready"})

	s.component("suspend = true")
	s.apply()
	s.destroy()
}
