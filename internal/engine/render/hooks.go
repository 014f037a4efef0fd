package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// Helm's own annotations.
const (
	helmHook             = "helm.sh/hook"
	helmHookWeight       = "helm.sh/hook-weight"
	helmHookDeletePolicy = "helm.sh/hook-delete-policy"
	helmResourcePolicy   = "helm.sh/resource-policy"
)

// hookEvents are the events of Helm 3; the value is the name by which we know
// each of them.
var hookEvents = map[string]string{
	"pre-install": "pre-install", "post-install": "post-install",
	"pre-upgrade": "pre-upgrade", "post-upgrade": "post-upgrade",
	"pre-delete": "pre-delete", "post-delete": "post-delete",
	"pre-rollback": "pre-rollback", "post-rollback": "post-rollback",
	"test": "test", "test-success": "test",
}

// hook is what the annotations of a Helm hook say.
type hook struct {
	events         []string
	weight         int
	deletePolicies []string
}

// hookOf reads the hook annotations of a document; nil when it is no hook. As
// in Helm, a weight that is no number counts as 0.
func hookOf(content map[string]any) (*hook, error) {
	annotation := func(name string) string {
		text, _, _ := unstructured.NestedFieldNoCopy(content, "metadata", "annotations", name)
		value, _ := text.(string)
		return value
	}
	events := annotation(helmHook)
	if events == "" {
		return nil, nil
	}
	found := &hook{deletePolicies: words(annotation(helmHookDeletePolicy))}
	found.weight, _ = strconv.Atoi(annotation(helmHookWeight))
	for _, word := range words(events) {
		event, ok := hookEvents[word]
		if !ok {
			return nil, unknownEvent(word)
		}
		found.events = append(found.events, event)
	}
	return found, nil
}

// words takes a comma-separated annotation apart as Helm does.
func words(text string) []string {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, ",")
	for i, part := range parts {
		parts[i] = strings.ToLower(strings.TrimSpace(part))
	}
	return parts
}

func unknownEvent(event string) error {
	hint := ""
	if event == "crd-install" {
		hint = "; it is of Helm 2: move the definition into the crds/ folder of the chart"
	}
	return fmt.Errorf("annotation %s: %q is not one of pre-install, post-install, pre-upgrade, post-upgrade, pre-delete, post-delete, pre-rollback, post-rollback, test%s",
		helmHook, event, hint)
}

// on says whether the hook has one of the events.
func (h *hook) on(events ...string) bool {
	return slices.ContainsFunc(events, func(event string) bool { return slices.Contains(h.events, event) })
}

func (h *hook) early() bool   { return h.on("pre-install", "pre-upgrade") }
func (h *hook) late() bool    { return h.on("post-install", "post-upgrade") }
func (h *hook) install() bool { return h.on("pre-install", "post-install") }
func (h *hook) upgrade() bool { return h.on("pre-upgrade", "post-upgrade") }
func (h *hook) applied() bool { return h.early() || h.late() }
func (h *hook) onDelete() bool {
	return h.on("pre-delete", "post-delete")
}

// skipped says that the hook is for tests or rollbacks only.
func (h *hook) skipped() bool { return !h.applied() && !h.onDelete() }

// placed are the objects of a chart, sorted into what is applied when.
type placed struct {
	manifests   []object.Manifest
	deleteHooks []object.Manifest
	notes       []string
}

// placeHooks turns Helm's hooks, crds/ folders and resource policies into
// annotations of semantics.md, section 8. Annotations that the author of the
// chart set himself win.
func placeHooks(in Input, crds []object.Manifest, objects []templated) (placed, error) {
	span, err := hookSpan(objects)
	if err != nil {
		return placed{}, err
	}
	var out placed
	var skipped, onDelete []string
	for _, crd := range crds {
		annotate(crd, in.AnnotationPrefix, map[string]string{"apply-order": strconv.Itoa(-2*span - 2), "delete-policy": "orphan"})
		out.manifests = append(out.manifests, crd)
	}
	replaced := replacedHooks(in, objects)
	for _, t := range objects {
		if t.hook != nil && t.hook.onDelete() {
			out.deleteHooks = append(out.deleteHooks, object.Manifest{Object: t.Object.DeepCopy(), Origin: t.Origin})
			onDelete = append(onDelete, t.ID().String())
		}
		switch {
		case t.hook == nil:
		case t.hook.skipped():
			skipped = append(skipped, t.ID().String())
			continue
		case !t.hook.applied():
			continue
		case in.IsInstall && !t.hook.install(), replaced[t.ID()] && !t.hook.upgrade():
			continue
		default:
			annotate(t.Manifest, in.AnnotationPrefix, hookAnnotations(t, span))
		}
		if keeps(t.Object) {
			annotate(t.Manifest, in.AnnotationPrefix, map[string]string{"delete-policy": "orphan"})
		}
		out.manifests = append(out.manifests, t.Manifest)
	}
	out.notes = hookNotes(skipped, onDelete)
	return out, nil
}

