package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/render"
)

// Want is one object that the component should have, as its source renders it.
type Want struct {
	// Key is the id in the plan. It does not depend on the cluster.
	Key string
	// ID has the namespace that the cluster gives the object; it equals Key
	// until [Engine.resolve] asked the cluster.
	ID       object.ID
	Type     cluster.Type
	Object   *unstructured.Unstructured
	Origin   object.Origin
	Policies Policies
	// Digest identifies the content of the manifest.
	Digest string
	// Managed: the type of the object comes with the component.
	Managed bool
	// Unstable says what differs when the same input is rendered again; empty
	// when nothing does.
	Unstable render.Instability
}

// Rendered are the objects of a component for one set of inputs.
type Rendered struct {
	Wants    []*Want
	Artifact Artifact
	Notes    []string
	// chart: the objects come from a Helm chart.
	chart bool
}

// releaseState is what a rendering depends on besides the component.
type releaseState struct {
	revision     int64
	installed    bool
	capabilities Capabilities
}

// render loads the source and turns it into objects. Every problem of every
// manifest is reported at once.
func (e *Engine) render(ctx context.Context, c Component, release releaseState, lookup render.LookupFunc) (*Rendered, error) {
	artifact, err := c.Source.Load(ctx)
	if err != nil {
		return nil, &InputError{Field: "source", Err: err}
	}
	input := render.Input{
		FS: artifact.FS, Inline: artifact.Inline, Chart: artifact.Chart, Path: c.Path,
		Name: c.releaseName(), Namespace: c.targetNamespace(),
		Revision: int(release.revision), IsInstall: !release.installed, IsUpgrade: release.installed,
		Values:      c.Values,
		KubeVersion: release.capabilities.KubeVersion, APIVersions: release.capabilities.APIVersions,
		Lookup: lookup, AnnotationPrefix: e.options.AnnotationPrefix,
	}
	key := renderKey(artifact.Digest, input, c)
	if found := e.renders.get(c.String(), key); found != nil {
		return found, nil
	}
	output, err := render.Render(ctx, input)
	if err != nil {
		return nil, err
	}
	rendered, err := e.wants(c, output)
	if err != nil {
		return nil, err
	}
	rendered.Artifact = Artifact{URL: artifact.URL, Digest: artifact.Digest, Revision: artifact.Revision}
	if output.ChartVersion != "" {
		rendered.Artifact.Revision = output.ChartVersion
	}
	e.renders.put(c.String(), key, rendered)
	return rendered, nil
}

// renderKey identifies what the objects and their policies depend on.
func renderKey(digest string, in render.Input, c Component) string {
	text, _ := object.EncodeCanonical([]any{
		digest, in.Path, in.Name, in.Namespace, in.Revision, in.IsInstall, in.Values, in.KubeVersion, in.APIVersions, c.Defaults, c.AdditionalManagedTypes,
	})
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// wants makes the objects of a component of its manifests: placement,
// policies, identity (semantics.md, sections 1 to 4 and 11).
func (e *Engine) wants(c Component, output *render.Output) (*Rendered, error) {
	rendered := &Rendered{Notes: output.Notes, chart: output.ChartName != ""}
	brought := managedTypesOf(output.Manifests, c.AdditionalManagedTypes)
	var problems []error
	for _, manifest := range output.Manifests {
		want, errs := e.want(c, manifest, brought)
		want.Unstable = output.Unstable[manifest.ID()]
		for _, key := range unknownAnnotations(manifest.Object.GetAnnotations(), e.options.AnnotationPrefix) {
			rendered.Notes = append(rendered.Notes, fmt.Sprintf("%s: the annotation %s is not known and has no effect", want.ID, key))
		}
		problems = append(problems, errs...)
		rendered.Wants = append(rendered.Wants, want)
	}
	problems = append(problems, repeated(rendered.Wants)...)
	problems = append(problems, orderViolations(rendered.Wants)...)
	return rendered, errors.Join(problems...)
}

// repeated returns an error for every object that occurs a second time.
func repeated(wants []*Want) []error {
	var problems []error
	seen := make(map[object.ID]*Want, len(wants))
	for _, want := range wants {
		if other := seen[want.ID]; other != nil {
			problems = append(problems, &ObjectError{
				ID: want.ID, Origin: want.Origin, Title: "Object occurs twice",
				Err: fmt.Errorf("it is also in %s; the same object may occur once in a component, whatever its version", other.Origin),
			})
		}
		seen[want.ID] = want
	}
	return problems
}

func (e *Engine) want(c Component, manifest object.Manifest, brought managedTypes) (*Want, []error) {
	obj := manifest.Object.DeepCopy()
	declared, known := brought.declared[obj.GroupVersionKind()]
	place(obj, declared, known, c.targetNamespace())
	id := object.IDOf(obj)
	want := &Want{Key: id.String(), ID: id, Object: obj, Origin: manifest.Origin, Managed: brought.includes(obj.GroupVersionKind()), Type: declared}
	policies, invalid := policiesOf(obj, e.options.AnnotationPrefix, c.Defaults)
	want.Policies = policies
	var problems []error
	for _, err := range invalid {
		problems = append(problems, &ObjectError{ID: id, Origin: manifest.Origin, Title: "Invalid annotation", Err: err})
	}
	digest, err := digestOf(obj)
	if err != nil {
		problems = append(problems, &ObjectError{ID: id, Origin: manifest.Origin, Title: "Invalid object", Err: err})
	}
	want.Digest = digest
	return want, problems
}

// place gives a namespaced object its namespace and takes it from a
// cluster-scoped one. A kind whose scope only the cluster knows stays as it is
// written: the plan must not depend on the cluster.
func place(obj *unstructured.Unstructured, served cluster.Type, declared bool, namespace string) {
	scope := object.BuiltinScope(obj.GroupVersionKind().GroupKind())
	if declared {
		scope = object.ClusterScoped
		if served.Namespaced {
			scope = object.Namespaced
		}
	}
	switch {
	case scope == object.ClusterScoped:
		unstructured.RemoveNestedField(obj.Object, "metadata", "namespace")
	case scope == object.Namespaced && obj.GetNamespace() == "":
		obj.SetNamespace(namespace)
	}
}

func digestOf(obj *unstructured.Unstructured) (string, error) {
	text, err := object.EncodeCanonical(obj.Object)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]), nil
}

