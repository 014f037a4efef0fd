package engine

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

const reasonApplying = "Applying"

// eventTimeout bounds the request for an event: it must not hold up an apply.
const eventTimeout = 2 * time.Second

var eventType = cluster.Type{
	GVK: corev1.SchemeGroupVersion.WithKind("Event"), Resource: corev1.SchemeGroupVersion.WithResource("events"), Namespaced: true,
}

// tell writes an event on the record of a component, as any controller does
// (semantics.md, section 10). Who may not write events does without. message
// must hold no value of a Secret.
func (e *Engine) tell(ctx context.Context, store *record.Store, kind, reason, message string) {
	about := store.Reference()
	now := metav1.NewTime(e.now())
	event := &corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{Namespace: about.Namespace, GenerateName: about.Name + "."},
		InvolvedObject: about, Type: kind, Reason: reason, Message: message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: e.options.FieldManager}, ReportingController: e.options.FieldManager,
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(event)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	_, _ = e.cluster.Create(ctx, eventType, &unstructured.Unstructured{Object: content}, cluster.Persist)
}

// enter writes a new state of the component into its record, and tells.
func (a *applier) enter(ctx context.Context, phase record.Phase, reason, message string) error {
	a.record.Phase, a.record.Reason, a.record.Updated = phase, reason, a.e.now().UTC()
	if err := a.plan.store.Save(ctx, a.record); err != nil {
		return err
	}
	a.tell(ctx, corev1.EventTypeNormal, reason, message)
	return nil
}

// tell writes an event about this apply, unless it changes nothing.
func (a *applier) tell(ctx context.Context, kind, reason, message string) {
	if !a.plan.NothingToDo {
		a.e.tell(ctx, a.plan.store, kind, reason, message)
	}
}
