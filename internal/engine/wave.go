package engine

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	crdKind        = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
	namespaceKind  = schema.GroupKind{Kind: "Namespace"}
	secretKind     = schema.GroupKind{Kind: "Secret"}
	jobKind        = schema.GroupKind{Group: "batch", Kind: "Job"}

	appsV1 = schema.GroupVersion{Group: "apps", Version: "v1"}
)

// Stages of a wave (semantics.md, section 4): each waits for the one before.
const (
	stageRegular = iota
	stageAPIServices
	stageManaged
)

func stageOf(gk schema.GroupKind, managed bool) int {
	switch {
	case managed:
		return stageManaged
	case gk == apiServiceKind:
		return stageAPIServices
	default:
		return stageRegular
	}
}

// kindRanks is the order of kinds inside a stage (semantics.md, section 4).
// Objects of one rank go in parallel.
var kindRanks = map[string]int{
	"Namespace":     0,
	"ResourceQuota": 1, "LimitRange": 1, "NetworkPolicy.networking.k8s.io": 1,
	"CustomResourceDefinition.apiextensions.k8s.io": 2, "IngressClass.networking.k8s.io": 2,
	"RuntimeClass.node.k8s.io": 2, "PriorityClass.scheduling.k8s.io": 2, "StorageClass.storage.k8s.io": 2,
	"ClusterRole.rbac.authorization.k8s.io": 2, "Role.rbac.authorization.k8s.io": 2, "ServiceAccount": 2,
	"ConfigMap": 3, "Secret": 3, "ClusterRoleBinding.rbac.authorization.k8s.io": 3,
	"RoleBinding.rbac.authorization.k8s.io": 3, "PersistentVolumeClaim": 3,
	"Service": 4,
	"ValidatingWebhookConfiguration.admissionregistration.k8s.io": rankLast,
	"MutatingWebhookConfiguration.admissionregistration.k8s.io":   rankLast,
}

const (
	rankRest = 5
	// rankLast is for webhook configurations: one with failurePolicy Fail put
	// first would block its own Deployment.
	rankLast = 6
)

func rankOf(gk schema.GroupKind) int {
	if rank, ok := kindRanks[gk.String()]; ok {
		return rank
	}
	return rankRest
}

// applyWave is what is applied before the next larger apply-order starts.
type applyWave struct {
	order  int
	stages [][]*Change
}

// objects counts the changes of a wave.
func (w applyWave) objects() int {
	n := 0
	for _, stage := range w.stages {
		n += len(stage)
	}
	return n
}

// applyWaves groups changes by apply-order and stage, and sorts each stage by
// kind rank and id.
func applyWaves(changes []*Change) []applyWave {
	byOrder := map[int]map[int][]*Change{}
	for _, change := range changes {
		order := change.Want.Policies.ApplyOrder
		if byOrder[order] == nil {
			byOrder[order] = map[int][]*Change{}
		}
		stage := stageOf(change.ID.GroupKind(), change.Want.Managed)
		byOrder[order][stage] = append(byOrder[order][stage], change)
	}
	var waves []applyWave
	for order, stages := range byOrder {
		wave := applyWave{order: order}
		for _, stage := range []int{stageRegular, stageAPIServices, stageManaged} {
			if list := stages[stage]; len(list) > 0 {
				slices.SortFunc(list, compareForApply)
				wave.stages = append(wave.stages, list)
			}
		}
		waves = append(waves, wave)
	}
	slices.SortFunc(waves, func(a, b applyWave) int { return cmp.Compare(a.order, b.order) })
	return waves
}

func compareForApply(a, b *Change) int {
	return cmp.Or(
		cmp.Compare(rankOf(a.ID.GroupKind()), rankOf(b.ID.GroupKind())),
		a.ID.Compare(b.ID),
	)
}

// ranks cuts a sorted stage into runs of one rank.
func ranks(stage []*Change) [][]*Change {
	var runs [][]*Change
	for _, change := range stage {
		last := len(runs) - 1
		if last >= 0 && rankOf(runs[last][0].ID.GroupKind()) == rankOf(change.ID.GroupKind()) {
			runs[last] = append(runs[last], change)
			continue
		}
		runs = append(runs, []*Change{change})
	}
	return runs
}

// Stages of a delete wave (semantics.md, section 5).
const (
	deleteManaged = iota
	deleteRegular
	deleteNamespaces
	deleteClasses
)

var classKinds = []schema.GroupKind{
	{Group: "networking.k8s.io", Kind: "IngressClass"}, {Group: "node.k8s.io", Kind: "RuntimeClass"},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}, {Group: "storage.k8s.io", Kind: "StorageClass"},
}

func deleteStageOf(gk schema.GroupKind, managed bool) int {
	switch {
	case managed:
		return deleteManaged
	case gk == namespaceKind:
		return deleteNamespaces
	case slices.Contains(classKinds, gk):
		return deleteClasses
	default:
		return deleteRegular
	}
}

// deleteStages groups removals so that each group is gone before the next
// begins: by delete-order, and inside a wave managed instances first,
// Namespaces and then classes last.
func deleteStages(removals []*Removal) [][]*Removal {
	rank := func(r *Removal) int { return deleteStageOf(r.Item.ID.GroupKind(), r.Item.Managed) }
	slices.SortStableFunc(removals, func(a, b *Removal) int {
		return cmp.Or(
			cmp.Compare(a.Item.DeleteOrder, b.Item.DeleteOrder),
			cmp.Compare(rank(a), rank(b)),
			a.Item.ID.Compare(b.Item.ID),
		)
	})
	var stages [][]*Removal
	for _, removal := range removals {
		last := len(stages) - 1
		if last >= 0 && stages[last][0].Item.DeleteOrder == removal.Item.DeleteOrder && rank(stages[last][0]) == rank(removal) {
			stages[last] = append(stages[last], removal)
			continue
		}
		stages = append(stages, []*Removal{removal})
	}
	return stages
}
