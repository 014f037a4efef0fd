package render

import (
	"testing"
	"text/template/parse"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
)

func TestReplaceNow(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"no template":                {"now", "now"},
		"a call":                     {"{{ now }}", "{{ T }}"},
		"a call in a pipe":           {"a {{- now | date \"2006\" -}} b", "a {{- T | date \"2006\" -}} b"},
		"calls in parentheses":       {"{{ if (eq (now | date \"2\") (date \"2\" now)) }}{{ else if now }}{{ end }}", "{{ if (eq (T | date \"2\") (date \"2\" T)) }}{{ else if T }}{{ end }}"},
		"fields, variables, texts":   {"{{ .now }}{{ $now := 1 }}{{ $now }}{{ \"now\" }}{{/* now */}} now", "{{ .now }}{{ $now := 1 }}{{ $now }}{{ \"now\" }}{{/* now */}} now"},
		"a method of the call":       {"{{ now.Year }}{{ (now).Year }}", "{{ T.Year }}{{ (T).Year }}"},
		"a definition and its block": {"{{ define \"x\" }}{{ now }}{{ end }}{{ range now }}{{ with now }}{{ template \"y\" now }}{{ end }}{{ end }}", "{{ define \"x\" }}{{ T }}{{ end }}{{ range T }}{{ with T }}{{ template \"y\" T }}{{ end }}{{ end }}"},
		"what does not parse":        {"{{ now }}{{ if }}", "{{ now }}{{ if }}"},
		"letters of several bytes":   {"é{{ \"é\" }}{{ now }}é", "é{{ \"é\" }}{{ T }}é"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inner := &chart.Chart{Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte(test.text)}}}
			outer := &chart.Chart{}
			outer.AddDependency(inner)
			replaceNow(outer, "T")
			if diff := cmp.Diff(test.want, string(inner.Templates[0].Data)); diff != "" {
				t.Errorf("template (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzReplaceNow: a template that parses still does, and asks for the time no
// more.
func FuzzReplaceNow(f *testing.F) {
	for _, text := range []string{"{{ now }}", "{{- now | date \"2006\" -}}", "{{ define \"x\" }}{{ if now }}{{ (now).Year }}{{ end }}{{ end }}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := &chart.File{Name: "a", Data: []byte(text)}
		if _, err := parseTemplate(text); err != nil {
			return
		}
		replaceNow(&chart.Chart{Templates: []*chart.File{file}}, `(toDate "2006" "2007")`)
		if _, err := parseTemplate(string(file.Data)); err != nil {
			t.Errorf("%q became %q, which does not parse: %v", text, file.Data, err)
		}
		if left := callsOfNow("a", string(file.Data)); len(left) > 0 {
			t.Errorf("%q became %q, which asks for the time at %v", text, file.Data, left)
		}
	})
}

func parseTemplate(text string) (*parse.Tree, error) {
	tree := parse.New("a")
	tree.Mode = parse.SkipFuncCheck
	return tree.Parse(text, "", "", map[string]*parse.Tree{})
}
