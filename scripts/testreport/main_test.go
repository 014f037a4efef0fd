package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	cases := map[string]struct {
		events string
		want   string
		failed bool
	}{
		"a test with subtests counts as its subtests": {
			events: `
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA/y"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":1.25}`,
			want: `
ok   p (1.2s)
s: 2 passed, 0 failed, 0 skipped
`,
		},
		"the output of a failed test is shown, and of its parent": {
			events: `
{"Action":"output","Package":"p","Test":"TestA","Output":"parent\n"}
{"Action":"output","Package":"p","Test":"TestA/x","Output":"child\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"not shown\n"}
{"Action":"fail","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}`,
			want: `
FAIL p (0.0s)

--- failed: p TestA/x
child


--- failed: p TestA
parent

s: 1 passed, 1 failed, 0 skipped
`,
			failed: true,
		},
		"a package that panics counts as one failure, with what the running test said": {
			events: `
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"panic: x\n"}
{"Action":"fail","Package":"p"}`,
			want: `
panic: x
FAIL p (0.0s)

--- failed: p 

s: 1 passed, 1 failed, 0 skipped
`,
			failed: true,
		},
		"a package that does not build counts as one failure": {
			events: `
{"Action":"build-output","ImportPath":"p [p.test]","Output":"x.go:1: wrong\n"}
{"Action":"build-fail","ImportPath":"p [p.test]"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			want: `
x.go:1: wrong
FAIL p (0.0s)

--- failed: p 

s: 0 passed, 1 failed, 0 skipped
`,
			failed: true,
		},
		"a skipped test says why": {
			events: `
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: no corpus\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
{"Action":"skip","Package":"q"}`,
			want: `
ok   p (0.0s)
skipped: p TestA: no corpus
s: 0 passed, 0 failed, 1 skipped
`,
		},
		"a line that is no event is passed on": {
			events: "\ngo: no module\n",
			want:   "\ngo: no module\ns: 0 passed, 0 failed, 0 skipped\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			failed, err := run("s", "", strings.NewReader(strings.TrimPrefix(c.events, "\n")), &out)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := strings.TrimSpace(out.String()), strings.TrimSpace(c.want); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if failed != c.failed {
				t.Errorf("failed is %v, want %v", failed, c.failed)
			}
		})
	}
}

func TestTotals(t *testing.T) {
	totals := filepath.Join(t.TempDir(), "totals")
	for _, events := range []string{
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"fail","Package":"q","Test":"TestB"}`,
	} {
		if _, err := run("s", totals, strings.NewReader(events), &strings.Builder{}); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	failed, err := run("", totals, strings.NewReader(""), &out)
	if err != nil {
		t.Fatal(err)
	}
	if want := "total: 1 passed, 1 failed, 0 skipped\n"; out.String() != want || !failed {
		t.Errorf("got %q and failed %v, want %q and true", out.String(), failed, want)
	}
}
