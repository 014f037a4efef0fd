package cluster

import (
	"encoding/base64"
	"net"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// as connects as another user.
func as(t *testing.T, user string) *Cluster {
	t.Helper()
	config := restConfig(t)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return connect(t, config)
}

const (
	configMap  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}"
	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {selector: {matchLabels: {a: SELECTOR}}, template: {metadata: {labels: {a: SELECTOR}}, spec: {containers: [{name: c, image: x}]}}}}`
	// inNamespace limits a policy or webhook to the namespace of the test.
	inNamespace = `{matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}`
)

// TestReasonOfServerErrors asks a real API server for every kind of error that
// the engine tells apart.
func TestReasonOfServerErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provoke func(p *place) error
		want    Reason
		text    string
	}{
		"a schema error of server-side apply is a 500 without a reason": {
			func(p *place) error {
				return p.apply(`{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: "80"}]}}`)
			}, Invalid, "expected numeric",
		},
		"an unknown field is a 500 without a reason": {
			func(p *place) error {
				return p.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, dataa: {a: b}}`)
			}, Invalid, "field not declared in schema",
		},
		"duplicate list keys are a 500 without a reason": {
			func(p *place) error {
				return p.apply(`{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 80}, {port: 80}]}}`)
			}, Invalid, "duplicate",
		},
		"a value that validation refuses": {
			func(p *place) error {
				return p.apply(`{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 80, targetPort: "8080"}]}}`)
			}, Invalid, "must contain at least one letter",
		},
		"a name that is none": {
			func(p *place) error { return p.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: X_Y}}`) }, Invalid, "RFC 1123",
		},
		"managedFields in a manifest": {
			func(p *place) error {
				return p.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, managedFields: [{manager: me, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {}}]}}`)
			}, Invalid, "managedFields",
		},
		"an object that is too large for a request": {
			func(p *place) error {
				return p.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: ` + strings.Repeat("x", 3_300_000) + `}}`)
			}, TooLarge, "limit is 3145728",
		},
		"an object that is too large to be stored": {
			func(p *place) error {
				return p.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: ` + strings.Repeat("x", 1_100_000) + `}}`)
			}, Invalid, "may not be more than 1048576 bytes",
		},
		"a group that is not served is a 404 that is no Status": {
			func(p *place) error {
				_, obj := p.object(configMap)
				gvr := schema.GroupVersionResource{Group: "nowhere.example", Version: "v1", Resource: "things"}
				_, err := p.Apply(p.Context(), Type{GVK: gvr.GroupVersion().WithKind("Thing"), Resource: gvr, Namespaced: true}, obj, DryRun)
				return err
			}, NotServed, "could not find the requested resource",
		},
		"a version that is not served": {
			func(p *place) error {
				gvr := schema.GroupVersionResource{Group: "apps", Version: "v1beta1", Resource: "deployments"}
				_, err := p.List(p.Context(), Type{Resource: gvr, Namespaced: true}, p.namespace, "")
				return err
			}, NotServed, "could not find the requested resource",
		},
		"an object that does not exist": {
			func(p *place) error {
				served, _ := p.object(configMap)
				_, err := p.Get(p.Context(), served, p.namespace, "none")
				return err
			}, NotFound, `configmaps "none" not found`,
		},
		"a namespace that does not exist": {
			func(p *place) error {
				return p.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NAMESPACE-none}}`)
			}, NamespaceMissing, `namespaces "`,
		},
		"an object named namespaces that does not exist is no missing namespace": {
			func(p *place) error {
				served, _ := p.object(configMap)
				_, err := p.Get(p.Context(), served, p.namespace, "namespaces")
				return err
			}, NotFound, "not found",
		},
		"a Namespace that is read and does not exist": {
			func(p *place) error {
				served, _ := p.object("{apiVersion: v1, kind: Namespace, metadata: {name: x}}")
				_, err := p.Get(p.Context(), served, "", "none")
				return err
			}, NamespaceMissing, `namespaces "none" not found`,
		},
		"a namespace that is being deleted": {
			func(p *place) error {
				held := p.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.org/hold]}}")
				served, _ := p.object("{apiVersion: v1, kind: Namespace, metadata: {name: x}}")
				if err := p.Delete(p.Context(), served, "", p.namespace, ""); err != nil {
					return err
				}
				err := p.eventually(NamespaceTerminating, func() error { return p.apply(configMap) })
				p.patch(held, `{"metadata": {"finalizers": null}}`)
				return err
			}, NamespaceTerminating, "being terminated",
		},
		"a POST of an object that exists": {
			func(p *place) error {
				p.create(configMap)
				served, obj := p.object(configMap)
				_, err := p.Create(p.Context(), served, obj, Persist)
				return err
			}, Conflict, "already exists",
		},
		"an apply that may only create": {
			func(p *place) error {
				p.create(configMap)
				served, obj := p.object(configMap)
				obj.SetResourceVersion(CreateOnly)
				_, err := p.Apply(p.Context(), served, obj, Persist)
				return err
			}, Conflict, "has been modified",
		},
		"a PUT of an older version": {
			func(p *place) error {
				obj := p.create(configMap)
				served, _ := p.object(configMap)
				p.patch(obj, `{"data": {"a": "c"}}`)
				_, err := p.Replace(p.Context(), served, obj, Persist)
				return err
			}, Conflict, "has been modified",
		},
		"an apply onto an object that is gone": {
			func(p *place) error {
				gone := p.create(configMap)
				served, obj := p.object(configMap)
				if err := p.Delete(p.Context(), served, p.namespace, "x", gone.GetUID()); err != nil {
					return err
				}
				obj.SetUID(gone.GetUID())
				_, err := p.Apply(p.Context(), served, obj, Persist)
				return err
			}, Conflict, "",
		},
		"an apply onto an object that is another one by now": {
			func(p *place) error {
				p.create(configMap)
				served, obj := p.object(configMap)
				obj.SetUID("11111111-1111-1111-1111-111111111111")
				_, err := p.Apply(p.Context(), served, obj, Persist)
				return err
			}, Conflict, "uid",
		},
		"a DELETE of an object that is another one by now": {
			func(p *place) error {
				p.create(configMap)
				served, _ := p.object(configMap)
				return p.Delete(p.Context(), served, p.namespace, "x", "11111111-1111-1111-1111-111111111111")
			}, Conflict, "UID",
		},
		"a user without rights": {
			func(p *place) error {
				served, obj := p.object(configMap)
				_, err := as(p.T, "system:serviceaccount:"+p.namespace+":nobody").Apply(p.Context(), served, obj, DryRun)
				return err
			}, Forbidden, "cannot patch resource",
		},
		"a user who would grant more rights than it has": {
			func(p *place) error {
				p.create(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [get, create, patch]}]}`)
				p.create(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: granter, namespace: NAMESPACE}]}`)
				served, obj := p.object(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: more}, rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]}`)
				granter := as(p.T, "system:serviceaccount:"+p.namespace+":granter")
				return p.eventually(Forbidden, func() error {
					_, err := granter.Apply(p.Context(), served, obj, DryRun)
					if err != nil && strings.Contains(err.Error(), "cannot patch resource") {
						return nil // The binding is not in force yet.
					}
					return err
				})
			}, Forbidden, "attempting to grant RBAC permissions",
		},
		"a quota that is exhausted": {
			func(p *place) error {
				p.create(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {count/configmaps: "0"}}}`)
				return p.eventually(Denied, func() error { return p.apply(configMap) })
			}, Denied, "quota",
		},
		"an admission policy that denies": {
			func(p *place) error {
				p.create(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAMESPACE}
spec:
  matchConstraints: {namespaceSelector: ` + inNamespace + `, resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "false", message: "User bob cannot have this"}]
`)
				p.create(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: NAMESPACE}, spec: {policyName: NAMESPACE, validationActions: [Deny]}}`)
				return p.eventually(Denied, func() error { return p.apply(configMap) })
			}, Denied, "User bob cannot have this",
		},
		"an admission policy that denies with the reason Forbidden": {
			func(p *place) error {
				p.create(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAMESPACE}
spec:
  matchConstraints: {namespaceSelector: ` + inNamespace + `, resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "false", reason: Forbidden, message: "User bob cannot have this"}]
`)
				p.create(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: NAMESPACE}, spec: {policyName: NAMESPACE, validationActions: [Deny]}}`)
				return p.eventually(Denied, func() error { return p.apply(configMap) })
			}, Denied, "User bob cannot have this",
		},
		"a webhook that does not answer": {
			func(p *place) error {
				p.create(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NAMESPACE}
webhooks:
- name: down.example.org
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {service: {namespace: NAMESPACE, name: nowhere}}
  namespaceSelector: ` + inNamespace + `
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
`)
				return p.eventually(Webhook, func() error { return p.apply(configMap) })
			}, Webhook, "failed calling webhook",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.provoke(newPlace(t))
			if got := ReasonOf(err); err == nil || got != c.want || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v (%v), want %v with %q", got, err, c.want, c.text)
			}
		})
	}
}

func TestReasonOfConnectionErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, config *rest.Config)
		want   Reason
	}{
		"a wrong token": {
			func(_ *testing.T, config *rest.Config) {
				config.CertData, config.KeyData, config.CertFile, config.KeyFile = nil, nil, "", ""
				config.BearerToken = "wrong"
			}, Unauthorized,
		},
		"a server that does not listen": {
			func(t *testing.T, config *rest.Config) { config.Host = "https://" + closedPort(t) }, Unreachable,
		},
		"a name that does not exist": {
			func(_ *testing.T, config *rest.Config) { config.Host = "https://nowhere.invalid" }, Unreachable,
		},
		"a certificate that is not trusted": {
			func(_ *testing.T, config *rest.Config) { config.CAData, config.CAFile = nil, "" }, Unreachable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := restConfig(t)
			c.change(t, config)
			conn := connect(t, config)
			start := time.Now()
			_, err := conn.List(t.Context(), Type{Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}}, "", "")
			if got := ReasonOf(err); err == nil || got != c.want {
				t.Errorf("got %v (%v), want %v", got, err, c.want)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v to say so", took)
			}
			if _, err := connect(t, config).ID(t.Context()); ReasonOf(err) != c.want {
				t.Errorf("asked for its id: got %v (%v), want %v", ReasonOf(err), err, c.want)
			}
		})
	}
}

// closedPort is an address where nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// TestImmutableFields changes a field of every kind that has one which cannot
// be changed: the server says it in many ways.
func TestImmutableFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after string }{
		"the selector of a Deployment": {
			strings.ReplaceAll(deployment, "SELECTOR", "one"), strings.ReplaceAll(deployment, "SELECTOR", "two"),
		},
		"the template of a Job": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: one}]}}}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: two}]}}}}`,
		},
		"the service name of a StatefulSet": {
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {serviceName: one, selector: {matchLabels: {a: s}}, template: {metadata: {labels: {a: s}}, spec: {containers: [{name: c, image: x}]}}}}`,
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {serviceName: two, selector: {matchLabels: {a: s}}, template: {metadata: {labels: {a: s}}, spec: {containers: [{name: c, image: x}]}}}}`,
		},
		"the address of a Service": {
			`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {clusterIP: 10.96.99.99, ports: [{port: 80}]}}`,
		},
		"the role of a RoleBinding": {
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: one}}`,
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: two}}`,
		},
		"the storage class of a PersistentVolumeClaim": {
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: p}, spec: {storageClassName: one, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: p}, spec: {storageClassName: two, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
		},
		"the type of a Secret": {
			`{apiVersion: v1, kind: Secret, metadata: {name: s}, type: one}`, `{apiVersion: v1, kind: Secret, metadata: {name: s}, type: two}`,
		},
		"the data of an immutable ConfigMap": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, immutable: true, data: {a: one}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, immutable: true, data: {a: two}}`,
		},
		"the image policy of a Pod": {
			`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x, imagePullPolicy: Always}]}}`,
			`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x, imagePullPolicy: Never}]}}`,
		},
		"the value of a PriorityClass": {
			`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: NAMESPACE}, value: 1}`,
			`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: NAMESPACE}, value: 2}`,
		},
		"the provisioner of a StorageClass": {
			`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NAMESPACE}, provisioner: example.org/one}`,
			`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NAMESPACE}, provisioner: example.org/two}`,
		},
		"the controller of an IngressClass": {
			`{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: NAMESPACE}, spec: {controller: example.org/one}}`,
			`{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: NAMESPACE}, spec: {controller: example.org/two}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.create(c.before)
			err := p.apply(c.after)
			if err == nil || ReasonOf(err) != Invalid || !IsImmutable(err) {
				t.Errorf("got reason %v, immutable %v: %v", ReasonOf(err), IsImmutable(err), err)
			}
		})
	}
	t.Run("another error is none", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		if err := p.apply(`{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 80, targetPort: "8080"}]}}`); IsImmutable(err) {
			t.Errorf("%v", err)
		}
	})
}

