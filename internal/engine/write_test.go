package engine

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const oneMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {component-operator.cs.sap.com/update-policy: POLICY}}, data: {k: ours}}"

// policies are the update policies as annotations spell them.
var policies = []string{"ssa-override", "ssa-merge", "replace", "recreate"}

func TestCreateNeverOverwrites(t *testing.T) {
	t.Parallel()
	for _, policy := range policies {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := r.story("c", strings.ReplaceAll(oneMap, "POLICY", policy))
			var theirs string
			r.wire.onceBefore(writesTo("configmaps/x"), func() {
				theirs = r.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: theirs}}")[0].GetResourceVersion()
			})
			result, err := s.apply()
			r.wantError(err, "Object appeared in between", "ConfigMap/NAMESPACE/x", "It was not touched")
			if theirs == "" {
				t.Fatal("nothing appeared in between")
			}
			if got := r.mustLive("ConfigMap/x").GetResourceVersion(); got != theirs {
				t.Errorf("it was touched: %v", r.live("ConfigMap/x").Object)
			}
			if len(result.Objects) > 0 {
				t.Errorf("Terraform keeps %v", result.Objects)
			}
			// The next plan says what the error promises.
			if warnings := text(s.mustPlan().Warnings); !strings.Contains(warnings, "1 existing object") {
				t.Errorf("the next plan does not say that it would adopt the object:\n%s", warnings)
			}
		})
	}

	t.Run("also when passed dry-runs are remembered", func(t *testing.T) {
		t.Parallel()
		r := newRigWith(t, Options{CacheDir: t.TempDir()})
		s := r.story("c", strings.ReplaceAll(oneMap, "POLICY", "ssa-override"))
		r.wire.onceBefore(writesTo("configmaps/x"), func() {
			r.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: theirs}}")
		})
		_, err := s.apply()
		r.wantError(err, "Object appeared in between")
		if warnings := text(s.mustPlan().Warnings); !strings.Contains(warnings, "1 existing object") {
			t.Errorf("the next plan does not say that it would adopt the object:\n%s", warnings)
		}
	})
}

// loseAnswer drops the answer of the first request that a condition holds for,
// after it took effect.
func (w *wire) loseAnswer(condition func(request) bool) (lost *atomic.Int32) {
	lost = &atomic.Int32{}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after = func(req *http.Request, resp *http.Response) (*http.Response, error) {
		if !condition(request{req.Method, req.URL.Path, req.URL.RawQuery}) || !lost.CompareAndSwap(0, 1) {
			return resp, nil
		}
		_, _ = io.Copy(io.Discard, resp.Body) // nobody will read it
		_ = resp.Body.Close()
		return nil, syscall.ECONNRESET
	}
	return lost
}

func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, policy := range policies {
		t.Run("of a create under "+policy+" it counts as success", func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := r.story("c", strings.ReplaceAll(oneMap, "POLICY", policy))
			lost := r.wire.loseAnswer(writesTo("configmaps/x"))
			s.mustApply()
			if lost.Load() == 0 {
				t.Fatal("no answer was lost")
			}
			r.wantFields(map[string]any{"ConfigMap/x data.k": "ours"})
		})
		t.Run("of an update under "+policy+" it is written once more at most", func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			manifest := strings.ReplaceAll(oneMap, "POLICY", policy)
			s := r.story("c", manifest)
			s.mustApply()
			s.write(strings.ReplaceAll(manifest, "ours", "changed"))
			lost := r.wire.loseAnswer(writesTo("configmaps/x"))
			s.mustApply()
			if lost.Load() == 0 {
				t.Fatal("no answer was lost")
			}
			r.wantFields(map[string]any{"ConfigMap/x data.k": "changed"})
		})
	}

	t.Run("of the record it is no other run", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", twoMaps)
		lost := r.wire.loseAnswer(writesTo("secrets/component.c"))
		s.mustApply()
		if lost.Load() == 0 {
			t.Fatal("no answer was lost")
		}
	})

	t.Run("of a deletion it is gone all the same", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", twoMaps)
		s.mustApply()
		lost := r.wire.loseAnswer(func(q request) bool { return q.method == http.MethodDelete })
		s.mustDestroy()
		if lost.Load() == 0 || r.live("ConfigMap/one") != nil || r.live("ConfigMap/two") != nil {
			t.Error("something is left")
		}
	})
}

