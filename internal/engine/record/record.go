// Package record keeps what the provider knows about a component in the
// cluster: one compressed Secret a component, split when it grows.
package record

import (
	"time"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// SchemaVersion is the version of the record's content. A record of a later
// version is refused, never rewritten.
const SchemaVersion = 1

// Phase is the state of a component (semantics.md, section 10).
type Phase string

// The states of a component.
const (
	Pending         Phase = "Pending"
	Processing      Phase = "Processing"
	Ready           Phase = "Ready"
	Error           Phase = "Error"
	DeletionPending Phase = "DeletionPending"
	Deleting        Phase = "Deleting"
)

// ItemPhase is the state of one object of the inventory (semantics.md,
// section 10).
type ItemPhase string

// The states of an object.
const (
	Scheduled         ItemPhase = "ScheduledForApplication"
	Creating          ItemPhase = "Creating"
	Updating          ItemPhase = "Updating"
	ItemReady         ItemPhase = "Ready"
	Completing        ItemPhase = "Completing"
	Completed         ItemPhase = "Completed"
	DeletionScheduled ItemPhase = "ScheduledForDeletion"
	ItemDeleting      ItemPhase = "Deleting"
)

// Record is what is known about one component. No field holds a secret value:
// Planned is masked, and hashes are keyed with Key.
type Record struct {
	Schema    int    `json:"schema"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	OwnerID   string `json:"ownerId"`
	Instance  string `json:"instance"`
	Holder    string `json:"holder,omitempty"`
	Phase     Phase  `json:"phase"`
	Reason    string `json:"reason,omitempty"`
	Revision  int64  `json:"revision"`
	// Installed: a revision was Ready once. Install: this revision was rendered
	// as an installation.
	Installed bool      `json:"installed,omitempty"`
	Install   bool      `json:"install,omitempty"`
	Updated   time.Time `json:"updated"`

	Artifact Artifact `json:"artifact"`
	// Chart: the objects come from a Helm chart, which may ask what the cluster
	// offers.
	Chart bool `json:"chart,omitempty"`
	// Inputs are the attributes of the resource, secret ones left out.
	Inputs map[string]any `json:"inputs,omitempty"`

	// Dependencies are the components, as "namespace/name", that are deleted
	// after this one.
	Dependencies []string `json:"dependencies,omitempty"`
	// ManagedTypes are the types besides CRDs and APIServices that the component
	// brings: patterns of the resource's additional_managed_types.
	ManagedTypes []string `json:"managedTypes,omitempty"`

	// Key is the key of all hashes. It never leaves the cluster.
	Key []byte `json:"key"`
	// Leaves are the masked leaves by object and JSON pointer.
	Leaves map[string]map[string]Leaf `json:"leaves,omitempty"`
	// Intended are digests of the planned objects of this revision.
	Intended map[string]string `json:"intended,omitempty"`

	Inventory []Item `json:"inventory"`

	ProviderVersion string `json:"providerVersion,omitempty"`
}

// Artifact is the source as it was last used.
type Artifact struct {
	URL      string `json:"url"`
	Digest   string `json:"digest"`
	Revision string `json:"revision"`
}

// Leaf is a masked value: Version counts its changes, Hash is keyed.
type Leaf struct {
	Version int    `json:"v,omitempty"`
	Hash    string `json:"h"`
}

// Item is one object of the inventory.
type Item struct {
	// Key is the id under which the plan shows the object; it differs from ID
	// where only the cluster knows the namespace.
	Key        string    `json:"key"`
	ID         object.ID `json:"id"`
	APIVersion string    `json:"apiVersion"`
	// Resource and Namespaced keep how the type was served, so that it can be
	// listed without discovery.
	Namespaced bool `json:"namespaced"`

	ApplyOrder  int  `json:"applyOrder,omitempty"`
	DeleteOrder int  `json:"deleteOrder,omitempty"`
	PurgeOrder  *int `json:"purgeOrder,omitempty"`
	// DeletePolicy is the effective one when the object was last applied: the
	// manifest may be gone when it matters.
	DeletePolicy string `json:"deletePolicy"`
	// DeleteExplicit says that the policy stood on the object itself.
	DeleteExplicit bool `json:"deleteExplicit,omitempty"`
	// Managed says that the type of the object came with the component.
	Managed bool `json:"managed,omitempty"`
	Adopted bool `json:"adopted,omitempty"`

	Digest      string    `json:"digest"`
	Phase       ItemPhase `json:"phase"`
	LastApplied time.Time `json:"lastApplied,omitzero"`
	// Planned is the object as the plan showed it: canonical JSON, masked and
	// folded. Empty until the object was applied once.
	Planned string `json:"planned,omitempty"`
	// Live is the keyed hash of the live object's projection on what we apply,
	// taken when the component was Ready.
	Live string `json:"live,omitempty"`
	// Folded are keyed hashes of the live values that Planned folds, by JSON
	// pointer, taken together with Live.
	Folded map[string]string `json:"folded,omitempty"`
}

// Purged reports whether the object was deleted at the end of a wave, or is
// about to be: its absence is as it should be then.
func (i *Item) Purged() bool { return i.Phase == Completed || i.Phase == Completing }

// Find returns the item of an object.
func (r *Record) Find(id object.ID) *Item {
	for i := range r.Inventory {
		if r.Inventory[i].ID == id {
			return &r.Inventory[i]
		}
	}
	return nil
}

// Keys returns the inventory by the key that the plan shows.
func (r *Record) Keys() map[string]*Item {
	keys := make(map[string]*Item, len(r.Inventory))
	for i := range r.Inventory {
		keys[r.Inventory[i].Key] = &r.Inventory[i]
	}
	return keys
}