// The words of the server may quote what a Secret holds.
func TestMessagesDoNotQuoteSecrets(t *testing.T) {
	t.Parallel()
	const value = "S3cr3t-Zq9!"
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	for name, manifest := range map[string]string{
		"a value that is not base64":   `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {password: "` + value + `"}}`,
		"a value of a wrong type":      `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {password: {` + encoded + `: x}}}`,
		"a value in a field of a type": `{apiVersion: v1, kind: Secret, metadata: {name: s}, type: kubernetes.io/dockerconfigjson, data: {.dockerconfigjson: ` + encoded + `}}`,
		"a field that does not exist":  `{apiVersion: v1, kind: Secret, metadata: {name: s}, dataa: {password: ` + encoded + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := newPlace(t).apply(manifest)
			if err == nil {
				t.Fatal("the server takes it")
			}
			got := Message(err, true)
			if strings.Contains(got, value) || strings.Contains(got, encoded) {
				t.Errorf("%q holds the value", got)
			}
			if !strings.Contains(got, "not shown") {
				t.Errorf("%q does not say why it says so little", got)
			}
		})
	}
}

// A field that does not exist is named, and nothing of its value.
func TestMessagesNameUndeclaredFieldsOfSecrets(t *testing.T) {
	t.Parallel()
	for field, manifest := range map[string]string{
		".stringdata":     `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringdata: {password: S3cr3t-Zq9}}`,
		".metadata.labls": `{apiVersion: v1, kind: Secret, metadata: {name: s, labls: {password: S3cr3t-Zq9}}}`,
	} {
		err := newPlace(t).apply(manifest)
		if err == nil {
			t.Fatal("the server takes it")
		}
		got := Message(err, true)
		if !strings.Contains(got, "field "+field+" is not in the schema") || strings.Contains(got, "S3cr3t") || strings.Contains(got, "password") {
			t.Errorf("it says %q", got)
		}
	}
}

func TestMessageIsThatOfTheServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	err := p.apply(`{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 80, targetPort: "8080"}]}}`)
	want := `Service "x" is invalid: spec.ports[0].targetPort: Invalid value: "8080": must contain at least one letter (a-z)`
	if got := Message(err, false); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
