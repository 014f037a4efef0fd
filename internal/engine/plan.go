package engine

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubewave/terraform-provider-component/internal/engine/record"
	"github.com/kubewave/terraform-provider-component/internal/engine/render"
)

// StatusReady is the status of a component all of whose objects are ready.
const StatusReady = string(record.Ready)

// maxObjects is how many bytes the planned objects of one component may have:
// Terraform sends prior and planned ones in one message of at most 256 MiB.
const maxObjects = 64 << 20

// Plan is what an apply will do. Its Planned part depends on inputs and prior
// state alone; the rest was seen in the cluster.
type Plan struct {
	Component Component
	Planned   Planned
	// NothingToDo: objects and state are as they should be.
	NothingToDo bool
	// Changes are the objects of the component, Removals those that leave it.
	Changes  []*Change
	Removals []*Removal
	Warnings []Warning

	owner     Owner
	clusterID string
	prior     *Prior
	// suspended: the apply writes the record only.
	suspended bool
	// replaced: the component that exists goes before this one is created.
	replaced bool
	// absent are the namespaces of new objects that do not exist yet.
	absent   sets.Set[string]
	rendered *Rendered
	release  releaseState
	record   *record.Record
	store    *record.Store
}

// Planned are the values that Terraform shows and keeps.
type Planned struct {
	// Objects is what the plan shows: id to canonical JSON.
	Objects map[string]string
	// Unknown are the objects whose content is known only when they are
	// applied, since each rendering gives another one. Open: this holds for
	// which objects there are, too.
	Unknown  map[string]bool
	Open     bool
	Leaves   map[string]map[string]Leaf
	Intended map[string]string
	Revision int64
	Artifact Artifact
	Summary  string
	// Status is what the component is after the apply, when nothing fails.
	Status string
}

// PlanOptions say under which circumstances a plan is made.
type PlanOptions struct {
	// Replaces is the memory of the instance that this create replaces, when
	// that is known: its objects and its record are no obstacle.
	Replaces *Memory
	// Leaves reports whether an owner goes in the same run although nothing
	// says so: Terraform does not tell that a create replaces a tainted
	// instance. Nil for nobody.
	Leaves func(owner string) bool
	// Apply: the plan is made to be applied at once. It is complete also when
	// there is nothing to do but to write the record.
	Apply bool
}

// leaves reports whether the objects of another owner go before this create.
func (o PlanOptions) leaves(owner string) bool {
	return o.Replaces != nil && o.Replaces.Owner == owner || o.Leaves != nil && o.Leaves(owner)
}

// replaces reports whether the very component, as its record says, goes before
// this create. A tainted one that was never ready does not: it is resumed.
func (o PlanOptions) replaces(rec *record.Record) bool {
	switch {
	case rec == nil:
		return false
	case o.Replaces != nil:
		return o.Replaces.Instance == rec.Instance
	default:
		return rec.Phase == record.Ready && o.leaves(rec.OwnerID)
	}
}

// Plan compares a component with prior state and cluster. It changes nothing.
// All problems are returned at once, joined. prior is nil for a create.
func (e *Engine) Plan(ctx context.Context, c Component, prior *Prior, options PlanOptions) (*Plan, error) {
	if e.cluster == nil {
		return e.planOffline(ctx, c, prior)
	}
	owner, clusterID, err := e.owner(ctx, c.Namespace, c.Name)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Component: c, owner: owner, clusterID: clusterID, prior: prior, store: e.store(c.Namespace, c.Name)}
	if plan.record, err = plan.store.Load(ctx); err != nil {
		return nil, e.connectionError(err)
	}
	if err := e.planValues(ctx, plan); err != nil {
		return nil, err
	}
	if err := e.checkCircle(ctx, plan); err != nil {
		return nil, err
	}
	if c.Suspend {
		plan.suspend()
		return plan, e.refuseExisting(plan)
	}
	again := plan.runsAgain()
	plan.Planned.Summary = countAgain(plan.Planned.Summary, again)
	if prior != nil && plan.nothingToDo() && again == 0 {
		plan.NothingToDo = true
		if !options.Apply {
			return plan, nil
		}
	}
	plan.replaced = prior == nil && options.replaces(plan.record)
	return plan, errors.Join(e.refuseExisting(plan), e.checkDependencies(ctx, plan), e.check(ctx, plan, options))
}

