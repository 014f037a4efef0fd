package engine

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// projection is a live object reduced to the fields that we apply: what others
// set beside them is not ours to show or to heal.
type projection struct {
	applied *typed.TypedValue
	live    *typed.TypedValue
	// fields are the leaves of what we apply.
	fields *fieldpath.Set
	// converter has the schema of both. Values of another one cannot be compared
	// with them, not even when the schema was only read again in between.
	converter managedfields.TypeConverter
}

// project reduces a live object to the fields of the applied one, with the
// cluster's own schema: lists are matched as the API server matches them.
func (e *Engine) project(ctx context.Context, applied, live map[string]any) (*projection, error) {
	appliedObj, liveObj := &unstructured.Unstructured{Object: applied}, &unstructured.Unstructured{Object: live}
	converter, known, err := e.cluster.TypeConverter(ctx, liveObj.GroupVersionKind().GroupVersion())
	if err != nil {
		return nil, e.connectionError(err)
	}
	if known {
		if made, err := projectWith(converter, appliedObj, liveObj); err == nil {
			return made, nil
		}
		// A field or kind that the schema read earlier does not have, since the
		// type is newer than the schema or has none; or duplicate list keys.
	}
	return projectWith(managedfields.NewDeducedTypeConverter(), appliedObj, liveObj)
}

func projectWith(converter managedfields.TypeConverter, applied, live *unstructured.Unstructured) (*projection, error) {
	if applied.GetAPIVersion() != live.GetAPIVersion() {
		applied = applied.DeepCopy()
		applied.SetAPIVersion(live.GetAPIVersion())
	}
	// Items of ours with the same key cannot be told apart: that is an error
	// here, and such an object is compared by whole lists.
	typedApplied, err := converter.ObjectToTyped(applied)
	if err != nil {
		return nil, fmt.Errorf("reading the applied object by its schema: %w", err)
	}
	typedLive, err := converter.ObjectToTyped(live, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("reading the live object by its schema: %w", err)
	}
	set, err := typedApplied.ToFieldSet()
	if err != nil {
		return nil, err
	}
	return &projection{applied: typedApplied, live: typedLive, fields: set.Leaves(), converter: converter}, nil
}

// typed reads another state of the live object by the same schema.
func (p *projection) typed(obj *unstructured.Unstructured) (*typed.TypedValue, error) {
	return p.converter.ObjectToTyped(obj, typed.AllowDuplicates)
}

// reduced is the live value of the fields that we apply.
func (p *projection) reduced(of *typed.TypedValue) *typed.TypedValue {
	return of.ExtractItems(p.fields, typed.WithAppendKeyFields())
}

// hash identifies the live value of the fields that we apply.
func (p *projection) hash(key []byte) (string, error) {
	text, err := object.EncodeCanonical(p.reduced(p.live).AsValue().Unstructured())
	if err != nil {
		return "", err
	}
	return keyedHash(key, text), nil
}

// difference returns the fields in which the live object is not what the API
// server would make of the applied one.
func (p *projection) difference(predicted *unstructured.Unstructured) (*fieldpath.Set, error) {
	other, err := p.typed(predicted)
	if err != nil {
		return nil, err
	}
	comparison, err := p.reduced(p.live).Compare(p.reduced(other))
	if err != nil {
		return nil, err
	}
	return comparison.Added.Union(comparison.Modified).Union(comparison.Removed), nil
}

// withLive returns the applied object with the live value in the given fields.
func (p *projection) withLive(fields *fieldpath.Set) (map[string]any, error) {
	there, err := p.live.ToFieldSet()
	if err != nil {
		return nil, err
	}
	// A field that is not there cannot be taken from there.
	changed := p.live.ExtractItems(fields.Intersection(there), typed.WithAppendKeyFields())
	merged, err := p.applied.RemoveItems(fields).Merge(changed)
	if err != nil {
		return nil, err
	}
	all, err := merged.ToFieldSet()
	if err != nil {
		return nil, err
	}
	// Keys of list items that the server defaults came along.
	return contentOf(merged.RemoveItems(all.Leaves().Difference(p.fields).Difference(fields)))
}

// asLive returns the live value of every field that we apply.
func (p *projection) asLive() (map[string]any, error) { return contentOf(p.reduced(p.live)) }

func contentOf(value *typed.TypedValue) (map[string]any, error) {
	content, ok := value.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, errors.New("the object has no content")
	}
	return content, nil
}
