package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
)

// createPod creates a pod from the template.
func (c *cluster) createPod(t *testing.T, namespace string, template corev1.PodTemplateSpec) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name = "web"
	if _, err := c.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitPod waits until check has no complaint about the pod.
func (c *cluster) awaitPod(t *testing.T, namespace string, check func(*corev1.Pod) error) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		pod, err := c.CoreV1().Pods(namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return check(pod)
	})
}

// awaitEvent waits for an event on the pod.
func (c *cluster) awaitEvent(t *testing.T, namespace, reason, message string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		list, err := c.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=web,type=Warning,reason=" + reason})
		if err != nil {
			return err
		}
		for _, event := range list.Items {
			if strings.Contains(event.Message, message) {
				return nil
			}
		}
		return fmt.Errorf("no event %s among %d", reason, len(list.Items))
	})
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// waitsFor returns a check that a container waits for the reason.
func waitsFor(reason, message string, statuses func(*corev1.Pod) []corev1.ContainerStatus) func(*corev1.Pod) error {
	return func(pod *corev1.Pod) error {
		all := statuses(pod)
		if len(all) == 0 || all[0].State.Waiting == nil {
			return errors.New("the container does not wait")
		}
		if have := all[0].State.Waiting; have.Reason != reason || !strings.Contains(have.Message, message) {
			return fmt.Errorf("the container waits for %s: %s", have.Reason, have.Message)
		}
		if isReady(pod) {
			return errors.New("the pod is ready")
		}
		return nil
	}
}

func containers(pod *corev1.Pod) []corev1.ContainerStatus { return pod.Status.ContainerStatuses }

func initContainers(pod *corev1.Pod) []corev1.ContainerStatus {
	return pod.Status.InitContainerStatuses
}

func TestImagePullFails(t *testing.T) {
	c := sharedCluster(t)
	namespace := c.namespace(t)
	c.createPod(t, namespace, template("cluster.test/fail", "image-pull"))
	c.awaitPod(t, namespace, waitsFor("ImagePullBackOff", `Back-off pulling image "registry.example/web:1.5.9"`, containers))
	c.awaitEvent(t, namespace, "Failed", `Failed to pull image "registry.example/web:1.5.9"`)
	if _, err := c.log(t, namespace, &corev1.PodLogOptions{}); err == nil || !strings.Contains(err.Error(), "trying and failing to pull image") {
		t.Errorf("got %v, want an error: the container has no log", err)
	}
}

func TestContainerCrashes(t *testing.T) {
	c := sharedCluster(t)
	namespace := c.namespace(t)
	c.createPod(t, namespace, template("cluster.test/fail", "crash-loop", "cluster.test/log", "starting\nFATAL: DATABASE_URL is not set"))
	c.awaitPod(t, namespace, waitsFor("CrashLoopBackOff", "restarting failed container=web", containers))
	c.awaitPod(t, namespace, func(pod *corev1.Pod) error {
		status := pod.Status.ContainerStatuses[0]
		if last := status.LastTerminationState.Terminated; last == nil || last.ExitCode != 1 {
			return fmt.Errorf("it last ended as %v", last)
		}
		if status.RestartCount < 2 {
			return errors.New("it is not restarted")
		}
		return nil
	})
	c.awaitEvent(t, namespace, "BackOff", "Back-off restarting failed container web")
	one := int64(1)
	text, err := c.log(t, namespace, &corev1.PodLogOptions{Previous: true, TailLines: &one})
	if want := "FATAL: DATABASE_URL is not set\n"; err != nil || text != want {
		t.Errorf("got %q (%v), want %q", text, err, want)
	}
}

func TestInitContainerFailsAndTheRestDoesNotStart(t *testing.T) {
	c := sharedCluster(t)
	namespace := c.namespace(t)
	pod := template("cluster.test/fail", "crash-loop", "cluster.test/container", "migrate")
	pod.Spec.InitContainers = []corev1.Container{{Name: "migrate", Image: "i"}, {Name: "next", Image: "i"}}
	c.createPod(t, namespace, pod)
	c.awaitPod(t, namespace, waitsFor("CrashLoopBackOff", "container=migrate", initContainers))
	c.awaitPod(t, namespace, waitsFor("PodInitializing", "", containers))
}

