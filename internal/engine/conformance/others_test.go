package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// kubectlEdit is the field manager of somebody who says nothing else.
const kubectlEdit = "kubectl-edit"

// doAll does one action after the other.
func (w *world) doAll(ctx context.Context, actions []action) error {
	for _, a := range actions {
		if err := w.do(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) do(ctx context.Context, a action) error {
	switch {
	case a.Create != "":
		return w.create(ctx, a.Create, a.manager())
	case a.Edit != "":
		return w.edit(ctx, a)
	case a.Delete != "":
		return w.remove(ctx, a.Delete, a.NoWait)
	case a.Until != "" && a.Gone:
		return w.awaitGone(ctx, a.Until)
	case a.Until != "":
		return w.awaitQuiet(ctx, a.Until, a.NotWritten)
	default:
		return errors.New("an action of others says nothing to do")
	}
}

func (a action) manager() string {
	if a.As != "" {
		return a.As
	}
	return kubectlEdit
}

// create makes objects. A type that has just come is waited for.
func (w *world) create(ctx context.Context, manifests, manager string) error {
	objects, err := parse(manifests)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		client := w.clientFor(w.kindOf(obj.GetKind()), namespaceOr(obj, w.namespace))
		err := eventually(ctx, patience, "the type of "+w.idOf(obj)+" is served", func() (bool, error) {
			_, err := client.Create(ctx, obj, metav1.CreateOptions{FieldManager: manager})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return true, err
		})
		if err != nil {
			return fmt.Errorf("create %s: %w", w.idOf(obj), err)
		}
	}
	return nil
}

func namespaceOr(obj *unstructured.Unstructured, namespace string) string {
	if obj.GetNamespace() != "" {
		return obj.GetNamespace()
	}
	return namespace
}

func parse(manifests string) ([]*unstructured.Unstructured, error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), 4096)
	var objects []*unstructured.Unstructured
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(obj.Object) > 0 {
			objects = append(objects, obj)
		}
	}
}

func (w *world) edit(ctx context.Context, a action) error {
	client, name, err := w.target(a.Edit)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(a.Patch)
	if err != nil {
		return err
	}
	var subresources []string
	if a.Status {
		subresources = []string{"status"}
	}
	_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: a.manager()}, subresources...)
	return err
}

// remove deletes an object and waits until it is gone, or a finalizer of the
// story keeps it.
func (w *world) remove(ctx context.Context, id string, noWait bool) error {
	client, name, err := w.target(id)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	err = client.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil || noWait {
		return err
	}
	return eventually(ctx, patience, id+" goes", func() (bool, error) {
		live, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return err == nil && live.GetDeletionTimestamp() != nil && foreignFinalizer(live), err
	})
}

func (w *world) awaitGone(ctx context.Context, id string) error {
	client, name, err := w.target(id)
	if err != nil {
		return err
	}
	return eventually(ctx, patience, id+" is gone", func() (bool, error) {
		_, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// foreignFinalizer: only its author takes it away.
func foreignFinalizer(obj *unstructured.Unstructured) bool {
	for _, finalizer := range obj.GetFinalizers() {
		if strings.Contains(finalizer, "example") {
			return true
		}
	}
	return false
}

// awaitQuiet waits until the last write of an object lies far enough back.
func (w *world) awaitQuiet(ctx context.Context, id, text string) error {
	quiet, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	client, name, err := w.target(id)
	if err != nil {
		return err
	}
	return eventually(ctx, patience, id+" was not written for "+text, func() (bool, error) {
		live, err := client.Get(ctx, name, metav1.GetOptions{})
		return err == nil && time.Since(lastWrite(live)) > quiet, err
	})
}

// lastWrite is when an object was last written: later than that by up to a
// second, which is what the server's clock shows.
func lastWrite(obj *unstructured.Unstructured) time.Time {
	last := obj.GetCreationTimestamp().Time
	for _, entry := range obj.GetManagedFields() {
		if entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last.Add(time.Second)
}
