package conformance

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// kind is a kind of objects that stories are about.
type kind struct {
	name       string
	resource   schema.GroupVersionResource
	namespaced bool
}

// builtin are the kinds that every cluster has. Others are those of the API
// group of the story.
var builtin = []kind{
	{"Namespace", schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, false},
	{"ConfigMap", schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, true},
	{"Secret", schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, true},
	{"Service", schema.GroupVersionResource{Version: "v1", Resource: "services"}, true},
	{"ServiceAccount", schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, true},
	{"PersistentVolumeClaim", schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}, true},
	{"Deployment", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, true},
	{"Job", schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, true},
	{"ClusterRole", schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}, false},
	crds,
}

var crds = kind{
	"CustomResourceDefinition",
	schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, false,
}

// customKind is a kind of the API group of the story: version v1, and the
// plural that one guesses.
func (w *world) customKind(name string) kind {
	return kind{name, schema.GroupVersionResource{Group: w.group(), Version: "v1", Resource: strings.ToLower(name) + "s"}, true}
}

// kindOf finds a kind by its name.
func (w *world) kindOf(name string) kind {
	for _, k := range builtin {
		if k.name == name {
			return k
		}
	}
	return w.customKind(name)
}

func (w *world) isCustom(id string) bool {
	name, _, _ := strings.Cut(id, "/")
	return w.kindOf(name).resource.Group == w.group()
}

// idOf names an object as stories do.
func (w *world) idOf(obj *unstructured.Unstructured) string {
	if namespace := obj.GetNamespace(); namespace != "" && namespace != w.namespace {
		return obj.GetKind() + "/" + namespace + "/" + obj.GetName()
	}
	return obj.GetKind() + "/" + obj.GetName()
}

// target is where an object is asked for, by its id in a story.
func (w *world) target(id string) (client dynamic.ResourceInterface, name string, err error) {
	parts := strings.Split(id, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return nil, "", fmt.Errorf("%q names no object: want Kind/name or Kind/namespace/name", id)
	}
	namespace := w.namespace
	if len(parts) == 3 {
		namespace = parts[1]
	}
	return w.clientFor(w.kindOf(parts[0]), namespace), parts[len(parts)-1], nil
}

func (w *world) clientFor(k kind, namespace string) dynamic.ResourceInterface {
	if !k.namespaced {
		return w.client.Resource(k.resource)
	}
	return w.client.Resource(k.resource).Namespace(namespace)
}

// isOwn: the object belongs to the story, wherever it is.
func (w *world) isOwn(obj *unstructured.Unstructured) bool {
	if namespace := obj.GetNamespace(); namespace != "" {
		return strings.HasPrefix(namespace, w.namespace) && !isNoise(obj)
	}
	return strings.Contains(obj.GetName(), w.namespace)
}

// isNoise: Kubernetes or the provider itself made the object.
func isNoise(obj *unstructured.Unstructured) bool {
	switch id := obj.GetKind() + "/" + obj.GetName(); id {
	case "ConfigMap/kube-root-ca.crt", "ServiceAccount/default":
		return true
	default:
		return strings.HasPrefix(id, "Secret/component.")
	}
}
