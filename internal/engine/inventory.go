package engine

import (
	"crypto/rand"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// openRecord copies the record that exists, or begins one, and enters what the
// user asks for and who writes it.
func (a *applier) openRecord() {
	p := a.plan
	rec := &record.Record{
		Key: newKey(), Namespace: p.Component.Namespace, Name: p.Component.Name, Revision: p.Planned.Revision, Install: !p.release.installed,
	}
	if p.record != nil {
		copied := *p.record
		rec = &copied
	}
	if rec.Instance == "" || p.prior == nil {
		rec.Instance = string(uuid.NewUUID())
	}
	rec.OwnerID, rec.Holder, rec.ProviderVersion, rec.Updated = p.owner.ID, holder(), a.e.options.Version, a.e.now().UTC()
	rec.Chart, rec.Inputs = p.rendered.chart, p.Component.Inputs
	rec.Dependencies, rec.ManagedTypes = p.Component.dependencyNames(), p.Component.AdditionalManagedTypes
	a.record = rec
}

// startRecord makes the record as it is before the first object is written:
// with the full inventory, old and new.
func (a *applier) startRecord() {
	a.openRecord()
	rec, p := a.record, a.plan
	rec.Phase, rec.Reason = record.Processing, reasonApplying
	rec.Revision, rec.Install = p.Planned.Revision, !p.release.installed
	rec.Artifact = record.Artifact(p.Planned.Artifact)
	rec.Intended, rec.Leaves = p.Planned.Intended, a.leaves(rec.Key)
	rec.Inventory = a.inventory()
}

// leaves are the planned leaves with their hashes: a plan that made the first
// record had no key for them.
func (a *applier) leaves(key []byte) map[string]map[string]Leaf {
	masks := masker{key: key}
	all := map[string]map[string]Leaf{}
	for _, want := range a.plan.rendered.Wants {
		_, hashed, err := masks.show(want.Key, want.Object)
		if err != nil || hashed == nil {
			continue
		}
		for pointer, leaf := range hashed {
			hashed[pointer] = Leaf{Version: a.plan.Planned.Leaves[want.Key][pointer].Version, Hash: leaf.Hash}
		}
		all[want.Key] = hashed
	}
	return all
}

func (a *applier) inventory() []record.Item {
	var items []record.Item
	for _, change := range a.plan.Changes {
		item := itemOf(change.Want)
		item.Phase = record.Scheduled
		if old := change.Recorded; old != nil {
			item.Adopted, item.Digest, item.Phase, item.LastApplied = old.Adopted, old.Digest, old.Phase, old.LastApplied
			item.Planned, item.Live, item.Folded = old.Planned, old.Live, old.Folded
		} else {
			item.Digest = ""
		}
		items = append(items, item)
	}
	for _, removal := range a.plan.Removals {
		items = append(items, removal.Item)
	}
	return items
}

// itemOf is the inventory entry of an object with the policies in force.
func itemOf(want *Want) record.Item {
	return record.Item{
		Key: want.Key, ID: want.ID, APIVersion: want.Object.GetAPIVersion(), Namespaced: want.Type.Namespaced,
		ApplyOrder: want.Policies.ApplyOrder, DeleteOrder: want.Policies.DeleteOrder, PurgeOrder: want.Policies.PurgeOrder,
		DeletePolicy: string(want.Policies.Delete), DeleteExplicit: want.Policies.DeleteExplicit,
		Managed: want.Managed, Digest: want.Digest,
	}
}

func newKey() []byte {
	key := make([]byte, 32)
	// crypto/rand never returns an error (it ends the process instead).
	_, _ = rand.Read(key)
	return key
}

// holder names who runs this apply, for whoever finds the record unfinished.
func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}

// remember enters an applied object into the record and into the result.
func (a *applier) remember(change *Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reached[change.ID] = true
	item := a.record.Find(change.ID)
	if item == nil {
		return
	}
	item.Planned = a.plan.Planned.Objects[change.Key]
	if change.Action == Keep && !change.Same {
		return
	}
	item.Digest = change.Digest
	item.LastApplied = a.e.now().UTC()
	if change.Same {
		return
	}
	item.Adopted = item.Adopted || change.Action == Adopt
	item.Phase, item.Live, item.Folded = record.Updating, "", nil
	if change.Action == Create {
		// What was adopted once is gone; this one is ours from the start.
		item.Phase, item.Adopted = record.Creating, false
	}
}

// settled marks an object as ready. One with reconcile-policy once is never
// touched again from now on.
func (a *applier) settled(change *Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	item := a.record.Find(change.ID)
	if item == nil || item.Phase == record.Completed {
		return
	}
	item.Phase = record.ItemReady
	if change.Policies.Reconcile == ReconcileOnce {
		item.Digest = onceDigest
	}
}

// forget takes a removed object out of the record.
func (a *applier) forget(removal *Removal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.removed[removal.Item.ID] = true
	a.record.Inventory = withoutItem(a.record.Inventory, removal.Item.ID)
	delete(a.record.Leaves, removal.Item.Key)
}

func withoutItem(items []record.Item, id object.ID) []record.Item {
	kept := make([]record.Item, 0, len(items))
	for _, item := range items {
		if item.ID != id {
			kept = append(kept, item)
		}
	}
	return kept
}
