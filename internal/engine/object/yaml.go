package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Decode reads the YAML documents of one file into manifests, in order. Empty
// documents are left out and Lists are taken apart, as kubectl does. YAML is
// read as the API server reads it (sigs.k8s.io/yaml), whole numbers exactly.
// All documents are read; the errors, one a document, are joined and are of
// type [*Error].
func Decode(origin Origin, text []byte) ([]Manifest, error) {
	var manifests []Manifest
	var problems []error
	for _, doc := range splitDocuments(text) {
		where := Origin{File: origin.File, Document: doc.number, Line: doc.line}
		found, err := decodeDocument(where, doc.text)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		manifests = append(manifests, found...)
	}
	return manifests, errors.Join(problems...)
}

func decodeDocument(where Origin, text []byte) ([]Manifest, error) {
	value, err := DecodeValue(text)
	if err != nil {
		return nil, &Error{Origin: where, Err: absoluteLine(err, where.Line)}
	}
	if value == nil {
		return nil, nil
	}
	content, ok := value.(map[string]any)
	if !ok {
		return nil, &Error{Origin: where, Err: errors.New("the document is not a Kubernetes object (not a map)")}
	}
	if len(content) == 0 {
		return nil, nil
	}
	return FromMap(where, content)
}

// FromMap makes manifests of one decoded document: one, or those of a List.
// Objects that cannot be identified are errors of type [*Error].
func FromMap(where Origin, content map[string]any) ([]Manifest, error) {
	obj := &unstructured.Unstructured{Object: content}
	items, isList := content["items"].([]any)
	if nothing, ok := content["items"]; ok && nothing == nil {
		// A template that lists nothing.
		isList = true
	}
	if isList && strings.HasSuffix(obj.GetKind(), "List") {
		return listItems(where, items)
	}
	if err := identifiable(obj); err != nil {
		return nil, &Error{ID: IDOf(obj), Origin: where, Err: err}
	}
	return []Manifest{{Object: obj, Origin: where}}, nil
}

func listItems(where Origin, items []any) ([]Manifest, error) {
	var manifests []Manifest
	var problems []error
	for i, item := range items {
		content, ok := item.(map[string]any)
		if !ok {
			problems = append(problems, &Error{Origin: where, Err: fmt.Errorf("item %d of the list is not a Kubernetes object", i+1)})
			continue
		}
		found, err := FromMap(where, content)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		manifests = append(manifests, found...)
	}
	return manifests, errors.Join(problems...)
}

// identifiable reports what is missing in an object that could never be
// applied: server-side apply needs apiVersion, kind and a name.
func identifiable(obj *unstructured.Unstructured) error {
	for _, key := range []string{"apiVersion", "kind"} {
		switch value := obj.Object[key].(type) {
		case string:
			if value == "" {
				return fmt.Errorf("%s is empty", key)
			}
		case nil:
			return fmt.Errorf("%s is missing%s", key, misspelt(obj.Object, key))
		default:
			return fmt.Errorf("%s must be a string: quote it", key)
		}
	}
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		return errors.New("metadata is missing")
	}
	if name, ok := metadata["name"].(string); ok && name != "" {
		return malformedMetadata(metadata)
	}
	if _, ok := metadata["generateName"]; ok {
		return errors.New("metadata.generateName is not supported: server-side apply needs metadata.name")
	}
	if metadata["name"] != nil && metadata["name"] != "" {
		return errors.New("metadata.name must be a string: quote it")
	}
	return errors.New("metadata.name is missing")
}

// malformedMetadata finds labels and annotations that are no maps of strings:
// the accessors of unstructured objects would silently drop them.
func malformedMetadata(metadata map[string]any) error {
	for _, key := range []string{"labels", "annotations"} {
		if metadata[key] == nil {
			continue
		}
		entries, ok := metadata[key].(map[string]any)
		if !ok {
			return fmt.Errorf("metadata.%s must be a map of strings", key)
		}
		for name, value := range entries {
			if _, ok := value.(string); !ok && value != nil {
				return fmt.Errorf("metadata.%s: the value of %q must be a string: quote it", key, name)
			}
		}
	}
	if ns := metadata["namespace"]; ns != nil {
		if _, ok := ns.(string); !ok {
			return errors.New("metadata.namespace must be a string: quote it")
		}
	}
	return nil
}

