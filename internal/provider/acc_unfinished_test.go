package provider_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kubewave/terraform-provider-component/test/tfcli"
)

// unable is a component of two waves whose first one never becomes ready.
const unable = `
-- manifests/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {LOG_LEVEL: info}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {password: first-secret}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {cluster.test/fail: image-pull}}
    spec: {containers: [{name: web, image: "registry.example/web:9.9.9"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: later, annotations: {component-operator.cs.sap.com/apply-order: "1"}}
`

var unableIDs = []string{"ConfigMap/NAMESPACE/settings", "Secret/NAMESPACE/password", "Deployment.apps/NAMESPACE/web"}

// heal makes the Deployment one that can start.
func (s *story) heal() {
	s.Helper()
	s.replace("manifests/app.yaml", ", annotations: {cluster.test/fail: image-pull}", "")
}

// unfinished begins a story with a component whose creation failed.
func unfinished(t *testing.T, name string) *story {
	t.Helper()
	s := newStory(t, name)
	s.files(unable)
	s.component(`ready_timeout = "5s"`)
	s.golden("not-ready", problems(s.applyFails()))
	s.expectState(state{Status: "Error", Tainted: true})
	s.expectExists(unableIDs...)
	s.expectGone("ConfigMap/NAMESPACE/later")
	return s
}

// problems are the errors of what Terraform said.
func problems(text string) string {
	at := strings.Index(text, "\nError: ")
	if at < 0 {
		return ""
	}
	return text[at:]
}

// A creation that failed is resumed by the next apply: Terraform announces a replacement, and
// nothing is destroyed.
func TestAccComponentB60FailedCreationIsResumed(t *testing.T) {
	s := unfinished(t, "resumed")
	before := s.uids(unableIDs...)
	s.heal()
	s.golden("resumed", s.plan())
	s.terraform(0, "apply", "-no-color", "-input=false", "-auto-approve")
	s.expectSame(before)
	s.expectEmptyPlan()
	s.expectExists("ConfigMap/NAMESPACE/later")
	s.expectState(state{Status: "Ready"})
	if web := s.web(); web.Revision != 1 || len(web.Objects) != 4 {
		t.Errorf("the state is %+v", web)
	}
	s.expectNoWrites()
	s.destroy()
}

// The same with a saved plan, and with an object that left the manifests in between.
func TestAccComponentFailedCreationIsResumedFromASavedPlan(t *testing.T) {
	s := unfinished(t, "resumed")
	before := s.uids("Secret/NAMESPACE/password", "Deployment.apps/NAMESPACE/web")
	s.heal()
	s.replace("manifests/app.yaml", `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {LOG_LEVEL: info}
---
`, "")
	s.plan("-out=saved.tfplan")
	s.terraform(0, "apply", "-no-color", "-input=false", "saved.tfplan")
	s.expectSame(before)
	s.expectEmptyPlan()
	s.expectGone("ConfigMap/NAMESPACE/settings")
	s.expectExists("ConfigMap/NAMESPACE/later")
}

// What terraform-behaviour calls the seven cases: when a delete request deletes, and when it does
// not.
func TestAccComponentDeleteRequests(t *testing.T) {
	healthy := func(t *testing.T, name string) *story {
		s := newStory(t, name)
		s.files(unable)
		s.heal()
		s.component()
		s.apply()
		return s
	}
	t.Run("a failed creation that fails again keeps its objects", func(t *testing.T) {
		s := unfinished(t, "resumed")
		before := s.uids(unableIDs...)
		s.golden("not-ready-again", problems(s.applyFails()))
		s.expectSame(before)
	})
	t.Run("a healthy one that the user taints is created anew", func(t *testing.T) {
		s := healthy(t, "tainted")
		before := s.uids(unableIDs...)
		s.terraform(0, "taint", "-no-color", "component.web")
		s.golden("tainted", s.plan())
		s.apply()
		s.expectOther(before)
	})
	t.Run("one that the user replaces is created anew", func(t *testing.T) {
		s := healthy(t, "replaced")
		before := s.uids(unableIDs...)
		s.apply("-replace=component.web")
		s.expectOther(before)
	})
	t.Run("one that the user taints and renames is created anew", func(t *testing.T) {
		s := healthy(t, "tainted")
		before := s.uids(unableIDs...)
		s.terraform(0, "taint", "-no-color", "component.web")
		s.replace("main.tf", `name      = "web"`, `name      = "shop"`)
		s.apply()
		s.expectOther(before)
	})
	t.Run("one that the user taints may change what an update cannot", func(t *testing.T) {
		s := healthy(t, "tainted")
		before := s.uids(unableIDs...)
		s.replace("manifests/app.yaml", "{app: web}", "{app: site}")
		s.expectSays(s.refused(), "selector", "update-policy: recreate")
		s.terraform(0, "taint", "-no-color", "component.web")
		s.apply()
		s.expectOther(before)
	})
	t.Run("one with another name is created anew", func(t *testing.T) {
		s := healthy(t, "renamed")
		before := s.uids(unableIDs...)
		s.replace("main.tf", `name      = "web"`, `name      = "shop"`)
		s.apply()
		s.expectOther(before)
	})
	t.Run("one with another name and another content is created anew", func(t *testing.T) {
		s := healthy(t, "renamed")
		before := s.uids(unableIDs...)
		s.replace("main.tf", `name      = "web"`, `name      = "shop"`)
		s.replace("manifests/app.yaml", "LOG_LEVEL: info", "LOG_LEVEL: debug")
		s.golden("renamed", warnings(s.plan()))
		s.apply()
		s.expectOther(before)
	})
	t.Run("one that leaves the configuration is deleted", func(t *testing.T) {
		s := healthy(t, "left")
		s.removeFile("main.tf")
		s.apply()
		s.expectGone(append(unableIDs, "Secret/NAMESPACE/component.web")...)
	})
	t.Run("a failed creation is destroyed", func(t *testing.T) {
		s := unfinished(t, "resumed")
		s.destroy()
		s.expectGone(unableIDs...)
	})
	t.Run("a failed creation that leaves the configuration is deleted", func(t *testing.T) {
		s := unfinished(t, "resumed")
		s.removeFile("main.tf")
		s.apply()
		s.expectGone(append(unableIDs, "Secret/NAMESPACE/component.web")...)
	})
	t.Run("a failed creation with another name is deleted, and created under it", func(t *testing.T) {
		s := unfinished(t, "resumed")
		s.heal()
		before := s.uids(unableIDs...)
		s.replace("main.tf", `name      = "web"`, `name      = "shop"`)
		s.apply()
		s.expectOther(before)
		s.expectGone("Secret/NAMESPACE/component.web")
	})
	t.Run("create_before_destroy keeps what the creation resumed", func(t *testing.T) {
		s := unfinished(t, "resumed")
		s.heal()
		before := s.uids(unableIDs...)
		s.component(`ready_timeout = "1m"`, "lifecycle { create_before_destroy = true }")
		s.apply()
		s.expectSame(before)
	})
	t.Run("an untainted one is updated", func(t *testing.T) {
		s := unfinished(t, "resumed")
		s.heal()
		before := s.uids(unableIDs...)
		s.terraform(0, "untaint", "-no-color", "component.web")
		if said := s.plan(); !strings.Contains(said, "updated in-place") {
			s.Errorf("the plan is no update:\n%s", said)
		}
		s.apply()
		s.expectSame(before)
	})
}

