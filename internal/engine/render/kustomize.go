package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// renderKustomization runs kustomize on the files of the source, in memory and
// without plugins. What it would fetch from the network is refused before.
func renderKustomization(ctx context.Context, in Input) (*Output, error) {
	manifests, err := kustomized(ctx, in)
	if err != nil {
		return nil, err
	}
	manifests, problems := finish(in, manifests)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return &Output{Manifests: manifests}, nil
}

// kustomized returns the objects of a kustomization as kustomize prints them.
func kustomized(ctx context.Context, in Input) ([]object.Manifest, error) {
	seen, problems := survey(in)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	result, err := kustomize(ctx, in)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, kustomizeError(seen, err)
	}
	manifests, problems := resourcesOf(seen, result)
	problems = append(problems, alteredValues(in.FS, manifests)...)
	return manifests, errors.Join(problems...)
}

// oneAtATime guards the OpenAPI schema that kustomize keeps in a global
// variable: a kustomization may replace it while another one is built.
var oneAtATime sync.Mutex

// kustomize builds the kustomization. It cannot be interrupted: when ctx ends,
// it goes on unheard.
func kustomize(ctx context.Context, in Input) (resmap.ResMap, error) {
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = types.DisabledPluginConfig()
	if in.AllowOutside {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	type outcome struct {
		result resmap.ResMap
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		oneAtATime.Lock()
		defer oneAtATime.Unlock()
		result, err := build(options, sourceFiles{in.FS}, path.Join(sourceRoot, in.root()))
		done <- outcome{result, err}
	}()
	select {
	case out := <-done:
		return out.result, out.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// build turns a panic of kustomize, which it has on some bad input, into an
// error.
func build(options *krusty.Options, files filesys.FileSystem, folder string) (result resmap.ResMap, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			result, err = nil, fmt.Errorf("kustomize cannot process this input, it panics: %v", reason)
		}
	}()
	return krusty.MakeKustomizer(options).Run(files, folder)
}

// resourcesOf reads the objects of a build, in its order. Each goes through
// JSON, the form in which kustomize prints it: dates and booleans come out as
// under `kustomize build`, whole numbers exactly.
func resourcesOf(seen *surveyed, result resmap.ResMap) ([]object.Manifest, []error) {
	var manifests []object.Manifest
	var problems []error
	for _, resource := range result.Resources() {
		id := object.ID{Group: resource.GetGvk().Group, Kind: resource.GetKind(), Namespace: resource.GetNamespace(), Name: resource.GetName()}
		where := seen.origin(id)
		found, err := manifestsOf(where, resource)
		if err != nil {
			var known *object.Error
			if !errors.As(err, &known) {
				err = &object.Error{ID: id, Origin: where, Err: errors.New(parserMessage(err))}
			}
			problems = append(problems, object.Problems(err)...)
			continue
		}
		manifests = append(manifests, found...)
	}
	return manifests, problems
}

func manifestsOf(where object.Origin, resource interface{ MarshalJSON() ([]byte, error) }) ([]object.Manifest, error) {
	text, err := resource.MarshalJSON()
	if err != nil {
		return nil, err
	}
	value, err := object.DecodeValue(text)
	if err != nil {
		return nil, err
	}
	content, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a Kubernetes object (not a map)")
	}
	return object.FromMap(where, content)
}
