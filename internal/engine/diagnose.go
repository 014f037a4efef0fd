package engine

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/status"
)

// explainLimit is how many unready objects a message describes.
const explainLimit = 10

var (
	podType = cluster.Type{GVK: corev1.SchemeGroupVersion.WithKind("Pod"), Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespaced: true}
	// replicaSets stand between a Deployment and its pods.
	replicaSets = cluster.Type{
		GVK:        appsV1.WithKind("ReplicaSet"),
		Resource:   appsV1.WithResource("replicasets"),
		Namespaced: true,
	}
)

// explain says what is known about objects that are not ready: the message of
// kstatus, conditions that are not as they should be, and the state of the
// containers of their pods. What may not be read is left out.
func (e *Engine) explain(ctx context.Context, unready []*target) []string {
	var lines []string
	pods := podFinder{e: e, byNamespace: map[string][]ownedPod{}}
	for i, t := range unready {
		if i == explainLimit {
			lines = append(lines, fmt.Sprintf(" and %d more", len(unready)-explainLimit))
			break
		}
		lines = append(lines, fmt.Sprintf(" %s   %s: %s", t.change.ID, t.result.State, t.result.Message))
		lines = append(lines, conditionLines(t.last)...)
		lines = append(lines, pods.lines(ctx, t)...)
	}
	return lines
}

// conditionLines lists conditions with a message that are not True.
func conditionLines(obj *unstructured.Unstructured) []string {
	if obj == nil {
		return nil
	}
	var lines []string
	for _, condition := range status.Conditions(obj) {
		if condition.Status == "True" || condition.Message == "" {
			continue
		}
		lines = append(lines, fmt.Sprintf("   Condition %s is %s: %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	return lines
}

// podFinder finds the pods behind objects through owner references. Pods are
// read once a namespace.
type podFinder struct {
	e           *Engine
	byNamespace map[string][]ownedPod
}

type ownedPod struct {
	pod    corev1.Pod
	owners map[types.UID]bool
}

func (f *podFinder) lines(ctx context.Context, t *target) []string {
	namespace := t.change.ID.Namespace
	if namespace == "" {
		return nil
	}
	if _, read := f.byNamespace[namespace]; !read {
		f.byNamespace[namespace] = f.read(ctx, namespace)
	}
	var lines []string
	for _, owned := range f.byNamespace[namespace] {
		if owned.owners[t.uid] || owned.pod.UID == t.uid {
			lines = append(lines, podLines(owned.pod)...)
		}
	}
	return lines
}

func (f *podFinder) read(ctx context.Context, namespace string) []ownedPod {
	list, err := f.e.cluster.List(ctx, podType, namespace, "")
	if err != nil {
		return nil
	}
	parents := map[types.UID]types.UID{}
	if sets, err := f.e.cluster.List(ctx, replicaSets, namespace, ""); err == nil {
		for _, set := range sets {
			for _, ref := range set.GetOwnerReferences() {
				parents[set.GetUID()] = ref.UID
			}
		}
	}
	var pods []ownedPod
	for _, item := range list {
		owned := ownedPod{owners: map[types.UID]bool{}}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &owned.pod) != nil {
			continue
		}
		for _, ref := range item.GetOwnerReferences() {
			owned.owners[ref.UID] = true
			if parent, ok := parents[ref.UID]; ok {
				owned.owners[parent] = true
			}
		}
		pods = append(pods, owned)
	}
	return pods
}

// podLines describes a pod that is not ready.
func podLines(pod corev1.Pod) []string {
	var lines []string
	for _, container := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if text := containerText(container); text != "" {
			lines = append(lines, fmt.Sprintf("   Pod %s   container %s: %s", pod.Name, container.Name, text))
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			lines = append(lines, fmt.Sprintf("   Pod %s   not scheduled: %s", pod.Name, condition.Message))
		}
	}
	return lines
}

func containerText(container corev1.ContainerStatus) string {
	waiting, last := container.State.Waiting, container.LastTerminationState.Terminated
	switch {
	case waiting != nil && last != nil:
		return fmt.Sprintf("%s, exit code %d, %d restarts", waiting.Reason, last.ExitCode, container.RestartCount)
	case waiting != nil && waiting.Message != "":
		return fmt.Sprintf("%s (%s)", waiting.Reason, strings.TrimSpace(waiting.Message))
	case waiting != nil:
		return waiting.Reason
	case container.State.Terminated != nil && container.State.Terminated.ExitCode != 0:
		return fmt.Sprintf("%s, exit code %d", container.State.Terminated.Reason, container.State.Terminated.ExitCode)
	case container.State.Running != nil && !container.Ready:
		return "running, not ready"
	}
	return ""
}
