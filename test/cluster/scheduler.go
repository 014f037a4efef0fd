package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// unschedulableName is the name of the scheduler plugin in the scheduler's configuration.
const unschedulableName = "UnschedulableOnDemand"

// unschedulable is a scheduler plugin that finds no node for a pod whose annotation asks for
// that. A plugin leaves the pod as its author wrote it, which an admission policy would not.
type unschedulable struct{}

func newUnschedulable(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
	return unschedulable{}, nil
}

// Name implements the scheduler's Plugin.
func (unschedulable) Name() string { return unschedulableName }

// Filter implements the scheduler's FilterPlugin.
func (unschedulable) Filter(_ context.Context, _ fwk.CycleState, pod *corev1.Pod, _ fwk.NodeInfo) *fwk.Status {
	if pod.Annotations[failAnnotation] == failUnschedulable {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "Insufficient cpu")
	}
	return nil
}

// schedulerConfig is the scheduler's configuration file. The rate limit is lifted, as for the
// controller manager.
func schedulerConfig(kubeconfig string) []byte {
	return fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: %q
  qps: 1000
  burst: 2000
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled:
      - name: %s
`, kubeconfig, unschedulableName)
}
