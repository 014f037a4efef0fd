package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusFuncs are the functions that stages.yaml calls. Each returns JSON.
func statusFuncs() template.FuncMap {
	var ips addresses
	return template.FuncMap{
		"NodeStatus": func() (string, error) {
			return toJSON(corev1.NodeStatus{Conditions: nodeConditions(metav1.Now())}, nil)
		},
		"PodStatus": func(outcome string, object any) (string, error) {
			pod, err := toPod(object)
			if err != nil {
				return "", err
			}
			status, err := podStatus(outcome, pod, metav1.Now())
			status.HostIP, status.HostIPs = nodeIP, []corev1.HostIP{{IP: nodeIP}}
			if pod.Status.PodIP == "" {
				status.PodIP = ips.next()
				status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
			}
			return toJSON(status, err)
		},
		"PodEvent": func(reason string, object any) (string, error) {
			pod, err := toPod(object)
			if err != nil {
				return "", err
			}
			return toJSON(podEvent(reason, pod, metav1.Now()))
		},
	}
}

func toJSON(value any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(value)
	return string(data), err
}

// toPod returns the pod that a template gets as JSON values.
func toPod(object any) (*corev1.Pod, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	return pod, json.Unmarshal(data, pod)
}

// addresses hands out pod addresses: 65,000 of them, then the first ones again.
type addresses struct{ last atomic.Uint32 }

func (a *addresses) next() string {
	n := a.last.Add(1)
	return fmt.Sprintf("10.244.%d.%d", n>>8&0xff, n&0xff)
}

// podStatus returns the status of a pod that comes to the outcome now.
func podStatus(outcome string, pod *corev1.Pod, now metav1.Time) (corev1.PodStatus, error) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started(pod, now)}}
	completed := exited(pod, now, 0)
	switch outcome {
	case "ready":
		return newPodStatus(pod, now, corev1.PodRunning, running, nil), nil
	case "completed":
		return newPodStatus(pod, now, corev1.PodSucceeded, completed, nil), nil
	case "unready":
		return newPodStatus(pod, now, corev1.PodRunning, running, &corev1.ContainerStatus{State: running}), nil
	case "failed":
		return newPodStatus(pod, now, corev1.PodFailed, completed, &corev1.ContainerStatus{State: exited(pod, now, 1)}), nil
	case "image-pull":
		return newPodStatus(pod, now, corev1.PodPending, running, imagePullBackOff(pod)), nil
	case "crash-loop":
		phase := corev1.PodRunning
		if failsInInit(pod) {
			phase = corev1.PodPending
		}
		return newPodStatus(pod, now, phase, running, crashLoopBackOff(pod, now)), nil
	}
	return corev1.PodStatus{}, fmt.Errorf("unknown outcome %q", outcome)
}

// newPodStatus composes a status. The failing container is as broken says, if that is not nil,
// and the others are in the given state, as far as they get beside it.
func newPodStatus(pod *corev1.Pod, now metav1.Time, phase corev1.PodPhase, state corev1.ContainerState, broken *corev1.ContainerStatus) corev1.PodStatus {
	status := corev1.PodStatus{Phase: phase, StartTime: new(started(pod, now))}
	initOK := true
	for _, c := range pod.Spec.InitContainers {
		own := corev1.ContainerStatus{State: exited(pod, now, 0), Ready: true}
		switch {
		case broken != nil && failsInInit(pod) && c.Name == failingContainer(pod):
			own, initOK = *broken, false
		case !initOK:
			own = waiting("PodInitializing", "")
		case c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways:
			own.State = state
		}
		status.InitContainerStatuses = append(status.InitContainerStatuses, named(own, c))
	}
	for _, c := range pod.Spec.Containers {
		own := corev1.ContainerStatus{State: state, Ready: state.Running != nil}
		switch {
		case !initOK:
			own = waiting("PodInitializing", "")
		case broken != nil && c.Name == failingContainer(pod):
			own = *broken
		}
		status.ContainerStatuses = append(status.ContainerStatuses, named(own, c))
	}
	status.Conditions = podConditions(pod, status, now)
	return status
}

// named completes the status of a container with what its spec says.
func named(status corev1.ContainerStatus, c corev1.Container) corev1.ContainerStatus {
	status.Name, status.Image = c.Name, c.Image
	status.Started = new(status.State.Running != nil)
	if status.State.Waiting == nil {
		status.ImageID = c.Image
		status.ContainerID = "kwok://" + c.Name
	}
	return status
}

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
	}}
}

func exited(pod *corev1.Pod, now metav1.Time, code int32) corev1.ContainerState {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, StartedAt: started(pod, now), FinishedAt: now,
	}}
}

// started returns when the pod was started, which is now if it was not.
func started(pod *corev1.Pod, now metav1.Time) metav1.Time {
	if pod.Status.StartTime != nil {
		return *pod.Status.StartTime
	}
	return now
}

func imagePullBackOff(pod *corev1.Pod) *corev1.ContainerStatus {
	image := failingImage(pod)
	return new(waiting("ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", image, pullError(image))))
}

func pullError(image string) string {
	return fmt.Sprintf("rpc error: code = NotFound desc = failed to pull and unpack image %q: failed to resolve reference %q: %s: not found",
		image, image, image)
}

func failingImage(pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == failingContainer(pod) {
			return c.Image
		}
	}
	return ""
}

// crashLoopBackOff returns the status after one more restart.
func crashLoopBackOff(pod *corev1.Pod, now metav1.Time) *corev1.ContainerStatus {
	restarts := restartCount(pod) + 1
	// As a kubelet waits: 10 s, twice as long each time, 5 minutes at most.
	backOff := min(10*time.Second<<min(restarts-1, 5), 5*time.Minute)
	status := waiting("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
		backOff, failingContainer(pod), pod.Name, pod.Namespace, pod.UID))
	status.RestartCount = restarts
	status.LastTerminationState = exited(pod, now, 1)
	return &status
}

func restartCount(pod *corev1.Pod) int32 {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.Name == failingContainer(pod) {
			return c.RestartCount
		}
	}
	return 0
}
