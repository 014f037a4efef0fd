package engine

import (
	"context"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"golang.org/x/sync/errgroup"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// standIn is the namespace in which objects are tried whose own namespace does
// not exist yet. Every cluster has it, and nobody can delete it.
const standIn = corev1.NamespaceDefault

// absentNamespaces returns the namespaces of new objects that do not exist.
// Each request for an object in one would keep the API server waiting for 50
// ms (NamespaceLifecycle admission) before it refuses it, having validated
// nothing.
func (e *Engine) absentNamespaces(ctx context.Context, changes []*Change) (sets.Set[string], error) {
	named := sets.New[string]()
	for _, change := range changes {
		if change.Live == nil && change.ID.Namespace != "" {
			named.Insert(change.ID.Namespace)
		}
	}
	absent := sets.New[string]()
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.options.Workers)
	for name := range named {
		group.Go(func() error {
			live, err := e.get(ctx, namespaceType, object.ID{Kind: "Namespace", Name: name})
			// Who may not read it learns from the first object that is tried.
			if err != nil && cluster.ReasonOf(err) == cluster.Forbidden || live != nil {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			absent.Insert(name)
			return err
		})
	}
	return absent, group.Wait()
}

// checkInStandIn tries a new object in a namespace that exists, as its own one
// does not. Only what is wrong with the object itself counts: the rights, the
// policies and the other objects there say nothing about its own namespace.
func (e *Engine) checkInStandIn(ctx context.Context, plan *Plan, change *Change) (problem, fatal error) {
	change.Action = Create
	if !plan.bringsNamespace(change.ID.Namespace) {
		change.Unchecked = namespaceMissing(change.ID.Namespace)
	}
	key := e.dryRunKey(plan, change, standIn)
	if e.dryRuns.knows(key) {
		return nil, nil
	}
	obj := e.annotate(change.Want, plan.owner)
	obj.SetNamespace(standIn)
	_, err := e.sendCreate(ctx, change, obj, cluster.DryRun)
	switch cluster.ReasonOf(err) {
	case cluster.Invalid, cluster.TooLarge:
		return e.rejectionElsewhere(change, err), nil
	case cluster.Unreachable, cluster.Unauthorized:
		return nil, e.connectionError(err)
	}
	e.dryRuns.passed(key)
	return nil, nil
}

// rejectionElsewhere is [Engine.rejection] in the words that the API server
// would use in the object's own namespace.
func (e *Engine) rejectionElsewhere(change *Change, err error) error {
	text := strings.ReplaceAll(e.serverText(change.ID, err), "("+standIn+"/"+change.ID.Name, "("+change.ID.Namespace+"/"+change.ID.Name)
	return e.rejectionWith(change, &serverError{text: text, cause: err})
}
