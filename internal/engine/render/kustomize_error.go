package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// kustomizeNoise are parts of kustomize's messages and what stands in their
// place: quotes of what files hold, which may be Secrets, and traces of how
// kustomize works.
var kustomizeNoise = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	// The configuration of a built-in plugin.
	{regexp.MustCompile("(?s) with config: `.*?`"), ""},
	{regexp.MustCompile(`(?s)literal sources \[.*\]: invalid literal source .*, expected key=value`), "a literal is not of the form key=value"},
	{regexp.MustCompile(`(?s) from \[patch: ".*"\]`), ""},
	// Scalars that the YAML library quotes.
	{regexp.MustCompile("(!!\\w+) `[^`]*`"), "$1"},
	{regexp.MustCompile(`(?s): value: \{.*?\}`), ""},
	{regexp.MustCompile(`(?s)line \[[\d ]*\] has invalid utf8 bytes.*`), "a line is not UTF-8"},
	{regexp.MustCompile(`(?s): node contents:.*`), ""},
	// Types and addresses of Go.
	{regexp.MustCompile(`generator &\{.*?\}: `), "a generator: "},
	{regexp.MustCompile(`resid\.ResId\{Gvk:resid\.Gvk\{.*?Kind:"([^"]*)".*?\}, Name:"([^"]*)", Namespace:"[^"]*"\}`), "$1 $2"},
	// The way to an error in another folder, with the remark that the folder
	// is not a file.
	{regexp.MustCompile(`(?:accumulating resources: )?accumulation err='accumulating resources from '[^']*': '[^']*' must resolve to a file': ` +
		`recursed (?:accumulation of|merging from) path '([^']*)': `), "in $1: "},
	{regexp.MustCompile(`\s*internal\.config\.kubernetes\.io/\S+`), ""},
	{regexp.MustCompile(regexp.QuoteMeta(sourceRoot) + "/"), ""},
	{regexp.MustCompile(regexp.QuoteMeta(sourceRoot)), "."},
}

// kustomizeError makes a message of kustomize fit to be read: objects are
// named by their ids and the files that they come from.
func kustomizeError(seen *surveyed, err error) error {
	text := namesForObjects(seen, err.Error())
	for _, noise := range kustomizeNoise {
		text = noise.pattern.ReplaceAllString(text, noise.replacement)
	}
	text = strings.TrimSpace(shorten(text))
	return &object.Error{Origin: seen.root(), Err: errors.New(text)}
}

// namesForObjects replaces objects and lists of objects, which kustomize
// prints as JSON, by their names.
func namesForObjects(seen *surveyed, text string) string {
	var out strings.Builder
	for text != "" {
		start := strings.IndexAny(text, "{[")
		if start < 0 {
			break
		}
		out.WriteString(text[:start])
		text = text[start:]
		decoder := json.NewDecoder(strings.NewReader(text))
		var value any
		if err := decoder.Decode(&value); err != nil {
			out.WriteByte(text[0])
			text = text[1:]
			continue
		}
		length := decoder.InputOffset()
		if names := objectNames(seen, value); names != "" {
			out.WriteString(names)
			if strings.HasPrefix(text[length:], " {") {
				out.WriteString(" and") // the next object of a list
			}
		} else {
			out.WriteString(text[:length])
		}
		text = text[length:]
	}
	return out.String() + text
}

// objectNames lists objects with what they were called before and where they
// were written; "" when the value is no object.
func objectNames(seen *surveyed, value any) string {
	if items, ok := value.([]any); ok {
		var names []string
		for _, item := range items {
			name := objectNames(seen, item)
			if name == "" {
				return ""
			}
			names = append(names, name)
		}
		return strings.Join(names, " and ")
	}
	content, _ := value.(map[string]any)
	found, err := object.FromMap(object.Origin{}, content)
	if err != nil || len(found) != 1 {
		return ""
	}
	id := found[0].ID()
	before := id
	annotations := found[0].Object.GetAnnotations()
	if name := previous(annotations, "previousNames"); name != "" {
		before.Name = name
	}
	if namespace := previous(annotations, "previousNamespaces"); namespace != "" && namespace != "default" {
		before.Namespace = namespace
	}
	if before == id {
		return fmt.Sprintf("%s (from %s)", id, seen.origin(id))
	}
	return fmt.Sprintf("%s (%s in %s)", id, before, seen.origin(before))
}

// previous returns what kustomize noted of an object first.
func previous(annotations map[string]string, name string) string {
	first, _, _ := strings.Cut(annotations["internal.config.kubernetes.io/"+name], ",")
	return first
}