// Ctrl-C ends an apply at once. What was applied is kept, and the next apply goes on.
func TestAccComponentB60Interrupted(t *testing.T) {
	s := newStory(t, "interrupt")
	s.files(unable)
	s.component()
	said := s.interrupted(func() bool { return s.exists("Deployment.apps/NAMESPACE/web") })
	s.expectSays(said, "The operation was interrupted", "run the same command again to continue")
	s.expectState(state{Status: "Interrupted", Tainted: true})
	before := s.uids(unableIDs...)
	s.heal()
	s.apply()
	s.expectSame(before)

	// The same in an update.
	s.replace("manifests/app.yaml", "metadata: {labels: {app: web}}", "metadata: {labels: {app: web}, annotations: {cluster.test/fail: not-ready}}")
	said = s.interrupted(func() bool {
		return s.field("Deployment.apps/NAMESPACE/web", "spec", "template", "metadata", "annotations", "cluster.test/fail") != nil
	})
	s.expectSays(said, "The operation was interrupted")
	s.expectState(state{Status: "Interrupted"})
	s.replace("manifests/app.yaml", "cluster.test/fail: not-ready", "a: b")
	s.apply()
	s.expectSame(before)
}

// interrupted returns what an apply says that is interrupted when a condition is met.
func (s *story) interrupted(when func() bool) string {
	s.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	type answer struct {
		result tfcli.Result
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		result, err := s.dir.RunInterrupted(ctx, "apply", "-no-color", "-input=false", "-auto-approve")
		answers <- answer{result, err}
	}()
	s.eventually("the apply waits", when)
	asked := time.Now()
	cancel()
	ended := <-answers
	if took := time.Since(asked); took > quickly {
		s.Errorf("the apply ended %v after the interrupt", took)
	}
	said := strippedOfOverrides(ended.result.Stdout + ended.result.Stderr)
	if ended.err != nil || ended.result.ExitCode != failure {
		s.Fatalf("exit code %d, %v\n%s", ended.result.ExitCode, ended.err, said)
	}
	return said
}

// An update that fails taints nothing: the next plan is an update that goes on.
func TestAccComponentFailedUpdate(t *testing.T) {
	s := newStory(t, "update")
	s.files(unable)
	s.heal()
	s.component(`ready_timeout = "5s"`)
	s.apply()
	before := s.uids(unableIDs...)

	s.replace("manifests/app.yaml", "metadata: {labels: {app: web}}", "metadata: {labels: {app: web}, annotations: {cluster.test/fail: crash-loop, cluster.test/log: \"FATAL: DATABASE_URL is not set\"}}")
	s.golden("update-not-ready", problems(s.applyFails()))
	s.expectState(state{Status: "Error"})
	s.replace("manifests/app.yaml", "cluster.test/fail: crash-loop, ", "")
	s.expectSays(s.plan(), "updated in-place", `~ status = "Error" -> "Ready"`)
	s.apply()
	s.expectSame(before)

	// Without a change of the manifests the next apply goes on all the same.
	s.replace("manifests/app.yaml", "cluster.test/log", "cluster.test/fail: not-ready, cluster.test/log")
	s.applyFails()
	s.golden("update-goes-on", s.plan())
	s.applyFails()
	s.expectSame(before)
}
