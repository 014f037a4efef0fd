package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
)

// release renders one chart for one release, as often as it takes.
type release struct {
	in    Input
	files []*loader.BufferedFile
	caps  *chartutil.Capabilities
	// lookup remembers its answers: what changes in the cluster between two
	// passes must not look like an unstable template.
	lookup lookupProvider
}

// rendered are the objects of one pass, in the order of their files.
type rendered struct {
	chart   *chart.Chart
	crds    []object.Manifest // of the crds/ folders
	objects []templated
	notes   []string
}

// templated is an object that a template gave.
type templated struct {
	object.Manifest
	// hook is nil for an object that is not a Helm hook.
	hook *hook
}

// renderChart renders a Helm chart. It is rendered at least twice, because
// templates may draw random values or read the clock.
func renderChart(ctx context.Context, in Input, folder fs.FS) (*Output, error) {
	r, err := newRelease(in, folder)
	if err != nil {
		return nil, err
	}
	first, err := r.settled(ctx)
	if err != nil {
		return nil, err
	}
	out, err := first.output(in)
	if err != nil {
		return nil, err
	}
	again, err := r.again(ctx)
	if err != nil {
		return nil, err
	}
	out.Unstable = unstable(out.Manifests, again.Manifests)
	return out, nil
}

// again renders the chart a second time, at another time of the clock. A chart
// may refuse to be rendered then, when something has expired: that is no reason
// to refuse it now.
func (r *release) again(ctx context.Context) (*Output, error) {
	pass, err := r.pass(ctx, shiftClock)
	if err != nil {
		pass, err = r.pass(ctx, keepClock)
	}
	if err != nil {
		return nil, err
	}
	return pass.output(r.in)
}

func newRelease(in Input, folder fs.FS) (*release, error) {
	files, err := chartFiles(folder)
	if err != nil {
		return nil, err
	}
	caps, err := capabilities(in)
	if err != nil {
		return nil, err
	}
	return &release{in: in, files: files, caps: caps, lookup: newLookupProvider(in.Lookup)}, nil
}

// settled renders until the chart sees the API versions that its own CRDs
// bring. Helm would show it those at the next upgrade only, and the objects
// that depend on them would come with the second apply.
func (r *release) settled(ctx context.Context) (*rendered, error) {
	for range 4 {
		pass, err := r.pass(ctx, keepClock)
		if err != nil {
			return nil, err
		}
		brought := newAPIs(r.caps.APIVersions, pass)
		if len(brought) == 0 {
			return pass, nil
		}
		r.caps.APIVersions = append(r.caps.APIVersions, brought...)
	}
	return nil, errors.New("the chart brings other CustomResourceDefinitions each time it sees the API versions of the former ones")
}

// pass loads the chart afresh and renders it once.
func (r *release) pass(ctx context.Context, clock clock) (*rendered, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	loaded, err := loadChart(r.files)
	if err != nil {
		return nil, err
	}
	if err := checkChart(loaded, r.caps); err != nil {
		return nil, err
	}
	templates, err := r.execute(ctx, loaded, clock)
	if err != nil {
		return nil, err
	}
	out := &rendered{chart: loaded}
	crds, problems := r.crds(out, loaded)
	objects, found := r.decode(templates)
	out.crds, out.objects = crds, objects
	if loaded.Metadata.Deprecated {
		out.notes = append(out.notes, fmt.Sprintf("The chart %s is deprecated by its authors.", loaded.Name()))
	}
	return out, errors.Join(append(problems, found...)...)
}

// execute returns the text that each template gives. NOTES.txt is for people
// who run helm, and left out.
func (r *release) execute(ctx context.Context, loaded *chart.Chart, clock clock) (map[string]string, error) {
	values := helmValues(r.in.Values)
	if err := chartutil.ProcessDependenciesWithMerge(loaded, values); err != nil {
		return nil, valuesError(err)
	}
	options := chartutil.ReleaseOptions{
		Name: r.in.Name, Namespace: r.in.Namespace, Revision: r.in.Revision,
		IsInstall: r.in.IsInstall, IsUpgrade: r.in.IsUpgrade,
	}
	top, err := chartutil.ToRenderValuesWithSchemaValidation(loaded, values, options, r.caps, skipSchema)
	if err != nil {
		return nil, valuesError(err)
	}
	coalesced, _ := top["Values"].(chartutil.Values)
	if err := checkSchemas(ctx, loaded, coalesced, r.in.Sensitive); err != nil {
		return nil, err
	}
	clock(loaded)
	texts, err := engine.RenderWithClientProvider(loaded, top, r.lookup)
	if err != nil {
		return nil, r.templateError(err)
	}
	maps.DeleteFunc(texts, func(name, _ string) bool { return strings.HasSuffix(name, "NOTES.txt") })
	return texts, nil
}

// skipSchema: the schemas are checked one by one, see [checkSchemas].
const skipSchema = true

// output places the objects of a pass: normalised, hooks as annotations.
func (out *rendered) output(in Input) (*Output, error) {
	objects, problems := out.normalised(in)
	placed, err := placeHooks(in, out.crds, objects)
	problems = append(problems, object.Problems(err)...)
	problems = append(problems, duplicates(placed.manifests)...)
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return &Output{
		Manifests: placed.manifests, DeleteHooks: placed.deleteHooks, Notes: append(out.notes, placed.notes...),
		ChartName: out.chart.Name(), ChartVersion: out.chart.Metadata.Version,
	}, nil
}

// normalised brings all objects, those of crds/ included, into the form in
// which they are compared. It works in place.
func (out *rendered) normalised(in Input) ([]templated, []error) {
	_, problems := normalise(in, out.crds)
	var good []templated
	for _, t := range out.objects {
		_, found := normalise(in, []object.Manifest{t.Manifest})
		if problems = append(problems, found...); len(found) == 0 {
			good = append(good, t)
		}
	}
	return good, problems
}