func TestAnObjectThatIsDeletedBeforeItsUpdateIsCreated(t *testing.T) {
	t.Parallel()
	for _, policy := range policies {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			manifest := strings.ReplaceAll(oneMap, "POLICY", policy)
			s := r.story("c", manifest)
			s.mustApply()
			uid := r.mustLive("ConfigMap/x").GetUID()
			r.edit("ConfigMap/x", `{"data": {"theirs": "lost"}}`)
			s.write(strings.ReplaceAll(manifest, "ours", "changed"))
			r.wire.onceBefore(writesTo("configmaps/x"), func() { r.remove("ConfigMap/x") })
			s.mustApply()
			if r.mustLive("ConfigMap/x").GetUID() == uid {
				t.Error("it is the deleted object")
			}
			r.wantFields(map[string]any{"ConfigMap/x data.k": "changed", "ConfigMap/x data.theirs": nil})
		})
	}
}

func TestAnObjectThatIsAnotherOneBeforeItsUpdateIsNotTouched(t *testing.T) {
	t.Parallel()
	for _, policy := range policies {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			manifest := strings.ReplaceAll(oneMap, "POLICY", policy)
			s := r.story("c", manifest)
			s.mustApply()
			s.write(strings.ReplaceAll(manifest, "ours", "changed"))
			r.wire.onceBefore(writesTo("configmaps/x"), func() {
				r.remove("ConfigMap/x")
				r.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: theirs}}")
			})
			_, err := s.apply()
			r.wantError(err, "Object changed hands", "ConfigMap/NAMESPACE/x", "It was not touched")
			r.wantFields(map[string]any{"ConfigMap/x data.k": "theirs"})
		})
	}
}

// An object that changed while it was written is read and written again.
func TestConflictsAreDecidedAgain(t *testing.T) {
	t.Parallel()
	for name, annotations := range map[string]string{
		"replace":             "component-operator.cs.sap.com/update-policy: replace",
		"a take-over":         "component-operator.cs.sap.com/update-policy: ssa-override",
		"once, not yet ready": "component-operator.cs.sap.com/update-policy: replace, component-operator.cs.sap.com/reconcile-policy: once",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := r.story("c", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {component-operator.cs.sap.com/update-policy: replace}}, data: {k: ours}}")
			s.mustApply()
			r.edit("ConfigMap/x", `{"data": {"theirs": "1"}}`)
			s.write("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {" + annotations + "}}, data: {k: changed}}")
			happened := false
			r.wire.onceBefore(writesTo("configmaps/x"), func() {
				happened = true
				r.edit("ConfigMap/x", `{"data": {"theirs": "2"}}`)
			})
			s.mustApply()
			if !happened {
				t.Fatal("nothing changed in between")
			}
			r.wantFields(map[string]any{"ConfigMap/x data.k": "changed", "ConfigMap/x data.theirs": nil})
		})
	}
}

