package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// safeguard refuses to delete types and namespaces that hold what does not go
// with them (semantics.md, section 5).
type safeguard struct {
	e         *Engine
	owner     Owner
	component Component
	// title is that of the refusal.
	title string
	// stays are the objects that the component keeps.
	stays map[object.ID]bool
	// types are the additional managed types, which go with the component.
	types []TypePattern
	// off: the user wants no safeguards.
	off bool
}

func (e *Engine) deletionGuard(owner Owner, c Component, rec *record.Record) safeguard {
	return safeguard{e: e, owner: owner, component: c, title: fmt.Sprintf("Component %s cannot be deleted yet", c),
		types: typePatterns(rec.ManagedTypes), off: c.SkipSafeguards}
}

func (e *Engine) pruneGuard(plan *Plan) safeguard {
	g := safeguard{e: e, owner: plan.owner, component: plan.Component, stays: map[object.ID]bool{}, off: plan.Component.SkipSafeguards,
		title: fmt.Sprintf("Objects of component %s cannot be removed yet", plan.Component)}
	for _, change := range plan.Changes {
		g.stays[change.ID] = true
	}
	return g
}

// check is made before the first object is touched, and again for a type when
// that itself is deleted.
func (g safeguard) check(ctx context.Context, removals []*Removal) error {
	if g.off {
		return nil
	}
	var findings []string
	for _, removal := range removals {
		if removal.Orphan {
			continue
		}
		what, foreign, err := g.inUse(ctx, removal)
		if err != nil {
			return err
		}
		findings = append(findings, inUseLine(removal.Item.ID.String(), what, foreign)...)
	}
	return g.refusal(findings)
}

// checkAll is [safeguard.check] for a deletion of the whole component, with
// which its additional managed types go, too.
func (g safeguard) checkAll(ctx context.Context, removals []*Removal) error {
	var findings []string
	if len(g.types) > 0 && !g.off {
		types, err := g.e.cluster.ListableTypes(ctx, func(t cluster.Type) bool { return matchesAny(g.types, t.GVK.GroupKind()) })
		if err != nil {
			return g.e.connectionError(err)
		}
		for _, served := range types {
			foreign, err := g.foreignOf(ctx, served)
			if err != nil {
				return err
			}
			findings = append(findings, inUseLine(shortKind(served.GVK.GroupKind()), instances, foreign)...)
		}
	}
	return errors.Join(g.refusal(findings), g.check(ctx, removals))
}

// noun is a word in singular and plural.
type noun struct{ one, many string }

var instances = noun{"instance", "instances"}

// inUse lists what does not go with a type or namespace.
func (g safeguard) inUse(ctx context.Context, removal *Removal) (what noun, foreign []string, err error) {
	switch removal.Item.ID.GroupKind() {
	case crdKind:
		foreign, err = g.foreignInstances(ctx, removal)
		return instances, foreign, err
	case apiServiceKind:
		foreign, err = g.foreignAggregated(ctx, removal)
		return instances, foreign, err
	case namespaceKind:
		foreign, err = g.foreignContent(ctx, removal.Item.ID.Name)
		return noun{"object in it", "objects in it"}, foreign, err
	}
	return noun{}, nil, nil
}

// inUseLine is the line about one type or namespace; none when nothing foreign
// is there.
func inUseLine(host string, what noun, foreign []string) []string {
	if len(foreign) == 0 {
		return nil
	}
	slices.Sort(foreign)
	return []string{fmt.Sprintf("   %s    %s: %s", host, counted(len(foreign), what.one, what.many), listed(foreign))}
}

func (g safeguard) refusal(findings []string) error {
	if len(findings) == 0 {
		return nil
	}
	return &ComponentError{
		Title: g.title,
		Err: errors.New(" " + counted(len(findings), "type or namespace is", "types or namespaces are") + " still in use by objects that do not go with them:\n" +
			strings.Join(findings, "\n") + "\n Delete these first (or set delete_policy = \"Orphan\"). Nothing was deleted."),
	}
}

// foreign: an object does not go with its type or namespace. Of those of the
// component, the ones that it keeps do not.
func (g safeguard) foreign(item metav1.PartialObjectMetadata, served cluster.Type) bool {
	if item.GetLabels()[g.e.ownerLabel()] != g.owner.Hash {
		return true
	}
	return g.stays[object.ID{Group: served.GVK.Group, Kind: served.GVK.Kind, Namespace: item.GetNamespace(), Name: item.GetName()}]
}

