package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlainOrder(t *testing.T) {
	in := files(t, map[string]string{
		"b.yaml":         "---\n" + configMap("b1") + "---\n\n---\n" + configMap("b2"),
		"a/z.yml":        configMap("z"),
		"a/list.yaml":    "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(configMap("l1"), "\n", "\n  ") + "\n- {apiVersion: v1, kind: Pod, metadata: {name: l2}}\n",
		".hidden.yaml":   "not: an object",
		".github/a.yaml": "not: an object",
		"README.md":      "# text",
	})
	want := []string{
		"ConfigMap/l1 from a/list.yaml, document 1, line 1",
		"Pod/l2 from a/list.yaml, document 1, line 1",
		"ConfigMap/z from a/z.yml, document 1, line 1",
		"ConfigMap/b1 from b.yaml, document 1, line 2",
		"ConfigMap/b2 from b.yaml, document 2, line 8",
	}
	if diff := cmp.Diff(want, ids(mustRender(t, in).Manifests)); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
	in.Inline = true
	if got := mustRender(t, in).Manifests[3].Origin.String(); got != `files["b.yaml"], document 1, line 2` {
		t.Errorf("an inline origin prints as %s", got)
	}
}

func TestPlainRefusals(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"no YAML at all": {
			map[string]string{"README.md": "x"},
			[]string{"the source holds no manifest: there is no Chart.yaml, no kustomization.yaml, and no object in any *.yaml or *.yml file"},
		},
		"YAML without an object": {map[string]string{"a.yaml": "# nothing\n---\n"}, []string{"holds no manifest"}},
		"all problems at once": {
			map[string]string{
				"a.yaml": "a: b: c\n",
				"b.yaml": configMap("x") + "---\npiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n---\nkind: Pod\napiVersion: v1\nmetadata: {generateName: z-}\n",
				"c.yaml": configMap("x"),
				"d.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: s3cr3t!}\n",
			},
			[]string{
				"a.yaml, document 1, line 1: yaml: mapping values are not allowed",
				`b.yaml, document 2, line 5: apiVersion is missing (there is "piVersion")`,
				"b.yaml, document 3, line 9: metadata.generateName is not supported",
				`Secret/s, from d.yaml, document 1, line 1: data: the value of "k" is not base64`,
				"ConfigMap/x, from c.yaml, document 1, line 1: the object is also in b.yaml, document 1, line 1",
			},
		},
		"the same object in two API versions": {
			map[string]string{
				"a.yaml": "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\n",
				"b.yaml": "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\n",
			},
			[]string{"HorizontalPodAutoscaler.autoscaling/h, from b.yaml, document 1, line 1: the object is also in a.yaml, document 1, line 1"},
		},
		"a chart and a kustomization below": {
			map[string]string{"a.yaml": configMap("a"), "charts/app/Chart.yaml": "name: app", "k/kustomization.yml": "resources: []"},
			[]string{
				`charts/app/Chart.yaml: "charts/app" is a Helm chart below a folder of plain manifests: render it on its own with path = "charts/app"`,
				`k/kustomization.yml: "k" is a kustomization below a folder of plain manifests`,
			},
		},
		"an object encrypted with SOPS": {
			map[string]string{"a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: 'ENC[AES256_GCM,data:x]'}\nsops: {mac: 'ENC[x]'}\n"},
			[]string{"Secret/s, from a.yaml, document 1, line 1: it is encrypted with SOPS and was not decrypted"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Render(t.Context(), files(t, test.files))
			wantProblems(t, err, test.want...)
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the error shows the value of a Secret: %v", err)
			}
		})
	}
}
