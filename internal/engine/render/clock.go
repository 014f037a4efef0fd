package render

import (
	"fmt"
	"reflect"
	"slices"
	"text/template/parse"
	"time"

	"helm.sh/helm/v3/pkg/chart"
)

// clock changes what the time is for the templates of a chart.
type clock func(*chart.Chart)

// keepClock leaves the time as it is.
func keepClock(*chart.Chart) {}

// shiftClock makes templates believe that it is some other day. Two passes of
// a rendering are milliseconds apart, so that a date or a timestamp of seconds
// would come out alike in both, and differ when it is rendered again for apply.
func shiftClock(loaded *chart.Chart) {
	// Another year, month, day, hour, minute and second.
	moment := time.Now().AddDate(1, 1, 1).Add(time.Hour + time.Minute + time.Second)
	text := fmt.Sprintf("(toDate %q %q)", time.RFC3339, moment.UTC().Format(time.RFC3339))
	replaceNow(loaded, text)
}

func replaceNow(loaded *chart.Chart, text string) {
	for _, template := range loaded.Templates {
		source := string(template.Data)
		positions := callsOfNow(template.Name, source)
		for _, at := range slices.Backward(positions) {
			source = source[:at] + text + source[at+len("now"):]
		}
		template.Data = []byte(source)
	}
	for _, dependency := range loaded.Dependencies() {
		replaceNow(dependency, text)
	}
}

// callsOfNow returns where a template calls the function now, in order. A
// template that does not parse has none: the engine reports it.
func callsOfNow(name, source string) []int {
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(source, "", "", trees); err != nil {
		return nil
	}
	var positions []int
	for _, defined := range trees {
		identifiers(reflect.ValueOf(defined.Root), func(node *parse.IdentifierNode) {
			if node.Ident == "now" {
				positions = append(positions, int(node.Pos))
			}
		})
	}
	slices.Sort(positions)
	return slices.Compact(positions)
}

// identifiers visits the function names below a node. The kinds of nodes are
// many and all that matters is what they hold, hence by reflection.
func identifiers(value reflect.Value, visit func(*parse.IdentifierNode)) {
	switch value.Kind() {
	case reflect.Interface:
		identifiers(value.Elem(), visit)
	case reflect.Pointer:
		if node, ok := value.Interface().(*parse.IdentifierNode); ok && node != nil {
			visit(node)
		} else if !value.IsNil() && value.Type() != reflect.TypeFor[*parse.Tree]() {
			identifiers(value.Elem(), visit)
		}
	case reflect.Slice:
		for i := range value.Len() {
			identifiers(value.Index(i), visit)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				identifiers(value.Field(i), visit)
			}
		}
	}
}
