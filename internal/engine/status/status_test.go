package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// parsed reads a live object. YAML numbers become int64, as those of a client
// do.
func parsed(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestReadinessByKind(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		want   Result
	}{
		"a Job without status is waited for": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}}`,
			Result{InProgress, "the Job is running: 0 active, 0 failed pods"},
		},
		"a running Job is waited for, although kstatus calls it current": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {active: 2, failed: 1, startTime: "2026-01-01T00:00:00Z"}}`,
			Result{InProgress, "the Job is running: 2 active, 1 failed pods"},
		},
		"a Job about to fail is waited for": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {failed: 7, conditions: [{type: FailureTarget, status: "True", reason: BackoffLimitExceeded}]}}`,
			Result{InProgress, "the Job is running: 0 active, 7 failed pods"},
		},
		"a failed Job has failed": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {failed: 7, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}]}}`,
			Result{Failed, "the Job failed: BackoffLimitExceeded Job has reached the specified backoff limit"},
		},
		"a complete Job is ready": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}}`,
			Result{Ready, "the Job is complete"},
		},
		"a Job of another group is no Job": {
			`{apiVersion: batch.example.org/v1, kind: Job, metadata: {name: j}}`,
			Result{Ready, "Resource is current"},
		},
		"a CRD without status is waited for": {
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c}}`,
			Result{InProgress, "NamesAccepted is not known yet"},
		},
		"a CRD whose names are accepted and that is not established is waited for": {
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c}, status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "False", reason: Installing, message: the initial names have been accepted}]}}`,
			Result{InProgress, "Established is False: Installing the initial names have been accepted"},
		},
		"a CRD whose names are taken is waited for": {
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c}, status: {conditions: [{type: NamesAccepted, status: "False", reason: PluralConflict}, {type: Established, status: "True"}]}}`,
			Result{InProgress, "NamesAccepted is False: PluralConflict"},
		},
		"an established CRD is ready": {
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c}, status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}}`,
			Result{Ready, "Established"},
		},
		"an APIService without status is waited for": {
			`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.org}}`,
			Result{InProgress, "Available is not known yet"},
		},
		"an APIService whose server does not answer is waited for": {
			`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.org}, status: {conditions: [{type: Available, status: "False", reason: ServiceNotFound, message: service/x in "n" is not present}]}}`,
			Result{InProgress, `Available is False: ServiceNotFound service/x in "n" is not present`},
		},
		"an available APIService is ready": {
			`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.org}, status: {conditions: [{type: Available, status: "True"}]}}`,
			Result{Ready, "Available"},
		},
		"a Deployment without status is waited for": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, generation: 1}, spec: {replicas: 1}}`,
			Result{InProgress, "Replicas: 0/1"},
		},
		"a Deployment that its controller has not seen yet is waited for": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, generation: 2}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}}`,
			Result{InProgress, "Deployment generation is 2, but latest observed generation is 1"},
		},
		"a Deployment past its progress deadline has failed": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: too slow}]}}`,
			Result{Failed, "Progress deadline exceeded"},
		},
		"an available Deployment is ready": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}}`,
			Result{Ready, "Deployment is available. Replicas: 1"},
		},
		"a Deployment of no replicas is ready": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}}`,
			Result{Ready, "Deployment is available. Replicas: 0"},
		},
		"an object without status, whose kind has none, is ready": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`,
			Result{Ready, "Resource is always ready"},
		},
		"a custom resource without status is ready": {
			`{apiVersion: example.org/v1, kind: Widget, metadata: {name: w, generation: 3}}`,
			Result{Ready, "Resource is current"},
		},
		"a custom resource that is not Ready is waited for": {
			`{apiVersion: example.org/v1, kind: Widget, metadata: {name: w, generation: 1}, status: {conditions: [{type: Ready, status: "False", reason: Creating, message: two of three}]}}`,
			Result{InProgress, "two of three"},
		},
		"a custom resource whose controller has not seen it yet is waited for": {
			`{apiVersion: example.org/v1, kind: Widget, metadata: {name: w, generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`,
			Result{InProgress, "Widget generation is 2, but latest observed generation is 1"},
		},
		"an object whose conditions are none is waited for, with the words of kstatus": {
			`{apiVersion: example.org/v1, kind: Widget, metadata: {name: w}, status: {conditions: fine}}`,
			Result{InProgress, "cannot restore slice from string"},
		},
		"an object that is being deleted is terminating, also when it was ready": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j, deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {conditions: [{type: Complete, status: "True"}]}}`,
			Result{Terminating, "the object is being deleted"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Of(parsed(t, c.object), Hints{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHints(t *testing.T) {
	for name, c := range map[string]struct {
		hint, object string
		want         State
	}{
		"without a hint a custom resource without status is ready": {
			"", `{}`, Ready,
		},
		"has-observed-generation: a missing one counts as not yet observed": {
			"has-observed-generation", `{generation: 1}`, InProgress,
		},
		"has-observed-generation: an older one is not yet observed": {
			"has-observed-generation", `{generation: 2, status: {observedGeneration: 1}}`, InProgress,
		},
		"has-observed-generation: the current one is observed": {
			"has-observed-generation", `{generation: 2, status: {observedGeneration: 2}}`, Ready,
		},
		"has-observed-generation: that of the Ready condition is used if present": {
			"has-observed-generation", `{generation: 2, status: {conditions: [{type: Ready, status: "True", observedGeneration: 2}]}}`, Ready,
		},
		"has-observed-generation: that of the Ready condition counts more than that of the status": {
			"has-observed-generation", `{generation: 2, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True", observedGeneration: 1}]}}`, InProgress,
		},
		"has-ready-condition: a missing one counts as Unknown": {
			"has-ready-condition", `{generation: 1, status: {observedGeneration: 1}}`, InProgress,
		},
		"has-ready-condition: Unknown is not ready": {
			"has-ready-condition", `{status: {conditions: [{type: Ready, status: Unknown}]}}`, InProgress,
		},
		"has-ready-condition: True is ready": {
			"has-ready-condition", `{status: {conditions: [{type: Ready, status: "True"}]}}`, Ready,
		},
		"conditions: a missing one is waited for": {
			"conditions=Synced;Valid", `{status: {conditions: [{type: Synced, status: "True"}]}}`, InProgress,
		},
		"conditions: all True is ready": {
			"conditions=Synced;Valid", `{status: {conditions: [{type: Synced, status: "True"}, {type: Valid, status: "True"}]}}`, Ready,
		},
		"conditions: a False one is waited for": {
			"conditions=Valid", `{status: {conditions: [{type: Valid, status: "False"}]}}`, InProgress,
		},
		"conditions and the rest together": {
			"has-ready-condition,conditions=Valid", `{status: {conditions: [{type: Valid, status: "True"}]}}`, InProgress,
		},
		"hints do not make ready what is not": {
			"conditions=Valid", `{status: {conditions: [{type: Valid, status: "True"}, {type: Ready, status: "False"}]}}`, InProgress,
		},
	} {
		t.Run(name, func(t *testing.T) {
			hints, err := ParseHints(c.hint)
			if err != nil {
				t.Fatal(err)
			}
			obj := parsed(t, "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w}\n")
			if generation, ok := parsed(t, "apiVersion: v1\nkind: T\nt: "+c.object).Object["t"].(map[string]any); ok {
				if n, ok := generation["generation"].(int64); ok {
					obj.SetGeneration(n)
				}
				if status, ok := generation["status"]; ok {
					obj.Object["status"] = status
				}
			}
			if diff := cmp.Diff(c.want, Of(obj, hints).State); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHintsApplyToBuiltinKinds(t *testing.T) {
	complete := parsed(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {conditions: [{type: Complete, status: "True"}]}}`)
	if got := Of(complete, Hints{Conditions: []string{"Reported"}}); got.State != InProgress {
		t.Errorf("got %v, want it to wait for the condition of the hint", got)
	}
}

func TestParseHints(t *testing.T) {
	for text, want := range map[string]Hints{
		"":                          {},
		"has-observed-generation":   {HasObservedGeneration: true},
		"hasObservedGeneration":     {HasObservedGeneration: true},
		"HasObservedGeneration":     {HasObservedGeneration: true},
		" has-ready-condition , ":   {HasReadyCondition: true},
		"hasReadyCondition":         {HasReadyCondition: true},
		"conditions=A":              {Conditions: []string{"A"}},
		"conditions= A ; B ;":       {Conditions: []string{"A", "B"}},
		"Conditions=A,conditions=B": {Conditions: []string{"A", "B"}},
		"has-observed-generation,has-ready-condition,conditions=A;B": {HasObservedGeneration: true, HasReadyCondition: true, Conditions: []string{"A", "B"}},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := ParseHints(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, text := range []string{"ready", "has-observed-generation=false", "conditions", "conditions=", "conditions=;", "condition=A"} {
		t.Run("refused: "+text, func(t *testing.T) {
			if got, err := ParseHints(text); err == nil {
				t.Errorf("got %+v, want an error", got)
			}
		})
	}
}
