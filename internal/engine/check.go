package engine

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// check looks at the cluster: what exists and whose it is, and what the API
// server would say to each object that changes (a dry-run). It fills in the
// changes and removals of the plan. An error is only what no other resource of
// the same run could cure; the rest is a warning (DESIGN.md, "Several
// components in one run").
func (e *Engine) check(ctx context.Context, plan *Plan, options PlanOptions) error {
	wants, unserved, err := e.resolve(ctx, plan.Component, plan.rendered.Wants)
	if err != nil {
		return err
	}
	live, err := e.observe(ctx, plan, wants)
	if err != nil {
		return err
	}
	plan.Changes = plan.changesOf(wants, live)
	if plan.absent, err = e.absentNamespaces(ctx, plan.Changes); err != nil {
		return err
	}
	problems := make([]error, len(plan.Changes))
	findings := make([]finding, len(plan.Changes))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(e.options.Workers)
	for i, change := range plan.Changes {
		group.Go(func() error {
			if notServed := unserved[change.Want.ID]; notServed != nil {
				problems[i] = unservedProblem(change, notServed)
				return nil
			}
			var fatal error
			findings[i], problems[i], fatal = e.checkChange(groupCtx, plan, change, options)
			return fatal
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	plan.Removals = plan.removals()
	if err := e.pruneGuard(plan).check(ctx, plan.Removals); err != nil {
		problems = append(problems, err)
	}
	plan.Warnings = append(plan.Warnings, plan.warnings(findings)...)
	e.dryRuns.save()
	return errors.Join(append(problems, repeated(wants)...)...)
}

// observe lists what the component has in the cluster. A component without a
// record has nothing that is worth a LIST: what exists shows at the dry-run.
func (e *Engine) observe(ctx context.Context, plan *Plan, wants []*Want) (liveObjects, error) {
	if plan.record == nil {
		return liveObjects{}, nil
	}
	items := append([]record.Item(nil), plan.record.Inventory...)
	for _, want := range wants {
		if want.Type.Resource.Resource != "" {
			items = append(items, itemOf(want))
		}
	}
	return e.listOwned(ctx, plan.owner, items)
}

// changesOf pairs wants with live objects and inventory. Actions are decided
// later.
func (p *Plan) changesOf(wants []*Want, live liveObjects) []*Change {
	recorded := map[object.ID]*record.Item{}
	if p.record != nil {
		for i := range p.record.Inventory {
			recorded[p.record.Inventory[i].ID] = &p.record.Inventory[i]
		}
	}
	changes := make([]*Change, len(wants))
	for i, want := range wants {
		changes[i] = &Change{Want: want, Live: live[want.ID], Recorded: recorded[want.ID], Drifted: p.drifted(want.Key)}
	}
	return changes
}

// drifted: Terraform's state shows another object than the plan does.
func (p *Plan) drifted(key string) bool {
	return p.prior != nil && p.prior.Objects[key] != p.Planned.Objects[key]
}

// removals are the objects of the inventory that the component no longer has.
func (p *Plan) removals() []*Removal {
	if p.record == nil {
		return nil
	}
	stays := map[object.ID]bool{}
	for _, change := range p.Changes {
		stays[change.ID] = true
	}
	var removals []*Removal
	for _, item := range p.record.Inventory {
		if !stays[item.ID] {
			removals = append(removals, removalOf(item, false))
		}
	}
	return removals
}

// unservedProblem: a kind of a built-in group that the cluster does not have
// can come from nowhere; another component of the run may bring any other.
func unservedProblem(change *Change, notServed *cluster.NotServedError) error {
	if change.Managed {
		change.Action = Create
		return nil
	}
	if object.IsBuiltin(change.ID.Group) {
		return &ObjectError{ID: change.ID, Origin: change.Origin, Title: "Unknown kind", Err: notServed}
	}
	change.Action, change.Unchecked = Create, notServed.Error()
	return nil
}

// checkChange decides about one object. fatal ends the plan: the cluster
// cannot be used at all.
func (e *Engine) checkChange(ctx context.Context, plan *Plan, change *Change, options PlanOptions) (found finding, problem, fatal error) {
	if change.Live == nil && !completed(plan.situation(change, Absent, e)) {
		if problem, fatal = e.checkAbsent(ctx, plan, change); problem != nil || fatal != nil || change.Action == Create {
			return found, problem, fatal
		}
	}
	ownership, err := e.ownership(ctx, change.Live, plan.owner, plan.Component)
	if err != nil {
		return found, nil, err
	}
	if ownership == Ours && plan.replaced || ownership == Foreign && options.leaves(e.ownerOnObject(change.Live).id) {
		// It goes with the instance that this one replaces.
		change.Action, change.Live = Create, nil
		return found, nil, nil
	}
	change.Action = decide(plan.situation(change, ownership, e))
	switch change.Action {
	case Refuse:
		return found, e.ownerError(change, ownership), nil
	case Keep:
		return found, nil, nil
	}
	predicted, problem, fatal := e.dryRun(ctx, plan, change, change.Live.GetUID())
	if change.Action == Recreate && problem != nil && cluster.IsImmutable(problem) {
		problem = nil
	}
	if problem != nil || fatal != nil {
		return found, problem, fatal
	}
	if e.writesNothing(plan, change, predicted) {
		change.Action, change.Same = Keep, true
		return found, nil, nil
	}
	if change.Action == Adopt {
		found.adopted = e.describeAdoption(change, predicted, ownership)
	}
	found.recreated = recreation(change, plan.situation(change, ownership, e))
	found.reclaimed, fatal = e.reclaimed(ctx, change)
	return found, nil, fatal
}

// checkAbsent tries to create an object that nobody has seen. When it exists
// after all, Live is set and the decision is still to be made.
func (e *Engine) checkAbsent(ctx context.Context, plan *Plan, change *Change) (problem, fatal error) {
	if plan.absent.Has(change.ID.Namespace) {
		return e.checkInStandIn(ctx, plan, change)
	}
	if e.dryRuns.knows(e.dryRunKey(plan, change, "")) {
		change.Action = Create
		return nil, nil
	}
	_, err := e.tryApply(ctx, plan, change, "")
	switch reason := cluster.ReasonOf(err); {
	case err == nil:
		change.Action = Create
		e.dryRuns.passed(e.dryRunKey(plan, change, ""))
	case reason == cluster.Conflict:
		if change.Live, err = e.get(ctx, change.Type, change.ID); err != nil {
			return nil, err
		}
		if change.Live == nil {
			change.Action = Create
		}
	default:
		change.Action = Create
		problem, fatal = e.dryRunProblem(plan, change, err)
	}
	return problem, fatal
}

func (e *Engine) ownerError(change *Change, ownership Ownership) error {
	if ownership == Unowned {
		return &ObjectError{
			ID: change.ID, Origin: change.Origin, Title: "Object exists already",
			Err:    errors.New("it exists without an owner, and its adoption policy is never"),
			Advice: `Delete it, or set adoption_policy = "IfUnowned" (or the annotation adoption-policy: if-unowned) to take it over.`,
		}
	}
	return &ObjectError{
		ID: change.ID, Origin: change.Origin, Title: "Object belongs to another component",
		Err:    fmt.Errorf("it is owned by %s", e.ownerOnObject(change.Live)),
		Advice: `Remove it from one of the two, or set adoption_policy = "Always" (or the annotation adoption-policy: always) to take it over.`,
	}
}

// componentChanged: any input is another one than when everything was applied.
func (p *Plan) componentChanged() bool {
	if p.prior == nil || p.record == nil || p.record.Phase != record.Ready {
		return p.prior != nil
	}
	before, _ := object.EncodeCanonical([]any{p.record.Artifact, orNone(p.record.Inputs)})
	after, _ := object.EncodeCanonical([]any{record.Artifact(p.Planned.Artifact), orNone(p.Component.Inputs)})
	return before != after
}

// orNone makes no inputs the same, whether the record left them out or not.
func orNone(inputs map[string]any) map[string]any {
	if len(inputs) == 0 {
		return nil
	}
	return inputs
}

// situation gathers what decide needs.
func (p *Plan) situation(change *Change, ownership Ownership, e *Engine) Situation {
	s := Situation{
		Ownership: ownership, Policies: change.Policies, Digest: change.Digest,
		Recorded: change.Recorded, Drifted: change.Drifted && change.Live != nil,
		ComponentChanged: p.componentChanged(), FailedJob: isFailedJob(change.Live), Now: e.now(),
	}
	if change.Live != nil {
		s.LiveDigest = change.Live.GetAnnotations()[e.digestAnnotation()]
		s.Terminating = change.Live.GetDeletionTimestamp() != nil
	}
	return s
}
