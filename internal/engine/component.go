package engine

import (
	"time"

	"github.com/kubewave/terraform-provider-component/internal/engine/source"
)

// Component is what a user asks for: a named set of objects and how they are
// handled. Field names are those of the resource's attributes.
type Component struct {
	Namespace string
	Name      string

	Source          source.Source
	Path            string
	Values          map[string]any
	TargetNamespace string
	TargetName      string

	Defaults          Defaults
	MissingNamespaces MissingNamespacesPolicy
	// ReadyTimeout bounds how long objects may take to become ready.
	ReadyTimeout time.Duration

	// Dependencies are components that must be Ready before this one is applied,
	// and that are deleted after it (semantics.md, section 6).
	Dependencies []Identity
	// Suspend: nothing is applied or pruned (semantics.md, section 6).
	Suspend bool
	// AdditionalManagedTypes are types that the component's own objects bring
	// without saying so, such as those of an operator that makes its CRDs itself:
	// "Kind.group", with wildcards (semantics.md, section 2).
	AdditionalManagedTypes []string
	// SkipSafeguards: types and namespaces are deleted with what others have in
	// them (semantics.md, section 5).
	SkipSafeguards bool

	// Inputs are the attributes as the record keeps them; no secret ones.
	Inputs map[string]any
}

// targetNamespace is where namespaced objects without a namespace go.
func (c Component) targetNamespace() string {
	if c.TargetNamespace != "" {
		return c.TargetNamespace
	}
	return c.Namespace
}

// releaseName is the name of the Helm release.
func (c Component) releaseName() string {
	if c.TargetName != "" {
		return c.TargetName
	}
	return c.Name
}

// String prints "namespace/name", as messages name a component.
func (c Component) String() string { return c.Namespace + "/" + c.Name }

// Identity names a component in a cluster.
type Identity struct {
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Prior is what Terraform knew about the component before this plan. Planned
// values are a function of the component, of this, and of nothing else.
type Prior struct {
	Objects  map[string]string
	Revision int64
	Status   string
	Artifact Artifact
	Memory   Memory
}

// Artifact is the source as it was used.
type Artifact struct {
	URL, Digest, Revision string
}

// Memory is what the provider keeps in Terraform's private state. It holds
// digests, keyed hashes and names, no content of a Secret.
type Memory struct {
	// Instance is the identity of this resource instance: a record of another
	// instance is not ours to delete.
	Instance  string `json:"instance,omitempty"`
	ClusterID string `json:"cluster,omitempty"`
	// Owner is the owner id of the component, for the create half of its own
	// replacement.
	Owner string `json:"owner,omitempty"`
	// Installed: a revision was Ready once. Install: the current revision was
	// rendered as an installation.
	Installed bool `json:"installed,omitempty"`
	Install   bool `json:"install,omitempty"`
	// Lost: the record was gone at the last refresh.
	Lost bool `json:"lost,omitempty"`
	// Intended are digests of the planned objects of the current revision.
	Intended map[string]string `json:"intended,omitempty"`
	// Leaves number the changes of masked values.
	Leaves map[string]map[string]Leaf `json:"leaves,omitempty"`
	// Live are the keyed hashes of the live projections.
	Live map[string]string `json:"live,omitempty"`
	// Capabilities are what the cluster offered when it was last read; only
	// where the objects come from a chart, which may ask for it.
	Capabilities Capabilities `json:"capabilities,omitzero"`
	// Inventory names the objects, for the day when the record is gone.
	Inventory []MemoryItem `json:"inventory,omitempty"`
}

// MemoryItem is one object of the inventory in private state.
type MemoryItem struct {
	Key          string       `json:"key"`
	ID           string       `json:"id"`
	APIVersion   string       `json:"apiVersion"`
	Namespaced   bool         `json:"namespaced,omitempty"`
	DeleteOrder  int          `json:"deleteOrder,omitempty"`
	DeletePolicy DeletePolicy `json:"deletePolicy,omitempty"`
	Managed      bool         `json:"managed,omitempty"`
	Adopted      bool         `json:"adopted,omitempty"`
}

// Capabilities are what a Helm chart may ask about a cluster.
type Capabilities struct {
	KubeVersion string   `json:"kubeVersion,omitempty"`
	APIVersions []string `json:"apiVersions,omitempty"`
}

// known reports whether capabilities were read from a cluster.
func (c Capabilities) known() bool { return c.KubeVersion != "" }
