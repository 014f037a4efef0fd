package provider_test

import (
	"testing"
)

// A hook runs whenever the component changes, and the plan says so: the Job is
// deleted and created anew although nothing in it changes.
func TestAccComponentHookRunsAgain(t *testing.T) {
	s := newStory(t, "hooks")
	s.files(minimalChart + `
-- chart/templates/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {greeting: {{ .Values.greeting | default "none" }}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/migrate:1"}]}
`)
	// Without any attribute that is optional, a second plan is as empty.
	s.chart()
	s.apply()
	s.chart(`values = { greeting = "hello" }`)
	s.apply()
	const job = "Job.batch/NAMESPACE/migrate"
	before := s.uids(job)

	// Only something else changes.
	s.chart(`values = { greeting = "good morning" }`)
	s.golden("hook-runs-again", s.plan())
	s.apply()
	s.expectOther(before)
	before = s.uids(job)

	// No object changes at all.
	s.chart(`values = { greeting = "good morning", unused = true }`)
	s.expectSays(s.plan(), `"1 to update, 1 to run again" -> "1 to run again"`, "1 object of component NAMESPACE/web will be deleted and created anew", "Job.batch/NAMESPACE/migrate")
	s.apply()
	s.expectOther(before)
	before = s.uids(job)

	// Healing what somebody changed is no change of the component.
	s.set("ConfigMap/NAMESPACE/settings", "theirs", "data", "greeting")
	if said := s.plan(); warnings(said) != "" {
		t.Errorf("the plan that heals says %s", warnings(said))
	}
	s.apply()
	s.expectSame(before)
	s.destroy()
}

// Values of other Terraform types that render the same are no change.
func TestAccComponentValuesOfOtherTypes(t *testing.T) {
	s := newStory(t, "types")
	s.files(minimalChart + `
-- chart/templates/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {{ toJson .Values.annotations }}}
`)
	s.chart(`values = { annotations = tomap({ a = "b" }), list = ["x"] }`)
	s.apply()
	s.chart(`values = { annotations = { a = "b" }, list = toset(["x"]) }`)
	s.expectEmptyPlan()
	s.chart(`values = { annotations = { a = "c" }, list = ["x"] }`)
	s.plan()
	s.apply()
	s.destroy()
}
