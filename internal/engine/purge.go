package engine

import (
	"context"

	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// purge deletes the applied objects whose purge-order has come: at the end of
// the wave of that number, before the next larger wave, or after the last one
// (semantics.md, section 4). Everything so far is ready. They stay in the
// inventory as Completed and are applied again only when their digest changes.
func (a *applier) purge(ctx context.Context, later []applyWave) error {
	var removals []*Removal
	for _, change := range a.plan.Changes {
		order := change.Policies.PurgeOrder
		if order == nil || !a.reached[change.ID] || len(later) > 0 && *order >= later[0].order {
			continue
		}
		if item := a.record.Find(change.ID); item != nil && item.Phase != record.Completed {
			item.Phase = record.Completing
			removals = append(removals, &Removal{Item: *item})
		}
	}
	if len(removals) == 0 {
		return nil
	}
	// Whoever finds the record after an interruption must not run them again.
	if err := a.plan.store.Save(ctx, a.record); err != nil {
		return err
	}
	r := &remover{e: a.e, owner: a.plan.owner, guard: a.e.pruneGuard(a.plan), deadline: a.deadline, gone: a.completed}
	return r.run(ctx, removals)
}

func (a *applier) completed(removal *Removal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if item := a.record.Find(removal.Item.ID); item != nil {
		item.Phase = record.Completed
	}
}