// misspelt names a key of the document that looks like the missing one.
func misspelt(content map[string]any, want string) string {
	for _, key := range slices.Sorted(maps.Keys(content)) {
		if key != want && len(key) > 2 && (strings.Contains(strings.ToLower(want), strings.ToLower(key)) || strings.EqualFold(key, want)) {
			return fmt.Sprintf(" (there is %q)", key)
		}
	}
	return ""
}

// DecodeValue reads one YAML or JSON document into maps, slices, strings,
// bools, int64, float64 and nil. Whole numbers beyond int64 whose digits a
// float64 does not keep are an error instead of being rounded.
func DecodeValue(text []byte) (any, error) {
	if err := containsNUL(text); err != nil {
		return nil, err
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return exactNumbers(value, longNumbers(text))
}

func containsNUL(text []byte) error {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return fmt.Errorf("yaml: line %d: control characters are not allowed", bytes.Count(text[:i], []byte("\n"))+1)
	}
	return nil
}

// longNumber is a whole number that may be too long for any integer type.
var longNumber = regexp.MustCompile(`[0-9]{19,}`)

// longNumbers returns the long whole numbers of a text by the float64 that the
// YAML reader makes of them.
func longNumbers(text []byte) map[float64]string {
	found := map[float64]string{}
	for _, digits := range longNumber.FindAll(text, -1) {
		if f, err := strconv.ParseFloat(string(digits), 64); err == nil {
			found[f] = string(digits)
		}
	}
	return found
}

func exactNumbers(value any, long map[float64]string) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		return exactNumber(v, long)
	case map[string]any:
		for key, item := range v {
			if v[key], err = exactNumbers(item, long); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, item := range v {
			if v[i], err = exactNumbers(item, long); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func exactNumber(number json.Number, long map[float64]string) (any, error) {
	if i, err := strconv.ParseInt(number.String(), 10, 64); err == nil {
		return i, nil
	}
	f, err := number.Float64()
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("number %s is out of range", number)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		// 1e3 and the like: a whole number, kept as one.
		return int64(f), nil
	}
	digits, isLong := long[math.Abs(f)]
	if isLong && strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64), "-") != digits {
		return nil, fmt.Errorf("number %s does not fit into 64 bits: quote it", digits)
	}
	return f, nil
}

// EncodeCanonical prints a value as JSON with sorted keys and no HTML
// escapes, so that equal values give equal texts.
func EncodeCanonical(value any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// DecodeCanonical reads what [EncodeCanonical] printed.
func DecodeCanonical(text string) (map[string]any, error) {
	var content map[string]any
	if err := utiljson.Unmarshal([]byte(text), &content); err != nil {
		return nil, err
	}
	return content, nil
}

type document struct {
	number int
	line   int
	text   []byte
}

// separator is a line that ends a YAML document; content may follow it.
var separator = regexp.MustCompile(`^---(\s|$)`)

// splitDocuments cuts a stream at its "---" lines, Windows line ends included.
// Documents without content are left out but counted.
func splitDocuments(text []byte) []document {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var docs []document
	current := document{number: 1, line: 1}
	lineNumber := 0
	for line := range bytes.Lines(text) {
		lineNumber++
		if separator.Match(line) {
			docs = appendDocument(docs, current)
			number := current.number
			if hasContent(current.text) {
				number++
			}
			current = document{number: number, line: lineNumber}
			line = append([]byte("   "), line[3:]...)
			if len(bytes.TrimSpace(line)) == 0 {
				current.line++
				continue
			}
		}
		current.text = append(current.text, line...)
	}
	return appendDocument(docs, current)
}

func appendDocument(docs []document, doc document) []document {
	if !hasContent(doc.text) {
		return docs
	}
	return append(docs, doc)
}

// hasContent is false for documents of nothing but blanks, comments and
// directives.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' && !bytes.Equal(line, []byte("...")) {
			return true
		}
	}
	return false
}

var yamlLine = regexp.MustCompile(`\bline (\d+)`)

// absoluteLine turns the line numbers of a parse error, which count from the
// start of the document, into those of the file.
func absoluteLine(err error, first int) error {
	if first <= 1 {
		return err
	}
	text := yamlLine.ReplaceAllStringFunc(err.Error(), func(match string) string {
		n, convErr := strconv.Atoi(strings.TrimPrefix(match, "line "))
		if convErr != nil {
			return match
		}
		return fmt.Sprintf("line %d", n+first-1)
	})
	return errors.New(text)
}
