package render

import (
	"strings"
	"testing"
	"time"
)

func TestKustomizeRefusals(t *testing.T) {
	widget := "apiVersion: ex.io/v1\nkind: Widget\nmetadata: {name: w}\nspec: {big: 9007199254740993}\n"
	binding := func(namespace string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: rb, namespace: " + namespace + "}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}\n"
	}
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"B43: a namespace makes two objects one": {
			map[string]string{"kustomization.yaml": "namespace: app\nresources: [a.yaml, b.yaml]\n", "a.yaml": binding("kube-system"), "b.yaml": binding("app")},
			[]string{"kustomization.yaml: namespace transformation produces ID conflict: [RoleBinding.rbac.authorization.k8s.io/app/rb (RoleBinding.rbac.authorization.k8s.io/kube-system/rb in a.yaml, document 1, line 1) and RoleBinding.rbac.authorization.k8s.io/app/rb (from b.yaml, document 1, line 1)]"},
		},
		"the same object in two files": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml, b.yaml]\n", "a.yaml": configMap("x"), "b.yaml": configMap("x")},
			[]string{"may not add resource with an already registered id: ConfigMap.v1.[noGrp]/x.[noNs]"},
		},
		"the same object in two versions": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml, b.yaml]\n",
				"a.yaml":             "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\n",
				"b.yaml":             "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\n",
			},
			[]string{"HorizontalPodAutoscaler.autoscaling/h, from "},
		},
		"B45: manifests that kustomize would print unchanged, and others, at once": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml, b.yaml, c.yaml]\n",
				"a.yaml":             configMap("a") + "---\npiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
				"b.yaml":             "apiVersion: v1\nmetadata: {name: b}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {generateName: b-}\n",
				"c.yaml":             "a: [\n",
			},
			[]string{
				`a.yaml, document 2, line 5: apiVersion is missing (there is "piVersion")`,
				"b.yaml, document 1, line 1: kind is missing",
				"b.yaml, document 2, line 4: metadata.name is missing",
				"b.yaml, document 3, line 8: metadata.generateName is not supported",
				"c.yaml, document 1, line 1: yaml: line ",
			},
		},
		"B42: a number that a JSON patch rounds": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\npatches:\n- target: {kind: Widget}\n  patch: |-\n    - {op: add, path: /spec/x, value: 1}\n",
				"a.yaml":             widget,
			},
			[]string{"Widget.ex.io/w, from a.yaml, document 1, line 1: .spec.big: kustomize turns 9007199254740993 into 9007199254740992: quote it in the manifest"},
		},
		"B42: a date that becomes a timestamp": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\n",
				"a.yaml":             configMap("a") + "data:\n  day: 2024-01-01\n  ok: \"2024-01-01\"\n",
			},
			[]string{"ConfigMap/a, from a.yaml, document 1, line 1: .data.day: kustomize turns 2024-01-01 into 2024-01-01T00:00:00Z"},
		},
		"an altered value of a Secret is not shown": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\n",
				"a.yaml":             "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {day: 2024-01-01}\n",
			},
			[]string{"Secret/s, from a.yaml, document 1, line 1: .stringData.day: kustomize alters the number or date: quote it"},
		},
		"everything on the network, at once": {
			map[string]string{
				"kustomization.yaml": `
resources: [github.com/org/repo, base]
components: ["https://example.org/c"]
crds: ["https://example.org/crd.json"]
openapi: {path: "http://example.org/openapi.json"}
patches: [{path: "https://example.org/p.yaml"}]
replacements: [{path: "https://example.org/r.yaml"}]
patchesStrategicMerge: ["https://example.org/s.yaml"]
configMapGenerator: [{name: a, files: ["k=https://example.org/f"], envs: ["https://example.org/e"]}]
transformers: [t.yaml]
generators: ["apiVersion: builtin\nkind: SecretGenerator\nmetadata: {name: g}\nfiles: [k=https://example.org/g]"]
`,
				"base/kustomization.yaml": "resources: [git@example.org:org/repo]\n",
				"t.yaml":                  "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: https://example.org/t\n",
			},
			[]string{
				`kustomization.yaml: resources: "github.com/org/repo" is on the network`,
				`base/kustomization.yaml: resources: "git@example.org:org/repo" is on the network`,
				`components: "https://example.org/c"`,
				`SecretGenerator/g: "k=https://example.org/g" is on the network`,
				`t.yaml: PatchTransformer/t: "https://example.org/t" is on the network`,
				`crds: "https://example.org/crd.json"`,
				`openapi: "http://example.org/openapi.json"`,
				`patches: "https://example.org/p.yaml"`,
				`replacements: "https://example.org/r.yaml"`,
				`patchesStrategicMerge: "https://example.org/s.yaml"`,
				`configMapGenerator and secretGenerator: "https://example.org/e"`,
				`configMapGenerator and secretGenerator: "https://example.org/f"`,
			},
		},
		"an address in a kustomization of plugins": {
			map[string]string{
				"kustomization.yaml":   "transformers: [t]\n",
				"t/kustomization.yaml": "resources: [t.yaml]\n",
				"t/t.yaml":             "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: https://example.org/t\n",
			},
			[]string{`t/t.yaml: PatchTransformer/t: "https://example.org/t" is on the network`},
		},
		"everything that is not there, at once": {
			map[string]string{
				"k/kustomization.yaml": "resources: [a.yaml, empty, /abs, ../../out, ../outside.yaml]\ncomponents: [file.yaml, gone]\ntransformers: [t]\npatches: [{path: p.yaml}, {path: empty}]\nsecretGenerator: [{name: s, files: [f], envs: [e]}]\n",
				"k/empty/x.txt":        "", "k/file.yaml": configMap("x"), "outside.yaml": configMap("y"),
				"kustomization.yaml": "resources: [k]\n",
			},
			[]string{
				`k/kustomization.yaml: resources: "a.yaml" does not exist`,
				`resources: "empty" is a folder without a kustomization file`,
				`resources: "/abs" is an absolute path`,
				`resources: "../../out" lies outside of the source`,
				`resources: "../outside.yaml" lies outside of the folder of this kustomization`,
				`components: "file.yaml" is a file, not the folder of a component`,
				`components: "gone" does not exist`,
				`transformers: "t" does not exist`,
				`patches: "p.yaml" does not exist`,
				`patches: "empty" is a folder, not a file`,
				`configMapGenerator and secretGenerator: "e" does not exist`,
				`configMapGenerator and secretGenerator: "f" does not exist`,
			},
		},
		"two kustomization files": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]", "Kustomization": "resources: [a.yaml]", "a.yaml": configMap("a")},
			[]string{"Kustomization: the folder has another kustomization file, kustomization.yaml: keep one of them"},
		},
		"an error in a base": {
			map[string]string{
				"kustomization.yaml":      "resources: [base]\n",
				"base/kustomization.yaml": "resources: [a.yaml]\npatches:\n- target: {kind: Pod}\n  patch: |-\n    - {op: remove, path: /spec/x}\n- path: p.yaml\n",
				"base/a.yaml":             configMap("a"), "base/p.yaml": configMap("nobody"),
			},
			[]string{`kustomization.yaml: in base: no resource matches strategic merge patch "ConfigMap.v1.[noGrp]/nobody.[noNs]"`},
		},
		"bases in a circle": {
			map[string]string{"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../a]\n", "kustomization.yaml": "resources: [a]\n"},
			[]string{"cycle detected"},
		},
		"a component as the root of a build": {
			map[string]string{"kustomization.yaml": "resources: [c]\n", "c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [a.yaml]\n", "c/a.yaml": configMap("a")},
			[]string{"expected kind != 'Component' for path 'c'"},
		},
		"literals of a broken secretGenerator": {
			map[string]string{"kustomization.yaml": "secretGenerator:\n- name: s\n  literals: [token=s3cr3t, 's3cr3t']\n"},
			[]string{"kustomization.yaml: loading KV pairs: a literal is not of the form key=value"},
		},
		"an env file of a secretGenerator that is no text": {
			map[string]string{"kustomization.yaml": "secretGenerator: [{name: s, envs: [e]}]\n", "e": "s3cr3t=\xff\n"},
			[]string{"kustomization.yaml: loading KV pairs: env source files: [e]: a line is not UTF-8"},
		},
		"a generator that merges into nothing": {
			map[string]string{"kustomization.yaml": "secretGenerator: [{name: s, behavior: merge, literals: [a=s3cr3t]}]\n"},
			[]string{"kustomization.yaml: merging from a generator: id Secret s does not exist; cannot merge or replace"},
		},
		"a field of a wrong type": {
			map[string]string{"kustomization.yaml": "images: [{name: nginx, newTag: 1}]\n"},
			[]string{"kustomization.yaml: invalid Kustomization: images.newTag must be a string, not a number"},
		},
		"a broken patch of a Secret": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches:\n- patch: |-\n    kind: Secret\n    data: s3cr3t\n", "a.yaml": configMap("a")},
			[]string{"unable to parse SM or JSON patch"},
		},
		"a patch that makes a Secret something else": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\npatches:\n- target: {kind: Secret}\n  patch: |-\n    - {op: add, path: /data/a/b, value: s3cr3t}\n",
				"a.yaml":             "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: s3cr3t}\n",
			},
			[]string{"kustomization.yaml: "},
		},
		"a replacement in a Secret that is no map": {
			map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\nreplacements:\n- source: {kind: Secret, fieldPath: data.a}\n  targets: [{select: {kind: Secret}, fieldPaths: [data.a.b]}]\n",
				"a.yaml":             "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: s3cr3t}\n",
			},
			[]string{"kustomization.yaml: "},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := Render(t.Context(), files(t, test.files))
			wantProblems(t, err, test.want...)
			text := err.Error()
			for _, noise := range []string{"s3cr3t", "internal.config.kubernetes.io", "component.source", `{"apiVersion"`} {
				if strings.Contains(text, noise) {
					t.Errorf("the error holds %q: %s", noise, text)
				}
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("the refusal took %s", took)
			}
		})
	}
}

func TestIsRemote(t *testing.T) {
	remote := []string{
		"https://example.org/a.yaml", "HTTP://example.org", "git::https://example.org/x", "git@github.com:org/repo", "github.com/org/repo",
		"GitHub.com:org/repo", "ssh://git@example.org/x", "file:///etc/passwd", "org-1@example.org:a/b",
	}
	local := []string{"a.yaml", "../base", "github.com.yaml", "base/github.com/x", "https.yaml", "alice@example.org.yaml"}
	fsys := files(t, map[string]string{"alice@example.org.yaml": ""}).FS
	for _, entry := range remote {
		if !isRemote(fsys, entry, entry) {
			t.Errorf("%q is not taken for remote", entry)
		}
	}
	for _, entry := range local {
		if isRemote(fsys, entry, entry) {
			t.Errorf("%q is taken for remote", entry)
		}
	}
}