// runsAgain counts the objects that are as they were and are applied again all
// the same, because the component changes (semantics.md, section 4,
// "on-object-or-component-change").
func (p *Plan) runsAgain() int {
	if p.record == nil || p.record.Phase != record.Ready || !p.componentChanged() {
		return 0
	}
	again := 0
	recorded := p.record.Keys()
	for _, want := range p.rendered.Wants {
		item := recorded[want.Key]
		same := p.prior.Objects[want.Key] == p.Planned.Objects[want.Key] && !p.Planned.Unknown[want.Key]
		if want.Policies.Reconcile == ReconcileOnObjectOrComponentChange && same && (item == nil || !item.Purged()) {
			again++
		}
	}
	return again
}

// planOffline plans values when the provider's configuration is not known yet.
func (e *Engine) planOffline(ctx context.Context, c Component, prior *Prior) (*Plan, error) {
	plan := &Plan{Component: c, prior: prior}
	err := e.planValues(ctx, plan)
	if err == nil && c.Suspend {
		plan.suspend()
	}
	return plan, err
}

// nothingToDo reports whether state holds all that this plan would bring.
func (p *Plan) nothingToDo() bool {
	return p.prior.Status == StatusReady && !p.prior.Memory.Lost && len(p.Planned.Unknown) == 0 && maps.Equal(p.prior.Objects, p.Planned.Objects)
}

// planValues computes the planned values. The recorded revision is rendered
// first: only when objects differ from those it intended, the next revision is.
func (e *Engine) planValues(ctx context.Context, plan *Plan) error {
	capabilities, err := e.planCapabilities(ctx, plan.prior)
	if err != nil {
		return err
	}
	plan.release = releaseState{revision: 1, capabilities: capabilities}
	masks := masker{}
	if plan.record != nil {
		masks.key = plan.record.Key
	}
	if plan.prior == nil {
		return e.planRevision(ctx, plan, masks)
	}
	masks.before = plan.prior.Memory.Leaves
	plan.release.revision, plan.release.installed = max(plan.prior.Revision, 1), !plan.prior.Memory.Install
	if err := e.planRevision(ctx, plan, masks); err != nil {
		return err
	}
	if maps.Equal(plan.Planned.Intended, plan.prior.Memory.Intended) || plan.prior.Memory.Intended == nil {
		return nil
	}
	plan.release.revision++
	plan.release.installed = plan.prior.Memory.Installed
	return e.planRevision(ctx, plan, masks)
}

func (e *Engine) planCapabilities(ctx context.Context, prior *Prior) (Capabilities, error) {
	if prior != nil && prior.Memory.Capabilities.known() {
		return prior.Memory.Capabilities, nil
	}
	if e.cluster == nil {
		return Capabilities{}, nil
	}
	return e.capabilities(ctx)
}

func (e *Engine) planRevision(ctx context.Context, plan *Plan, masks masker) error {
	rendered, err := e.render(ctx, plan.Component, plan.release, e.lookup(ctx))
	if err != nil {
		return err
	}
	plan.rendered = rendered
	plan.Planned, err = planned(rendered, plan.release.revision, plan.prior, masks)
	return err
}

// planned is pure: what Terraform shows for rendered objects.
func planned(rendered *Rendered, revision int64, prior *Prior, masks masker) (Planned, error) {
	p := Planned{
		Objects:  make(map[string]string, len(rendered.Wants)),
		Unknown:  map[string]bool{},
		Leaves:   map[string]map[string]Leaf{},
		Intended: make(map[string]string, len(rendered.Wants)),
		Revision: revision,
		Artifact: rendered.Artifact,
		Status:   StatusReady,
	}
	size := 0
	for _, want := range rendered.Wants {
		text, leaves, err := masks.show(want.Key, want.Object)
		if err != nil {
			return p, &ObjectError{ID: want.ID, Origin: want.Origin, Title: "Invalid object", Err: err}
		}
		if settled := settledText(want, prior); settled != "" {
			text, leaves = settled, masks.before[want.Key]
		} else if want.Unstable != "" {
			p.Unknown[want.Key] = true
			p.Open = p.Open || want.Unstable == render.UnstableIdentity
		}
		p.Objects[want.Key] = text
		p.Intended[want.Key] = shortDigest(text)
		if p.Unknown[want.Key] {
			p.Intended[want.Key] = string(want.Unstable)
		}
		if leaves != nil {
			p.Leaves[want.Key] = leaves
		}
		size += len(text)
	}
	if size > maxObjects {
		return p, componentErrorf("The component is too large",
			"its %d objects take %d MiB in the plan, more than the %d MiB that Terraform can carry; split it into several components",
			len(rendered.Wants), size>>20, maxObjects>>20)
	}
	p.Summary = summary(prior, p.Objects)
	return p, nil
}