// orderViolations checks the order rules between a type or Namespace and what
// lives in it (semantics.md, section 4).
func orderViolations(wants []*Want) []error {
	var problems []error
	hosts := map[string]*Want{}
	for _, want := range wants {
		if host := hostKey(want); host != "" {
			hosts[host] = want
			if want.Policies.PurgeOrder != nil {
				problems = append(problems, orderError(want, "a Namespace, CustomResourceDefinition or APIService may not have a purge-order"))
			}
		}
	}
	for _, want := range wants {
		for _, key := range []string{
			"ns/" + want.ID.Namespace, "type/" + want.ID.GroupKind().String(), "types/" + want.Object.GroupVersionKind().GroupVersion().String(),
		} {
			host := hosts[key]
			if host == nil || host == want {
				continue
			}
			if want.Policies.ApplyOrder < host.Policies.ApplyOrder {
				problems = append(problems, orderError(want, fmt.Sprintf("its apply-order %d is smaller than that of %s (%d), which it needs",
					want.Policies.ApplyOrder, host.ID, host.Policies.ApplyOrder)))
			}
			if want.Policies.DeleteOrder > host.Policies.DeleteOrder {
				problems = append(problems, orderError(want, fmt.Sprintf("its delete-order %d is larger than that of %s (%d), in which it lives",
					want.Policies.DeleteOrder, host.ID, host.Policies.DeleteOrder)))
			}
		}
	}
	return problems
}

// hostKey names what other objects live in: a Namespace, the type of a CRD, or
// the types of an APIService.
func hostKey(want *Want) string {
	switch want.ID.GroupKind() {
	case namespaceKind:
		return "ns/" + want.ID.Name
	case crdKind:
		group, _, _ := unstructured.NestedString(want.Object.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(want.Object.Object, "spec", "names", "kind")
		return "type/" + schema.GroupKind{Group: group, Kind: kind}.String()
	case apiServiceKind:
		return "types/" + groupVersionOf(want.Object).String()
	}
	return ""
}

func orderError(want *Want, text string) error {
	return &ObjectError{ID: want.ID, Origin: want.Origin, Title: "Invalid order", Err: errors.New(text)}
}

// namespacesOf lists the namespaces that objects name and that are no objects
// of the component themselves.
func namespacesOf(wants []*Want) []string {
	named := map[string]bool{}
	for _, want := range wants {
		if want.ID.Namespace != "" {
			named[want.ID.Namespace] = true
		}
	}
	for _, want := range wants {
		if want.ID.GroupKind() == namespaceKind {
			delete(named, want.ID.Name)
		}
	}
	return slices.Sorted(maps.Keys(named))
}

// annotate returns the object as it is sent: with the owner label, the owner
// and the digest (semantics.md, section 1).
func (e *Engine) annotate(want *Want, owner Owner) *unstructured.Unstructured {
	obj := want.Object.DeepCopy()
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels[e.ownerLabel()] = owner.Hash
	annotations[e.ownerLabel()] = owner.ID
	annotations[e.digestAnnotation()] = want.Digest
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	return obj
}

func (e *Engine) ownerLabel() string       { return e.options.AnnotationPrefix + "/owner-id" }
func (e *Engine) digestAnnotation() string { return e.options.AnnotationPrefix + "/digest" }

// selector is the label selector for all objects of an owner.
func (e *Engine) selector(owner Owner) string { return e.ownerLabel() + "=" + owner.Hash }

// shortKind prints a kind for a sentence: "Deployment.apps".
func shortKind(gk schema.GroupKind) string { return strings.TrimSuffix(gk.String(), ".") }
