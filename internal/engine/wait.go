package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kengine "sigs.k8s.io/cli-utils/pkg/kstatus/polling/engine"
	"sigs.k8s.io/cli-utils/pkg/kstatus/polling/event"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/cli-utils/pkg/kstatus/watcher"
	kobject "sigs.k8s.io/cli-utils/pkg/object"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/status"
)

// target is an object that is waited for.
type target struct {
	change *Change
	uid    types.UID
	result status.Result
	last   *unstructured.Unstructured
}

// await returns when all targets are ready. It fails at once when one of them
// can never become ready, and when the time for the component is over.
func (a *applier) await(ctx context.Context, targets []*target, wave applyWave, later []applyWave) error {
	if len(targets) == 0 {
		return nil
	}
	pending := make(map[object.ID]*target, len(targets))
	for _, t := range targets {
		if t.result.State == status.Failed {
			return a.notReady(ctx, targets, wave, later)
		}
		pending[t.change.ID] = t
	}
	waitCtx, cancel := context.WithDeadline(ctx, a.deadline)
	defer cancel()
	events := a.e.watch(waitCtx, a.plan.owner, idsOf(pending))
	// The watcher ends only when its events are read to the end.
	defer drain(cancel, events)
	for e := range events {
		if e.Type == event.ErrorEvent && waitCtx.Err() == nil {
			return a.e.connectionError(fmt.Errorf("watching the objects of component %s: %w", a.plan.Component, e.Error))
		}
		if done, failed := a.observeEvent(pending, e); failed {
			return a.notReady(ctx, targets, wave, later)
		} else if done {
			return nil
		}
	}
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	return a.notReady(ctx, targets, wave, later)
}

// observeEvent enters one event into the targets: done when all are ready,
// failed when one never will be.
func (a *applier) observeEvent(pending map[object.ID]*target, e event.Event) (done, failed bool) {
	if e.Type != event.ResourceUpdateEvent {
		return false, false
	}
	t := pending[idOfMetadata(e.Resource.Identifier)]
	if t == nil {
		return false, false
	}
	if e.Resource.Resource == nil {
		t.result = status.Result{State: status.InProgress, Message: "the object was deleted while it was waited for"}
		return false, false
	}
	t.last = e.Resource.Resource
	t.result = status.Of(t.last, t.change.Policies.Hints)
	switch t.result.State {
	case status.Ready:
		a.settled(t.change)
		delete(pending, t.change.ID)
	case status.Failed:
		return false, true
	}
	return len(pending) == 0, false
}

// drain ends a watch and reads its remaining events.
func drain(cancel context.CancelFunc, events <-chan event.Event) {
	cancel()
	go func() {
		for range events { //nolint:revive // reading is all that is wanted
		}
	}()
}

// watch reports changes of objects of an owner until the context ends.
func (e *Engine) watch(ctx context.Context, owner Owner, ids []object.ID) <-chan event.Event {
	set := make(kobject.ObjMetadataSet, len(ids))
	for i, id := range ids {
		set[i] = kobject.ObjMetadata{Namespace: id.Namespace, Name: id.Name, GroupKind: id.GroupKind()}
	}
	selector := labels.SelectorFromSet(labels.Set{e.ownerLabel(): owner.Hash})
	w := &watcher.DefaultStatusWatcher{
		DynamicClient: e.cluster.Dynamic(),
		Mapper:        e.cluster.Mapper(),
		ResyncPeriod:  time.Hour,
		StatusReader:  bareReader{},
		Indexers:      watcher.DefaultIndexers(),
		Filters:       &watcher.Filters{Labels: selector},
	}
	return w.Watch(ctx, set, watcher.Options{RESTScopeStrategy: watcher.RESTScopeNamespace})
}

func idsOf(pending map[object.ID]*target) []object.ID {
	ids := make([]object.ID, 0, len(pending))
	for id := range pending {
		ids = append(ids, id)
	}
	return ids
}

func idOfMetadata(m kobject.ObjMetadata) object.ID {
	return object.ID{Group: m.GroupKind.Group, Kind: m.GroupKind.Kind, Namespace: m.Namespace, Name: m.Name}
}

// bareReader hands the watched object on: readiness is decided in package
// status, with the hints of each object, and without reading its pods.
type bareReader struct{}

func (bareReader) Supports(schema.GroupKind) bool { return true }

func (bareReader) ReadStatus(_ context.Context, _ kengine.ClusterReader, id kobject.ObjMetadata) (*event.ResourceStatus, error) {
	return &event.ResourceStatus{Identifier: id, Status: kstatus.UnknownStatus}, nil
}

func (bareReader) ReadStatusForObject(_ context.Context, _ kengine.ClusterReader, obj *unstructured.Unstructured) (*event.ResourceStatus, error) {
	return &event.ResourceStatus{
		Identifier: kobject.UnstructuredToObjMetadata(obj), Status: kstatus.UnknownStatus, Resource: obj,
	}, nil
}

// NotReadyError says which objects a component waits for, and what is known
// about each.
type NotReadyError struct {
	Component Component
	Waited    time.Duration
	// Failed: an object has failed for good; the time was not over.
	Failed bool
	Lines  []string
}

// Title is the headline of the message.
func (e *NotReadyError) Title() string {
	if e.Failed {
		return fmt.Sprintf("Component %s failed after %s", e.Component, e.Waited.Round(time.Second))
	}
	return fmt.Sprintf("Component %s is not ready after %s", e.Component, e.Waited.Round(time.Second))
}

func (e *NotReadyError) Error() string { return strings.Join(e.Lines, "\n") }

func (a *applier) notReady(ctx context.Context, targets []*target, wave applyWave, later []applyWave) error {
	var unready []*target
	failed := false
	for _, t := range targets {
		if t.result.State != status.Ready {
			unready = append(unready, t)
			failed = failed || t.result.State == status.Failed
		}
	}
	lines := []string{a.progressLine(wave, later, len(unready)), ""}
	lines = append(lines, a.e.explain(ctx, unready)...)
	lines = append(lines, "", " What was applied is recorded. Correct the cause and run apply again: it continues here.")
	if a.plan.prior == nil {
		lines = append(lines, " Terraform will announce a replacement for this resource because its first creation failed; nothing is destroyed.")
	}
	return &NotReadyError{Component: a.plan.Component, Waited: a.e.now().Sub(a.started), Failed: failed, Lines: lines}
}

// progressLine says how far the waves have come.
func (a *applier) progressLine(wave applyWave, later []applyWave, unready int) string {
	line := fmt.Sprintf(" wave %d of %d (apply-order %d): %d of %s ready",
		a.wave, a.waves, wave.order, wave.objects()-unready, counted(wave.objects(), "object is", "objects are"))
	if len(later) == 0 {
		return line + "."
	}
	blocked := 0
	for _, next := range later {
		blocked += next.objects()
	}
	return fmt.Sprintf("%s; %s not started.", line, counted(blocked, "object of the later waves was", "objects of the later waves were"))
}
