package render

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/big"
	"path"
	"regexp"
	"slices"
	"strconv"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// scalars are the numbers and dates of a source for which kustomize may write
// another text: a whole number of more than 53 bits that passes a JSON patch is
// rounded, an unquoted date becomes a timestamp.
type scalars struct {
	numbers map[float64]string // by the number to which they are rounded
	dates   map[string]string  // by the timestamp that they become
	texts   map[string]bool    // all scalars as they are written
}

// alteredValues returns one error for every value that kustomize altered
// without a word: it would reach the cluster like that.
func alteredValues(source fs.FS, manifests []object.Manifest) []error {
	written := scalarsOf(source)
	if len(written.numbers) == 0 && len(written.dates) == 0 {
		return nil
	}
	var problems []error
	for _, manifest := range manifests {
		for _, found := range written.altered("", manifest.Object.Object) {
			problems = append(problems, &object.Error{ID: manifest.ID(), Origin: manifest.Origin, Err: found.explain(manifest)})
		}
	}
	return problems
}

// alteration is one value that is not what its author wrote.
type alteration struct{ field, was, is string }

func (a alteration) explain(manifest object.Manifest) error {
	if manifest.ID().GroupKind().String() == "Secret" {
		return fmt.Errorf("%s: kustomize alters the number or date: quote it in the manifest", a.field)
	}
	return fmt.Errorf("%s: kustomize turns %s into %s: quote it in the manifest, or leave the field to a strategic merge patch instead of a JSON patch",
		a.field, a.was, a.is)
}

// altered walks the fields of an object in a fixed order.
func (s scalars) altered(field string, value any) []alteration {
	var found []alteration
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			found = append(found, s.altered(field+"."+key, v[key])...)
		}
	case []any:
		for i, item := range v {
			found = append(found, s.altered(fmt.Sprintf("%s[%d]", field, i), item)...)
		}
	case string:
		if was, ok := s.dates[v]; ok && !s.texts[v] {
			found = append(found, alteration{field, was, v})
		}
	case int64:
		found = s.rounded(field, float64(v), strconv.FormatInt(v, 10))
	case float64:
		found = s.rounded(field, v, strconv.FormatFloat(v, 'f', -1, 64))
	}
	return found
}

func (s scalars) rounded(field string, number float64, text string) []alteration {
	was, ok := s.numbers[number]
	if !ok || s.texts[text] {
		return nil
	}
	return []alteration{{field, was, text}}
}

// suspicious finds texts with a long number or a date where a value begins, so
// that no other file is parsed for them.
var suspicious = regexp.MustCompile(`(?m)(?:[:\-\[,{]\s*|^\s*)["']?(?:[-+]?\d{16,}|\d{4}-\d\d?-\d\d?)`)

func scalarsOf(source fs.FS) scalars {
	found := scalars{numbers: map[float64]string{}, dates: map[string]string{}, texts: map[string]bool{}}
	_ = fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isYAML(name) && path.Ext(name) != ".json" {
			return err
		}
		if text, err := fs.ReadFile(source, name); err == nil && suspicious.Match(text) {
			found.read(text)
		}
		return nil
	})
	return found
}

// read notes the scalars of a stream of documents, as far as it can be parsed.
func (s scalars) read(text []byte) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); err != nil {
			return
		}
		s.node(&document)
	}
}

func (s scalars) node(node *yaml.Node) {
	for _, inner := range node.Content {
		s.node(inner)
	}
	if node.Kind != yaml.ScalarNode {
		return
	}
	s.texts[node.Value] = true
	switch node.ShortTag() {
	case yaml.NodeTagInt, yaml.NodeTagFloat:
		s.number(node.Value)
	case "!!timestamp":
		var moment time.Time
		if err := node.Decode(&moment); err == nil {
			s.dates[moment.Format(time.RFC3339Nano)] = node.Value
		}
	}
}

// number notes a whole number that a float64 cannot hold.
func (s scalars) number(text string) {
	exact, ok := new(big.Int).SetString(text, 0)
	if !ok || exact.BitLen() <= 53 {
		return
	}
	rounded, _ := new(big.Float).SetInt(exact).Float64()
	if math.IsInf(rounded, 0) {
		return
	}
	if back, _ := big.NewFloat(rounded).Int(nil); back.Cmp(exact) != 0 {
		s.numbers[rounded] = text
	}
}
