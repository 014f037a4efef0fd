package engine

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// writesNothing reports whether an update would change nothing but our own
// digest: the manifest spells the same object in another way, 1000m as 1. It
// is not written then, for Deployments count a change of an annotation as a
// new generation. predicted is the answer of the dry-run; nil when the dry-run
// passed a short while ago.
func (e *Engine) writesNothing(plan *Plan, change *Change, predicted *unstructured.Unstructured) bool {
	serverSide := change.Policies.Update == UpdateSSAOverride || change.Policies.Update == UpdateSSAMerge
	if change.Action != Update || change.Live.GetDeletionTimestamp() != nil || !serverSide || len(e.managersToTakeOver(change)) > 0 {
		return false
	}
	key := e.dryRunKey(plan, change, string(change.Live.GetUID()))
	if key != "" {
		key += " writes nothing to " + change.Live.GetResourceVersion()
	}
	if predicted == nil {
		return e.dryRuns.knows(key)
	}
	same := equality.Semantic.DeepEqual(e.substance(change.Live), e.substance(predicted)) &&
		maps.Equal(fieldOwners(change.Live), fieldOwners(predicted))
	if same {
		e.dryRuns.passed(key)
	}
	return same
}

// substance is an object without what every write changes.
func (e *Engine) substance(obj *unstructured.Unstructured) map[string]any {
	copied := obj.DeepCopy()
	unstructured.RemoveNestedField(copied.Object, "metadata", "annotations", e.digestAnnotation())
	for _, field := range []string{"generation", "managedFields", "resourceVersion"} {
		unstructured.RemoveNestedField(copied.Object, "metadata", field)
	}
	return copied.Object
}

// fieldOwners is who manages which fields of an object.
func fieldOwners(obj *unstructured.Unstructured) map[string]string {
	owners := map[string]string{}
	for _, entry := range obj.GetManagedFields() {
		name := string(entry.Operation) + " " + entry.Manager + " " + entry.Subresource + " " + entry.APIVersion
		if entry.FieldsV1 != nil {
			owners[name] = entry.FieldsV1.GetRawString()
		}
	}
	return owners
}
