package cluster

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	openapicached "k8s.io/client-go/openapi/cached"
	"k8s.io/client-go/openapi3"
	"k8s.io/kube-openapi/pkg/spec3"
)

// schemas keeps one type converter a group-version, made of the cluster's own
// OpenAPI v3 document.
type schemas struct {
	discovery *discovery.DiscoveryClient

	mu         sync.Mutex
	client     openapi.Client
	converters map[schema.GroupVersion]managedfields.TypeConverter
}

func newSchemas(disco *discovery.DiscoveryClient) *schemas {
	s := &schemas{discovery: disco}
	s.forget()
	return s
}

func (s *schemas) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = openapicached.NewClient(s.discovery.OpenAPIV3())
	s.converters = map[schema.GroupVersion]managedfields.TypeConverter{}
}

// TypeConverter returns the converter for the objects of a group-version. ok
// is false when the cluster has no schema for it (yet): the answer is then the
// deduced converter, which takes every list as a whole.
func (c *Cluster) TypeConverter(_ context.Context, gv schema.GroupVersion) (converter managedfields.TypeConverter, ok bool, err error) {
	s := c.schemas
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.converters[gv]; found != nil {
		return found, true, nil
	}
	document, err := openapi3.NewRoot(s.client).GVSpec(gv)
	var missing *openapi3.GroupVersionNotFoundError
	if errors.As(err, &missing) {
		return managedfields.NewDeducedTypeConverter(), false, nil
	}
	if err != nil {
		return nil, false, err
	}
	made, err := converterOf(document)
	if err != nil {
		return nil, false, err
	}
	s.converters[gv] = made
	return made, true, nil
}

func converterOf(document *spec3.OpenAPI) (managedfields.TypeConverter, error) {
	if document.Components == nil {
		return managedfields.NewDeducedTypeConverter(), nil
	}
	return managedfields.NewTypeConverter(document.Components.Schemas, false)
}
