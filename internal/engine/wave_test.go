package engine

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// ordered is one object of an ordering test, written "ORDER KIND.GROUP/NAME",
// with " managed" behind it for a managed instance.
func ordered(t *testing.T, text string) (order int, id object.ID, managed bool) {
	t.Helper()
	text, managed = strings.CutSuffix(text, " managed")
	var name string
	if _, err := fmt.Sscanf(text, "%d %s", &order, &name); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	id, err := object.ParseID(name)
	if err != nil {
		t.Fatal(err)
	}
	return order, id, managed
}

// printApply prints waves as a reviewer reads them: a line a rank, whose
// objects go in parallel.
func printApply(waves []applyWave) string {
	var out strings.Builder
	for _, wave := range waves {
		fmt.Fprintf(&out, "wave %d\n", wave.order)
		for _, stage := range wave.stages {
			out.WriteString("stage\n")
			for _, rank := range ranks(stage) {
				var names []string
				for _, change := range rank {
					names = append(names, change.ID.String())
				}
				out.WriteString(strings.Join(names, ", ") + "\n")
			}
		}
	}
	return out.String()
}

func TestApplyOrder(t *testing.T) {
	for name, c := range map[string]struct {
		objects []string
		want    string
	}{
		"waves run in ascending apply-order, negative ones first": {
			objects: []string{"0 ConfigMap/zero", "32767 ConfigMap/last", "-1 ConfigMap/minus-one", "-32768 ConfigMap/first", "5 ConfigMap/five"},
			want: `
				wave -32768
				stage
				ConfigMap/first
				wave -1
				stage
				ConfigMap/minus-one
				wave 0
				stage
				ConfigMap/zero
				wave 5
				stage
				ConfigMap/five
				wave 32767
				stage
				ConfigMap/last
			`,
		},
		"inside a wave: regular objects, then APIServices, then managed instances": {
			objects: []string{
				"0 Widget.example.org/n/w managed", "0 APIService.apiregistration.k8s.io/v1.example.org", "0 Deployment.apps/n/d",
				"0 Aaa.example.org/n/a managed", "0 Foreign.example.net/n/f",
			},
			want: `
				wave 0
				stage
				Deployment.apps/n/d, Foreign.example.net/n/f
				stage
				APIService.apiregistration.k8s.io/v1.example.org
				stage
				Aaa.example.org/n/a, Widget.example.org/n/w
			`,
		},
		"regular objects go by kind, webhook configurations last": {
			objects: []string{
				"0 ValidatingWebhookConfiguration.admissionregistration.k8s.io/v", "0 MutatingWebhookConfiguration.admissionregistration.k8s.io/m",
				"0 Deployment.apps/n/d", "0 Job.batch/n/j", "0 Service/n/s", "0 PersistentVolumeClaim/n/p", "0 RoleBinding.rbac.authorization.k8s.io/n/rb",
				"0 ClusterRoleBinding.rbac.authorization.k8s.io/crb", "0 Secret/n/s", "0 ConfigMap/n/c", "0 ServiceAccount/n/sa",
				"0 Role.rbac.authorization.k8s.io/n/r", "0 ClusterRole.rbac.authorization.k8s.io/cr", "0 StorageClass.storage.k8s.io/sc",
				"0 PriorityClass.scheduling.k8s.io/pc", "0 RuntimeClass.node.k8s.io/rc", "0 IngressClass.networking.k8s.io/ic",
				"0 CustomResourceDefinition.apiextensions.k8s.io/ws.example.org", "0 NetworkPolicy.networking.k8s.io/n/np",
				"0 LimitRange/n/l", "0 ResourceQuota/n/q", "0 Namespace/n",
			},
			want: `
				wave 0
				stage
				Namespace/n
				LimitRange/n/l, ResourceQuota/n/q, NetworkPolicy.networking.k8s.io/n/np
				ServiceAccount/n/sa, CustomResourceDefinition.apiextensions.k8s.io/ws.example.org, IngressClass.networking.k8s.io/ic, RuntimeClass.node.k8s.io/rc, ClusterRole.rbac.authorization.k8s.io/cr, Role.rbac.authorization.k8s.io/n/r, PriorityClass.scheduling.k8s.io/pc, StorageClass.storage.k8s.io/sc
				ConfigMap/n/c, PersistentVolumeClaim/n/p, Secret/n/s, ClusterRoleBinding.rbac.authorization.k8s.io/crb, RoleBinding.rbac.authorization.k8s.io/n/rb
				Service/n/s
				Deployment.apps/n/d, Job.batch/n/j
				MutatingWebhookConfiguration.admissionregistration.k8s.io/m, ValidatingWebhookConfiguration.admissionregistration.k8s.io/v
			`,
		},
		"a kind of another group does not go where its namesake does": {
			objects: []string{"0 Namespace.example.org/n/x", "0 Secret/n/s", "0 Service.serving.example.org/n/s"},
			want: `
				wave 0
				stage
				Secret/n/s
				Namespace.example.org/n/x, Service.serving.example.org/n/s
			`,
		},
		"the order of waves is stronger than the order of kinds": {
			objects: []string{"1 Namespace/n", "0 Deployment.apps/n/d", "0 Widget.example.org/n/w managed", "1 Widget.example.org/n/v managed"},
			want: `
				wave 0
				stage
				Deployment.apps/n/d
				stage
				Widget.example.org/n/w
				wave 1
				stage
				Namespace/n
				stage
				Widget.example.org/n/v
			`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []*Change
			for _, text := range c.objects {
				order, id, managed := ordered(t, text)
				changes = append(changes, &Change{Want: &Want{ID: id, Managed: managed, Policies: Policies{ApplyOrder: order}}})
			}
			// The order in which the source lists them does not matter.
			rand.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
			if diff := gocmp.Diff(lines(c.want), printApply(applyWaves(changes))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// printDelete prints stages, a line each: its objects go together, and are
// gone before the next line begins.
func printDelete(stages [][]*Removal) string {
	var out strings.Builder
	for _, stage := range stages {
		var names []string
		for _, removal := range stage {
			names = append(names, removal.Item.ID.String())
		}
		out.WriteString(strings.Join(names, ", ") + "\n")
	}
	return out.String()
}

func TestDeleteOrder(t *testing.T) {
	for name, c := range map[string]struct {
		objects []string
		want    string
	}{
		"waves run in ascending delete-order": {
			objects: []string{"0 ConfigMap/n/zero", "10 ConfigMap/n/ten", "-7 ConfigMap/n/first"},
			want: `
				ConfigMap/n/first
				ConfigMap/n/zero
				ConfigMap/n/ten
			`,
		},
		"inside a wave: managed instances, everything else together, Namespaces, classes": {
			objects: []string{
				"0 StorageClass.storage.k8s.io/sc", "0 PriorityClass.scheduling.k8s.io/pc", "0 IngressClass.networking.k8s.io/ic", "0 RuntimeClass.node.k8s.io/rc",
				"0 Namespace/n", "0 CustomResourceDefinition.apiextensions.k8s.io/ws.example.org", "0 Deployment.apps/n/d",
				"0 APIService.apiregistration.k8s.io/v1.example.org", "0 ValidatingWebhookConfiguration.admissionregistration.k8s.io/v",
				"0 Widget.example.org/n/w managed",
			},
			want: `
				Widget.example.org/n/w
				ValidatingWebhookConfiguration.admissionregistration.k8s.io/v, CustomResourceDefinition.apiextensions.k8s.io/ws.example.org, APIService.apiregistration.k8s.io/v1.example.org, Deployment.apps/n/d
				Namespace/n
				IngressClass.networking.k8s.io/ic, RuntimeClass.node.k8s.io/rc, PriorityClass.scheduling.k8s.io/pc, StorageClass.storage.k8s.io/sc
			`,
		},
		"the order of waves is stronger than the order of stages": {
			objects: []string{"0 Namespace/n", "1 Widget.example.org/w managed", "1 ConfigMap/m/x"},
			want: `
				Namespace/n
				Widget.example.org/w
				ConfigMap/m/x
			`,
		},
		"nothing to delete is no stage": {},
	} {
		t.Run(name, func(t *testing.T) {
			var removals []*Removal
			for _, text := range c.objects {
				order, id, managed := ordered(t, text)
				removals = append(removals, &Removal{Item: record.Item{ID: id, Managed: managed, DeleteOrder: order}})
			}
			rand.Shuffle(len(removals), func(i, j int) { removals[i], removals[j] = removals[j], removals[i] })
			if diff := gocmp.Diff(lines(c.want), printDelete(deleteStages(removals))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOrderViolations(t *testing.T) {
	const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org, annotations: {component-operator.cs.sap.com/apply-order: "2", component-operator.cs.sap.com/delete-order: "2"}}
spec: {group: example.org, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true}]}
`
	const namespace = `
apiVersion: v1
kind: Namespace
metadata: {name: inside, annotations: {component-operator.cs.sap.com/apply-order: "1", component-operator.cs.sap.com/delete-order: "1"}}
`
	widget := func(annotations string) string {
		return "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w, namespace: elsewhere, annotations: {" + annotations + "}}\n"
	}
	configMap := func(annotations string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: inside, annotations: {" + annotations + "}}\n"
	}
	for name, c := range map[string]struct {
		manifests []string
		want      []string
	}{
		"an instance goes with its type or later, and is deleted with it or earlier": {
			manifests: []string{crd, widget(`component-operator.cs.sap.com/apply-order: "2", component-operator.cs.sap.com/delete-order: "2"`)},
		},
		"an instance may not have a smaller apply-order than its type": {
			manifests: []string{crd, widget(`component-operator.cs.sap.com/apply-order: "1"`)},
			want: []string{
				"Widget.example.org/elsewhere/w: its apply-order 1 is smaller than that of CustomResourceDefinition.apiextensions.k8s.io/widgets.example.org (2), which it needs",
			},
		},
		"an instance may not have a larger delete-order than its type": {
			manifests: []string{crd, widget(`component-operator.cs.sap.com/apply-order: "2", component-operator.cs.sap.com/delete-order: "3"`)},
			want: []string{
				"Widget.example.org/elsewhere/w: its delete-order 3 is larger than that of CustomResourceDefinition.apiextensions.k8s.io/widgets.example.org (2), in which it lives",
			},
		},
		"an object may not have a smaller apply-order nor a larger delete-order than its Namespace": {
			manifests: []string{namespace, configMap(`component-operator.cs.sap.com/delete-order: "9"`)},
			want: []string{
				"ConfigMap/inside/c: its apply-order 0 is smaller than that of Namespace/inside (1), which it needs",
				"ConfigMap/inside/c: its delete-order 9 is larger than that of Namespace/inside (1), in which it lives",
			},
		},
		"an object in a Namespace that is no object of the component is free": {
			manifests: []string{namespace, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: another}}`},
		},
		"what others live in may not be purged": {
			manifests: []string{
				`{apiVersion: v1, kind: Namespace, metadata: {name: ns, annotations: {component-operator.cs.sap.com/purge-order: "1"}}}`,
				`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.x.example, annotations: {component-operator.cs.sap.com/purge-order: "1"}}}`,
				`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.example, annotations: {component-operator.cs.sap.com/purge-order: "1"}}}`,
				`{apiVersion: batch/v1, kind: Job, metadata: {name: j, annotations: {component-operator.cs.sap.com/purge-order: "1"}}}`,
			},
			want: []string{
				"APIService.apiregistration.k8s.io/v1.x.example: a Namespace, CustomResourceDefinition or APIService may not have a purge-order",
				"CustomResourceDefinition.apiextensions.k8s.io/as.example: a Namespace, CustomResourceDefinition or APIService may not have a purge-order",
				"Namespace/ns: a Namespace, CustomResourceDefinition or APIService may not have a purge-order",
			},
		},
		"all violations are reported together": {
			manifests: []string{crd, widget(""), namespace, configMap("")},
			want: []string{
				"ConfigMap/inside/c: its apply-order 0 is smaller than that of Namespace/inside (1), which it needs",
				"Widget.example.org/elsewhere/w: its apply-order 0 is smaller than that of CustomResourceDefinition.apiextensions.k8s.io/widgets.example.org (2), which it needs",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := renderedWants(t, c.manifests...)
			var got []string
			for _, problem := range problems {
				var of *ObjectError
				if asObjectError(problem, &of) {
					got = append(got, of.ID.String()+": "+of.Err.Error())
				}
			}
			slices.SortFunc(got, cmp.Compare)
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
