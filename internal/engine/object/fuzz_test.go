package object

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzDecode: whatever a file holds, Decode returns; each manifest can be
// identified, each error names the file, and a manifest that is printed and
// read again is the same.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		"", "---\n---\n", pod("a"), "---\r\n" + pod("a") + "---\r\n" + pod("b"), "\xef\xbb\xbf" + pod("a"),
		"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: {a: null}}\ndata: {a: b25l}\nstringData: {b: c}\n",
		"a: &a [*a]\n", "a: [1e30, -9223372036854775808, 18446744073709551615]\n", "? {a: b}\n: c\n", "a: |\n  ---\n", "%YAML 1.1\n--- x\n...\n",
		pod("a") + "x: 2024-01-01\ny: .nan\nz: !!binary aGVsbG8=\n", "\x00", "a: \"\\ud800\"\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		manifests, err := Decode(Origin{File: "a.yaml"}, text)
		checkErrors(t, err)
		for _, m := range manifests {
			id := m.ID()
			if id.Kind == "" || id.Name == "" || m.Object.GetAPIVersion() == "" || m.Origin.Document == 0 || m.Origin.Line == 0 {
				t.Fatalf("a manifest without identity or origin: %v from %v", id, m.Origin)
			}
			if err := Normalise(m.Object); err != nil {
				continue
			}
			printed, err := EncodeCanonical(m.Object.Object)
			if err != nil {
				t.Fatalf("%s cannot be printed: %v", id, err)
			}
			again, err := DecodeCanonical(printed)
			if err != nil {
				t.Fatalf("%s cannot be read again: %v", printed, err)
			}
			reprinted, _ := EncodeCanonical(again)
			if diff := cmp.Diff(printed, reprinted); diff != "" {
				t.Errorf("%s changes when it is read again (-first +second):\n%s", id, diff)
			}
		}
	})
}

func checkErrors(t *testing.T, err error) {
	t.Helper()
	for _, problem := range Problems(err) {
		var known *Error
		if !errors.As(problem, &known) || known.Origin.File != "a.yaml" {
			t.Errorf("an error without a file: %v", problem)
		}
	}
}
