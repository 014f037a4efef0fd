package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// A condition is something that a cluster needs to be ready. It holds when there is no error.
type condition struct {
	text  string
	holds func(context.Context) error
}

// readyConditions are what tests may rely on when the cluster says that it is ready.
func readyConditions(client kubernetes.Interface) []condition {
	return []condition{
		{"the API server is ready", get(client, "/readyz")},
		{"node " + nodeName + " is ready", nodeReady(client)},
		{"pods can be created in the default namespace", accountExists(client)},
		{"the built-in roles are complete", rolesComplete(client)},
	}
}

// get asks the API server for a path.
func get(client kubernetes.Interface, path string) func(context.Context) error {
	return func(ctx context.Context) error {
		return client.Discovery().RESTClient().Get().AbsPath(path).Do(ctx).Error()
	}
}

func nodeReady(client kubernetes.Interface) func(context.Context) error {
	return func(ctx context.Context) error {
		node, err := client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("it has the taint %s", node.Spec.Taints[0].Key)
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errors.New("it is not")
	}
}

// accountExists looks for the service account that admission demands of a pod. The controller
// manager creates it.
func accountExists(client kubernetes.Interface) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	}
}

// rolesComplete looks at a role whose rules the controller manager collects from others.
func rolesComplete(client kubernetes.Interface) func(context.Context) error {
	return func(ctx context.Context) error {
		role, err := client.RbacV1().ClusterRoles().Get(ctx, "admin", metav1.GetOptions{})
		if err == nil && len(role.Rules) == 0 {
			return errors.New("role admin has no rules")
		}
		return err
	}
}
