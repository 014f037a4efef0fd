package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindingsAreInOrder(t *testing.T) {
	found := []string{
		"- at '/replicas': maximum: got 70, want 10",
		"- at '/image': 'oneOf' failed",
		"  - at '/image/tag': got number, want string",
		"  - at '/image': got object, want string",
		"- at '/password': got string, want integer",
	}
	want := []string{
		"- at '/image': 'oneOf' failed",
		"  - at '/image': got object, want string",
		"  - at '/image/tag': got number, want string",
		"- at '/password': got string, want integer",
		"- at '/replicas': maximum: got 70, want 10",
	}
	if diff := cmp.Diff(want, inOrder(found)); diff != "" {
		t.Error(diff)
	}
}
