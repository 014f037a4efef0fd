package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

var (
	// nested is how kustomize leads to an error in another folder, with the
	// remark that the folder is not a file.
	nested = regexp.MustCompile(`(?:accumulating resources: )?accumulation err='accumulating resources from '[^']*': '[^']*' must resolve to a file': recursed (?:accumulation of|merging from) path '([^']*)': `)
	// pluginConfig is the configuration of a built-in plugin, which may hold
	// the literals of a secretGenerator.
	pluginConfig = regexp.MustCompile("(?s) with config: `.*?`")
	// internalMarks are annotations that kustomize sets for itself.
	internalMarks = regexp.MustCompile(`\s*internal\.config\.kubernetes\.io/\S+`)
)

// kustomizeError makes a message of kustomize fit to be read: without whole
// objects, which may be Secrets, without its internal annotations, and with
// the files that objects come from.
func kustomizeError(in Input, seen *surveyed, err error) error {
	text := pluginConfig.ReplaceAllString(err.Error(), "")
	text = namesForObjects(in, seen, text)
	text = nested.ReplaceAllString(text, "in $1: ")
	text = internalMarks.ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, sourceRoot+"/", "")
	text = strings.ReplaceAll(text, sourceRoot, ".")
	text = strings.TrimSpace(shorten(text))
	return &object.Error{Origin: in.origin(kustomizationFile(in.FS, in.root())), Err: errors.New(text)}
}

// namesForObjects replaces objects and lists of objects, which kustomize
// prints as JSON, by their names.
func namesForObjects(in Input, seen *surveyed, text string) string {
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
		if names := objectNames(in, seen, value); names != "" {
			out.WriteString(names)
		} else {
			out.WriteString(text[:length])
		}
		text = text[length:]
	}
	return out.String() + text
}

// objectNames lists objects with what they were called before and where they
// were written; "" when the value is no object.
func objectNames(in Input, seen *surveyed, value any) string {
	if items, ok := value.([]any); ok {
		var names []string
		for _, item := range items {
			name := objectNames(in, seen, item)
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
		return fmt.Sprintf("%s (from %s)", id, seen.origin(in, id))
	}
	return fmt.Sprintf("%s (%s in %s)", id, before, seen.origin(in, before))
}

// previous returns what kustomize noted of an object first.
func previous(annotations map[string]string, name string) string {
	first, _, _ := strings.Cut(annotations["internal.config.kubernetes.io/"+name], ",")
	return first
}
