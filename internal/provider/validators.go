package provider

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/kubewave/terraform-provider-component/internal/engine"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// textValidator checks a text that is known with a function that returns what
// is wrong with it.
type textValidator struct {
	description string
	check       func(text string) error
}

var _ validator.String = textValidator{}

// Description says what the text must be.
func (v textValidator) Description(context.Context) string { return v.description }

// MarkdownDescription says what the text must be.
func (v textValidator) MarkdownDescription(context.Context) string { return v.description }

// ValidateString reports what is wrong at the attribute.
func (v textValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if err := v.check(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid attribute value", fmt.Sprintf("%s: %s.", req.Path, err))
	}
}

// pattern accepts what matches an expression; must completes "the value".
func pattern(expression, must string) validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(expression), must)
}

const dnsLabelPattern = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`

var (
	dnsLabels     = regexp.MustCompile(`^` + dnsLabelPattern + `$`)
	dnsSubdomains = regexp.MustCompile(`^` + dnsLabelPattern + `(\.` + dnsLabelPattern + `)*$`)
)

// dnsLabel accepts the names of namespaces.
func dnsLabel() validator.String {
	const rule = "at most 63 lower-case letters, digits and hyphens, and it begins and ends with a letter or a digit"
	return textValidator{description: "The value consists of " + rule + ".", check: func(text string) error {
		if len(text) > 63 || !dnsLabels.MatchString(text) {
			return fmt.Errorf("%q is no valid name: a name consists of %s", text, rule)
		}
		return nil
	}}
}

// dnsSubdomain accepts the names of most Kubernetes objects.
func dnsSubdomain(length int) validator.String {
	rule := fmt.Sprintf("at most %d lower-case letters, digits, hyphens and dots, and each part between dots begins and ends with a letter or a digit", length)
	return textValidator{description: "The value consists of " + rule + ".", check: func(text string) error {
		if len(text) > length || !dnsSubdomains.MatchString(text) {
			return fmt.Errorf("%q is no valid name: a name consists of %s", text, rule)
		}
		return nil
	}}
}

// componentName accepts the identity of a component.
func componentName() validator.String {
	const rule = `"namespace/name" of a component`
	return textValidator{description: "The value is the " + rule + ".", check: func(text string) error {
		namespace, name, ok := strings.Cut(text, "/")
		if !ok || len(namespace) > 63 || !dnsLabels.MatchString(namespace) || len(name) > maxNameLength || !dnsSubdomains.MatchString(name) {
			return fmt.Errorf("%q is not the %s", text, rule)
		}
		return nil
	}}
}

// typePattern accepts names of types with wildcards.
func typePattern() validator.String {
	const rule = `"Kind.group", where the kind may be "*" and the group "*" or "*.suffix"`
	return textValidator{description: "The value is " + rule + ".", check: func(text string) error {
		if _, ok := engine.ParseTypePattern(text); !ok {
			return fmt.Errorf("%q is not %s", text, rule)
		}
		return nil
	}}
}

// positiveDuration accepts Go durations above zero.
func positiveDuration() validator.String {
	const rule = "a duration above zero such as 90s, 10m or 1h30m"
	return textValidator{description: "The value is " + rule + ".", check: func(text string) error {
		if duration, err := time.ParseDuration(text); err != nil || duration <= 0 {
			return fmt.Errorf("%q is not %s", text, rule)
		}
		return nil
	}}
}

// insidePath accepts paths that stay inside the folder they are relative to.
func insidePath() validator.String {
	return textValidator{description: "The value is a relative path that does not lead outside.", check: checkInside}
}

func checkInside(text string) error {
	switch {
	case text == "":
		return errors.New("the path is empty")
	case path.IsAbs(text) || strings.Contains(text, `\`):
		return fmt.Errorf("%q is not a relative path with forward slashes", text)
	case slices.Contains(strings.Split(text, "/"), ".."):
		return fmt.Errorf("%q leads outside the source", text)
	}
	return nil
}

// oneChild accepts an object of which exactly one child is set. What is
// unknown may still become null.
type oneChild struct{}

var _ validator.Object = oneChild{}

// Description says what the object must be.
func (oneChild) Description(context.Context) string { return "Exactly one of the keys is set." }

// MarkdownDescription says what the object must be.
func (v oneChild) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateObject reports none or several children at the object itself, so
// that Terraform shows all of it.
func (oneChild) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	var choices, set []string
	open := false
	for name, child := range req.ConfigValue.Attributes() {
		choices = append(choices, name)
		switch {
		case child.IsUnknown():
			open = true
		case !child.IsNull():
			set = append(set, name)
		}
	}
	slices.Sort(choices)
	slices.Sort(set)
	rule := "Set exactly one of: " + strings.Join(choices, ", ") + ". Set now: "
	switch {
	case len(set) > 1:
		resp.Diagnostics.AddAttributeError(req.Path, "More than one "+req.Path.String(), rule+strings.Join(set, ", ")+".")
	case len(set) == 0 && !open:
		resp.Diagnostics.AddAttributeError(req.Path, "No "+req.Path.String(),
			rule+"none. Terraform leaves out keys that it does not know: look for a misspelt one.")
	}
}

// someFiles accepts a map of files that is not empty, and whose names stay
// inside the source.
type someFiles struct{}

var _ validator.Map = someFiles{}

// Description says what the map must be.
func (someFiles) Description(context.Context) string {
	return "There is at least one file, and its name is a relative path that does not lead outside."
}

// MarkdownDescription says what the map must be.
func (v someFiles) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateMap reports each file name that is wrong.
func (someFiles) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if len(req.ConfigValue.Elements()) == 0 {
		resp.Diagnostics.AddAttributeError(req.Path, "No files", "The map of files is empty: name at least one file.")
	}
	for name, content := range req.ConfigValue.Elements() {
		at := req.Path.AtMapKey(name)
		if content.IsNull() {
			resp.Diagnostics.AddAttributeError(at, "Invalid file", fmt.Sprintf("The content of %q is null; an empty file is \"\".", name))
		}
		if err := checkInside(name); err != nil {
			resp.Diagnostics.AddAttributeError(at, "Invalid file", fmt.Sprintf("The name of a file is a path inside the source: %s.", err))
		}
	}
}

// valuesObject accepts values that [valuesOf] can convert.
type valuesObject struct{}

var _ validator.Dynamic = valuesObject{}

// Description says what the values must be.
func (valuesObject) Description(context.Context) string { return "The value is an object." }

// MarkdownDescription says what the values must be.
func (v valuesObject) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateDynamic reports what cannot be converted.
func (valuesObject) ValidateDynamic(_ context.Context, req validator.DynamicRequest, resp *validator.DynamicResponse) {
	_, _, err := valuesOf(req.ConfigValue)
	for _, problem := range object.Problems(err) {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid values", fmt.Sprintf("%s: %s.", req.Path, problem))
	}
}

// code and codes write values as they stand in a description.
func code(text string) string { return "`" + text + "`" }

func codes(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = code(text)
	}
	return strings.Join(quoted, ", ")
}
