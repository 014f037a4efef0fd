package object

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decoded lists what a text gives: "Kind/name document line" for each object,
// then the errors.
func decoded(text string) []string {
	manifests, err := Decode(Origin{File: "a.yaml"}, []byte(text))
	var lines []string
	for _, m := range manifests {
		lines = append(lines, m.ID().String()+" from "+m.Origin.String())
	}
	if err != nil {
		lines = append(lines, strings.Split(err.Error(), "\n")...)
	}
	return lines
}

func pod(name string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n"
}

func TestDecode(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"nothing":                     {"", nil},
		"blanks and comments":         {"\n# a\n---\n\n---\n# b\n---\n", nil},
		"null and empty maps":         {"null\n---\n{}\n---\n~\n", nil},
		"one document":                {pod("a"), []string{"Pod/a from a.yaml, document 1, line 1"}},
		"one document behind a line":  {"---\n" + pod("a"), []string{"Pod/a from a.yaml, document 1, line 2"}},
		"content behind the line":     {"--- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n", []string{"Pod/a from a.yaml, document 1, line 1"}},
		"a comment behind the line":   {"--- # first\n" + pod("a"), []string{"Pod/a from a.yaml, document 1, line 1"}},
		"a directive and an end mark": {"%YAML 1.1\n---\n" + pod("a") + "...\n---\n" + pod("b"), []string{"Pod/a from a.yaml, document 1, line 3", "Pod/b from a.yaml, document 2, line 9"}},
		"several lines in a row": {
			"---\n---\n" + pod("a") + "---\n---\n---\n" + pod("b"),
			[]string{"Pod/a from a.yaml, document 1, line 3", "Pod/b from a.yaml, document 2, line 10"},
		},
		"Windows line ends": {
			strings.ReplaceAll("---\n"+pod("a")+"---\n"+pod("b"), "\n", "\r\n"),
			[]string{"Pod/a from a.yaml, document 1, line 2", "Pod/b from a.yaml, document 2, line 7"},
		},
		"a byte order mark": {"\xef\xbb\xbf---\n" + pod("a"), []string{"Pod/a from a.yaml, document 1, line 2"}},
		"dashes in a text":  {pod("a") + "text: |\n  ---\n  --- b\nmore: ---x\n", []string{"Pod/a from a.yaml, document 1, line 1"}},
		"JSON":              {`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}`, []string{"Pod/a from a.yaml, document 1, line 1"}},
		"a list": {
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n- apiVersion: v1\n  kind: PodList\n  items: [{apiVersion: v1, kind: Pod, metadata: {name: b}}]\n",
			[]string{"Pod/a from a.yaml, document 1, line 1", "Pod/b from a.yaml, document 1, line 1"},
		},
		"lists of nothing":                 {"apiVersion: v1\nkind: List\nitems: []\n---\napiVersion: v1\nkind: List\nitems:\n", nil},
		"a kind that only ends like lists": {"apiVersion: ex.io/v1\nkind: AllowList\nmetadata: {name: a}\nspec: {items: []}\n", []string{"AllowList.ex.io/a from a.yaml, document 1, line 1"}},
		"a key that is there twice":        {pod("a") + "kind: Pod\n", []string{"Pod/a from a.yaml, document 1, line 1"}},
		"anchors and merges":               {"x: &m {name: a}\napiVersion: v1\nkind: Pod\nmetadata: {<<: *m, namespace: ns}\n", []string{"Pod/ns/a from a.yaml, document 1, line 1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, decoded(test.text)); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefusals(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"broken YAML, with the line of the file": {
			pod("a") + "---\na:\n  b: c: d\n",
			[]string{"Pod/a from a.yaml, document 1, line 1", "a.yaml, document 2, line 6: yaml: line 7: mapping values are not allowed in this context"},
		},
		"all documents": {
			"a: [\n---\n- a\n---\ntext\n---\nkind: Pod\n",
			[]string{
				"a.yaml, document 1, line 1: yaml: line 1: did not find expected node content",
				"a.yaml, document 2, line 3: the document is not a Kubernetes object (not a map)",
				"a.yaml, document 3, line 5: the document is not a Kubernetes object (not a map)",
				"a.yaml, document 4, line 7: apiVersion is missing",
			},
		},
		"B45: a misspelt apiVersion": {
			"piVersion: v1\nkind: Pod\nmetadata: {name: a}\n", []string{`Pod/a, from a.yaml, document 1, line 1: apiVersion is missing (there is "piVersion")`},
		},
		"a misspelt kind":          {"apiVersion: v1\nKind: Pod\nmetadata: {name: a}\n", []string{`a.yaml, document 1, line 1: kind is missing (there is "Kind")`}},
		"a kind that is no string": {"apiVersion: v1\nkind: 1\nmetadata: {name: a}\n", []string{"a.yaml, document 1, line 1: kind must be a string: quote it"}},
		"an empty apiVersion":      {"apiVersion: ''\nkind: Pod\nmetadata: {name: a}\n", []string{"Pod/a, from a.yaml, document 1, line 1: apiVersion is empty"}},
		"no metadata":              {"apiVersion: v1\nkind: Pod\n", []string{"a.yaml, document 1, line 1: metadata is missing"}},
		"no name":                  {"apiVersion: v1\nkind: Pod\nmetadata: {namespace: a}\n", []string{"a.yaml, document 1, line 1: metadata.name is missing"}},
		"an empty name":            {"apiVersion: v1\nkind: Pod\nmetadata: {name: ''}\n", []string{"a.yaml, document 1, line 1: metadata.name is missing"}},
		"a name that is a number":  {"apiVersion: v1\nkind: Pod\nmetadata: {name: 12}\n", []string{"a.yaml, document 1, line 1: metadata.name must be a string: quote it"}},
		"generateName":             {"apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n", []string{"a.yaml, document 1, line 1: metadata.generateName is not supported: server-side apply needs metadata.name"}},
		"labels that are no strings": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {ver: 2.4}}\n", []string{`Pod/a, from a.yaml, document 1, line 1: metadata.labels: the value of "ver" must be a string: quote it`},
		},
		"annotations that are no map":  {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: [x]}\n", []string{"Pod/a, from a.yaml, document 1, line 1: metadata.annotations must be a map of strings"}},
		"a namespace that is a number": {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: 1}\n", []string{"Pod/a, from a.yaml, document 1, line 1: metadata.namespace must be a string: quote it"}},
		"bad items of a list": {
			"apiVersion: v1\nkind: List\nitems: [x, {kind: Pod}, {apiVersion: v1, kind: Pod, metadata: {name: a}}]\n",
			[]string{"a.yaml, document 1, line 1: item 1 of the list is not a Kubernetes object", "a.yaml, document 1, line 1: apiVersion is missing"},
		},
		"control characters": {"---\na: \x00\n", []string{"a.yaml, document 1, line 2: yaml: line 2: control characters are not allowed"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, decoded(test.text)); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

// TestB05DecodeTexts: block texts arrive with Unix line ends whatever the file
// has; escapes in quoted texts are kept.
func TestB05DecodeTexts(t *testing.T) {
	text := "a.txt: |\n  one\n  two\nfolded: >-\n  one\n  two\nquoted: \"x\\r\\ny\"\n"
	want := map[string]any{"a.txt": "one\ntwo\n", "folded": "one two", "quoted": "x\r\ny"}
	for _, form := range []string{text, strings.ReplaceAll(text, "\n", "\r\n")} {
		got, err := DecodeValue([]byte(form))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("value of %q (-want +got):\n%s", form, diff)
		}
	}
}

