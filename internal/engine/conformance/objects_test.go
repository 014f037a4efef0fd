package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubewave/terraform-provider-component/internal/engine"
)

// snapshot is an object at the end of a step.
type snapshot struct {
	obj *unstructured.Unstructured
	uid types.UID
	// content is all but the status and what the server counts.
	content string
}

func snapshotOf(obj *unstructured.Unstructured) (snapshot, error) {
	copied := obj.DeepCopy()
	delete(copied.Object, "status")
	copied.SetResourceVersion("")
	copied.SetManagedFields(slices.DeleteFunc(copied.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Subresource != ""
	}))
	content, err := json.Marshal(copied)
	return snapshot{obj: obj, uid: obj.GetUID(), content: string(content)}, err
}

// observe reads all objects of the world.
func (w *world) observe(ctx context.Context) (map[string]snapshot, error) {
	objects := map[string]snapshot{}
	kinds := slices.Clone(builtin)
	for i := 0; i < len(kinds); i++ {
		found, err := w.list(ctx, kinds[i], objects)
		if err != nil {
			return nil, err
		}
		// The types come last, and bring their kinds.
		kinds = append(kinds, found...)
	}
	return objects, nil
}

// list reads the objects of a kind, and returns the kinds that they bring.
func (w *world) list(ctx context.Context, k kind, into map[string]snapshot) ([]kind, error) {
	list, err := w.client.Resource(k.resource).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", k.resource.Resource, err)
	}
	var brought []kind
	for i := range list.Items {
		obj := &list.Items[i]
		if !w.isOwn(obj) {
			continue
		}
		if into[w.idOf(obj)], err = snapshotOf(obj); err != nil {
			return nil, err
		}
		if k == crds {
			name, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
			brought = append(brought, w.customKind(name))
		}
	}
	return brought, nil
}

// settle waits until the watch has seen what is there.
func (w *world) settle(ctx context.Context) (objects map[string]snapshot, err error) {
	err = eventually(ctx, settling, "the watch shows what is there", func() (bool, error) {
		var err error
		objects, err = w.observe(ctx)
		return err == nil && w.log.shows(objects), err
	})
	return objects, err
}

// compareObjects compares what is there with what should be. Objects in the
// namespace of the story that nobody expects are a problem.
func (w *world) compareObjects(want map[string]objectState, got map[string]snapshot) []error {
	if want == nil {
		return nil
	}
	var problems []error
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if err := w.compareObject(id, want[id], got); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", id, err))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(got)) {
		if _, expected := want[id]; !expected && got[id].obj.GetNamespace() == w.namespace {
			problems = append(problems, fmt.Errorf("%s exists, and nobody expects it", id))
		}
	}
	return problems
}

func (w *world) compareObject(id string, want objectState, all map[string]snapshot) error {
	got, exists := all[id]
	switch {
	case want.Gone && exists:
		return errors.New("it exists, want it gone")
	case want.Gone:
		return nil
	case !exists:
		return errors.New("it does not exist")
	}
	problems := []error{
		compareText("owner", want.Owner, ownerOf(got.obj)),
		compareFields(want, got.obj),
		w.compareHistory(id, want, got),
	}
	if is := got.obj.GetDeletionTimestamp() != nil; is != want.Terminating {
		problems = append(problems, fmt.Errorf("terminating: %t, want %t", is, want.Terminating))
	}
	if want.Finalizers != nil {
		problems = append(problems, compareText("finalizers", fmt.Sprint(want.Finalizers), fmt.Sprint(got.obj.GetFinalizers())))
	}
	return errors.Join(problems...)
}

func compareText(what, want, got string) error {
	if want != "" && want != got {
		return fmt.Errorf("%s: %q, want %q", what, got, want)
	}
	return nil
}

// compareHistory compares an object with the one of the step before.
func (w *world) compareHistory(id string, want objectState, got snapshot) error {
	asked := want.UID != "" || want.Written != nil || want.Touched != nil
	before, existed := w.seen[id]
	switch {
	case !asked:
		return nil
	case !existed:
		return errors.New("it did not exist a step before: uid and written cannot be compared")
	}
	uid := "new"
	if before.uid == got.uid {
		uid = "same"
	}
	problems := []error{
		compareText("uid", want.UID, uid),
		compareBool("touched", want.Touched, before.obj.GetResourceVersion() != got.obj.GetResourceVersion()),
		compareBool("written", want.Written, before.content != got.content),
	}
	if problems[2] != nil {
		problems = append(problems, errors.New(cmp.Diff(before.obj.Object, got.obj.Object)))
	}
	return errors.Join(problems...)
}

func compareBool(what string, want *bool, got bool) error {
	if want != nil && *want != got {
		return fmt.Errorf("%s: %t, want %t", what, got, *want)
	}
	return nil
}

// compareFields compares data as a whole, and single fields.
func compareFields(want objectState, obj *unstructured.Unstructured) error {
	var problems []error
	if want.Data != nil {
		data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
		if diff := cmp.Diff(want.Data, data); diff != "" {
			problems = append(problems, fmt.Errorf("data (-want +got):\n%s", diff))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want.Fields)) {
		got := valueAt(obj.Object, path)
		if wantText, gotText := asText(want.Fields[path]), asText(got); wantText != gotText {
			problems = append(problems, fmt.Errorf("%s: %s, want %s", path, gotText, wantText))
		}
	}
	return errors.Join(problems...)
}

// valueAt reads a field by its path: names between dots, and "annotation NAME"
// or "label NAME" for those of component-operator.
func valueAt(obj map[string]any, path string) any {
	fields := strings.Split(path, ".")
	for kind, where := range map[string]string{"annotation ": "annotations", "label ": "labels"} {
		if name, ok := strings.CutPrefix(path, kind); ok {
			fields = []string{"metadata", where, engine.DefaultAnnotationPrefix + "/" + name}
		}
	}
	value, _, _ := unstructured.NestedFieldNoCopy(obj, fields...)
	return value
}

func asText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// ownerOf is the name of the component in the owner annotation.
func ownerOf(obj *unstructured.Unstructured) string {
	id := obj.GetAnnotations()[engine.DefaultAnnotationPrefix+"/owner-id"]
	if id == "" {
		return "none"
	}
	return id[strings.LastIndex(id, "/")+1:]
}
