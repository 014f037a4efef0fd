// Command objects lists what a component has in a cluster, for people without kubectl:
//
//	objects -kubeconfig FILE -component NAMESPACE/NAME
//
// After the component is destroyed, -remove-namespace makes sure that nothing is left of it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/kubewave/terraform-provider-component/test/live"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "`file` that names the cluster")
	component := flag.String("component", "", "the component, as `namespace/name`")
	remove := flag.Bool("remove-namespace", false, "fail if there is an object, else delete the namespace")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *kubeconfig, *component, *remove); err != nil {
		fmt.Fprintln(os.Stderr, "objects:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, component string, remove bool) error {
	cluster, err := live.Connect(kubeconfig)
	if err != nil {
		return err
	}
	namespace, name, _ := strings.Cut(component, "/")
	count, err := list(ctx, cluster, namespace, name)
	if err != nil || !remove {
		return err
	}
	if count > 0 {
		return fmt.Errorf("%d objects are left", count)
	}
	namespaces := cluster.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	return namespaces.Delete(ctx, namespace, metav1.DeleteOptions{})
}

// list prints the objects and returns how many there are.
func list(ctx context.Context, cluster *live.Cluster, namespace, name string) (int, error) {
	objects, err := cluster.Objects(ctx, namespace, name)
	if err != nil {
		return 0, err
	}
	if len(objects) == 0 {
		fmt.Println("  no object is left")
		return 0, nil
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 3, ' ', 0)
	for _, object := range objects {
		state := "Unknown"
		if result, err := status.Compute(&object); err == nil {
			state = result.Status.String()
		}
		_, _ = fmt.Fprintf(w, "  %s\t%s\t%s\n", live.ID(&object), state, detail(&object))
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	for line := range strings.Lines(table.String()) {
		fmt.Println(strings.TrimRight(line, " \n"))
	}
	return len(objects), nil
}

// detail returns what is most telling of an object that runs pods: how many, and of which image.
func detail(object *unstructured.Unstructured) string {
	containers, found, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	if !found || err != nil {
		return ""
	}
	var parts []string
	if replicas, found, err := unstructured.NestedInt64(object.Object, "spec", "replicas"); found && err == nil {
		available, _, _ := unstructured.NestedInt64(object.Object, "status", "availableReplicas")
		parts = append(parts, fmt.Sprintf("%d of %d available", available, replicas))
	}
	for _, container := range containers {
		if fields, ok := container.(map[string]any); ok {
			parts = append(parts, fmt.Sprint(fields["image"]))
		}
	}
	return strings.Join(parts, ", ")
}
