package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubewave/terraform-provider-component/internal/engine/record"
	"github.com/kubewave/terraform-provider-component/internal/engine/status"
)

// Action is what happens to one object of a component.
type Action string

// The actions.
const (
	// Keep writes nothing.
	Keep Action = "keep"
	// Create makes an object that does not exist, and never overwrites one.
	Create Action = "create"
	// Adopt takes over an object that exists and has no owner, or whose owner
	// may be replaced.
	Adopt Action = "adopt"
	// Update changes an object of ours.
	Update Action = "update"
	// Recreate deletes an object of ours, waits until it is gone, creates it.
	Recreate Action = "recreate"
	// Refuse stops the whole component before anything is applied.
	Refuse Action = "refuse"
)

// onceDigest is the digest of an object that was created once and is never
// touched again.
const onceDigest = "__once__"

// Ownership is whose an existing object is.
type Ownership string

// The kinds of ownership (semantics.md, section 4).
const (
	Absent  Ownership = "absent"
	Ours    Ownership = "ours"
	Unowned Ownership = "no owner"
	Foreign Ownership = "another owner"
)

// Situation is all that the decision about one object depends on.
type Situation struct {
	Ownership Ownership
	Policies  Policies
	// Digest is that of the manifest, LiveDigest that on the live object.
	Digest, LiveDigest string
	// Recorded is the inventory entry; nil when there is none.
	Recorded *record.Item
	// Drifted: the live object is not what was last applied.
	Drifted bool
	// ComponentChanged: any input of the component is another one.
	ComponentChanged bool
	// FailedJob: the live object is a Job that failed.
	FailedJob bool
	// Terminating: the live object is being deleted.
	Terminating bool
	Now         time.Time
}

// decide is the one place where the policies of an object meet what is in the
// cluster (semantics.md, section 4).
func decide(s Situation) Action {
	if completed(s) {
		return Keep
	}
	switch s.Ownership {
	case Absent:
		return Create
	case Unowned:
		return adoptUnless(s.Policies.Adoption == AdoptNever)
	case Foreign:
		return adoptUnless(s.Policies.Adoption != AdoptAlways)
	}
	if !due(s) {
		return Keep
	}
	if s.Policies.Update == UpdateRecreate {
		return Recreate
	}
	return Update
}

func adoptUnless(refused bool) Action {
	if refused {
		return Refuse
	}
	return Adopt
}

// completed: a purged object is applied again only when its digest changes.
// The digest of one with reconcile-policy once never does.
func completed(s Situation) bool {
	if s.Recorded == nil || s.Ownership != Absent || !s.Recorded.Purged() {
		return false
	}
	return s.Recorded.Digest == s.Digest || s.Policies.Reconcile == ReconcileOnce && s.Recorded.Digest == onceDigest
}

// due says whether an existing object of ours is written (semantics.md,
// section 4, "When an existing object of ours is updated").
func due(s Situation) bool {
	if s.Terminating {
		// It will be gone: it is waited for and created anew.
		return true
	}
	if s.Policies.Reconcile == ReconcileOnce {
		return s.Recorded != nil && s.Recorded.Digest != onceDigest
	}
	changed := s.LiveDigest != s.Digest || s.Drifted ||
		s.Recorded == nil || s.Recorded.Digest != s.Digest
	if s.Policies.Reconcile == ReconcileOnObjectOrComponentChange {
		changed = changed || s.ComponentChanged
	}
	return changed || s.FailedJob && s.Policies.Update == UpdateRecreate || outdated(s)
}

// outdated: older than its reapply interval.
func outdated(s Situation) bool {
	interval := s.Policies.ReapplyInterval
	return interval > 0 && s.Recorded != nil && !s.Recorded.LastApplied.IsZero() && s.Now.Sub(s.Recorded.LastApplied) > interval
}

// Change is what happens to one object that the component should have.
type Change struct {
	*Want
	Action Action
	// Live is the object as it was read; nil when it is absent or unseen.
	Live *unstructured.Unstructured
	// Drifted: Terraform's state says that the live object differs.
	Drifted bool
	// Same: the manifest changed, and what it asks for is there already.
	Same bool
	// Unchecked says why the API server could not try the object at plan; empty
	// when it did or need not.
	Unchecked string
	// Recorded is the inventory entry before the apply; nil when there is none.
	Recorded *record.Item
}

// Removal is what happens to one object that leaves the component.
type Removal struct {
	Item record.Item
	// Orphan leaves the object in the cluster.
	Orphan bool
}

// removalOf decides about an object that leaves the component, by the policy
// recorded when it was last applied. deletion says that the whole component
// goes (semantics.md, sections 4 "Prune" and 5).
func removalOf(item record.Item, deletion bool) *Removal {
	orphan := false
	switch DeletePolicy(item.DeletePolicy) {
	case DeleteOrphan:
		orphan = true
	case DeleteOrphanOnApply:
		orphan = !deletion
	case DeleteOrphanOnDelete:
		orphan = deletion
	}
	if item.Adopted && !item.DeleteExplicit && keptWhenAdopted(item) {
		orphan = true
	}
	return &Removal{Item: item, Orphan: orphan}
}

// keptWhenAdopted: what was there before the component and holds the data of
// others is not deleted with it, unless its own annotation says so.
func keptWhenAdopted(item record.Item) bool {
	for _, kind := range keptByDefault {
		if item.ID.GroupKind() == kind {
			return true
		}
	}
	return false
}

func isFailedJob(live *unstructured.Unstructured) bool {
	return live != nil && live.GroupVersionKind().GroupKind() == jobKind && status.Of(live, status.Hints{}).State == status.Failed
}
