package main

import (
	"bytes"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"net"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	kwok "sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/log"
	utilsslices "sigs.k8s.io/kwok/pkg/utils/slices"
)

//go:embed stages.yaml
var stagesYAML []byte

// runKubelet is the component that stands in for a kubelet: it registers the node, keeps its
// lease, lets kwok bring pods through their stages, and serves logs.
func runKubelet(args []string) int {
	flags := flag.NewFlagSet("kubelet", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig `file`")
	certFile := flags.String("tls-cert-file", "", "certificate `file` of the server for logs")
	keyFile := flags.String("tls-private-key-file", "", "key `file` of the server for logs")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx := log.NewContext(context.Background(), log.NewLogger(os.Stderr, log.LevelInfo))
	if err := simulateKubelet(ctx, *kubeconfig, *certFile, *keyFile); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		return 1
	}
	return 0
}

func simulateKubelet(ctx context.Context, kubeconfig, certFile, keyFile string) error {
	client, err := newClient(kubeconfig)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := register(ctx, client, newNode(int32(listener.Addr().(*net.TCPAddr).Port))); err != nil {
		return err
	}
	controller, err := newController(kubeconfig)
	if err != nil {
		return err
	}
	if err := controller.Start(ctx); err != nil {
		return err
	}
	return newLogServer(client).ServeTLS(listener, certFile, keyFile)
}

// register creates the node, and the storage class that stages.yaml provides volumes for.
func register(ctx context.Context, client kubernetes.Interface, node *corev1.Node) error {
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := client.StorageV1().StorageClasses().Create(ctx, newStorageClass(), metav1.CreateOptions{})
	return err
}

// newController returns kwok, set up for the one node and the stages of stages.yaml.
func newController(kubeconfig string) (*controllers.Controller, error) {
	stages, err := parseStages(stagesYAML)
	if err != nil {
		return nil, err
	}
	config, err := clientConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	dynamic, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	id, err := controllers.Identity()
	if err != nil {
		return nil, err
	}
	return controllers.NewController(controllers.Config{
		TypedClient:               typed,
		DynamicClient:             dynamic,
		RESTMapper:                restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(typed.Discovery())),
		RESTClient:                typed.Discovery().RESTClient(),
		ID:                        id,
		ManageSingleNode:          nodeName,
		CIDR:                      podCIDR,
		NodeLeaseDurationSeconds:  40,
		NodeLeaseParallelism:      1,
		NodePlayStageParallelism:  1,
		PodPlayStageParallelism:   8,
		PodsOnNodeSyncParallelism: 1,
		LocalStages:               stages,
		FuncMap:                   statusFuncs(),
	})
}

// parseStages reads the documents of a file of stages and groups them by the kind they are for.
func parseStages(data []byte) (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	var all []*internalversion.Stage
	for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
		stage, err := kwok.UnmarshalWithType[*internalversion.Stage](document)
		if err != nil {
			return nil, fmt.Errorf("stages.yaml: %w", err)
		}
		all = append(all, stage)
	}
	return utilsslices.GroupBy(all, func(s *internalversion.Stage) internalversion.StageResourceRef {
		return s.Spec.ResourceRef
	}), nil
}
