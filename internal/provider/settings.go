package provider

import (
	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
)

// settings is what Configure hands to the resources and data sources.
type settings struct {
	// Version is the version of the provider.
	Version string

	// Unknown names the provider options that are not known until apply. If
	// there is one, Cluster is not usable and nothing is asked of it.
	Unknown []string
	// ConfigError is what the options and the environment have wrong. It is
	// reported when the cluster is first needed: what can be done without a
	// cluster does not fail for it.
	ConfigError error
	// Cluster says how the API server is reached.
	Cluster cluster.Config
	// ClusterID stands for the UID of the namespace kube-system; empty means
	// that it is read.
	ClusterID string

	AnnotationPrefix       string
	FieldManager           string
	ReclaimedFieldManagers []string
	AdoptedFieldManagers   []string
	MaxConcurrentRequests  int
}
