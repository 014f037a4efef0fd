package record

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
)

// Annotations of the Secret, for those who look for records without reading
// their content.
const (
	phaseAnnotation        = "terraform-provider-component/phase"
	reasonAnnotation       = "terraform-provider-component/reason"
	dependenciesAnnotation = "terraform-provider-component/dependencies"
)

// Header is what the metadata of a record tells about a component.
type Header struct {
	Namespace, Name string
	Phase           Phase
	Reason          string
	// Dependencies are "namespace/name".
	Dependencies []string
}

// String is "namespace/name".
func (h Header) String() string { return h.Namespace + "/" + h.Name }

// annotations are those that make up the header.
func (r *Record) annotations() map[string]string {
	annotations := map[string]string{phaseAnnotation: string(r.Phase), reasonAnnotation: r.Reason}
	if len(r.Dependencies) > 0 {
		annotations[dependenciesAnnotation] = strings.Join(r.Dependencies, ",")
	}
	return annotations
}

// Headers lists the components that have a record in a namespace, or in all of
// them when it is empty.
func Headers(ctx context.Context, c *cluster.Cluster, namespace string) ([]Header, error) {
	list, err := c.ListMetadata(ctx, secrets, namespace, managedByLabel+"="+managedBy)
	return headersOf(list), err
}

// AwaitHeaders watches the records in a namespace, or in all of them when it
// is empty, until a condition on all of them holds. It fails when the context
// ends first.
func AwaitHeaders(ctx context.Context, c *cluster.Cluster, namespace string, holds func([]Header) bool) error {
	return c.AwaitMetadata(ctx, secrets, namespace, managedByLabel+"="+managedBy, func(list []metav1.PartialObjectMetadata) bool {
		return holds(headersOf(list))
	})
}

// headersOf reads the headers. Chunks of records have none.
func headersOf(list []metav1.PartialObjectMetadata) []Header {
	var headers []Header
	for _, secret := range list {
		name, isRecord := strings.CutPrefix(secret.Name, SecretName(""))
		phase := secret.Annotations[phaseAnnotation]
		if !isRecord || phase == "" {
			continue
		}
		header := Header{Namespace: secret.Namespace, Name: name, Phase: Phase(phase), Reason: secret.Annotations[reasonAnnotation]}
		if text := secret.Annotations[dependenciesAnnotation]; text != "" {
			header.Dependencies = strings.Split(text, ",")
		}
		headers = append(headers, header)
	}
	slices.SortFunc(headers, func(a, b Header) int { return strings.Compare(a.String(), b.String()) })
	return headers
}