func TestDecodeNumbers(t *testing.T) {
	tests := map[string]struct {
		text string
		want any // a string is an error
	}{
		"zero":                               {"0", int64(0)},
		"a port":                             {"8080", int64(8080)},
		"more than 53 bits":                  {"9007199254740993", int64(9007199254740993)},
		"the largest":                        {"9223372036854775807", int64(9223372036854775807)},
		"the smallest":                       {"-9223372036854775808", int64(-9223372036854775808)},
		"one more than 64 bits hold":         {"9223372036854775808", "number 9223372036854775808 does not fit into 64 bits: quote it"},
		"the largest without sign":           {"18446744073709551615", "number 18446744073709551615 does not fit into 64 bits: quote it"},
		"many digits":                        {"36893488147419103233", "number 36893488147419103233 does not fit into 64 bits: quote it"},
		"very many digits":                   {"-123456789012345678901234567890", "number 123456789012345678901234567890 does not fit into 64 bits: quote it"},
		"a float beyond 64 bits":             {"1.8446744073709552e+19", 1.8446744073709552e+19},
		"a float that prints as it is":       {"18446744073709552000", 1.8446744073709552e+19},
		"a large float":                      {"1e30", 1e30},
		"a whole number with exponent":       {"1e3", int64(1000)},
		"a fraction":                         {"0.5", 0.5},
		"a fraction of nothing":              {"2.0", int64(2)},
		"octal, as YAML 1.1 has it":          {"0644", int64(420)},
		"not octal, and so a decimal number": {"0999991", int64(999991)},
		"hexadecimal":                        {"0x1F", int64(31)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeValue([]byte("[" + test.text + "]"))
			if message, ok := test.want.(string); ok {
				if err == nil || err.Error() != message {
					t.Errorf("got %v, %v; want error %q", got, err, message)
				}
				return
			}
			if diff := cmp.Diff([]any{test.want}, got); diff != "" || err != nil {
				t.Errorf("value (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

// TestDecodeScalars pins how YAML is read: as the API server does it.
func TestDecodeScalars(t *testing.T) {
	text := "{a: yes, b: \"yes\", c: 2024-01-01, d: ~, e: \"0999991\", f: 1_000, on: x, 1: z}"
	want := map[string]any{
		"a": true, "b": "yes", "c": "2024-01-01", "d": nil, "e": "0999991", "f": int64(1000), "true": "x", "1": "z",
	}
	got, err := DecodeValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
}

func TestCanonical(t *testing.T) {
	value := map[string]any{"b": []any{int64(9007199254740993), 1.5, nil, "<&>é"}, "a": map[string]any{}}
	text, err := EncodeCanonical(value)
	if err != nil || text != `{"a":{},"b":[9007199254740993,1.5,null,"<&>é"]}` {
		t.Fatalf("encoded as %s, %v", text, err)
	}
	back, err := DecodeCanonical(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(value, back); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
}
