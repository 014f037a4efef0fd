package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
	"github.com/kubewave/terraform-provider-component/internal/engine/render"
)

// check looks at the cluster: what exists and whose it is, and what the API
// server would say to each object that changes (a dry-run). It fills in the
// changes and removals of the plan. An error is only what no other resource of
// the same run could cure; the rest is a warning (DESIGN.md, "Several
// components in one run").
func (e *Engine) check(ctx context.Context, plan *Plan, options PlanOptions) error {
	wants, unserved, err := e.resolve(ctx, plan.Component, plan.rendered.Wants)
	if err != nil {
		return err
	}
	live, err := e.observe(ctx, plan, wants)
	if err != nil {
		return err
	}
	plan.Changes = plan.changesOf(wants, live)
	problems := make([]error, len(plan.Changes))
	findings := make([]finding, len(plan.Changes))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(e.options.Workers)
	for i, change := range plan.Changes {
		group.Go(func() error {
			if notServed := unserved[change.Want.ID]; notServed != nil {
				problems[i] = unservedProblem(change, notServed)
				return nil
			}
			var fatal error
			findings[i], problems[i], fatal = e.checkChange(groupCtx, plan, change, options)
			return fatal
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	plan.Removals = plan.removals()
	if err := e.safeguards(ctx, plan.owner, plan.Component, plan.Removals, pruneRefused(plan.Component)); err != nil {
		problems = append(problems, err)
	}
	plan.Warnings = append(plan.Warnings, plan.warnings(findings)...)
	e.dryRuns.save()
	return errors.Join(problems...)
}

// observe lists what the component has in the cluster. A component without a
// record has nothing that is worth a LIST: what exists shows at the dry-run.
func (e *Engine) observe(ctx context.Context, plan *Plan, wants []*Want) (liveObjects, error) {
	if plan.record == nil {
		return liveObjects{}, nil
	}
	items := append([]record.Item(nil), plan.record.Inventory...)
	for _, want := range wants {
		if want.Type.Resource.Resource != "" {
			items = append(items, itemOf(want))
		}
	}
	return e.listOwned(ctx, plan.owner, items)
}

// changesOf pairs wants with live objects and inventory. Actions are decided
// later.
func (p *Plan) changesOf(wants []*Want, live liveObjects) []*Change {
	recorded := map[object.ID]*record.Item{}
	if p.record != nil {
		for i := range p.record.Inventory {
			recorded[p.record.Inventory[i].ID] = &p.record.Inventory[i]
		}
	}
	changes := make([]*Change, len(wants))
	for i, want := range wants {
		changes[i] = &Change{Want: want, Live: live[want.ID], Recorded: recorded[want.ID], Drifted: p.drifted(want.Key)}
	}
	return changes
}

// drifted: Terraform's state shows another object than the plan does.
func (p *Plan) drifted(key string) bool {
	return p.prior != nil && p.prior.Objects[key] != p.Planned.Objects[key]
}

// removals are the objects of the inventory that the component no longer has.
func (p *Plan) removals() []*Removal {
	if p.record == nil {
		return nil
	}
	stays := map[object.ID]bool{}
	for _, change := range p.Changes {
		stays[change.ID] = true
	}
	var removals []*Removal
	for _, item := range p.record.Inventory {
		if !stays[item.ID] {
			removals = append(removals, removalOf(item, false))
		}
	}
	return removals
}

// unservedProblem: a kind of a built-in group that the cluster does not have
// can come from nowhere; another component of the run may bring any other.
func unservedProblem(change *Change, notServed *cluster.NotServedError) error {
	if object.IsBuiltin(change.ID.Group) {
		return &ObjectError{ID: change.ID, Origin: change.Origin, Title: "Unknown kind", Err: notServed}
	}
	change.Action, change.Unchecked = Create, notServed.Error()
	return nil
}

// checkChange decides about one object. fatal ends the plan: the cluster
// cannot be used at all.
func (e *Engine) checkChange(ctx context.Context, plan *Plan, change *Change, options PlanOptions) (found finding, problem, fatal error) {
	if change.Live == nil && !completed(plan.situation(change, Absent, e)) {
		if problem, fatal = e.checkAbsent(ctx, plan, change); problem != nil || fatal != nil || change.Action == Create {
			return found, problem, fatal
		}
	}
	ownership, err := e.ownership(ctx, change.Live, plan.owner, plan.Component)
	if err != nil {
		return found, nil, err
	}
	if options.Replaces != nil && change.Live != nil && e.ownerOnObject(change.Live).id == options.Replaces.Owner {
		// It goes with the instance that this one replaces.
		change.Action, change.Live = Create, nil
		return found, nil, nil
	}
	change.Action = decide(plan.situation(change, ownership, e))
	switch change.Action {
	case Refuse:
		return found, e.ownerError(change, ownership), nil
	case Keep:
		return found, nil, nil
	}
	predicted, problem, fatal := e.dryRun(ctx, plan, change, change.Live.GetUID())
	if change.Action == Recreate && problem != nil && cluster.IsImmutable(problem) {
		problem = nil
	}
	if problem != nil || fatal != nil {
		return found, problem, fatal
	}
	if change.Action == Adopt {
		found.adopted = e.describeAdoption(change, predicted, ownership)
	}
	found.reclaimed, fatal = e.reclaimed(ctx, change)
	return found, nil, fatal
}

// finding is what the plan has to say about an object besides its difference.
type finding struct {
	adopted   *adoption
	reclaimed []string
}

// checkAbsent tries to create an object that nobody has seen. When it exists
// after all, Live is set and the decision is still to be made.
func (e *Engine) checkAbsent(ctx context.Context, plan *Plan, change *Change) (problem, fatal error) {
	if e.dryRuns.knows(e.dryRunKey(plan, change, "")) {
		change.Action = Create
		return nil, nil
	}
	_, err := e.tryApply(ctx, plan, change, "")
	switch reason := cluster.ReasonOf(err); {
	case err == nil:
		change.Action = Create
		e.dryRuns.passed(e.dryRunKey(plan, change, ""))
	case reason == cluster.Conflict:
		if change.Live, err = e.get(ctx, change.Type, change.ID); err != nil {
			return nil, err
		}
		if change.Live == nil {
			change.Action = Create
		}
	default:
		change.Action = Create
		problem, fatal = e.dryRunProblem(plan, change, err)
	}
	return problem, fatal
}

// dryRun lets the API server try a change of an existing object.
func (e *Engine) dryRun(ctx context.Context, plan *Plan, change *Change, uid types.UID) (predicted *unstructured.Unstructured, problem, fatal error) {
	key := e.dryRunKey(plan, change, uid)
	if change.Action != Adopt && e.dryRuns.knows(key) {
		return nil, nil, nil
	}
	predicted, err := e.tryApply(ctx, plan, change, uid)
	if err == nil {
		e.dryRuns.passed(key)
		return predicted, nil, nil
	}
	problem, fatal = e.dryRunProblem(plan, change, err)
	return nil, problem, fatal
}

func (e *Engine) tryApply(ctx context.Context, plan *Plan, change *Change, uid types.UID) (*unstructured.Unstructured, error) {
	obj := e.annotate(change.Want, plan.owner)
	if uid == "" {
		obj.SetResourceVersion(cluster.CreateOnly)
	} else {
		obj.SetUID(uid)
	}
	return e.cluster.Apply(ctx, change.Type, obj, cluster.DryRun)
}

// dryRunProblem sorts the answer of a dry-run: a problem of this object, a
// fatal one of the connection, or neither when the apply itself may cure it.
func (e *Engine) dryRunProblem(plan *Plan, change *Change, err error) (problem, fatal error) {
	switch cluster.ReasonOf(err) {
	case cluster.Unreachable, cluster.Unauthorized:
		return nil, e.connectionError(err)
	case cluster.NotServed:
		if !change.Managed {
			change.Unchecked = "its kind is not served yet"
		}
		return nil, nil
	case cluster.NamespaceMissing:
		if !plan.bringsNamespace(change.ID.Namespace) {
			change.Unchecked = fmt.Sprintf("namespace %q does not exist (missing_namespaces_policy is DoNotCreate)", change.ID.Namespace)
		}
		return nil, nil
	case cluster.NamespaceTerminating:
		change.Unchecked = fmt.Sprintf("namespace %q is being deleted", change.ID.Namespace)
		return nil, nil
	case cluster.Forbidden, cluster.Webhook, cluster.Transient:
		change.Unchecked = e.serverText(change.ID, err)
		return nil, nil
	}
	return e.rejection(change, err), nil
}

// bringsNamespace: the namespace is an object of the component, or is created
// for it.
func (p *Plan) bringsNamespace(name string) bool {
	if p.Component.MissingNamespaces != DoNotCreateMissingNamespaces {
		return true
	}
	for _, want := range p.rendered.Wants {
		if want.ID.GroupKind() == namespaceKind && want.ID.Name == name {
			return true
		}
	}
	return false
}

// rejection is the error of an object that the API server does not accept.
func (e *Engine) rejection(change *Change, err error) error {
	rejected := &ObjectError{
		ID: change.ID, Origin: change.Origin, Title: "The API server rejects an object",
		Err: &serverError{text: e.serverText(change.ID, err), cause: err},
	}
	if cluster.IsImmutable(err) {
		rejected.Advice = fmt.Sprintf("A field of it cannot be changed. To delete and create the object instead, annotate it with %s/update-policy: recreate.",
			e.options.AnnotationPrefix)
	}
	return rejected
}

func (e *Engine) serverText(id object.ID, err error) string {
	return cluster.Message(err, id.GroupKind() == secretKind)
}

// serverError shows what the server said and keeps the error it came from.
type serverError struct {
	text  string
	cause error
}

func (e *serverError) Error() string { return e.text }
func (e *serverError) Unwrap() error { return e.cause }

func (e *Engine) ownerError(change *Change, ownership Ownership) error {
	if ownership == Unowned {
		return &ObjectError{
			ID: change.ID, Origin: change.Origin, Title: "Object exists already",
			Err:    errors.New("it exists without an owner, and its adoption policy is never"),
			Advice: `Delete it, or set adoption_policy = "IfUnowned" (or the annotation adoption-policy: if-unowned) to take it over.`,
		}
	}
	return &ObjectError{
		ID: change.ID, Origin: change.Origin, Title: "Object belongs to another component",
		Err:    fmt.Errorf("it is owned by %s", e.ownerOnObject(change.Live)),
		Advice: `Remove it from one of the two, or set adoption_policy = "Always" (or the annotation adoption-policy: always) to take it over.`,
	}
}

// situation gathers what decide needs.
func (p *Plan) situation(change *Change, ownership Ownership, e *Engine) Situation {
	s := Situation{
		Ownership: ownership, Policies: change.Policies, Digest: change.Digest,
		Recorded: change.Recorded, Drifted: change.Drifted && change.Live != nil,
		ComponentChanged: p.prior != nil, FailedJob: isFailedJob(change.Live), Now: e.now(),
	}
	if change.Live != nil {
		s.LiveDigest = change.Live.GetAnnotations()[e.digestAnnotation()]
		s.Terminating = change.Live.GetDeletionTimestamp() != nil
	}
	return s
}

// warnings are about what may happen at apply.
func (p *Plan) warnings(findings []finding) []Warning {
	var warnings []Warning
	adoptions, reclaims := make([]*adoption, len(findings)), make([][]string, len(findings))
	for i, found := range findings {
		adoptions[i], reclaims[i] = found.adopted, found.reclaimed
	}
	if warning, ok := adoptionWarning(p.Component, adoptions); ok {
		warnings = append(warnings, warning)
	}
	if warning, ok := reclaimWarning(p.Component, reclaims); ok {
		warnings = append(warnings, warning)
	}
	var lines []string
	for _, change := range p.Changes {
		if change.Unchecked != "" {
			lines = append(lines, fmt.Sprintf(" %s: %s", change.ID, strings.TrimSpace(change.Unchecked)))
		}
	}
	if len(lines) > 0 {
		warnings = append(warnings, Warning{
			Title: fmt.Sprintf("%s of component %s could not be checked", counted(len(lines), "object", "objects"), p.Component),
			Lines: append(lines, " Something else in this run may provide what is missing. The apply waits for it, and fails if it does not come."),
		})
	}
	if warning, ok := unstableWarning(p.Component, p.Planned); ok {
		warnings = append(warnings, warning)
	}
	if len(p.rendered.Notes) > 0 {
		notes := make([]string, len(p.rendered.Notes))
		for i, note := range p.rendered.Notes {
			notes[i] = " " + note
		}
		warnings = append(warnings, Warning{Title: fmt.Sprintf("Notes about the source of component %s", p.Component), Lines: notes})
	}
	return warnings
}

// unstableWarning names the objects that come out differently each time.
func unstableWarning(c Component, p Planned) (Warning, bool) {
	if len(p.Unknown) == 0 {
		return Warning{}, false
	}
	var lines []string
	for _, key := range sortedKeys(p.Unknown) {
		lines = append(lines, " "+key)
	}
	return Warning{
		Title: fmt.Sprintf("%s of component %s will differ at each rendering", counted(len(p.Unknown), "object", "objects"), c),
		Lines: append(lines, " They draw random values or read the clock, so they change at every apply. Give the value as an input, or annotate the object with reconcile-policy: once."),
	}, true
}

// lookup reads objects for the function of that name in templates. Nothing is
// found where the kind is not served.
func (e *Engine) lookup(ctx context.Context) render.LookupFunc {
	if e.cluster == nil {
		return nil
	}
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		return e.lookupObject(ctx, apiVersion, kind, namespace, name)
	}
}
