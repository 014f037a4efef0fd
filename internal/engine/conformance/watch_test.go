package conformance

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// The moments in the life of an object.
const (
	appears     = " appears"
	isReady     = " is ready"
	terminating = " is terminating"
	goes        = " goes"
)

// moment is when something happened to an object, by the count of the API
// server.
type moment struct {
	version uint64
	text    string
}

// eventLog is what a watch of the whole world has seen.
type eventLog struct {
	w   *world
	ctx context.Context

	mu      sync.Mutex
	moments []moment
	live    map[string]types.UID
	// told are the moments that came once in the life of an object.
	told    map[string]bool
	watched map[kind]bool
}

// watchAll watches all kinds that stories are about. A kind of the story's own
// API group is watched as soon as its type is there.
func watchAll(ctx context.Context, w *world) *eventLog {
	l := &eventLog{w: w, ctx: ctx, live: map[string]types.UID{}, told: map[string]bool{}, watched: map[kind]bool{}}
	for _, k := range builtin {
		l.watch(k)
	}
	return l
}

func (l *eventLog) watch(k kind) {
	l.mu.Lock()
	known := l.watched[k]
	l.watched[k] = true
	l.mu.Unlock()
	if known {
		return
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(l.w.client, k.resource, "", 0, cache.Indexers{}, nil).Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    l.updated,
		UpdateFunc: func(_, now any) { l.updated(now) },
		DeleteFunc: l.deleted,
	})
	if err == nil {
		// A type that is gone has nothing more to tell.
		err = informer.SetWatchErrorHandler(func(*cache.Reflector, error) {})
	}
	if err != nil {
		l.w.t.Error(err)
		return
	}
	go informer.Run(l.ctx.Done())
	if k.resource.Group != l.w.group() {
		cache.WaitForCacheSync(l.ctx.Done(), informer.HasSynced)
	}
}

func (l *eventLog) updated(seen any) {
	obj, ok := seen.(*unstructured.Unstructured)
	if !ok || !l.w.isOwn(obj) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id, version := l.w.idOf(obj), versionOf(obj)
	if uid, known := l.live[id]; !known || uid != obj.GetUID() {
		if known {
			l.add(version, id+goes)
		}
		l.add(version, id+appears)
	}
	l.live[id] = obj.GetUID()
	l.once(obj, ready(obj), isReady)
	l.once(obj, obj.GetDeletionTimestamp() != nil, terminating)
	if obj.GetKind() == crds.name && ready(obj) {
		name, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
		go l.watch(l.w.customKind(name))
	}
}

// once notes a moment the first time that it is true of an object.
func (l *eventLog) once(obj *unstructured.Unstructured, holds bool, what string) {
	key := string(obj.GetUID()) + what
	if holds && !l.told[key] {
		l.told[key] = true
		l.add(versionOf(obj), l.w.idOf(obj)+what)
	}
}

func (l *eventLog) deleted(seen any) {
	if lost, ok := seen.(cache.DeletedFinalStateUnknown); ok {
		seen = lost.Obj
	}
	obj, ok := seen.(*unstructured.Unstructured)
	if !ok || !l.w.isOwn(obj) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.w.idOf(obj)
	delete(l.live, id)
	l.add(versionOf(obj), id+goes)
}

func (l *eventLog) add(version uint64, text string) {
	l.moments = append(l.moments, moment{version, text})
}

// since returns the moments after the first n, in the order of the API server.
func (l *eventLog) since(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	later := slices.Clone(l.moments[n:])
	slices.SortStableFunc(later, func(a, b moment) int {
		if a.version < b.version {
			return -1
		}
		return int(min(a.version-b.version, 1))
	})
	var texts []string
	for _, m := range later {
		texts = append(texts, m.text)
	}
	return texts
}

// length is how many moments there were.
func (l *eventLog) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.moments)
}

// shows reports whether the watch has seen just these objects.
func (l *eventLog) shows(objects map[string]snapshot) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, s := range objects {
		if l.live[id] != s.uid {
			return false
		}
	}
	return len(l.live) == len(objects)
}

func versionOf(obj *unstructured.Unstructured) uint64 {
	version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// ready is what a reader of the stories takes for ready.
func ready(obj *unstructured.Unstructured) bool {
	switch obj.GetKind() {
	case crds.name:
		return hasCondition(obj, "Established")
	case "Job":
		return hasCondition(obj, "Complete")
	case "Deployment":
		wanted, _, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas")
		available, _, _ := unstructured.NestedInt64(obj.Object, "status", "availableReplicas")
		observed, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
		return available >= wanted && observed >= obj.GetGeneration()
	default:
		return hasCondition(obj, "Ready")
	}
}

func hasCondition(obj *unstructured.Unstructured, name string) bool {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(entry any) bool {
		condition, _ := entry.(map[string]any)
		return condition["type"] == name && condition["status"] == "True"
	})
}