// replacedHooks are the ids that an install hook shares with another object
// after the first revision. Helm runs one of them at a time, and charts use
// that: a pre-install and a pre-upgrade Job of one name.
func replacedHooks(in Input, objects []templated) map[object.ID]bool {
	replaced := map[object.ID]bool{}
	if in.IsInstall {
		return replaced
	}
	for _, t := range objects {
		if t.hook == nil || t.hook.upgrade() {
			replaced[t.ID()] = true
		}
	}
	return replaced
}

// hookSpan is the largest weight that the orders leave room for: 100, or more
// when the chart uses more.
func hookSpan(objects []templated) (int, error) {
	const largest = 16_000 // orders are 16 bits, and twice the span is used
	span := 100
	for _, t := range objects {
		if t.hook == nil || !t.hook.applied() {
			continue
		}
		if t.hook.weight > largest || t.hook.weight < -largest {
			return 0, &object.Error{ID: t.ID(), Origin: t.Origin, Err: fmt.Errorf(
				"annotation %s: %d is not between -%d and %[3]d", helmHookWeight, t.hook.weight, largest)}
		}
		span = max(span, t.hook.weight, -t.hook.weight)
	}
	return span, nil
}

// hookAnnotations says when and how a hook is applied.
//
// It is recreated whatever its delete policy: Helm never patches a hook, and a
// Job could not be patched. Kinds whose deletion takes others with them are
// updated in place and kept.
func hookAnnotations(t templated, span int) map[string]string {
	order := t.hook.weight + span + 1
	if t.hook.early() {
		order = t.hook.weight - span - 1
	}
	annotations := map[string]string{
		"apply-order":      strconv.Itoa(order),
		"reconcile-policy": "once",
	}
	if t.hook.upgrade() {
		annotations["reconcile-policy"] = "on-object-or-component-change"
	}
	if holdsOthers(t.Object) {
		return annotations
	}
	annotations["update-policy"] = "recreate"
	if slices.Contains(t.hook.deletePolicies, "hook-succeeded") {
		annotations["purge-order"] = strconv.Itoa(2*span + 1)
		if !t.hook.late() {
			annotations["purge-order"] = "-1"
		}
	}
	return annotations
}

// holdsOthers says whether deleting an object deletes more than itself.
func holdsOthers(obj *unstructured.Unstructured) bool {
	switch obj.GroupVersionKind().GroupKind().String() {
	case "Namespace", "PersistentVolume", "PersistentVolumeClaim", crdKind.String(), "APIService.apiregistration.k8s.io":
		return true
	}
	return false
}

func keeps(obj *unstructured.Unstructured) bool {
	return strings.EqualFold(strings.TrimSpace(obj.GetAnnotations()[helmResourcePolicy]), "keep")
}

// annotate sets annotations that the object does not have.
func annotate(manifest object.Manifest, prefix string, annotations map[string]string) {
	all := manifest.Object.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	for name, value := range annotations {
		if _, set := all[prefix+"/"+name]; !set {
			all[prefix+"/"+name] = value
		}
	}
	manifest.Object.SetAnnotations(all)
}

func hookNotes(skipped, onDelete []string) []string {
	var notes []string
	if len(skipped) > 0 {
		notes = append(notes, fmt.Sprintf("Test and rollback hooks of the chart are not applied: %s.", strings.Join(skipped, ", ")))
	}
	if len(onDelete) > 0 {
		notes = append(notes, fmt.Sprintf("Delete hooks of the chart are not run yet: %s.", strings.Join(onDelete, ", ")))
	}
	return notes
}
