// Package status decides whether an object is ready: kstatus, with the
// additions of semantics.md, section 7.
package status

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// State is how far an object has come.
type State string

const (
	// Ready: the object is what it should be.
	Ready State = "Ready"
	// InProgress: its controller is at work, or has not begun.
	InProgress State = "InProgress"
	// Failed: it will not become ready by itself; waiting is useless.
	Failed State = "Failed"
	// Terminating: it is being deleted.
	Terminating State = "Terminating"
)

// Result is the readiness of one object. Message says in the words of kstatus
// what is missing.
type Result struct {
	State   State
	Message string
}

// Hints are what the author of a manifest knows about its controller
// (annotation status-hint, semantics.md, section 7).
type Hints struct {
	// HasObservedGeneration: a missing status.observedGeneration counts as not
	// yet observed.
	HasObservedGeneration bool
	// HasReadyCondition: a missing Ready condition counts as Unknown.
	HasReadyCondition bool
	// Conditions must be present and True.
	Conditions []string
}

// ParseHints reads the value of the annotation status-hint.
func ParseHints(text string) (Hints, error) {
	var hints Hints
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		name, value, hasValue := strings.Cut(part, "=")
		conditions := conditionNames(value)
		switch name = strings.ToLower(strings.ReplaceAll(name, "-", "")); {
		case part == "":
		case name == "hasobservedgeneration" && !hasValue:
			hints.HasObservedGeneration = true
		case name == "hasreadycondition" && !hasValue:
			hints.HasReadyCondition = true
		case name == "conditions" && len(conditions) > 0:
			hints.Conditions = append(hints.Conditions, conditions...)
		default:
			return hints, fmt.Errorf("%q is not one of has-observed-generation, has-ready-condition, conditions=A;B", part)
		}
	}
	return hints, nil
}

func conditionNames(text string) []string {
	var names []string
	for _, name := range strings.Split(text, ";") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

var (
	jobKind        = schema.GroupKind{Group: "batch", Kind: "Job"}
	apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
	crdKind        = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// Of computes the readiness of a live object.
func Of(obj *unstructured.Unstructured, hints Hints) Result {
	if obj.GetDeletionTimestamp() != nil {
		return Result{Terminating, "the object is being deleted"}
	}
	if missing, ok := unmetHint(obj, hints); ok {
		return missing
	}
	switch obj.GroupVersionKind().GroupKind() {
	case jobKind:
		return ofJob(obj)
	case apiServiceKind:
		return ofCondition(obj, "Available")
	case crdKind:
		if accepted := ofCondition(obj, "NamesAccepted"); accepted.State != Ready {
			return accepted
		}
		return ofCondition(obj, "Established")
	}
	return ofKstatus(obj)
}

func ofKstatus(obj *unstructured.Unstructured) Result {
	computed, err := status.Compute(obj)
	if err != nil {
		return Result{InProgress, err.Error()}
	}
	switch computed.Status {
	case status.CurrentStatus:
		return Result{Ready, computed.Message}
	case status.FailedStatus:
		return Result{Failed, computed.Message}
	case status.TerminatingStatus:
		return Result{Terminating, computed.Message}
	default:
		return Result{InProgress, computed.Message}
	}
}

// ofJob waits for completion: kstatus takes a running Job for current.
func ofJob(obj *unstructured.Unstructured) Result {
	if failed, ok := Condition(obj, "Failed"); ok && failed.Status == "True" {
		return Result{Failed, strings.TrimSpace("the Job failed: " + failed.Reason + " " + failed.Message)}
	}
	if complete, ok := Condition(obj, "Complete"); ok && complete.Status == "True" {
		return Result{Ready, "the Job is complete"}
	}
	active, _, _ := unstructured.NestedInt64(obj.Object, "status", "active")
	failed, _, _ := unstructured.NestedInt64(obj.Object, "status", "failed")
	return Result{InProgress, fmt.Sprintf("the Job is running: %d active, %d failed pods", active, failed)}
}

func ofCondition(obj *unstructured.Unstructured, name string) Result {
	condition, ok := Condition(obj, name)
	switch {
	case ok && condition.Status == "True":
		return Result{Ready, name}
	case ok:
		return Result{InProgress, strings.TrimSpace(fmt.Sprintf("%s is %s: %s %s", name, condition.Status, condition.Reason, condition.Message))}
	default:
		return Result{InProgress, name + " is not known yet"}
	}
}

func unmetHint(obj *unstructured.Unstructured, hints Hints) (Result, bool) {
	if hints.HasObservedGeneration && !observed(obj) {
		return Result{InProgress, "status.observedGeneration is not the current generation"}, true
	}
	required := hints.Conditions
	if hints.HasReadyCondition {
		required = append([]string{"Ready"}, required...)
	}
	for _, name := range required {
		if result := ofCondition(obj, name); result.State != Ready {
			return result, true
		}
	}
	return Result{}, false
}

// observed reads status.observedGeneration, or that of the Ready condition
// when it has one.
func observed(obj *unstructured.Unstructured) bool {
	seen, ok, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	if condition, has := Condition(obj, "Ready"); has && condition.ObservedGeneration > 0 {
		seen, ok = condition.ObservedGeneration, true
	}
	return ok && seen >= obj.GetGeneration()
}

// ConditionState is one entry of status.conditions.
type ConditionState struct {
	Type, Status, Reason, Message string
	ObservedGeneration            int64
}

// Conditions returns the conditions of an object, in its order.
func Conditions(obj *unstructured.Unstructured) []ConditionState {
	entries, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	var all []ConditionState
	for _, entry := range entries {
		fields, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		text := func(key string) string { value, _ := fields[key].(string); return value }
		generation, _ := fields["observedGeneration"].(int64)
		all = append(all, ConditionState{text("type"), text("status"), text("reason"), text("message"), generation})
	}
	return all
}

// Condition returns one condition of an object.
func Condition(obj *unstructured.Unstructured, name string) (ConditionState, bool) {
	for _, condition := range Conditions(obj) {
		if condition.Type == name {
			return condition, true
		}
	}
	return ConditionState{}, false
}
