package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// String prints "namespace/name".
func (i Identity) String() string { return i.Namespace + "/" + i.Name }

const (
	reasonDependencies = "WaitingForDependencies"
	reasonDependents   = "WaitingForDependents"
	reasonBlocked      = "Blocked"
)

// dependentsGrace is how long a deletion waits for dependents that nobody
// deletes yet: in one run Terraform starts all deletions at about the same
// time.
const dependentsGrace = 10 * time.Second

// dependencyNames are the dependencies as the record keeps them.
func (c Component) dependencyNames() []string {
	var names []string
	for _, dependency := range c.Dependencies {
		names = append(names, dependency.String())
	}
	slices.Sort(names)
	return names
}

// unready says which of some components are not Ready, and what they are
// instead.
func unready(dependencies []Identity, headers []record.Header) []string {
	var lines []string
	for _, dependency := range dependencies {
		i := slices.IndexFunc(headers, func(h record.Header) bool { return h.String() == dependency.String() })
		switch {
		case i < 0:
			lines = append(lines, dependency.String()+": it does not exist")
		case headers[i].Phase != record.Ready:
			lines = append(lines, fmt.Sprintf("%s: it is %s (%s)", dependency, headers[i].Phase, headers[i].Reason))
		}
	}
	return lines
}

// dependencyHeaders reads the records in the namespaces of the dependencies.
func (e *Engine) dependencyHeaders(ctx context.Context, dependencies []Identity) ([]record.Header, error) {
	var all []record.Header
	for _, namespace := range namespacesOfIdentities(dependencies) {
		headers, err := e.headersIn(ctx, namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, headers...)
	}
	return all, nil
}

func (e *Engine) headersIn(ctx context.Context, namespace string) ([]record.Header, error) {
	headers, err := record.Headers(ctx, e.cluster, namespace)
	if err != nil {
		return nil, e.connectionError(fmt.Errorf("reading the records of the dependencies in namespace %s: %w", namespace, err))
	}
	return headers, nil
}