// An apply onto an object that is being deleted would vanish with it: the
// object is waited for and created anew.
func TestTerminatingObjectsAreWaitedForAndCreatedAnew(t *testing.T) {
	t.Parallel()
	const held = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: ours}}"
	// vanish deletes the object, which a finalizer holds until it was waited for.
	vanish := func(r *rig, id string) (uid types.UID) {
		r.edit(id, `{"metadata": {"finalizers": ["example.org/hold"]}}`)
		r.remove(id)
		return r.mustLive(id).GetUID()
	}
	// release takes the finalizer away as soon as the engine watches the object.
	release := func(r *rig, _ *story, id string) {
		t := r.T
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.eventuallyQuiet(func() bool {
				return len(r.wire.all(func(q request) bool {
					return q.method == http.MethodGet && strings.Contains(q.query, "watch=true") && strings.HasSuffix(q.path, "/configmaps")
				})) > 0
			})
			obj := r.named(id)
			_, err := r.client(obj).Patch(context.WithoutCancel(t.Context()), obj.GetName(), types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{FieldManager: "controller"})
			if err != nil {
				t.Error(err)
			}
		}()
		t.Cleanup(func() { <-done })
	}

	t.Run("one that a former component left behind", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create(held)
		uid := vanish(r, "ConfigMap/x")
		s := r.story("c", held)
		release(r, s, "ConfigMap/x")
		s.mustApply()
		if live := r.mustLive("ConfigMap/x"); live.GetUID() == uid || live.GetDeletionTimestamp() != nil {
			t.Error("it is the object that was being deleted")
		}
	})

	t.Run("one of ours that did not change", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", held)
		s.mustApply()
		uid := vanish(r, "ConfigMap/x")
		if plan := s.mustPlan(); plan.NothingToDo {
			t.Error("the plan is empty although the object is about to go")
		}
		release(r, s, "ConfigMap/x")
		s.mustApply()
		if live := r.mustLive("ConfigMap/x"); live.GetUID() == uid || live.GetDeletionTimestamp() != nil {
			t.Error("it is the object that was being deleted")
		}
	})

	t.Run("one that vanishes between plan and apply", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		s := r.story("c", held)
		s.mustApply()
		s.write(strings.ReplaceAll(held, "ours", "changed"))
		var uid types.UID
		r.wire.onceBefore(writesTo("configmaps/x"), func() {
			uid = vanish(r, "ConfigMap/x")
			release(r, s, "ConfigMap/x")
		})
		s.mustApply()
		if live := r.mustLive("ConfigMap/x"); live.GetUID() == uid || live.GetDeletionTimestamp() != nil {
			t.Error("it is the object that was being deleted")
		}
		r.wantFields(map[string]any{"ConfigMap/x data.k": "changed"})
	})

	t.Run("one that stays is named with its finalizer", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create(held)
		vanish(r, "ConfigMap/x")
		s := r.story("c", held)
		s.component.ReadyTimeout = 2 * time.Second
		_, err := s.apply()
		r.wantError(err, "Object is still terminating", "ConfigMap/NAMESPACE/x", "example.org/hold")
		r.edit("ConfigMap/x", `{"metadata": {"finalizers": null}}`)
	})

	t.Run("an interruption ends the wait", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.create(held)
		vanish(r, "ConfigMap/x")
		s := r.story("c", held)
		approved := s.mustPlan().Planned.Objects
		ctx, cancel := context.WithCancel(t.Context())
		var at time.Time
		r.wire.onceBefore(func(q request) bool { return strings.Contains(q.query, "watch=true") }, func() {
			at = time.Now()
			cancel()
		})
		_, err := s.execute(ctx, approved)
		r.wantError(err, "The operation was interrupted")
		if took := time.Since(at); took > time.Second {
			t.Errorf("it took %v to stop", took)
		}
		r.edit("ConfigMap/x", `{"metadata": {"finalizers": null}}`)
	})
}

// What an API server cannot do for a moment is tried again while there is
// time.
func TestAWebhookThatDoesNotAnswerYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NAMESPACE}
webhooks:
- name: down.example.org
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {service: {namespace: NAMESPACE, name: nowhere}}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
`)
	s := r.story("c", twoMaps)
	r.eventually("the webhook is asked", func() bool { return strings.Contains(text(s.mustPlan().Warnings), "failed calling webhook") })
	var attempts atomic.Int32
	counted := writesTo("configmaps/one")
	r.wire.before = func(req *http.Request) {
		if counted(request{req.Method, req.URL.Path, req.URL.RawQuery}) && attempts.Add(1) == 2 {
			r.remove("ValidatingWebhookConfiguration.admissionregistration.k8s.io/NAMESPACE")
		}
	}
	s.mustApply()
	if attempts.Load() < 2 {
		t.Errorf("made %d attempts", attempts.Load())
	}
}
