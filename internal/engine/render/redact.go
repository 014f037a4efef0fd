package render

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// redacted stands where a sensitive value was.
const redacted = "(sensitive)"

// shortest is the length from which a text is taken for a sensitive value
// wherever it stands. Shorter ones, such as "1" or "yes", would blank out half
// of a message and give nothing away.
const shortest = 4

// redact returns an error whose messages hold no sensitive value. Templates,
// schemas and parsers quote what they refuse.
func redact(err error, sensitive map[string]any) error {
	texts := slices.Compact(slices.Sorted(slices.Values(leaves(sensitive, nil))))
	if len(texts) == 0 {
		return err
	}
	// Longest first: a value may be part of another one.
	slices.SortStableFunc(texts, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(texts))
	for _, text := range texts {
		pairs = append(pairs, text, redacted)
	}
	replacer := strings.NewReplacer(pairs...)
	problems := object.Problems(err)
	for i, problem := range problems {
		problems[i] = redactOne(problem, replacer)
	}
	return errors.Join(problems...)
}

func redactOne(err error, replacer *strings.Replacer) error {
	var found *object.Error
	if errors.As(err, &found) {
		return &object.Error{ID: found.ID, Origin: found.Origin, Err: errors.New(replacer.Replace(found.Err.Error()))}
	}
	if text := replacer.Replace(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// leaves collects how the leaves of a value may stand in a message: as they
// are, quoted, in base64, as Helm prints a number, and, for texts of several
// lines, each line.
func leaves(value any, texts []string) []string {
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			texts = leaves(item, texts)
		}
	case []any:
		for _, item := range v {
			texts = leaves(item, texts)
		}
	case nil, bool:
	default:
		text := fmt.Sprint(v)
		quoted := strconv.Quote(text)
		forms := append(strings.Split(text, "\n"), text, quoted[1:len(quoted)-1], fmt.Sprint(helmValue(v)),
			base64.StdEncoding.EncodeToString([]byte(text)))
		for _, form := range forms {
			if len(strings.TrimSpace(form)) >= shortest {
				texts = append(texts, form)
			}
		}
	}
	return texts
}

// longText is a quoted text of many characters in a message of a template
// engine: the whole template, or a whole value.
var longText = regexp.MustCompile(`"(?:[^"\\]|\\.){161,}"`)

// shorten cuts long quoted texts and long lines of a message.
func shorten(message string) string {
	message = longText.ReplaceAllStringFunc(message, func(text string) string {
		return strings.ToValidUTF8(text[:80], "") + `…"`
	})
	lines := strings.Split(message, "\n")
	for i, line := range lines {
		if len(line) > 1000 {
			lines[i] = strings.ToValidUTF8(line[:1000], "") + "…"
		}
	}
	if len(lines) > 40 {
		lines = append(lines[:40], "…")
	}
	return strings.Join(lines, "\n")
}
