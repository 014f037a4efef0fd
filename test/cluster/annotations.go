package main

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Annotations with which the author of a pod decides what becomes of it.
const (
	failAnnotation      = "cluster.test/fail"
	containerAnnotation = "cluster.test/container"
	logAnnotation       = "cluster.test/log"
)

// failUnschedulable is the one value of failAnnotation that the scheduler acts on. The others
// are in stages.yaml.
const failUnschedulable = "unschedulable"

// annotationHelp is the part of README.md that a user of the program needs at hand.
const annotationHelp = `  cluster.test/fail: unschedulable   the scheduler finds no node for it
  cluster.test/fail: image-pull      ImagePullBackOff
  cluster.test/fail: exit            exits with code 1: CrashLoopBackOff, or phase Failed if its
                                     restartPolicy is Never (crash-loop means the same)
  cluster.test/fail: not-ready       runs, and its readiness probe fails
  cluster.test/container: NAME       which container fails, also an init container (default: the
                                     first container)
  cluster.test/log: TEXT             what the containers log
  cluster.test/ready-after: 5s       how long it takes to become ready
  cluster.test/gone-after: 5s        how long it takes to terminate

A pod without them is ready at once, and has completed at once if its restartPolicy is not Always.
On a PersistentVolumeClaim or a Service of type LoadBalancer, cluster.test/fail: pending keeps it
from being served.`

// failingContainer returns the name of the container that fails in a pod that is to fail.
func failingContainer(pod *corev1.Pod) string {
	if name := pod.Annotations[containerAnnotation]; name != "" {
		return name
	}
	return pod.Spec.Containers[0].Name
}

// failsInInit says whether the container that fails is an init container.
func failsInInit(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == failingContainer(pod)
	})
}
