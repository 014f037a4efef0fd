package provider_test

import (
	"fmt"
	"strings"
	"testing"
)

// release is a chart that prints its revision and has a Secret.
const release = minimalChart + `password: first-secret
-- chart/templates/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-settings}
data:
  revision: {{ .Release.Revision | quote }}
  install: {{ .Release.IsInstall | quote }}
  tag: {{ .Values.tag | quote }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-constant}
data: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-password}
stringData: {password: {{ .Values.password }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:{{ .Values.tag }}"}]}
`

func (s *story) expectRevision(want int64) {
	s.Helper()
	if web := s.web(); web.Revision != want || web.Status != "Ready" {
		s.Errorf("revision %d, status %s: want revision %d, Ready", web.Revision, web.Status, want)
	}
	if printed := s.field("ConfigMap/NAMESPACE/web-settings", "data", "revision"); printed != fmt.Sprint(want) {
		s.Errorf("the chart printed revision %v, want %d", printed, want)
	}
}

// The revision counts changes of what the source renders, and nothing else.
func TestAccComponentRevision(t *testing.T) {
	s := newStory(t, "revision")
	s.files(release)
	s.chart()
	s.apply()
	s.expectRevision(1)

	s.chart(`values = { tag = "2.0" }`)
	s.golden("revision-2", s.plan())
	s.apply()
	s.expectRevision(2)
	s.expectNoWrites()
	s.expectRevision(2)

	s.set("ConfigMap/NAMESPACE/web-constant", "drifted", "data", "a")
	s.apply()
	s.expectRevision(2)

	s.chart(`values = { tag = "2.0", password = "second-secret" }`)
	s.golden("secret-v2", s.plan())
	s.apply()
	s.expectRevision(3)
	if data := s.field("Secret/NAMESPACE/web-password", "data", "password"); data != "c2Vjb25kLXNlY3JldA==" {
		t.Errorf("the Secret holds %v", data)
	}
	s.destroy()
}

// A replacement that the user asks for starts anew: revision 1, masks v1, other objects.
func TestAccComponentReplace(t *testing.T) {
	s := newStory(t, "replace")
	s.files(release)
	s.chart()
	s.apply()
	s.chart(`values = { tag = "2.0", password = "second-secret" }`)
	s.apply()
	s.expectRevision(2)
	before := s.uids("ConfigMap/NAMESPACE/web-settings", "Secret/NAMESPACE/web-password", "Deployment.apps/NAMESPACE/web")

	s.golden("replace", s.plan("-replace=component.web"))
	s.apply("-replace=component.web")
	s.expectRevision(1)
	s.expectOther(before)

	// With a saved plan, and together with a change.
	s.chart(`values = { tag = "3.0", password = "third-secret" }`)
	s.plan("-replace=component.web", "-out=saved.tfplan")
	s.terraform(0, "apply", "-no-color", "-input=false", "saved.tfplan")
	s.expectEmptyPlan()
	s.expectRevision(1)
	s.destroy()
}

// A rename is a replacement, and starts anew as well.
func TestAccComponentRename(t *testing.T) {
	s := newStory(t, "rename")
	s.files(release)
	s.chart()
	s.apply()
	s.chart(`values = { tag = "2.0" }`)
	s.apply()
	s.expectRevision(2)

	s.replace("main.tf", `name      = "web"`, `name      = "shop"`)
	s.golden("rename", s.plan())
	s.apply()
	s.expectGone("Secret/NAMESPACE/component.web", "ConfigMap/NAMESPACE/web-settings", "Deployment.apps/NAMESPACE/web")
	s.expectExists("Secret/NAMESPACE/component.shop", "Deployment.apps/NAMESPACE/shop", "Secret/NAMESPACE/shop-password")
	if web := s.web(); web.Revision != 1 || s.field("ConfigMap/NAMESPACE/shop-settings", "data", "revision") != "1" {
		t.Errorf("the revision is %d", web.Revision)
	}

	// Another namespace is a rename, too; target_name keeps the objects' names.
	s.replace("main.tf", `namespace = "NAMESPACE"`, "namespace = \"NAMESPACE-2\"\n  target_namespace = \"NAMESPACE\"")
	s.apply()
	s.expectGone("Secret/NAMESPACE/component.shop")
	s.expectExists("Secret/NAMESPACE-2/component.shop", "Deployment.apps/NAMESPACE/shop")
	s.destroy("shop")
	s.expectGone("Deployment.apps/NAMESPACE/shop")
}

// A resource that got another address keeps its objects; without the moved block the plan says how.
func TestAccComponentMoved(t *testing.T) {
	s := newStory(t, "moved")
	s.files(release)
	s.chart()
	s.apply()
	before := s.uids("ConfigMap/NAMESPACE/web-settings", "Deployment.apps/NAMESPACE/web")

	s.replace("main.tf", `"component" "web"`, `"component" "site"`)
	said := s.refused()
	s.expectSays(said, "The component exists already", "add a moved block")
	s.file("moved.tf", "moved {\n  from = component.web\n  to   = component.site\n}\n")
	said = s.terraform(0, "plan", "-no-color", "-input=false")
	if !strings.Contains(said, "0 to add, 0 to change, 0 to destroy") {
		t.Errorf("the move is no mere move:\n%s", said)
	}
	s.apply()
	s.expectSame(before)
}