func TestPodIsUnschedulable(t *testing.T) {
	c := sharedCluster(t)
	namespace := c.namespace(t)
	c.createPod(t, namespace, template("cluster.test/fail", "unschedulable"))
	c.awaitPod(t, namespace, func(pod *corev1.Pod) error {
		for _, condition := range pod.Status.Conditions {
			if condition.Reason == corev1.PodReasonUnschedulable && strings.Contains(condition.Message, "0/1 nodes are available: 1 Insufficient cpu") {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", pod.Status.Conditions)
	})
	c.awaitEvent(t, namespace, "FailedScheduling", "0/1 nodes are available")
}

func TestPodIsNotReadyUntilTheAnnotationGoes(t *testing.T) {
	c := sharedCluster(t)
	namespace := c.namespace(t)
	c.createPod(t, namespace, template("cluster.test/fail", "not-ready"))
	c.awaitPod(t, namespace, func(pod *corev1.Pod) error {
		if pod.Status.Phase != corev1.PodRunning || isReady(pod) {
			return fmt.Errorf("it is %s, ready: %v", pod.Status.Phase, isReady(pod))
		}
		return nil
	})
	c.awaitEvent(t, namespace, "Unhealthy", "Readiness probe failed")
	remove := []byte(`{"metadata": {"annotations": {"cluster.test/fail": null}}}`)
	if _, err := c.CoreV1().Pods(namespace).Patch(t.Context(), "web", "application/merge-patch+json", remove, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitPod(t, namespace, func(pod *corev1.Pod) error {
		if !isReady(pod) {
			return errNotYet
		}
		return nil
	})
}

func TestJobFails(t *testing.T) {
	c := sharedCluster(t)
	for _, policy := range []corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure} {
		jobs := c.BatchV1().Jobs(c.namespace(t))
		condition := runJob(t, jobs, template("cluster.test/fail", "exit"), policy)
		if condition.Type != batchv1.JobFailed || condition.Reason != batchv1.JobReasonBackoffLimitExceeded {
			t.Errorf("restart policy %s: the job has ended as %s, %s", policy, condition.Type, condition.Reason)
		}
	}
}

func TestFailedPodHasTheExitCode(t *testing.T) {
	c := sharedCluster(t)
	namespace := c.namespace(t)
	pod := template("cluster.test/fail", "exit")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	c.createPod(t, namespace, pod)
	c.awaitPod(t, namespace, func(pod *corev1.Pod) error {
		if pod.Status.Phase != corev1.PodFailed {
			return fmt.Errorf("it is %s", pod.Status.Phase)
		}
		if state := pod.Status.ContainerStatuses[0].State.Terminated; state == nil || state.ExitCode != 1 || state.Reason != "Error" {
			return fmt.Errorf("its container is %v", state)
		}
		return nil
	})
}

func TestPodTakesItsTime(t *testing.T) {
	c := sharedCluster(t)
	namespace := c.namespace(t)
	const delay = 2 * time.Second
	c.createPod(t, namespace, template("cluster.test/ready-after", delay.String(), "cluster.test/gone-after", delay.String()))
	created := time.Now()
	c.awaitPod(t, namespace, func(pod *corev1.Pod) error {
		if !isReady(pod) {
			return errNotYet
		}
		return nil
	})
	if took := time.Since(created); took < delay {
		t.Errorf("it was ready after %s", took)
	}
	deleted := time.Now()
	if err := c.CoreV1().Pods(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		_, err := c.CoreV1().Pods(namespace).Get(ctx, "web", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there (%v)", err)
	})
	if took := time.Since(deleted); took < delay {
		t.Errorf("it was gone after %s", took)
	}
}

// runJob creates a job and returns how it ends.
func runJob(t *testing.T, jobs batchclient.JobInterface, template corev1.PodTemplateSpec, policy corev1.RestartPolicy) batchv1.JobCondition {
	t.Helper()
	template.Spec.RestartPolicy = policy
	backoffLimit := int32(0)
	job := &batchv1.Job{ObjectMeta: named("job"), Spec: batchv1.JobSpec{BackoffLimit: &backoffLimit, Template: template}}
	if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var end batchv1.JobCondition
	eventually(t, func(ctx context.Context) error {
		job, err := jobs.Get(ctx, "job", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range job.Status.Conditions {
			if condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed {
				end = condition
				return nil
			}
		}
		return errNotYet
	})
	return end
}

// log reads the log of the pod's container.
func (c *cluster) log(t *testing.T, namespace string, options *corev1.PodLogOptions) (string, error) {
	t.Helper()
	stream, err := c.CoreV1().Pods(namespace).GetLogs("web", options).Stream(t.Context())
	if err != nil {
		return "", err
	}
	defer stream.Close() //nolint:errcheck // was read to its end
	data, err := io.ReadAll(stream)
	return string(data), err
}