// foreignInstances lists the objects of a CRD's type that do not go with it.
func (g safeguard) foreignInstances(ctx context.Context, removal *Removal) ([]string, error) {
	e := g.e
	crdType, err := e.cluster.AnyTypeFor(ctx, crdKind.WithVersion("v1"))
	if err != nil {
		return nil, e.connectionError(err)
	}
	crd, err := e.get(ctx, crdType, removal.Item.ID)
	if err != nil || crd == nil || e.ownerOnObject(crd).hash != g.owner.Hash {
		return nil, err
	}
	// In any version that is served: the objects are the same in all of them.
	types := slices.Collect(maps.Values(typesOfCRDs([]object.Manifest{{Object: crd}})))
	if len(types) == 0 {
		return nil, nil
	}
	return g.foreignOf(ctx, types[0])
}

// foreignAggregated lists the objects of the types that an APIService serves.
func (g safeguard) foreignAggregated(ctx context.Context, removal *Removal) ([]string, error) {
	// Its name is "version.group" by a rule of the API server.
	version, group, _ := strings.Cut(removal.Item.ID.Name, ".")
	gv := schema.GroupVersion{Group: group, Version: version}
	types, err := g.e.cluster.ListableTypes(ctx, func(t cluster.Type) bool { return t.GVK.GroupVersion() == gv })
	if err != nil {
		return nil, g.e.connectionError(err)
	}
	var foreign []string
	for _, served := range types {
		found, err := g.foreignOf(ctx, served)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			foreign = append(foreign, served.GVK.Kind+" "+name)
		}
	}
	return foreign, nil
}

// foreignOf lists the objects of a type that do not go with it.
func (g safeguard) foreignOf(ctx context.Context, served cluster.Type) ([]string, error) {
	list, err := g.e.cluster.ListMetadata(ctx, served, "", "")
	if err != nil && cluster.ReasonOf(err) != cluster.NotServed {
		return nil, componentErrorf("A right is missing", "whether there are still instances of %s cannot be seen: %w. Nothing was deleted. "+
			"skip_safeguards = true deletes all the same.", shortKind(served.GVK.GroupKind()), err)
	}
	var foreign []string
	for _, instance := range list {
		if g.foreign(instance, served) {
			foreign = append(foreign, strings.TrimPrefix(instance.GetNamespace()+"/"+instance.GetName(), "/"))
		}
	}
	return foreign, nil
}

// foreignContent lists the objects in a namespace that neither go with it nor
// are made by Kubernetes itself or by controllers for others.
func (g safeguard) foreignContent(ctx context.Context, namespace string) ([]string, error) {
	e := g.e
	types, err := e.cluster.ListableTypes(ctx, func(t cluster.Type) bool { return t.Namespaced })
	if err != nil {
		return nil, e.connectionError(err)
	}
	var mu sync.Mutex
	var foreign []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.options.Workers)
	for _, served := range types {
		group.Go(func() error {
			list, err := e.cluster.ListMetadata(ctx, served, namespace, "")
			if reason := cluster.ReasonOf(err); err != nil && (reason == cluster.NotServed || reason == cluster.NotFound || reason == cluster.Invalid) {
				return nil
			}
			if err != nil {
				return componentErrorf("A right is missing", "what is in namespace %s cannot be seen: listing %s: %w. Nothing was deleted.", namespace, served.Resource.Resource, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, item := range list {
				if !g.belongs(item, served) {
					foreign = append(foreign, served.GVK.Kind+"/"+item.GetName())
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return foreign, err
}

// belongs: the object goes with its namespace, or comes and goes with another
// one.
func (g safeguard) belongs(item metav1.PartialObjectMetadata, served cluster.Type) bool {
	switch {
	case !g.foreign(item, served), len(item.GetOwnerReferences()) > 0, item.GetDeletionTimestamp() != nil:
		return true
	case served.GVK.Kind == "Secret" && record.BelongsTo(item.GetLabels(), g.owner.ID):
		return true
	case served.GVK.Kind == "Secret" && item.GetAnnotations()["kubernetes.io/service-account.name"] != "":
		return true
	}
	switch served.GVK.Kind + "/" + item.GetName() {
	case "ConfigMap/kube-root-ca.crt", "ServiceAccount/default":
		return true
	}
	switch served.GVK.Kind {
	case "Event", "Endpoints", "EndpointSlice", "Lease", "PodMetrics":
		return true
	}
	return false
}
