package main

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// newLogServer returns the part of a kubelet's API that the API server asks for the logs of a
// container. What a container has logged is an annotation of its pod.
func newLogServer(client kubernetes.Interface) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		pod, err := client.CoreV1().Pods(r.PathValue("namespace")).Get(r.Context(), r.PathValue("pod"), metav1.GetOptions{})
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		text, err := containerLog(pod, r.PathValue("container"), r.FormValue("previous") == "true")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if count, err := strconv.Atoi(r.FormValue("tailLines")); err == nil {
			lines := strings.SplitAfter(text, "\n")
			// The last one is what follows the final newline: nothing.
			text = strings.Join(lines[max(0, len(lines)-1-count):], "")
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprint(w, text) // the reader has gone if this fails
	})
	return &http.Server{Handler: mux}
}

// containerLog returns what a container has logged, in lines, or the error that a kubelet gives
// for a container that has not run.
func containerLog(pod *corev1.Pod, container string, previous bool) (string, error) {
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == container })
	if i < 0 {
		return "", fmt.Errorf("container %q in pod %q is not available", container, pod.Name)
	}
	status := statuses[i]
	switch {
	case previous && status.LastTerminationState.Terminated == nil:
		return "", fmt.Errorf("previous terminated container %q in pod %q not found", container, pod.Name)
	case status.State.Waiting != nil && status.LastTerminationState.Terminated == nil:
		return "", fmt.Errorf("container %q in pod %q is waiting to start: %s", container, pod.Name, waitingText(status.State.Waiting.Reason))
	}
	text := pod.Annotations[logAnnotation]
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text, nil
}

func waitingText(reason string) string {
	if reason == "ImagePullBackOff" {
		return "trying and failing to pull image"
	}
	return reason
}
