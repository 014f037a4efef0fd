package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// Leaf is a masked value: how often it changed, and its keyed hash.
type Leaf = record.Leaf

// drifted is what a masked leaf shows when the live value is another one than
// was applied.
const driftedMask = "(sensitive, drifted)"

// foldLimit is the length from which a string is folded to size and digest.
const foldLimit = 8 << 10

// mask stands for a masked value in the plan. Version grows when it changes.
func mask(version int) string { return fmt.Sprintf("(sensitive, v%d)", version) }

// fold stands for a large value in the plan.
func fold(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("(%.1f KiB, sha256:%s)", float64(len(text))/1024, hex.EncodeToString(sum[:8]))
}

// keyedHash identifies a value without telling it. It is empty without a key.
func keyedHash(key []byte, text string) string {
	if len(key) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.RawStdEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// masker turns objects into what the plan shows.
type masker struct {
	// key is empty when the record, which holds it, does not exist yet.
	key []byte
	// before are the leaves of the last apply; nil at a create.
	before map[string]map[string]Leaf
}

// show returns the canonical JSON of an object with secret values masked and
// large ones folded, and the masked leaves by JSON pointer.
func (m masker) show(key string, obj *unstructured.Unstructured) (string, map[string]Leaf, error) {
	content := runtime.DeepCopyJSON(obj.Object)
	var leaves map[string]Leaf
	for _, pointer := range secretPointers(obj) {
		value, _ := valueAt(content, pointer)
		leaf := m.number(m.before[key][pointer], leafText(value))
		if leaves == nil {
			leaves = map[string]Leaf{}
		}
		leaves[pointer] = leaf
		setValueAt(content, pointer, mask(leaf.Version))
	}
	foldSchemas(content)
	foldStrings(content)
	text, err := object.EncodeCanonical(content)
	return text, leaves, err
}

// number counts the changes of a masked value. Without a key, or without a
// hash to compare with, the value counts as unchanged.
func (m masker) number(before Leaf, text string) Leaf {
	leaf := Leaf{Version: max(before.Version, 1), Hash: keyedHash(m.key, text)}
	if before.Hash != "" && leaf.Hash != "" && before.Hash != leaf.Hash {
		leaf.Version++
	}
	return leaf
}

// secretPointers lists the leaves of an object that are never shown: the data
// of a Secret.
func secretPointers(obj *unstructured.Unstructured) []string {
	if obj.GroupVersionKind().GroupKind() != secretKind {
		return nil
	}
	data, _ := obj.Object["data"].(map[string]any)
	var pointers []string
	for key := range data {
		pointers = append(pointers, "/data/"+escapePointer(key))
	}
	slices.Sort(pointers)
	return pointers
}

func leafText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := object.EncodeCanonical(value)
	return text
}

// foldSchemas folds the schemas of a CustomResourceDefinition: they are long,
// and nobody reads them in a plan.
func foldSchemas(content map[string]any) {
	crd := &unstructured.Unstructured{Object: content}
	if crd.GroupVersionKind().GroupKind() != crdKind {
		return
	}
	versions, _, _ := unstructured.NestedFieldNoCopy(content, "spec", "versions")
	list, _ := versions.([]any)
	for _, entry := range list {
		version, ok := entry.(map[string]any)
		if !ok || version["schema"] == nil {
			continue
		}
		if text, err := object.EncodeCanonical(version["schema"]); err == nil {
			version["schema"] = fold(text)
		}
	}
}

func foldStrings(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if text, ok := item.(string); ok && len(text) > foldLimit {
				v[key] = fold(text)
				continue
			}
			foldStrings(item)
		}
	case []any:
		for i, item := range v {
			if text, ok := item.(string); ok && len(text) > foldLimit {
				v[i] = fold(text)
				continue
			}
			foldStrings(item)
		}
	}
}

// isMasked reports whether a shown value stands for another one.
func isMasked(value any) bool {
	text, ok := value.(string)
	return ok && strings.HasPrefix(text, "(sensitive, ") || isFolded(value)
}

// isFolded reports whether a shown value stands for one that is too large.
func isFolded(value any) bool {
	text, ok := value.(string)
	return ok && strings.HasPrefix(text, "(") && strings.Contains(text, " KiB, sha256:")
}

// foldedHashes are the keyed hashes of the live values that a shown object
// folds, by JSON pointer.
func foldedHashes(key []byte, shown, live map[string]any) map[string]string {
	var hashes map[string]string
	for _, pointer := range maskedPointers(shown, "") {
		value, _ := valueAt(shown, pointer)
		found, ok := valueAt(live, pointer)
		if !ok || !isFolded(value) {
			continue
		}
		if hashes == nil {
			hashes = map[string]string{}
		}
		hashes[pointer] = keyedHash(key, leafText(found))
	}
	return hashes
}

// maskedPointers lists where a shown object stands for values that it does not
// hold.
func maskedPointers(value any, at string) []string {
	var pointers []string
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			pointers = append(pointers, maskedPointers(item, at+"/"+escapePointer(key))...)
		}
	case []any:
		for i, item := range v {
			pointers = append(pointers, maskedPointers(item, at+"/"+strconv.Itoa(i))...)
		}
	default:
		if isMasked(value) {
			pointers = append(pointers, at)
		}
	}
	return pointers
}

// fill replaces masked and folded leaves by the values of the live object, so
// that what was applied can be compared and tried again without keeping it.
func fill(shown map[string]any, live map[string]any) map[string]any {
	filled := runtime.DeepCopyJSON(shown)
	for _, pointer := range maskedPointers(shown, "") {
		if value, ok := valueAt(live, pointer); ok {
			setValueAt(filled, pointer, runtime.DeepCopyJSONValue(value))
		}
	}
	return filled
}

func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

func unescapePointer(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

// valueAt reads the value at a JSON pointer (RFC 6901).
func valueAt(content any, pointer string) (any, bool) {
	for _, token := range strings.Split(pointer, "/")[1:] {
		switch v := content.(type) {
		case map[string]any:
			item, ok := v[unescapePointer(token)]
			if !ok {
				return nil, false
			}
			content = item
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			content = v[i]
		default:
			return nil, false
		}
	}
	return content, true
}

// setValueAt replaces an existing value at a JSON pointer.
func setValueAt(content any, pointer string, value any) {
	last := strings.LastIndex(pointer, "/")
	parent, ok := valueAt(content, pointer[:last])
	if !ok {
		return
	}
	token := pointer[last+1:]
	switch v := parent.(type) {
	case map[string]any:
		if _, ok := v[unescapePointer(token)]; ok {
			v[unescapePointer(token)] = value
		}
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v) {
			v[i] = value
		}
	}
}
