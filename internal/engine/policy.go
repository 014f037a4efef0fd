package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubewave/terraform-provider-component/internal/engine/status"
)

// AdoptionPolicy says what happens to an object that exists already
// (semantics.md, section 4, "Ownership").
type AdoptionPolicy string

// ReconcilePolicy says when an existing object of ours is updated.
type ReconcilePolicy string

// UpdatePolicy says how an existing object of ours is updated.
type UpdatePolicy string

// DeletePolicy says what happens to an object that leaves the component.
type DeletePolicy string

// MissingNamespacesPolicy says what happens when an object names a namespace
// that does not exist and that is no object of the component.
type MissingNamespacesPolicy string

// The policies, in the spelling of the resource's attributes. The first of
// each is the default.
const (
	AdoptIfUnowned AdoptionPolicy = "IfUnowned"
	AdoptNever     AdoptionPolicy = "Never"
	AdoptAlways    AdoptionPolicy = "Always"

	ReconcileOnObjectChange            ReconcilePolicy = "OnObjectChange"
	ReconcileOnObjectOrComponentChange ReconcilePolicy = "OnObjectOrComponentChange"
	ReconcileOnce                      ReconcilePolicy = "Once"

	// UpdateSSAOverride applies with force after taking over the fields of
	// kubectl and of our own earlier updates, so that fields missing from the
	// manifest are really removed.
	UpdateSSAOverride UpdatePolicy = "SsaOverride"
	// UpdateSSAMerge applies with force and leaves the other fields of other
	// managers alone.
	UpdateSSAMerge UpdatePolicy = "SsaMerge"
	// UpdateReplace puts the manifest in the place of the object.
	UpdateReplace UpdatePolicy = "Replace"
	// UpdateRecreate deletes the object, waits until it is gone, creates it.
	UpdateRecreate UpdatePolicy = "Recreate"

	DeleteDelete         DeletePolicy = "Delete"
	DeleteOrphan         DeletePolicy = "Orphan"
	DeleteOrphanOnApply  DeletePolicy = "OrphanOnApply"
	DeleteOrphanOnDelete DeletePolicy = "OrphanOnDelete"

	CreateMissingNamespaces      MissingNamespacesPolicy = "Create"
	DoNotCreateMissingNamespaces MissingNamespacesPolicy = "DoNotCreate"
)

// Values of the policies that the attributes of a component accept.
var (
	AdoptionPolicies          = []string{string(AdoptIfUnowned), string(AdoptNever), string(AdoptAlways)}
	UpdatePolicies            = []string{string(UpdateSSAOverride), string(UpdateSSAMerge), string(UpdateReplace), string(UpdateRecreate)}
	DeletePolicies            = []string{string(DeleteDelete), string(DeleteOrphan)}
	MissingNamespacesPolicies = []string{string(CreateMissingNamespaces), string(DoNotCreateMissingNamespaces)}

	reconcilePolicies    = []string{string(ReconcileOnObjectChange), string(ReconcileOnObjectOrComponentChange), string(ReconcileOnce)}
	objectDeletePolicies = []string{string(DeleteDelete), string(DeleteOrphan), string(DeleteOrphanOnApply), string(DeleteOrphanOnDelete)}
)

const (
	minOrder = -32768
	maxOrder = 32767
)

// Defaults are the policies of a component for objects that carry no
// annotation of their own.
type Defaults struct {
	Adoption        AdoptionPolicy
	Update          UpdatePolicy
	Delete          DeletePolicy
	ReapplyInterval time.Duration
}

// Policies are the effective policies of one object.
type Policies struct {
	Adoption  AdoptionPolicy
	Reconcile ReconcilePolicy
	Update    UpdatePolicy
	Delete    DeletePolicy
	// DeleteExplicit: the delete policy stands on the object itself.
	DeleteExplicit  bool
	ApplyOrder      int
	DeleteOrder     int
	PurgeOrder      *int
	ReapplyInterval time.Duration
	Hints           status.Hints
}

// keptByDefault are the kinds that a component-wide "Recreate" never reaches:
// recreating one loses what lives in it.
var keptByDefault = []schema.GroupKind{
	{Kind: "Namespace"}, {Kind: "PersistentVolume"}, {Kind: "PersistentVolumeClaim"}, crdKind,
}

