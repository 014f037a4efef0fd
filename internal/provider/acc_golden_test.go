package provider_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// changing is what differs from run to run, and what stands for it.
var changing = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`OpenTofu`), "Terraform"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z| UTC)`), "TIME"},
	{regexp.MustCompile(`sha256:[0-9a-f]+`), "sha256:DIGEST"},
	{regexp.MustCompile(`(checksum/\w+" = ")[0-9a-f]{64}" -> "[0-9a-f]{64}`), "${1}DIGEST\" -> \"DIGEST"},
	{regexp.MustCompile(`(Pod \w+)-[0-9a-z]{8,10}-[0-9a-z]{5}\b`), "$1-HASH"},
	{regexp.MustCompile(`(Pod migrate)-[0-9a-z]{5}\b`), "$1-HASH"},
	{regexp.MustCompile(`(ReplicaSet "\w+)-[0-9a-z]{8,10}\b`), "$1-HASH"},
	{regexp.MustCompile(`after \d+(m\d+)?s\b`), "after SECONDS"},
	{regexp.MustCompile(`\b\d+ restarts`), "N restarts"},
	{regexp.MustCompile(`by \S+, process \d+\.`), "by HOST, process N."},
	{regexp.MustCompile(`(?m)^\S+: (Refreshing state|Still )\S*.*\n`), ""},
}

// normalised is a text without what differs from run to run.
func normalised(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.instead)
	}
	return strings.Trim(text, "\n") + "\n"
}

var (
	// preamble is what Terraform explains before a plan.
	preamble = regexp.MustCompile(`(?s)^.*?(Terraform will perform the following actions:|generating this plan\.)\n`)
	// epilogue is what it explains after one.
	epilogue = regexp.MustCompile(`(?s)\n─{20,}\n.*?(\n\n|$)`)
)

// unwrapped joins the lines of paragraphs that Terraform has wrapped, which it does according to
// the length of paths.
func unwrapped(text string) string {
	return wrapped.ReplaceAllString(text, "$1 $2")
}

var wrapped = regexp.MustCompile(`(\S)\n(\S)`)

// golden compares a text that a user reads with testdata/golden/NAME.txt.
func (s *story) golden(name, text string) {
	s.Helper()
	text = normalised(strings.ReplaceAll(text, s.suffix, "-xxxxxx"))
	text = strings.Trim(epilogue.ReplaceAllString(preamble.ReplaceAllString(text, ""), "\n"), "\n") + "\n"
	for _, private := range []string{s.path, s.kubeconfig, "PRIVATE KEY"} {
		if strings.Contains(text, private) {
			s.Fatalf("%s: the text contains %s:\n%s", name, private, text)
		}
	}
	path := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			s.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.Fatalf("run the test with -update to write the golden file: %v", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text, "\n")); diff != "" {
		s.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
