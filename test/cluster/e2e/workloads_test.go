package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

var labels = map[string]string{"app": "web"}

// template returns a pod template with one container and the annotations, given as key, value.
func template(annotations ...string) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1.5.9"}}},
	}
	for i := 0; i < len(annotations); i += 2 {
		t.Annotations[annotations[i]] = annotations[i+1]
	}
	return t
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func TestNodeIsReadyAndKeepsItsLease(t *testing.T) {
	c := sharedCluster(t)
	node, err := c.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(node.Spec.Taints) > 0 {
		t.Errorf("the node has taints: %v", node.Spec.Taints)
	}
	var first metav1.MicroTime
	eventually(t, func(ctx context.Context) error {
		lease, err := c.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, "node-1", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if first.IsZero() {
			first = *lease.Spec.RenewTime
		}
		if !lease.Spec.RenewTime.After(first.Time) {
			return errors.New("the lease was not renewed")
		}
		return nil
	})
}

func TestDeploymentBecomesAvailable(t *testing.T) {
	c := sharedCluster(t)
	deployments := c.AppsV1().Deployments(c.namespace(t))
	replicas := int32(3)
	deployment := &appsv1.Deployment{ObjectMeta: named("web"), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template(),
	}}
	if _, err := deployments.Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		d, err := deployments.Get(ctx, "web", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != replicas {
			return fmt.Errorf("%d replicas are available", d.Status.AvailableReplicas)
		}
		return err
	})
}

func TestJobCompletes(t *testing.T) {
	c := sharedCluster(t)
	jobs := c.BatchV1().Jobs(c.namespace(t))
	if condition := runJob(t, jobs, template(), corev1.RestartPolicyNever); condition.Type != batchv1.JobComplete {
		t.Errorf("the job has ended as %s", condition.Type)
	}
}

func TestStatefulSetGetsItsVolumes(t *testing.T) {
	c := sharedCluster(t)
	namespace := c.namespace(t)
	replicas := int32(2)
	set := &appsv1.StatefulSet{ObjectMeta: named("db"), Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template(),
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*claim("data")},
		PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		},
	}}
	if _, err := c.AppsV1().StatefulSets(namespace).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var volume string
	eventually(t, func(ctx context.Context) error {
		set, err := c.AppsV1().StatefulSets(namespace).Get(ctx, "db", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if set.Status.ReadyReplicas != replicas {
			return fmt.Errorf("%d replicas are ready", set.Status.ReadyReplicas)
		}
		bound, err := c.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, "data-db-0", metav1.GetOptions{})
		if err == nil && bound.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("the claim is %s", bound.Status.Phase)
		}
		volume = bound.Spec.VolumeName
		return err
	})
	if err := c.AppsV1().StatefulSets(namespace).Delete(t.Context(), "db", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		_, err := c.CoreV1().PersistentVolumes().Get(ctx, volume, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the volume is there (%v)", err)
	})
}

func claim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: named(name), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		},
	}}
}

func TestDaemonSetRollsOut(t *testing.T) {
	c := sharedCluster(t)
	sets := c.AppsV1().DaemonSets(c.namespace(t))
	set := &appsv1.DaemonSet{ObjectMeta: named("agent"), Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template(),
	}}
	if _, err := sets.Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		set, err := sets.Get(ctx, "agent", metav1.GetOptions{})
		if err == nil && set.Status.NumberReady != 1 {
			return errNotYet
		}
		return err
	})
}

func TestLoadBalancerGetsAnAddressUnlessItIsToStayPending(t *testing.T) {
	c := sharedCluster(t)
	services := c.CoreV1().Services(c.namespace(t))
	pending := map[string]string{"cluster.test/fail": "pending"}
	for _, meta := range []metav1.ObjectMeta{{Name: "pending", Annotations: pending}, named("served")} {
		service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: labels, Ports: []corev1.ServicePort{{Port: 80}},
		}}
		if _, err := services.Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func(ctx context.Context) error {
		service, err := services.Get(ctx, "served", metav1.GetOptions{})
		if err == nil && len(service.Status.LoadBalancer.Ingress) == 0 {
			return errNotYet
		}
		return err
	})
	// It was created first.
	service, err := services.Get(t.Context(), "pending", metav1.GetOptions{})
	if err != nil || len(service.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("got %v (%v), want no address", service.Status.LoadBalancer, err)
	}
}

func TestAdmissionPoliciesAreServed(t *testing.T) {
	resources, err := sharedCluster(t).Discovery().ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for _, r := range resources.APIResources {
		served[r.Kind] = true
	}
	for _, kind := range []string{"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"} {
		if !served[kind] {
			t.Errorf("%s is not served", kind)
		}
	}
}

func TestServiceAccountsHaveTheRightsOfTheirRoles(t *testing.T) {
	c := sharedCluster(t)
	namespace := c.namespace(t)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: named("view"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "default", Namespace: namespace}},
	}
	if _, err := c.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	client := c.as(t, namespace)
	eventually(t, func(ctx context.Context) error {
		_, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
		return err
	})
	_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named("a")}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want forbidden", err)
	}
}

// as returns a client with a token of the namespace's default service account.
func (c *cluster) as(t *testing.T, namespace string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	account := c.CoreV1().ServiceAccounts(namespace)
	token, err := account.CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config.CertData, config.KeyData = nil, nil
	config.BearerToken = token.Status.Token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