// policiesOf reads the annotations of an object (semantics.md, section 2).
// Every value that is not allowed is an error of its own.
func policiesOf(obj *unstructured.Unstructured, prefix string, defaults Defaults) (Policies, []error) {
	r := annotationReader{annotations: obj.GetAnnotations(), prefix: prefix}
	p := Policies{
		Adoption:        AdoptionPolicy(r.policy("adoption-policy", AdoptionPolicies, string(defaults.Adoption))),
		Reconcile:       ReconcilePolicy(r.policy("reconcile-policy", reconcilePolicies, string(ReconcileOnObjectChange))),
		Update:          UpdatePolicy(r.policy("update-policy", UpdatePolicies, defaultUpdate(obj, defaults))),
		Delete:          DeletePolicy(r.policy("delete-policy", objectDeletePolicies, string(defaults.Delete))),
		DeleteExplicit:  r.has("delete-policy"),
		ReapplyInterval: r.duration("reapply-interval", defaults.ReapplyInterval),
	}
	if order := r.order("apply-order"); order != nil {
		p.ApplyOrder = *order
	}
	if order := r.order("delete-order"); order != nil {
		p.DeleteOrder = *order
	}
	p.PurgeOrder = r.order("purge-order")
	p.Hints = r.hints("status-hint")
	return p, r.problems
}

// knownAnnotations are the names under our prefix that mean something; the last
// two are ours and are stripped from manifests.
var knownAnnotations = []string{
	"adoption-policy", "reconcile-policy", "update-policy", "delete-policy", "apply-order", "delete-order", "purge-order",
	"reapply-interval", "status-hint", "disableSubstitution", "owner-id", "digest",
}

// unknownAnnotations are names under our prefix that mean nothing: probably
// misspelt ones.
func unknownAnnotations(annotations map[string]string, prefix string) []string {
	var unknown []string
	for key := range annotations {
		if name, ours := strings.CutPrefix(key, prefix+"/"); ours && !slices.Contains(knownAnnotations, name) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	return unknown
}

func defaultUpdate(obj *unstructured.Unstructured, defaults Defaults) string {
	if defaults.Update == UpdateRecreate && slices.Contains(keptByDefault, obj.GroupVersionKind().GroupKind()) {
		return string(UpdateSSAOverride)
	}
	return string(defaults.Update)
}

type annotationReader struct {
	annotations map[string]string
	prefix      string
	problems    []error
}

func (r *annotationReader) has(name string) bool {
	_, ok := r.annotations[r.prefix+"/"+name]
	return ok
}

func (r *annotationReader) refuse(name, value, allowed string) {
	r.problems = append(r.problems, fmt.Errorf("%s/%s: %q is not %s", r.prefix, name, value, allowed))
}

func (r *annotationReader) policy(name string, allowed []string, byDefault string) string {
	value, ok := r.annotations[r.prefix+"/"+name]
	if !ok {
		return byDefault
	}
	for _, candidate := range allowed {
		if value == candidate || value == kebab(candidate) || value == camel(candidate) {
			return candidate
		}
	}
	spelt := make([]string, len(allowed))
	for i, candidate := range allowed {
		spelt[i] = kebab(candidate)
	}
	r.refuse(name, value, "one of "+strings.Join(spelt, ", "))
	return byDefault
}

func (r *annotationReader) order(name string) *int {
	value, ok := r.annotations[r.prefix+"/"+name]
	if !ok {
		return nil
	}
	order, err := strconv.Atoi(value)
	if err != nil || order < minOrder || order > maxOrder {
		r.refuse(name, value, fmt.Sprintf("a whole number from %d to %d", minOrder, maxOrder))
		return nil
	}
	return &order
}

func (r *annotationReader) duration(name string, byDefault time.Duration) time.Duration {
	value, ok := r.annotations[r.prefix+"/"+name]
	if !ok {
		return byDefault
	}
	duration, err := time.ParseDuration(value)
	if err != nil || duration <= 0 {
		r.refuse(name, value, "a positive duration such as 10m or 1h30m")
		return byDefault
	}
	return duration
}

func (r *annotationReader) hints(name string) status.Hints {
	value, ok := r.annotations[r.prefix+"/"+name]
	if !ok {
		return status.Hints{}
	}
	hints, err := status.ParseHints(value)
	if err != nil {
		r.problems = append(r.problems, fmt.Errorf("%s/%s: %w", r.prefix, name, err))
	}
	return hints
}

// kebab spells "IfUnowned" as "if-unowned".
func kebab(pascal string) string {
	var out strings.Builder
	for i, r := range pascal {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('-')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// camel spells "IfUnowned" as "ifUnowned".
func camel(pascal string) string {
	return strings.ToLower(pascal[:1]) + pascal[1:]
}
