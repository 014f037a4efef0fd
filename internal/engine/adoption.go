package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// adoption is what the plan says about an object that exists already.
type adoption struct {
	id    object.ID
	owner string
	lines []string
}

// adoptionLines is how many differing fields of one object are listed.
const adoptionLines = 20

// describeAdoption compares a live object with what the dry-run made of it.
func (e *Engine) describeAdoption(change *Change, predicted *unstructured.Unstructured, ownership Ownership) *adoption {
	a := &adoption{id: change.ID, owner: "no owner"}
	switch has := e.ownerOnObject(change.Live); {
	case ownership == Foreign:
		a.owner = "owned by " + has.String()
	case has.hash != "":
		a.owner = "no owner any more: it was owned by " + has.String() + ", which is gone"
	}
	if managers := managersOf(change.Live); len(managers) > 0 {
		a.owner += "; fields set by " + strings.Join(managers, ", ")
	}
	if predicted == nil {
		return a
	}
	before, after := e.comparable(change.Live), e.comparable(predicted)
	a.lines = differences("", before, after)
	return a
}

func managersOf(live *unstructured.Unstructured) []string {
	var managers []string
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource == "" && entry.Operation != "" && !slices.Contains(managers, entry.Manager) {
			managers = append(managers, entry.Manager)
		}
	}
	return managers
}

// comparable is an object without what only the server or this provider sets,
// and with its secret values masked.
func (e *Engine) comparable(obj *unstructured.Unstructured) map[string]any {
	copied := obj.DeepCopy()
	delete(copied.Object, "status")
	metadata := map[string]any{}
	labels, annotations := copied.GetLabels(), copied.GetAnnotations()
	delete(labels, e.ownerLabel())
	for _, key := range []string{e.ownerLabel(), e.digestAnnotation(), "kubectl.kubernetes.io/last-applied-configuration"} {
		delete(annotations, key)
	}
	if len(labels) > 0 {
		metadata["labels"] = toAny(labels)
	}
	if len(annotations) > 0 {
		metadata["annotations"] = toAny(annotations)
	}
	delete(copied.Object, "metadata")
	if len(metadata) > 0 {
		copied.Object["metadata"] = metadata
	}
	for _, pointer := range secretPointers(copied) {
		value, _ := valueAt(copied.Object, pointer)
		setValueAt(copied.Object, pointer, secretText(leafText(value)))
	}
	foldSchemas(copied.Object)
	foldStrings(copied.Object)
	return copied.Object
}

// secretText lets two secret values be compared and never printed.
type secretText string

func (secretText) String() string { return "(sensitive)" }

func toAny(texts map[string]string) map[string]any {
	all := make(map[string]any, len(texts))
	for key, text := range texts {
		all[key] = text
	}
	return all
}

// differences lists the fields in which two objects differ, one line each.
func differences(path string, before, after any) []string {
	old, wasMap := before.(map[string]any)
	young, isMap := after.(map[string]any)
	filled := len(old)+len(young) > 0
	if !(wasMap && isMap || wasMap && after == nil && filled || isMap && before == nil && filled) {
		return leafDifference(path, before, after)
	}
	keys := map[string]bool{}
	for key := range old {
		keys[key] = true
	}
	for key := range young {
		keys[key] = true
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		lines = append(lines, differences(path+"."+key, old[key], young[key])...)
	}
	return lines
}

func leafDifference(path string, before, after any) []string {
	_, secret := before.(secretText)
	if _, alsoSecret := after.(secretText); secret || alsoSecret {
		if before == after {
			return nil
		}
		return []string{fmt.Sprintf("     %s: %s -> %s", path, secretWord(before, "(none)"), secretWord(after, "(removed)"))}
	}
	was, _ := object.EncodeCanonical(before)
	is, _ := object.EncodeCanonical(after)
	if was == is {
		return nil
	}
	if after == nil {
		is = "(removed)"
	}
	return []string{fmt.Sprintf("     %s: %s -> %s", path, short(was), short(is))}
}

// secretWord stands for a secret value, or says that there is none.
func secretWord(value any, absent string) string {
	if value == nil {
		return absent
	}
	return "(sensitive)"
}

// short keeps a value on one line.
func short(text string) string {
	const limit = 100
	if len(text) > limit {
		// Terraform takes no text that ends in the middle of a character.
		return strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// adoptionWarning is the one warning about all objects that will be adopted.
func adoptionWarning(c Component, adoptions []*adoption) (Warning, bool) {
	var lines []string
	count := 0
	for _, a := range adoptions {
		if a == nil {
			continue
		}
		count++
		difference := "; no difference"
		if len(a.lines) > 0 {
			difference = ""
		}
		lines = append(lines, fmt.Sprintf(" %s   %s%s", a.id, a.owner, difference))
		lines = append(lines, a.lines[:min(adoptionLines, len(a.lines))]...)
		if more := len(a.lines) - adoptionLines; more > 0 {
			lines = append(lines, fmt.Sprintf("     and %d more fields", more))
		}
	}
	if count == 0 {
		return Warning{}, false
	}
	return Warning{Title: fmt.Sprintf("%s will be adopted by component %s", counted(count, "existing object", "existing objects"), c), Lines: lines}, true
}
