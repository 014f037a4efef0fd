package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// awaitOrder compares the moments since a mark with an order. The watch may
// still be on its way.
func (w *world) awaitOrder(ctx context.Context, want []moments, mark int) []error {
	if want == nil {
		return nil
	}
	var problems []error
	_ = eventually(ctx, settling, "the order", func() (bool, error) {
		problems = w.compareOrder(want, w.log.since(mark))
		return len(problems) == 0, nil
	})
	return problems
}

func (w *world) compareOrder(want []moments, got []string) []error {
	problems := w.unexpected(want, got)
	used := make([]bool, len(got))
	after, next := -1, -1
	for _, group := range want {
		for _, text := range group {
			i := firstAfter(got, used, text, after)
			if i < 0 {
				problems = append(problems, fmt.Errorf("%q did not happen after what should be before", text))
				continue
			}
			used[i] = true
			next = max(next, i)
		}
		after = next
	}
	if len(problems) == 0 {
		return nil
	}
	return append(problems, errors.New("what happened:\n  "+strings.Join(got, "\n  ")))
}

// firstAfter finds a moment later than a position.
func firstAfter(got []string, used []bool, text string, after int) int {
	for i := after + 1; i < len(got); i++ {
		if got[i] == text && !used[i] {
			return i
		}
	}
	return -1
}

// unexpected are objects in the namespace of the story that appeared or went
// although the order does not say so.
func (w *world) unexpected(want []moments, got []string) []error {
	left := slices.Concat(want...)
	var problems []error
	for _, text := range got {
		if i := slices.Index(left, text); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		if w.mustBeExpected(text) {
			problems = append(problems, fmt.Errorf("%q was not expected", text))
		}
	}
	return problems
}

// mustBeExpected: a moment that an order may not leave out.
func (w *world) mustBeExpected(text string) bool {
	id, appeared := strings.CutSuffix(text, appears)
	if !appeared {
		var gone bool
		if id, gone = strings.CutSuffix(text, goes); !gone {
			return false
		}
	}
	name, _, _ := strings.Cut(id, "/")
	return w.kindOf(name).namespaced && strings.Count(id, "/") == 1 && !w.isCustom(id)
}