func namespacesOfIdentities(ids []Identity) []string {
	var namespaces []string
	for _, id := range ids {
		namespaces = append(namespaces, id.Namespace)
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// checkCircle refuses dependencies that an apply would wait for in vain.
func (e *Engine) checkCircle(ctx context.Context, plan *Plan) error {
	c := plan.Component
	if plan.record != nil && slices.Equal(c.dependencyNames(), plan.record.Dependencies) {
		return nil
	}
	circle, err := e.circle(ctx, c)
	if circle != nil {
		err = &InputError{Field: "dependencies", Err: fmt.Errorf("component %s depends on itself: %s", c, strings.Join(circle, " -> "))}
	}
	return err
}

// checkDependencies warns about dependencies that the apply would wait for.
func (e *Engine) checkDependencies(ctx context.Context, plan *Plan) error {
	c := plan.Component
	if len(c.Dependencies) == 0 {
		return nil
	}
	headers, err := e.dependencyHeaders(ctx, c.Dependencies)
	if err != nil {
		return err
	}
	if lines := unready(c.Dependencies, headers); len(lines) > 0 {
		for i := range lines {
			lines[i] = " " + lines[i]
		}
		plan.Warnings = append(plan.Warnings, Warning{
			Title: fmt.Sprintf("Component %s will wait for %s", c, counted(len(lines), "dependency", "dependencies")),
			Lines: append(lines, fmt.Sprintf(" The apply starts when they are ready, and fails if that takes longer than ready_timeout (%s).", spelled(c.ReadyTimeout))),
		})
	}
	return nil
}

// circle follows the dependencies of dependencies, as their records tell them,
// and returns the way back to the component; nil when there is none.
func (e *Engine) circle(ctx context.Context, c Component) ([]string, error) {
	known := map[string][]string{}
	read := map[string]bool{}
	dependenciesOf := func(name string) ([]string, error) {
		namespace, _, _ := strings.Cut(name, "/")
		if !read[namespace] {
			read[namespace] = true
			headers, err := e.headersIn(ctx, namespace)
			if err != nil {
				return nil, err
			}
			for _, header := range headers {
				known[header.String()] = header.Dependencies
			}
		}
		return known[name], nil
	}
	return wayTo(c.String(), []string{c.String()}, c.dependencyNames(), map[string]bool{}, dependenciesOf)
}

// wayTo searches a way of dependencies to a component, depth first.
func wayTo(goal string, way, next []string, seen map[string]bool, dependenciesOf func(string) ([]string, error)) ([]string, error) {
	for _, name := range next {
		if name == goal {
			return append(way, name), nil
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		further, err := dependenciesOf(name)
		if err != nil {
			return nil, err
		}
		if found, err := wayTo(goal, append(slices.Clone(way), name), further, seen, dependenciesOf); found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// awaitDependencies returns when all dependencies are Ready, within the time
// for the component (semantics.md, section 6). That time then starts anew.
func (a *applier) awaitDependencies(ctx context.Context) error {
	c := a.plan.Component
	if len(c.Dependencies) == 0 {
		return nil
	}
	headers, err := a.e.dependencyHeaders(ctx, c.Dependencies)
	if err != nil {
		return err
	}
	lines := unready(c.Dependencies, headers)
	if len(lines) == 0 {
		return nil
	}
	if err := a.enter(ctx, record.Pending, reasonDependencies, "waiting for "+strings.Join(lines, "; ")); err != nil {
		return err
	}
	waitCtx, cancel := context.WithDeadline(ctx, a.deadline)
	defer cancel()
	for _, dependency := range c.Dependencies {
		_ = record.AwaitHeaders(waitCtx, a.e.cluster, dependency.Namespace, func(headers []record.Header) bool {
			return len(unready([]Identity{dependency}, headers)) == 0
		})
	}
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	if headers, err = a.e.dependencyHeaders(ctx, c.Dependencies); err != nil {
		return err
	}
	if lines = unready(c.Dependencies, headers); len(lines) > 0 {
		return componentErrorf("Dependencies are not ready",
			" component %s waited %s for other components:\n   %s\n Nothing was applied. Apply them first, or mend what keeps them.",
			c, spelled(c.ReadyTimeout), strings.Join(lines, "\n   "))
	}
	a.deadline = a.e.now().Add(c.ReadyTimeout)
	return a.enter(ctx, record.Processing, reasonApplying, "its dependencies are ready")
}

// dependents are the components that name another one in their dependencies.
func dependents(of Identity, headers []record.Header) []record.Header {
	return slices.DeleteFunc(slices.Clone(headers), func(h record.Header) bool {
		return h.String() == of.String() || !slices.Contains(h.Dependencies, of.String())
	})
}

// stay are those that nobody deletes.
func stay(headers []record.Header) []record.Header {
	return slices.DeleteFunc(slices.Clone(headers), func(h record.Header) bool {
		return h.Phase == record.Deleting || h.Phase == record.DeletionPending
	})
}

// awaitDependents returns when no component depends on one that is to be
// deleted. It waits for those that are being deleted, and refuses to go on when
// others stay (semantics.md, section 5). pending is called before it waits.
func (e *Engine) awaitDependents(ctx context.Context, id Identity, deadline time.Time, pending func(names string) error) ([]Warning, error) {
	scope, warnings, headers, err := e.dependentsInSight(ctx, id)
	left := dependents(id, headers)
	if err != nil || len(left) == 0 {
		return warnings, err
	}
	if err := pending(names(left)); err != nil {
		return warnings, err
	}
	await := func(until time.Time, enough func([]record.Header) bool) {
		waitCtx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		// What is there when the time is over decides, not how the wait ended.
		_ = record.AwaitHeaders(waitCtx, e.cluster, scope, func(headers []record.Header) bool {
			left = dependents(id, headers)
			return len(left) == 0 || enough(left)
		})
	}
	await(e.now().Add(dependentsGrace), func(left []record.Header) bool { return len(stay(left)) == 0 })
	if len(left) > 0 && len(stay(left)) == 0 {
		await(deadline, func(left []record.Header) bool { return len(stay(left)) > 0 })
	}
	if ctx.Err() != nil {
		return warnings, interrupted(ctx)
	}
	if len(left) == 0 {
		return warnings, nil
	}
	return warnings, componentErrorf(fmt.Sprintf("Component %s cannot be deleted yet", id),
		"other components depend on it: %s. Delete them first, or take it out of their dependencies. Nothing was deleted.", names(left))
}

func names(headers []record.Header) string {
	var texts []string
	for _, header := range headers {
		texts = append(texts, fmt.Sprintf("%s (%s)", header, header.Phase))
	}
	return listed(texts)
}

// dependentsInSight reads all records of the cluster. Who may not do that sees
// those of the component's own namespace, and is told so.
func (e *Engine) dependentsInSight(ctx context.Context, id Identity) (scope string, warnings []Warning, headers []record.Header, err error) {
	headers, err = record.Headers(ctx, e.cluster, "")
	if err == nil || cluster.ReasonOf(err) != cluster.Forbidden {
		return "", nil, headers, e.connectionError(err)
	}
	headers, err = record.Headers(ctx, e.cluster, id.Namespace)
	if err != nil {
		return id.Namespace, nil, nil, e.connectionError(err)
	}
	return id.Namespace, []Warning{{
		Title: fmt.Sprintf("Components that depend on %s were looked for in its namespace only", id),
		Lines: []string{" The right to list Secrets in all namespaces is missing. A component elsewhere that names it in its dependencies would wait for it in vain."},
	}}, headers, nil
}
