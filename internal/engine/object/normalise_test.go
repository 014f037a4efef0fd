package object

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// mustRead reads one object of YAML.
func mustRead(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	manifests, err := Decode(Origin{File: "test"}, []byte(text))
	if err != nil || len(manifests) != 1 {
		t.Fatalf("%d objects, %v", len(manifests), err)
	}
	return manifests[0].Object
}

func TestNormalise(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"B02: what generators leave": {
			`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a, creationTimestamp: null, uid: x, resourceVersion: "1", generation: 1, selfLink: x, managedFields: []}
spec:
  template: {metadata: {creationTimestamp: null, labels: {a: b}}}
  volumeClaimTemplates: [{metadata: {creationTimestamp: null, name: v}, status: {}}]
status: {replicas: 1}
`, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec:
  template: {metadata: {labels: {a: b}}}
  volumeClaimTemplates: [{metadata: {name: v}, status: {}}]
`,
		},
		"a status and a timestamp that are content": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {status: x, creationTimestamp: y}\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {status: x, creationTimestamp: y}\n",
		},
		"labels and annotations that are null": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {x: null, y: z}, annotations: null}\n",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {x: \"\", y: z}, annotations: null}\n",
		},
		"B26: stringData wins over data and is encoded": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: b25l, b: dHdv}\nstringData: {b: 2, c: ''}\n",
			"",
		},
		"a Secret with both": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: b25l, b: dHdv}\nstringData: {b: \"2\", c: ''}\n",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: b25l, b: Mg==, c: ''}\n",
		},
		"a Secret with stringData only": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: one}\n",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: b25l}\n",
		},
		"base64 in several lines": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  a: |\n    b2\n    5l\n",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: b25l}\n",
		},
		"a Secret of another group": {
			"apiVersion: ex.io/v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: one}\n",
			"apiVersion: ex.io/v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: one}\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			obj := mustRead(t, test.text)
			err := Normalise(obj)
			if test.want == "" {
				if err == nil || err.Error() != `stringData: the value of "b" must be a string: quote it` {
					t.Errorf("got error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(mustRead(t, test.want).Object, obj.Object); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNormaliseHidesSecrets: no error about a Secret shows a value of it.
func TestNormaliseHidesSecrets(t *testing.T) {
	for _, fields := range []string{
		"data: {k: s3cr3t!}", "data: s3cr3t!", "data: [s3cr3t!]", "data: {k: [s3cr3t!]}", "data: {k: 12345}",
		"stringData: {k: {s3cr3t!: 12345}}", "stringData: s3cr3t!",
	} {
		err := Normalise(mustRead(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"+fields+"\n"))
		if err == nil {
			t.Errorf("%s is accepted", fields)
		} else if strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "12345") {
			t.Errorf("%s: the error shows the value: %v", fields, err)
		}
	}
}

func TestID(t *testing.T) {
	for _, text := range []string{"Pod/a", "Pod/n/a", "Deployment.apps/n/a", "ClusterRole.rbac.authorization.k8s.io/a"} {
		id, err := ParseID(text)
		if err != nil || id.String() != text {
			t.Errorf("%s is read as %+v and printed as %s (%v)", text, id, id, err)
		}
	}
	for _, text := range []string{"", "Pod", "/a", "Pod/a/b/c"} {
		if _, err := ParseID(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
