package object

import "k8s.io/apimachinery/pkg/runtime/schema"

// Scope says where the objects of a kind live.
type Scope int

const (
	// UnknownScope: only the cluster can tell.
	UnknownScope Scope = iota
	// Namespaced objects live in a namespace.
	Namespaced
	// ClusterScoped objects live in none.
	ClusterScoped
)

// builtinGroups are the API groups of Kubernetes itself.
var builtinGroups = map[string]bool{
	"": true, "admissionregistration.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true,
	"apps": true, "authentication.k8s.io": true, "authorization.k8s.io": true, "autoscaling": true, "batch": true,
	"certificates.k8s.io": true, "coordination.k8s.io": true, "discovery.k8s.io": true, "events.k8s.io": true,
	"flowcontrol.apiserver.k8s.io": true, "internal.apiserver.k8s.io": true, "networking.k8s.io": true,
	"node.k8s.io": true, "policy": true, "rbac.authorization.k8s.io": true, "resource.k8s.io": true,
	"scheduling.k8s.io": true, "storage.k8s.io": true, "storagemigration.k8s.io": true,
}

// clusterScopedGroups are built-in groups all of whose kinds are
// cluster-scoped.
var clusterScopedGroups = map[string]bool{
	"admissionregistration.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true,
	"authentication.k8s.io": true, "certificates.k8s.io": true, "flowcontrol.apiserver.k8s.io": true,
	"internal.apiserver.k8s.io": true, "node.k8s.io": true, "storagemigration.k8s.io": true,
}

// clusterScopedKinds are the cluster-scoped kinds of the other built-in groups.
var clusterScopedKinds = map[schema.GroupKind]bool{
	{Kind: "Namespace"}: true, {Kind: "Node"}: true, {Kind: "PersistentVolume"}: true, {Kind: "ComponentStatus"}: true,
	{Group: "authorization.k8s.io", Kind: "SubjectAccessReview"}:     true,
	{Group: "authorization.k8s.io", Kind: "SelfSubjectAccessReview"}: true,
	{Group: "authorization.k8s.io", Kind: "SelfSubjectRulesReview"}:  true,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:               true,
	{Group: "networking.k8s.io", Kind: "ServiceCIDR"}:                true,
	{Group: "networking.k8s.io", Kind: "IPAddress"}:                  true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:        true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: true,
	{Group: "resource.k8s.io", Kind: "DeviceClass"}:                  true,
	{Group: "resource.k8s.io", Kind: "DeviceTaintRule"}:              true,
	{Group: "resource.k8s.io", Kind: "ResourceSlice"}:                true,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:              true,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                     true,
	{Group: "storage.k8s.io", Kind: "CSINode"}:                       true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                  true,
	{Group: "storage.k8s.io", Kind: "VolumeAttachment"}:              true,
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}:         true,
}

// IsBuiltin reports whether an API group is one of Kubernetes itself: a kind
// that such a group does not have can come from nowhere else.
func IsBuiltin(group string) bool { return builtinGroups[group] }

// BuiltinScope returns the scope of a kind of a built-in group, without asking
// a cluster: planned object ids must not depend on one.
func BuiltinScope(gk schema.GroupKind) Scope {
	switch {
	case !builtinGroups[gk.Group]:
		return UnknownScope
	case clusterScopedGroups[gk.Group] || clusterScopedKinds[gk]:
		return ClusterScoped
	default:
		return Namespaced
	}
}