// settledText is what state shows of an object that was created once and is
// never touched again; empty for others.
func settledText(want *Want, prior *Prior) string {
	if prior == nil || want.Policies.Reconcile != ReconcileOnce {
		return ""
	}
	return prior.Objects[want.Key]
}

func shortDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawStdEncoding.EncodeToString(sum[:12])
}

// summary counts what the plan shows.
func summary(prior *Prior, objects map[string]string) string {
	var create, update, remove int
	var before map[string]string
	if prior != nil {
		before = prior.Objects
	}
	for key, text := range objects {
		old, existed := before[key]
		switch {
		case !existed:
			create++
		case old != text:
			update++
		}
	}
	for key := range before {
		if _, stays := objects[key]; !stays {
			remove++
		}
	}
	return countSummary(create, update, remove)
}

func countSummary(create, update, remove int) string {
	var parts []string
	for _, part := range []struct {
		n    int
		word string
	}{{create, "create"}, {update, "update"}, {remove, "delete"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", part.n, part.word))
		}
	}
	if len(parts) == 0 {
		return nothingToChange
	}
	return strings.Join(parts, ", ")
}

const nothingToChange = "nothing to change"

// countAgain adds the objects that are applied again without a change.
func countAgain(summary string, n int) string {
	switch {
	case n == 0:
		return summary
	case summary == nothingToChange:
		return fmt.Sprintf("%d to run again", n)
	default:
		return fmt.Sprintf("%s, %d to run again", summary, n)
	}
}

// refuseExisting stops a create over a component that is ready: it belongs to
// another resource or another state (DESIGN.md, "Create over an existing
// record"). An unfinished one is resumed, with a warning.
func (e *Engine) refuseExisting(plan *Plan) error {
	rec := plan.record
	if plan.prior != nil || rec == nil || plan.replaced {
		return nil
	}
	if isComplete(rec) {
		return componentErrorf("The component exists already",
			"component %s is in the cluster already (revision %d, %d objects). If the resource or its for_each key was renamed, add a moved block; "+
				"to manage the existing component with this resource, import it:\n  terraform import component.NAME %s",
			plan.Component, rec.Revision, len(rec.Inventory), plan.Component)
	}
	plan.Warnings = append(plan.Warnings, Warning{
		Title: fmt.Sprintf("The unfinished installation of component %s will be resumed", plan.Component),
		Lines: []string{fmt.Sprintf(" Its record is %s (%s), last written %s%s. What was applied stays and nothing is destroyed.",
			rec.Phase, rec.Reason, rec.Updated.Format("2006-01-02 15:04:05 MST"), heldBy(rec))},
	})
	return nil
}

// isComplete: the component was Ready, and no apply is unfinished since then.
func isComplete(rec *record.Record) bool {
	switch rec.Phase {
	case record.Ready:
		return true
	case record.Pending, record.DeletionPending:
		return rec.Installed
	default:
		return false
	}
}

func heldBy(rec *record.Record) string {
	if rec.Holder == "" {
		return ""
	}
	return " by " + rec.Holder
}

// PlannedKeys lists the keys of the planned objects in order.
func (p Planned) PlannedKeys() []string { return slices.Sorted(maps.Keys(p.Objects)) }

// AsksCluster reports whether the planned objects may be others once the
// cluster is known: charts can ask for its version and its types.
func (p *Plan) AsksCluster() bool { return p.rendered.chart }
