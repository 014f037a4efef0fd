package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
	"github.com/kubewave/terraform-provider-component/internal/engine/status"
)

// reasonInterrupted is the reason of a record, and the status of a component,
// whose apply was cancelled.
const reasonInterrupted = "Interrupted"

// recordTimeout bounds the last write of a record after the apply was
// cancelled: Terraform must get its answer within a second or so.
const recordTimeout = 5 * time.Second

// Result is what an apply did. It is true also when the apply returns an
// error: objects that were not reached keep their prior value.
type Result struct {
	// Started: the record was written; without it nothing was changed and
	// Terraform has nothing to keep.
	Started  bool
	Objects  map[string]string
	Status   string
	Revision int64
	Artifact Artifact
	Summary  string
	Memory   Memory
}

// Apply does what the plan says, or fails. expected are the objects that the
// user approved; nil when they were not known. The record is written before
// the first object, at the end of each wave, and at the end (DESIGN.md,
// "Apply").
func (e *Engine) Apply(ctx context.Context, plan *Plan, expected map[string]string) (*Result, error) {
	if err := stale(plan, expected); err != nil {
		return &Result{}, err
	}
	a := &applier{
		e: e, plan: plan, reached: map[object.ID]bool{}, started: e.now(),
		deadline: e.now().Add(plan.Component.ReadyTimeout),
	}
	if plan.suspended {
		return a.suspendRecord(ctx)
	}
	a.startRecord()
	if err := a.begin(ctx); err != nil {
		return &Result{}, err
	}
	a.tell(ctx, corev1.EventTypeNormal, reasonApplying, fmt.Sprintf("revision %d: %s", plan.Planned.Revision, plan.Planned.Summary))
	err := a.run(ctx)
	err = errors.Join(err, a.finish(ctx, err))
	return a.result(), err
}

// stale compares what would be applied with what was approved.
func stale(plan *Plan, expected map[string]string) error {
	if expected == nil || maps.Equal(expected, plan.Planned.Objects) {
		return nil
	}
	var changed []string
	for _, key := range plan.Planned.PlannedKeys() {
		if expected[key] != plan.Planned.Objects[key] {
			changed = append(changed, key)
		}
	}
	for key := range expected {
		if _, ok := plan.Planned.Objects[key]; !ok {
			changed = append(changed, key)
		}
	}
	slices.Sort(changed)
	return componentErrorf("The plan is stale",
		"between plan and apply the rendered objects changed: %s (source %s, digest %s). Nothing was applied. Run plan again.",
		listed(changed), plan.Planned.Artifact.URL, plan.Planned.Artifact.Digest)
}

// applier runs one plan.
type applier struct {
	e        *Engine
	plan     *Plan
	record   *record.Record
	started  time.Time
	deadline time.Time

	mu sync.Mutex
	// reached are the objects that are now as the plan shows them.
	reached map[object.ID]bool
	removed map[object.ID]bool
	// wave and waves count for progress and messages.
	wave, waves int
}

// begin writes the record, after its namespace.
func (a *applier) begin(ctx context.Context) error {
	if err := a.ensureRecordNamespace(ctx); err != nil {
		return err
	}
	err := a.plan.store.Save(ctx, a.record)
	if cluster.ReasonOf(err) == cluster.Conflict && err != nil {
		return componentErrorf("Another run is changing the component",
			"the record of component %s changed since it was read: %w. Nothing was applied. Run plan again when the other run is over.", a.plan.Component, err)
	}
	return err
}

func (a *applier) run(ctx context.Context) error {
	if err := a.awaitDependencies(ctx); err != nil {
		return err
	}
	if err := a.ensureNamespaces(ctx); err != nil {
		return err
	}
	waves := applyWaves(a.plan.Changes)
	a.waves = len(waves)
	for i, wave := range waves {
		a.wave = i + 1
		if err := a.applyWave(ctx, wave, waves[i+1:]); err != nil {
			return err
		}
		if err := a.purge(ctx, waves[i+1:]); err != nil {
			return err
		}
		a.tell(ctx, corev1.EventTypeNormal, "WaveReady", fmt.Sprintf("wave %d of %d (apply-order %d) is ready: %s, %s after the start",
			a.wave, a.waves, wave.order, counted(wave.objects(), "object", "objects"), a.elapsed()))
		if i+1 < len(waves) {
			if err := a.plan.store.Save(ctx, a.record); err != nil {
				return err
			}
		}
	}
	return a.prune(ctx)
}

// applyWave applies the stages of a wave; each is ready before the next one
// starts.
func (a *applier) applyWave(ctx context.Context, wave applyWave, later []applyWave) error {
	for _, stage := range wave.stages {
		var pending []*target
		for _, rank := range ranks(stage) {
			targets, err := a.applyRank(ctx, rank)
			if err != nil {
				return err
			}
			pending = append(pending, targets...)
			if slices.ContainsFunc(rank, func(c *Change) bool { return c.ID.GroupKind() == crdKind }) {
				if err := a.await(ctx, pending, wave, later); err != nil {
					return err
				}
				pending = nil
				a.e.cluster.ForgetTypes(ctx)
			}
		}
		if err := a.await(ctx, pending, wave, later); err != nil {
			return err
		}
	}
	return nil
}

