package engine

import (
	"strings"
	"testing"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
)

// Objects whose namespace does not exist yet are tried in another one.
func TestNewNamespace(t *testing.T) {
	t.Parallel()
	t.Run("what is wrong with the objects is said before the namespace is made, all of it", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", `
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: NAMESPACE-new}, spec: {ports: [{port: 70000}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE-new}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: c}}, spec: {containers: [{name: web, image: registry.example/app:1}]}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: web, namespace: NAMESPACE-new}, type: kubernetes.io/tls, stringData: {tls.key: p4ssw0rd}}
`)
		_, err := s.plan()
		r.wantError(err, "Service/NAMESPACE-new/web", "70000", "Deployment.apps/NAMESPACE-new/web", "selector", "Secret/NAMESPACE-new/web")
		if strings.Contains(full(err), "p4ssw0rd") {
			t.Errorf("it shows a secret: %v", err)
		}
		if r.live("Namespace/NAMESPACE-new") != nil {
			t.Error("the namespace exists")
		}
	})
	t.Run("the server's text names the object's own namespace", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: NAMESPACE-new}, spec: {replica: 1}}")
		_, err := s.plan()
		r.wantError(err, "(NAMESPACE-new/web; apps/v1, Kind=Deployment)", ".spec.replica: field not declared in schema")
		if strings.Contains(full(err), "default/") {
			t.Errorf("it names another namespace: %v", err)
		}
	})
	t.Run("what is in the other namespace does not matter", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: NAMESPACE-same, namespace: default}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAMESPACE}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps], resourceNames: [NAMESPACE-denied]}]
  validations: [{expression: "false", message: not for you}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAMESPACE}
spec: {policyName: NAMESPACE, validationActions: [Deny]}
`)
		probe := r.parse("{apiVersion: v1, kind: ConfigMap, metadata: {name: NAMESPACE-denied, namespace: default}}")[0]
		r.eventually("the policy is in force", func() bool {
			_, err := r.others.Create(t.Context(), r.typeOf(probe), probe, cluster.DryRun)
			return err != nil && strings.Contains(err.Error(), "not for you")
		})
		s := r.story("c", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: NAMESPACE-same, namespace: NAMESPACE-new}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: NAMESPACE-denied, namespace: NAMESPACE-new}}
---
{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: NAMESPACE-new}, spec: {serviceAccountName: x, containers: [{name: x, image: registry.example/app:1}]}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: x, namespace: NAMESPACE-new, annotations: {component-operator.cs.sap.com/apply-order: "-1"}}}
`)
		if warnings := s.mustPlan().Warnings; len(warnings) > 0 {
			t.Error(text(warnings))
		}
		s.mustApply()
		if r.live("ConfigMap/default/NAMESPACE-denied") != nil {
			t.Error("an object was made in the other namespace")
		}
		s.mustDestroy()
	})
	t.Run("a namespace costs one request, however many objects it gets", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NAMESPACE-new}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: NAMESPACE-new}}
`)
		r.wire.clear()
		s.mustPlan()
		asked := r.wire.all(func(q request) bool { return strings.HasSuffix(q.path, "/namespaces/"+r.namespace+"-new") })
		if len(asked) != 1 {
			t.Errorf("it asked %v", asked)
		}
		if tried := r.wire.all(request.dryRun); len(tried) != 2 {
			t.Errorf("it tried %v", tried)
		}
	})
}
