package render

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// remoteSchemaTimeout bounds how long a schema may take that refers to others
// on the network: a plan must not hang on them.
const remoteSchemaTimeout = 5 * time.Second

// checkSchemas validates the values of a chart and of its subcharts, as Helm
// does, with one error a chart. sensitive is the part of the values whose
// content no message may quote.
func checkSchemas(ctx context.Context, loaded *chart.Chart, values, sensitive map[string]any) error {
	var problems []error
	if loaded.Schema != nil {
		if err := checkSchema(ctx, values, loaded.Schema); err != nil {
			problems = append(problems, fmt.Errorf("the values do not meet the schema of the chart %s:\n%s",
				strings.ReplaceAll(loaded.ChartPath(), ".", "/"), schemaMessage(err, sensitive)))
		}
	}
	for _, sub := range loaded.Dependencies() {
		raw, ok := values[sub.Name()]
		if !ok || raw == nil {
			continue
		}
		inner, ok := raw.(map[string]any)
		if !ok {
			problems = append(problems, fmt.Errorf("the value of %q must be a map: it holds the values of the subchart of that name", sub.Name()))
			continue
		}
		problems = append(problems, object.Problems(checkSchemas(ctx, sub, inner, sensitiveOf(sensitive, sub.Name())))...)
	}
	return errors.Join(problems...)
}

// sensitiveOf returns the sensitive part of a subchart's values. Helm copies
// the global values into them.
func sensitiveOf(sensitive map[string]any, subchart string) map[string]any {
	own, _ := sensitive[subchart].(map[string]any)
	global, _ := sensitive[chartutil.GlobalKey].(map[string]any)
	if global == nil {
		return own
	}
	all := maps.Clone(global)
	if ownGlobal, ok := own[chartutil.GlobalKey].(map[string]any); ok {
		maps.Copy(all, ownGlobal)
	}
	merged := map[string]any{}
	maps.Copy(merged, own)
	merged[chartutil.GlobalKey] = all
	return merged
}

var remoteRef = regexp.MustCompile(`"\$ref"\s*:\s*"(https?://[^"#]+)`)

// checkSchema runs Helm's validation. A schema that refers to the network gets
// a limited time, after which the download goes on unheard.
func checkSchema(ctx context.Context, values map[string]any, schema []byte) error {
	remote := remoteRef.FindSubmatch(schema)
	if remote == nil {
		return chartutil.ValidateAgainstSingleSchema(values, schema)
	}
	ctx, cancel := context.WithTimeout(ctx, remoteSchemaTimeout)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- chartutil.ValidateAgainstSingleSchema(values, schema) }()
	var err error
	select {
	case err = <-result:
	case <-ctx.Done():
		err = ctx.Err()
	}
	var invalid chartutil.JSONSchemaValidationError
	if err == nil || errors.As(err, &invalid) {
		return err
	}
	return fmt.Errorf("- values.schema.json refers to %s, which could not be read: make that schema part of the chart", remote[1])
}

// schemaLine is one finding of the validator: where, and what.
var schemaLine = regexp.MustCompile(`^(\s*- at '([^']*)': )(.*)$`)

// schemaMessage prints the findings as Helm does, without the content of
// sensitive values.
func schemaMessage(err error, sensitive map[string]any) string {
	lines := strings.Split(strings.TrimRight(err.Error(), "\n"), "\n")
	for i, line := range lines {
		match := schemaLine.FindStringSubmatch(line)
		if match != nil && isSensitive(sensitive, match[2]) {
			lines[i] = match[1] + "the value does not match (it is sensitive and not shown)"
		}
	}
	return shorten(strings.Join(inOrder(lines), "\n"))
}

// inOrder sorts findings, each with the indented ones below it: the validator
// goes through the values in no order.
func inOrder(lines []string) []string {
	var groups [][]string
	for _, line := range lines {
		last := len(groups) - 1
		if last >= 0 && indent(line) > indent(groups[last][0]) {
			groups[last] = append(groups[last], line)
			continue
		}
		groups = append(groups, []string{line})
	}
	for _, group := range groups {
		copy(group[1:], inOrder(group[1:]))
	}
	slices.SortStableFunc(groups, slices.Compare)
	return slices.Concat(groups...)
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// isSensitive says whether a JSON pointer leads to or into a sensitive leaf.
func isSensitive(sensitive map[string]any, pointer string) bool {
	var value any = sensitive
	for _, key := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		fields, ok := value.(map[string]any)
		if !ok {
			break
		}
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		if value, ok = fields[key]; !ok {
			return false
		}
	}
	_, isMap := value.(map[string]any)
	return value != nil && !isMap
}
