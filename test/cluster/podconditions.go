package main

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podConditions derives the conditions of a pod from the statuses of its containers. Conditions
// that others have set stay.
func podConditions(pod *corev1.Pod, status corev1.PodStatus, now metav1.Time) []corev1.PodCondition {
	conditions := slices.Clone(pod.Status.Conditions)
	set := func(kind corev1.PodConditionType, reason, message string) {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: now}
		if reason != "" {
			c.Status = corev1.ConditionFalse
		}
		i := slices.IndexFunc(conditions, func(have corev1.PodCondition) bool { return have.Type == kind })
		if i < 0 {
			conditions = append(conditions, c)
			return
		}
		if conditions[i].Status == c.Status {
			c.LastTransitionTime = conditions[i].LastTransitionTime
		}
		conditions[i] = c
	}
	set(corev1.PodReadyToStartContainers, "", "")
	if names := unready(status.InitContainerStatuses); len(names) > 0 {
		set(corev1.PodInitialized, "ContainersNotInitialized",
			fmt.Sprintf("containers with incomplete status: [%s]", strings.Join(names, " ")))
	} else {
		set(corev1.PodInitialized, "", "")
	}
	reason, message := unreadiness(status)
	set(corev1.ContainersReady, reason, message)
	set(corev1.PodReady, reason, message)
	for _, gate := range pod.Spec.ReadinessGates {
		set(gate.ConditionType, "", "")
	}
	return conditions
}

// unreadiness says why the containers are not ready. Both are empty if they are.
func unreadiness(status corev1.PodStatus) (reason, message string) {
	names := unready(status.ContainerStatuses)
	switch {
	case status.Phase == corev1.PodSucceeded:
		return "PodCompleted", ""
	case status.Phase == corev1.PodFailed:
		return "PodFailed", ""
	case len(names) > 0:
		return "ContainersNotReady", fmt.Sprintf("containers with unready status: [%s]", strings.Join(names, " "))
	}
	return "", ""
}

// unready returns the names of the containers that are not ready.
func unready(statuses []corev1.ContainerStatus) []string {
	var names []string
	for _, s := range statuses {
		if !s.Ready {
			names = append(names, s.Name)
		}
	}
	return names
}

// podEvent returns the event that a kubelet records on a pod that fails for the reason.
func podEvent(reason string, pod *corev1.Pod, now metav1.Time) (*corev1.Event, error) {
	container := failingContainer(pod)
	var message string
	switch reason {
	case "Failed":
		image := failingImage(pod)
		message = fmt.Sprintf("Failed to pull image %q: %s", image, pullError(image))
	case "BackOff":
		message = fmt.Sprintf("Back-off restarting failed container %s in pod %s_%s(%s)", container, pod.Name, pod.Namespace, pod.UID)
	case "Unhealthy":
		message = "Readiness probe failed: HTTP probe failed with statuscode: 503"
	default:
		return nil, fmt.Errorf("unknown reason %q", reason)
	}
	field := "spec.containers{" + container + "}"
	if failsInInit(pod) {
		field = "spec.initContainers{" + container + "}"
	}
	return &corev1.Event{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{Name: strings.ToLower(fmt.Sprintf("%s.%s.%s", pod.Name, pod.UID, reason)), Namespace: pod.Namespace},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, FieldPath: field,
		},
		Type: corev1.EventTypeWarning, Reason: reason, Message: message,
		Count: restartCount(pod) + 1, FirstTimestamp: started(pod, now), LastTimestamp: now,
		Source: corev1.EventSource{Component: "kubelet", Host: nodeName}, ReportingController: "kubelet", ReportingInstance: nodeName,
	}, nil
}
