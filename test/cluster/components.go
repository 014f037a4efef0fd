package main

import (
	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// A component is a part of the cluster that runs as a process of its own: this program, started
// again with the component's name as first argument.
type component struct {
	name string
	run  func(args []string) int
}

// findComponent returns the component of that name.
func findComponent(name string) (component, bool) {
	for _, c := range []component{
		{"kube-apiserver", func(args []string) int {
			return execute(apiserver.NewAPIServerCommand(), args)
		}},
		{"kube-controller-manager", func(args []string) int {
			return execute(controllermanager.NewControllerManagerCommand(), args)
		}},
		{"kube-scheduler", func(args []string) int {
			return execute(scheduler.NewSchedulerCommand(scheduler.WithPlugin(unschedulableName, newUnschedulable)), args)
		}},
		{"kubelet", runKubelet},
	} {
		if c.name == name {
			return c, true
		}
	}
	return component{}, false
}

func execute(cmd *cobra.Command, args []string) int {
	cmd.SetArgs(args)
	return cli.Run(cmd)
}

// apiServerArgs are the flags of kube-apiserver. Admission plugins and API groups stay as
// Kubernetes has them by default.
func apiServerArgs(f files, etcdURL string, port string) []string {
	return []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + port,
		// Another socket holds the port until the server has it: see reservePort.
		"--permit-port-sharing=true",
		// An Endpoints object may not hold a loopback address, and the server has no other.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--client-ca-file=" + f.caCert,
		"--tls-cert-file=" + f.serverCert,
		"--tls-private-key-file=" + f.serverKey,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + f.accountKey,
		"--service-account-signing-key-file=" + f.accountKey,
		// The address at which the simulated kubelet answers for logs.
		"--kubelet-preferred-address-types=ExternalIP",
		"--profiling=false",
	}
}

// controllerManagerArgs are the flags of kube-controller-manager. Its rate limit is lifted:
// with the default of 20 requests a second a test of a thousand objects would wait for it.
func controllerManagerArgs(f files) []string {
	return []string{
		"--kubeconfig=" + f.kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--root-ca-file=" + f.caCert,
		"--service-account-private-key-file=" + f.accountKey,
		"--cluster-signing-cert-file=" + f.caCert,
		"--cluster-signing-key-file=" + f.caKey,
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--profiling=false",
	}
}

func schedulerArgs(f files) []string {
	return []string{"--config=" + f.schedulerConfig, "--secure-port=0"}
}

func kubeletArgs(f files) []string {
	return []string{
		"--kubeconfig=" + f.kubeconfig,
		"--tls-cert-file=" + f.serverCert,
		"--tls-private-key-file=" + f.serverKey,
	}
}