// applyRank applies objects that may go in parallel. All are tried, also when
// one fails.
func (a *applier) applyRank(ctx context.Context, rank []*Change) ([]*target, error) {
	targets := make([]*target, len(rank))
	failures := make([]error, len(rank))
	work := make(chan int)
	var workers sync.WaitGroup
	for range min(a.e.options.Workers, len(rank)) {
		workers.Go(func() {
			for i := range work {
				targets[i], failures[i] = a.applyChange(ctx, rank[i])
			}
		})
	}
	for i := range rank {
		if ctx.Err() != nil {
			failures[i] = context.Cause(ctx)
			break
		}
		work <- i
	}
	close(work)
	workers.Wait()
	if ctx.Err() != nil {
		return nil, interrupted(ctx)
	}
	return slices.DeleteFunc(targets, func(t *target) bool { return t == nil }), errors.Join(failures...)
}

// applyChange writes one object and remembers it. It returns what is still to
// wait for; nil when the object is ready.
func (a *applier) applyChange(ctx context.Context, change *Change) (*target, error) {
	live := change.Live
	if change.Action != Keep {
		written, err := a.write(ctx, change)
		if err != nil {
			return nil, err
		}
		live = written
	}
	a.remember(change)
	if live == nil {
		return nil, nil
	}
	result := status.Of(live, change.Policies.Hints)
	if result.State == status.Ready {
		a.settled(change)
		return nil, nil
	}
	return &target{change: change, uid: live.GetUID(), result: result, last: live}, nil
}

// finish writes the record of a finished apply, good or bad. When it was
// cancelled there is time for this one write only.
func (a *applier) finish(ctx context.Context, failure error) error {
	a.record.Updated = a.e.now().UTC()
	if failure != nil {
		if a.record.Phase != record.Pending {
			a.record.Phase, a.record.Reason = record.Error, "ApplyFailed"
		}
		if ctx.Err() != nil {
			a.record.Phase, a.record.Reason = record.Error, reasonInterrupted
		}
		brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		defer cancel()
		err := a.plan.store.Save(brief, a.record)
		a.tell(brief, corev1.EventTypeWarning, a.record.Reason, headline(failure))
		return err
	}
	if err := a.takeHashes(ctx); err != nil {
		return a.finish(ctx, err)
	}
	a.record.Installed = true
	return a.enter(ctx, record.Ready, "Ready", fmt.Sprintf("%s, %s after the start", counted(len(a.record.Inventory), "object", "objects"), a.elapsed()))
}

func (a *applier) elapsed() time.Duration { return a.e.now().Sub(a.started).Round(time.Millisecond) }

// takeHashes keeps what the objects that were written look like now that all
// are ready, so that the next refresh can tell drift from what the server made
// of them. Those that were not written keep their hash: what somebody changed in
// them meanwhile is drift.
func (a *applier) takeHashes(ctx context.Context) error {
	live, err := a.e.listOwned(ctx, a.plan.owner, a.record.Inventory)
	if err != nil {
		return err
	}
	for i := range a.record.Inventory {
		item := &a.record.Inventory[i]
		if live[item.ID] == nil || item.Planned == "" || item.Live != "" {
			continue
		}
		if err := a.takeHash(ctx, item, live[item.ID].Object); err != nil {
			return fmt.Errorf("%s: %w", item.ID, err)
		}
	}
	return nil
}

func (a *applier) takeHash(ctx context.Context, item *record.Item, live map[string]any) error {
	planned, err := object.DecodeCanonical(item.Planned)
	if err != nil {
		return err
	}
	projected, err := a.e.project(ctx, fill(planned, live), live)
	if err != nil {
		return err
	}
	if item.Live, err = projected.hash(a.record.Key); err != nil {
		return err
	}
	item.Folded = foldedHashes(a.record.Key, planned, live)
	return nil
}

// result is what Terraform keeps.
func (a *applier) result() *Result {
	p := a.plan
	objects := map[string]string{}
	if p.prior != nil {
		maps.Copy(objects, p.prior.Objects)
	}
	for _, change := range p.Changes {
		if a.reached[change.ID] {
			objects[change.Key] = p.Planned.Objects[change.Key]
		}
	}
	for _, removal := range p.Removals {
		if a.removed[removal.Item.ID] {
			delete(objects, removal.Item.Key)
		}
	}
	if a.record.Phase == record.Ready {
		objects = p.Planned.Objects
	}
	memory := memoryOf(a.record, p.clusterID)
	if a.record.Chart {
		memory.Capabilities = p.release.capabilities
	}
	return &Result{
		Started: true, Objects: objects, Status: statusOf(a.record), Revision: p.Planned.Revision,
		Artifact: p.Planned.Artifact, Summary: p.Planned.Summary, Memory: memory,
	}
}

// interrupted is the error of an operation that was stopped from outside.
func interrupted(ctx context.Context) error {
	const resume = "What was done is recorded; run the same command again to continue."
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return componentErrorf("The operation took too long", "The time set in the timeouts block is over. %s", resume)
	}
	return componentErrorf("The operation was interrupted", "It was cancelled. %s", resume)
}
