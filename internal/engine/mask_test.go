package engine

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// parsed reads one object.
func parsed(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// secretOf is a Secret with values as a source gives them.
func secretOf(values map[string]string) *unstructured.Unstructured {
	data := map[string]any{}
	for key, value := range values {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "app"}, "type": "Opaque", "data": data,
	}}
}

const secretKey = "Secret/app/s"

// shown applies a Secret again and again, as plans and applies do, and returns
// what the last plan shows of its data.
func shown(t *testing.T, steps ...map[string]string) map[string]any {
	t.Helper()
	m := masker{key: []byte("key")}
	var content map[string]any
	for _, values := range steps {
		text, leaves, err := m.show(secretKey, secretOf(values))
		if err != nil {
			t.Fatal(err)
		}
		m.before = map[string]map[string]Leaf{secretKey: leaves}
		content = decoded(t, text)
	}
	data, _ := content["data"].(map[string]any)
	return data
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return content
}

func TestVersionOfAMaskGrowsWhenTheValueChanges(t *testing.T) {
	type data = map[string]string
	for name, c := range map[string]struct {
		steps []data
		want  map[string]any
	}{
		"first": {
			[]data{{"a": "1", "b": "1"}}, map[string]any{"a": "(sensitive, v1)", "b": "(sensitive, v1)"},
		},
		"unchanged": {
			[]data{{"a": "1"}, {"a": "1"}, {"a": "1"}}, map[string]any{"a": "(sensitive, v1)"},
		},
		"one of two changed": {
			[]data{{"a": "1", "b": "1"}, {"a": "2", "b": "1"}}, map[string]any{"a": "(sensitive, v2)", "b": "(sensitive, v1)"},
		},
		"changed twice, and back": {
			[]data{{"a": "1"}, {"a": "2"}, {"a": "1"}}, map[string]any{"a": "(sensitive, v3)"},
		},
		"another key came": {
			[]data{{"a": "1"}, {"a": "1", "b": "1"}}, map[string]any{"a": "(sensitive, v1)", "b": "(sensitive, v1)"},
		},
		"a key went": {
			[]data{{"a": "1", "b": "1"}, {"b": "1"}}, map[string]any{"b": "(sensitive, v1)"},
		},
		"empty": {
			[]data{{"a": ""}, {"a": ""}}, map[string]any{"a": "(sensitive, v1)"},
		},
		"emptied": {
			[]data{{"a": "1"}, {"a": ""}}, map[string]any{"a": "(sensitive, v2)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, shown(t, c.steps...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// At a create there is no key yet, and the first version is planned whatever
// was there before.
func TestMasksWithoutAKey(t *testing.T) {
	first, leaves, err := masker{}.show(secretKey, secretOf(map[string]string{"a": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]Leaf{"/data/a": {Version: 1}}, leaves); diff != "" {
		t.Error(diff)
	}
	m := masker{key: []byte("key"), before: map[string]map[string]Leaf{secretKey: leaves}}
	second, _, err := m.show(secretKey, secretOf(map[string]string{"a": "2"}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("a leaf without a hash cannot be known to have changed:\n%s", diff)
	}
}

func TestShownObjects(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 512)
	for name, c := range map[string]struct {
		manifest string
		want     string
	}{
		"keys are sorted, at every depth": {
			manifest: `{kind: ConfigMap, data: {z: "1", a: "2", M: "3"}, metadata: {namespace: app, name: x, labels: {b: "1", a: "1"}}, apiVersion: v1}`,
			want:     `{"apiVersion":"v1","data":{"M":"3","a":"2","z":"1"},"kind":"ConfigMap","metadata":{"labels":{"a":"1","b":"1"},"name":"x","namespace":"app"}}`,
		},
		"markup and line separators stay readable": {
			manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: '<b>&amp;</b>', u: 'ä ☃'}}",
			want:     `{"apiVersion":"v1","data":{"a":"<b>&amp;</b>","u":"ä ☃"},"kind":"ConfigMap","metadata":{"name":"x"}}`,
		},
		"a string of 8 KiB is shown": {
			manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: " + long + "}}",
			want:     `{"apiVersion":"v1","data":{"a":"` + long + `"},"kind":"ConfigMap","metadata":{"name":"x"}}`,
		},
		"a longer string is folded": {
			manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: " + long + "!}}",
			want:     `{"apiVersion":"v1","data":{"a":"(8.0 KiB, sha256:9129558cdb25c464)"},"kind":"ConfigMap","metadata":{"name":"x"}}`,
		},
		"a longer string in a list is folded": {
			manifest: "{apiVersion: example.org/v1, kind: Widget, metadata: {name: x}, spec: {list: [{args: [a, " + long + "!]}]}}",
			want:     `{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"x"},"spec":{"list":[{"args":["a","(8.0 KiB, sha256:9129558cdb25c464)"]}]}}`,
		},
		"the schemas of a CRD are folded, whatever their size": {
			manifest: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: g, versions: [{name: v1, schema: {openAPIV3Schema: {type: object}}}, {name: v2}]}}`,
			want: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"x"},` +
				`"spec":{"group":"g","versions":[{"name":"v1","schema":"(0.0 KiB, sha256:28ec55202b90e6b0)"},{"name":"v2"}]}}`,
		},
		"nulls and empty maps stay": {
			manifest: `{apiVersion: example.org/v1, kind: Widget, metadata: {name: x, annotations: {}, labels: null}, spec: {tls: {}, template: null, list: []}}`,
			want:     `{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"annotations":{},"labels":null,"name":"x"},"spec":{"list":[],"template":null,"tls":{}}}`,
		},
		"data of another kind named Secret is not secret": {
			manifest: `{apiVersion: example.org/v1, kind: Secret, metadata: {name: x}, data: {a: b}}`,
			want:     `{"apiVersion":"example.org/v1","data":{"a":"b"},"kind":"Secret","metadata":{"name":"x"}}`,
		},
		"a Secret without data": {
			manifest: `{apiVersion: v1, kind: Secret, metadata: {name: x}, type: kubernetes.io/service-account-token}`,
			want:     `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"type":"kubernetes.io/service-account-token"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := parsed(t, c.manifest)
			before := obj.DeepCopy()
			got, _, err := masker{}.show("x", obj)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before.Object, obj.Object); diff != "" {
				t.Errorf("the object that is applied was changed:\n%s", diff)
			}
		})
	}
}

func TestNothingOfASecretIsShown(t *testing.T) {
	long := strings.Repeat("long-secret-value ", 1000)
	text, leaves, err := masker{key: []byte("key")}.show(secretKey, secretOf(map[string]string{
		"password": "S3cr3t-Zq9!", "a.b": "dotted", "with/slash": "slashed", "with~tilde": "tilded", "long": long, "number": "4711",
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"S3cr3t-Zq9!", "dotted", "slashed", "tilded", "4711", "long-secret-value"} {
		for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))[:len(value)]} {
			if strings.Contains(text, form) {
				t.Errorf("the plan shows %q: %s", form, text)
			}
		}
	}
	want := map[string]any{
		"password": "(sensitive, v1)", "a.b": "(sensitive, v1)", "with/slash": "(sensitive, v1)", "with~tilde": "(sensitive, v1)",
		"long": "(sensitive, v1)", "number": "(sensitive, v1)",
	}
	if diff := cmp.Diff(want, decoded(t, text)["data"]); diff != "" {
		t.Error(diff)
	}
	for _, pointer := range []string{"/data/password", "/data/a.b", "/data/with~1slash", "/data/with~0tilde", "/data/long", "/data/number"} {
		if leaves[pointer].Hash == "" {
			t.Errorf("there is no hash for %s: %v", pointer, leaves)
		}
	}
}

func TestHashesAreKeyed(t *testing.T) {
	one, another := keyedHash([]byte("one"), "value"), keyedHash([]byte("another"), "value")
	if one == another || one == "" {
		t.Errorf("the same value has the hashes %q and %q under two keys", one, another)
	}
	if got := keyedHash(nil, "value"); got != "" {
		t.Errorf("got a hash %q without a key", got)
	}
}

func TestPointers(t *testing.T) {
	content := parsed(t, `{a: {b/c: one, d~e: two, f.g: three, "~1": four, "": five}, list: [{x: six}, seven]}`).Object
	for pointer, want := range map[string]any{
		"/a/b~1c": "one", "/a/d~0e": "two", "/a/f.g": "three", "/a/~01": "four", "/a/": "five", "/list/0/x": "six", "/list/1": "seven",
	} {
		if got, ok := valueAt(content, pointer); !ok || got != want {
			t.Errorf("valueAt(%q) = %v, %v, want %v", pointer, got, ok, want)
		}
		setValueAt(content, pointer, "changed")
		if got, _ := valueAt(content, pointer); got != "changed" {
			t.Errorf("%q was not set", pointer)
		}
	}
	before := parsed(t, `{a: {b: c}, list: [d]}`).Object
	for _, pointer := range []string{"/x", "/a/x", "/a/b/x", "/list/1", "/list/-1", "/list/x", "/list/0/0"} {
		if got, ok := valueAt(before, pointer); ok {
			t.Errorf("valueAt(%q) = %v, want nothing", pointer, got)
		}
		setValueAt(before, pointer, "new")
	}
	if diff := cmp.Diff(parsed(t, `{a: {b: c}, list: [d]}`).Object, before); diff != "" {
		t.Errorf("a value was set where there is none:\n%s", diff)
	}
}

func TestMaskedLeavesAreFilledFromLive(t *testing.T) {
	obj := secretOf(map[string]string{"a": "1", "b/c": "2", "gone": "3"})
	obj.Object["long"] = strings.Repeat("x", foldLimit+1)
	text, _, err := masker{}.show(secretKey, obj)
	if err != nil {
		t.Fatal(err)
	}
	live := secretOf(map[string]string{"a": "live", "b/c": "2", "foreign": "4"})
	live.Object["long"] = obj.Object["long"]
	got := fill(decoded(t, text), live.Object)
	want := secretOf(map[string]string{"a": "live", "b/c": "2"}).Object
	want["long"] = obj.Object["long"]
	want["data"].(map[string]any)["gone"] = "(sensitive, v1)"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSummary(t *testing.T) {
	prior := &Prior{Objects: map[string]string{"a": "1", "b": "1", "c": "1"}}
	for name, c := range map[string]struct {
		prior   *Prior
		objects map[string]string
		want    string
	}{
		"a create":              {nil, map[string]string{"a": "1", "b": "1"}, "2 to create"},
		"nothing":               {prior, prior.Objects, "nothing to change"},
		"some of each":          {prior, map[string]string{"a": "1", "b": "2", "d": "1"}, "1 to create, 1 to update, 1 to delete"},
		"everything goes":       {prior, nil, "3 to delete"},
		"a create of no object": {nil, nil, "nothing to change"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, summary(c.prior, c.objects)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDifferencesAreShortAndHideSecrets(t *testing.T) {
	wide := strings.Repeat("ä", 200)
	before := map[string]any{"same": "x", "data": map[string]any{"a": secretText("one"), "b": secretText("same")}, "text": wide, "list": []any{int64(1)}, "gone": true}
	after := map[string]any{"same": "x", "data": map[string]any{"a": secretText("two"), "b": secretText("same"), "c": secretText("new")}, "text": "ä", "list": []any{int64(1), int64(2)}}
	got := differences("", before, after)
	want := []string{
		"     .data.a: (sensitive) -> (sensitive)",
		"     .data.c: (none) -> (sensitive)",
		"     .gone: true -> (removed)",
		"     .list: [1] -> [1,2]",
		`     .text: "` + strings.Repeat("ä", 49) + `… -> "ä"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
