// Command testreport turns the output of go test -json into what a person wants to read: a line for
// each package, the full output of what failed, the names of what was skipped and why, and the
// total.
//
//	go test -json ./... | testreport -suite engine -totals FILE   one suite
//	testreport -totals FILE                                       the sum of all suites in FILE
//
// It exits with 1 if a test failed.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	suite := flag.String("suite", "", "`name` of the suite whose go test -json is read from standard input")
	totals := flag.String("totals", "", "`file` that collects the totals of the suites")
	flag.Parse()
	failed, err := run(*suite, *totals, os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

// run reports one suite, or, without the name of one, the sum of all. It says whether a test failed.
func run(suite, totals string, in io.Reader, out io.Writer) (failed bool, err error) {
	if suite == "" {
		sum, err := readTotals(totals)
		if err != nil {
			return false, err
		}
		_, err = fmt.Fprintf(out, "total: %s\n", sum)
		return sum.failed > 0, err
	}
	r := newReport(out)
	if err := r.read(in); err != nil {
		return false, err
	}
	sum := r.total()
	if _, err := fmt.Fprintf(out, "%s: %s\n\n", suite, sum); err != nil {
		return false, err
	}
	return sum.failed > 0, appendTotal(totals, sum)
}

// total counts tests. A test with subtests counts as its subtests.
type total struct {
	passed, failed, skipped int
}

func (t total) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

func appendTotal(path string, t total) (err error) {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	_, err = fmt.Fprintln(f, t)
	return err
}

func readTotals(path string) (sum total, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return sum, err
	}
	for line := range strings.Lines(string(data)) {
		var t total
		if _, err := fmt.Sscanf(line, "%d passed, %d failed, %d skipped", &t.passed, &t.failed, &t.skipped); err != nil {
			return sum, fmt.Errorf("%s: %w", path, err)
		}
		sum.passed += t.passed
		sum.failed += t.failed
		sum.skipped += t.skipped
	}
	return sum, nil
}

// event is one line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	Elapsed    float64
}

// report collects the events of a suite. Its maps are keyed by package and test.
type report struct {
	out         io.Writer
	output      map[string]*strings.Builder
	ended       map[string]string // the action
	order       []string          // the keys of ended
	parents     map[string]bool   // tests that have subtests
	failedBelow map[string]bool   // tests and packages of which a part failed
}

func newReport(out io.Writer) *report {
	return &report{
		out:         out,
		output:      map[string]*strings.Builder{},
		ended:       map[string]string{},
		parents:     map[string]bool{},
		failedBelow: map[string]bool{},
	}
}

// read reads events until the end. A line that is none is passed on: it is what the go command
// says when it cannot even begin.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			r.printf("%s\n", lines.Text())
			continue
		}
		r.add(e)
	}
	return lines.Err()
}

func (r *report) add(e event) {
	key := testKey(e.Package, e.Test)
	if e.ImportPath != "" {
		key = "build of " + e.ImportPath
	}
	switch e.Action {
	case "output", "build-output":
		if r.output[key] == nil {
			r.output[key] = &strings.Builder{}
		}
		r.output[key].WriteString(e.Output)
	case "build-fail":
		r.printf("%s", r.text(key))
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
			return
		}
		r.end(key, e.Action)
	}
}

func testKey(pkg, test string) string {
	return pkg + " " + test
}

// end records how a test ended, with its parents and its package.
func (r *report) end(key, action string) {
	r.ended[key] = action
	r.order = append(r.order, key)
	pkg, test, _ := strings.Cut(key, " ")
	for i := strings.LastIndexByte(test, '/'); i >= 0; i = strings.LastIndexByte(test[:i], '/') {
		r.parents[testKey(pkg, test[:i])] = true
		if action == "fail" {
			r.failedBelow[testKey(pkg, test[:i])] = true
		}
	}
	if action == "fail" {
		r.failedBelow[pkg] = true
	}
}

// endPackage prints the line of a package with what failed in it and what was skipped, and its
// output when it failed without a failing test: it did not build, or it panicked, or ran out of
// time.
func (r *report) endPackage(e event) {
	if e.Action == "skip" {
		return // a package without tests
	}
	word := "ok"
	if e.Action == "fail" {
		word = "FAIL"
		if !r.failedBelow[e.Package] {
			r.printUnfinished(e.Package)
			r.end(testKey(e.Package, ""), "fail")
		}
	}
	r.printf("%-4s %s (%.1fs)\n", word, e.Package, e.Elapsed)
	for _, key := range r.order {
		if strings.HasPrefix(key, testKey(e.Package, "")) {
			r.printResult(key)
		}
	}
}

// printResult prints a test that failed or was skipped.
func (r *report) printResult(key string) {
	switch action := r.ended[key]; {
	case action == "fail":
		r.printf("\n--- failed: %s\n%s\n", key, r.text(key))
	case action == "skip" && !r.parents[key]:
		r.printf("skipped: %s: %s\n", key, skipReason(r.text(key)))
	}
}

// printUnfinished prints what the tests of a package that never ended had said.
func (r *report) printUnfinished(pkg string) {
	for _, key := range slices.Sorted(maps.Keys(r.output)) {
		if strings.HasPrefix(key, testKey(pkg, "")) && key != testKey(pkg, "") && r.ended[key] == "" {
			r.printf("%s", r.text(key))
		}
	}
}

// total counts the tests that ended. A test that failed through its subtests counts as these.
func (r *report) total() total {
	var sum total
	for key, action := range r.ended {
		switch {
		case action == "fail":
			if !r.failedBelow[key] {
				sum.failed++
			}
		case r.parents[key]:
		case action == "pass":
			sum.passed++
		case action == "skip":
			sum.skipped++
		}
	}
	return sum
}

func (r *report) text(key string) string {
	if b := r.output[key]; b != nil {
		return b.String()
	}
	return ""
}

func (r *report) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(r.out, format, args...)
}

// skipReason returns what a test said when it skipped itself.
func skipReason(output string) string {
	reason := "no reason given"
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "===") || strings.HasPrefix(line, "---") {
			continue
		}
		if _, after, ok := strings.Cut(line, ".go:"); ok {
			if _, text, ok := strings.Cut(after, ": "); ok {
				line = text
			}
		}
		reason = line
	}
	return reason
}
