package provider_test

import (
	"fmt"
	"testing"
	"time"
)

// A wave begins when all objects of the earlier ones are ready.
func TestAccComponentWaves(t *testing.T) {
	s := newStory(t, "waves")
	s.files(`
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {component-operator.cs.sap.com/apply-order: "2"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {component-operator.cs.sap.com/apply-order: "1"}}
spec:
  template:
    metadata: {annotations: {cluster.test/ready-after: 2s}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/migrate:1"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: database}
spec:
  selector: {matchLabels: {app: database}}
  template:
    metadata: {labels: {app: database}, annotations: {cluster.test/ready-after: 3s}}
    spec: {containers: [{name: c, image: "registry.example/database:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: with}
`)
	s.component()
	s.apply()
	created := func(id string) time.Time { return s.get(id).GetCreationTimestamp().Time }
	// Server times have whole seconds: what differs by 2 s at least is no coincidence.
	database, migrate, after := created("Deployment.apps/NAMESPACE/database"), created("Job.batch/NAMESPACE/migrate"), created("ConfigMap/NAMESPACE/after")
	if available := s.conditionTime("Deployment.apps/NAMESPACE/database", "Available"); migrate.Before(available) || migrate.Sub(database) < 2*time.Second {
		t.Errorf("the second wave began %v after the first one", migrate.Sub(database))
	}
	if completed := s.conditionTime("Job.batch/NAMESPACE/migrate", "Complete"); after.Before(completed) {
		t.Errorf("the third wave began %v before the Job of the second one was complete", completed.Sub(after))
	}
	if with := created("ConfigMap/NAMESPACE/with"); with.Sub(database) > time.Second {
		t.Errorf("objects of one wave were created %v apart", with.Sub(database))
	}
	s.expectNoWrites()
}

func (s *story) conditionTime(id, condition string) time.Time {
	s.Helper()
	conditions, _ := s.field(id, "status", "conditions").([]any)
	for _, entry := range conditions {
		entry := entry.(map[string]any)
		if entry["type"] == condition && entry["status"] == "True" {
			at, err := time.Parse(time.RFC3339, fmt.Sprint(entry["lastTransitionTime"]))
			if err != nil {
				s.Fatal(err)
			}
			return at
		}
	}
	s.Fatalf("%s has no condition %s", id, condition)
	return time.Time{}
}

// A Job that fails ends the wait at once, and later waves are not begun.
func TestAccComponentFailedJob(t *testing.T) {
	s := newStory(t, "failedjob")
	s.files(`
-- manifests/app.yaml --
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {cluster.test/fail: exit, cluster.test/log: "no such table"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/migrate:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: later, annotations: {component-operator.cs.sap.com/apply-order: "1"}}
`)
	s.component()
	started := time.Now()
	s.golden("failed-job", problems(s.applyFails()))
	if took := time.Since(started); took > patience {
		t.Errorf("the failure was reported after %v", took)
	}
	s.expectGone("ConfigMap/NAMESPACE/later")
}

// What leaves the source is deleted when everything else is ready, by the policy with which it
// was last applied.
func TestAccComponentPrune(t *testing.T) {
	s := newStory(t, "prune")
	s.files(`
-- manifests/app.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "registry.example/web:1"}]}
-- manifests/old.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: pruned}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: orphaned, annotations: {component-operator.cs.sap.com/delete-policy: orphan}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: orphaned-on-apply, annotations: {component-operator.cs.sap.com/delete-policy: orphan-on-apply}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: taken-away}
-- manifests/stays.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: orphaned-on-delete, annotations: {component-operator.cs.sap.com/delete-policy: orphanOnDelete}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: deleted, annotations: {component-operator.cs.sap.com/delete-policy: OrphanOnApply}}
`)
	s.component(`ready_timeout = "5s"`)
	s.apply()
	before := s.uids("ConfigMap/NAMESPACE/orphaned", "ConfigMap/NAMESPACE/orphaned-on-apply", "ConfigMap/NAMESPACE/taken-away")
	s.edit("ConfigMap/NAMESPACE/taken-away", func(object map[string]any) {
		delete(object["metadata"].(map[string]any)["labels"].(map[string]any), ownerLabel)
	})

	// Nothing is pruned as long as what stays is not ready.
	s.removeFile("manifests/old.yaml")
	s.replace("manifests/app.yaml", "labels: {app: web}}\n    spec", "labels: {app: web}, annotations: {cluster.test/fail: not-ready}}\n    spec")
	s.applyFails()
	s.expectExists("ConfigMap/NAMESPACE/pruned")

	s.replace("manifests/app.yaml", "cluster.test/fail: not-ready", "a: b")
	s.golden("prune", s.plan())
	s.apply()
	s.expectGone("ConfigMap/NAMESPACE/pruned")
	s.expectSame(before)

	s.terraform(0, "destroy", "-no-color", "-input=false", "-auto-approve")
	s.expectExists("ConfigMap/NAMESPACE/orphaned-on-delete")
	s.expectGone("ConfigMap/NAMESPACE/deleted", "Deployment.apps/NAMESPACE/web", "Secret/NAMESPACE/component.web")
	s.expectSame(before)
}

// delete_policy = "Orphan" leaves all objects, which the same component can have again.
func TestAccComponentOrphans(t *testing.T) {
	s := newStory(t, "orphan")
	s.files(shop)
	s.component(`delete_policy = "Orphan"`)
	s.apply()
	ids := []string{"ConfigMap/NAMESPACE/settings", "Secret/NAMESPACE/password", "Service/NAMESPACE/web", "Deployment.apps/NAMESPACE/web"}
	before := s.uids(ids...)
	s.terraform(0, "destroy", "-no-color", "-input=false", "-auto-approve")
	s.expectSame(before)
	s.expectGone("Secret/NAMESPACE/component.web")

	// The same component, and then another one: an owner without a record is none.
	s.component()
	s.apply()
	s.expectSame(before)
	s.component(`delete_policy = "Orphan"`)
	s.apply()
	s.terraform(0, "destroy", "-no-color", "-input=false", "-auto-approve")
	s.replace("main.tf", `name      = "web"`, `name      = "heir"`)
	s.golden("orphans-adopted", warnings(s.plan()))
	s.apply()
	s.expectSame(before)
}
