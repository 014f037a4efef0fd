package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/kubewave/terraform-provider-component/internal/engine"
	"github.com/kubewave/terraform-provider-component/internal/engine/source"
)

// component is one resource, and what Terraform remembers of it.
type component struct {
	w     *world
	name  string
	attrs attributes
	prior *engine.Prior
	// applied are the attributes that were last applied.
	applied string
}

// result is how the handling of a component came out.
type result struct {
	deleted bool
	// planned: the error came at plan.
	planned  bool
	err      error
	status   string
	summary  string
	warnings []engine.Warning
}

// component finds or makes a component.
func (w *world) component(name string) *component {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.components[name] == nil {
		w.components[name] = &component{w: w, name: name}
	}
	return w.components[name]
}

// set changes the attributes that a step names.
func (c *component) set(attrs json.RawMessage) error {
	if err := strict(attrs, &c.attrs); err != nil {
		return fmt.Errorf("component %s: %w", c.name, err)
	}
	return nil
}

func (c *component) identity() engine.Identity {
	return engine.Identity{Namespace: c.w.namespace, Name: c.name}
}

// wanted is the component as the provider hands it to the engine.
func (c *component) wanted(timeout string) (engine.Component, error) {
	a := c.attrs
	wanted := engine.Component{
		Namespace: c.w.namespace, Name: c.name, TargetNamespace: a.TargetNamespace,
		Source: source.Files{"objects.yaml": a.Manifests},
		Defaults: engine.Defaults{
			Adoption: engine.AdoptionPolicy(or(a.AdoptionPolicy, string(engine.AdoptIfUnowned))),
			Update:   engine.UpdatePolicy(or(a.UpdatePolicy, string(engine.UpdateSSAOverride))),
			Delete:   engine.DeletePolicy(or(a.DeletePolicy, string(engine.DeleteDelete))),
		},
		MissingNamespaces: engine.MissingNamespacesPolicy(or(a.MissingNamespacesPolicy, string(engine.CreateMissingNamespaces))),
		Suspend:           a.Suspend, SkipSafeguards: a.SkipSafeguards, AdditionalManagedTypes: a.AdditionalManagedTypes,
	}
	var err error
	if wanted.Defaults.ReapplyInterval, err = time.ParseDuration(or(a.ReapplyInterval, "60m")); err != nil {
		return wanted, err
	}
	if wanted.ReadyTimeout, err = c.timeout(timeout); err != nil {
		return wanted, err
	}
	for _, name := range a.Dependencies {
		namespace, name, _ := strings.Cut(name, "/")
		wanted.Dependencies = append(wanted.Dependencies, engine.Identity{Namespace: namespace, Name: name})
	}
	if len(a.Values) > 0 {
		err = json.Unmarshal(a.Values, &wanted.Values)
	}
	if err == nil {
		err = json.Unmarshal([]byte(c.inputsText()), &wanted.Inputs)
	}
	return wanted, err
}

func or(text, byDefault string) string {
	if text == "" {
		return byDefault
	}
	return text
}

func (c *component) timeout(ofStep string) (time.Duration, error) {
	return time.ParseDuration(or(or(ofStep, c.attrs.ReadyTimeout), patience.String()))
}

// inputsText are the attributes besides the source, as the record has them.
func (c *component) inputsText() string {
	besides := c.attrs
	besides.Manifests = ""
	return textOf(besides)
}

func textOf(a attributes) string {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // it was JSON before
	}
	return string(text)
}

// refresh is what Terraform does before a plan.
func (c *component) refresh(ctx context.Context) error {
	if c.prior == nil {
		return nil
	}
	found, err := c.w.engine.Refresh(ctx, c.identity(), *c.prior)
	if err != nil {
		return err
	}
	if found.Gone {
		c.prior = nil
		return nil
	}
	return c.remember(engine.Prior{Objects: found.Objects, Revision: found.Revision, Status: found.Status, Artifact: found.Artifact, Memory: found.Memory})
}

// remember keeps state. Private state goes through JSON, as in Terraform.
func (c *component) remember(prior engine.Prior) error {
	text, err := json.Marshal(prior.Memory)
	if err != nil {
		return err
	}
	prior.Memory = engine.Memory{}
	c.prior = &prior
	return json.Unmarshal(text, &c.prior.Memory)
}

// plan is terraform plan.
func (c *component) plan(ctx context.Context, timeout string) (*engine.Plan, error) {
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	wanted, err := c.wanted(timeout)
	if err != nil {
		return nil, err
	}
	return c.w.engine.Plan(ctx, wanted, c.prior, engine.PlanOptions{})
}

// apply is terraform apply: it does nothing when the plan has nothing to do and
// no attribute changed.
func (c *component) apply(ctx context.Context, timeout string) result {
	plan, err := c.plan(ctx, timeout)
	if err != nil {
		return result{planned: true, err: err}
	}
	r := result{warnings: plan.Warnings, summary: plan.Planned.Summary, status: plan.Planned.Status}
	if plan.NothingToDo && c.applied == textOf(c.attrs) {
		return r
	}
	r.status, r.err = c.execute(ctx, timeout, plan.Planned.Objects)
	if r.err == nil {
		c.applied = textOf(c.attrs)
	}
	return r
}

// execute applies what was approved.
func (c *component) execute(ctx context.Context, timeout string, approved map[string]string) (string, error) {
	wanted, err := c.wanted(timeout)
	if err != nil {
		return "", err
	}
	plan, err := c.w.engine.Plan(ctx, wanted, c.prior, engine.PlanOptions{Apply: true})
	if err != nil {
		return "", err
	}
	done, err := c.w.engine.Apply(ctx, plan, approved)
	if !done.Started {
		return "", err
	}
	keep := c.remember(engine.Prior{
		Objects: maps.Clone(done.Objects), Revision: done.Revision, Status: done.Status, Artifact: done.Artifact, Memory: done.Memory,
	})
	if err == nil {
		err = keep
	}
	return done.Status, err
}

// destroy is terraform destroy.
func (c *component) destroy(ctx context.Context, timeout string) result {
	r := result{deleted: true}
	limit, err := c.timeout(timeout)
	if err == nil {
		err = c.refresh(ctx)
	}
	if err != nil || c.prior == nil {
		r.err = err
		return r
	}
	r.warnings, r.err = c.w.engine.Delete(ctx, engine.Deletion{
		Identity: c.identity(), Prior: *c.prior, Timeout: limit, SkipSafeguards: c.attrs.SkipSafeguards,
	})
	if r.err == nil {
		c.prior, c.applied = nil, ""
	}
	return r
}

// again checks that there is nothing left to do: neither for a second plan, nor
// for a second apply.
func (c *component) again(ctx context.Context) error {
	plan, err := c.plan(ctx, "")
	if err != nil {
		return fmt.Errorf("the second plan fails: %w", err)
	}
	if !plan.NothingToDo {
		return fmt.Errorf("the second plan is not empty: %s, status %s:\n%s", plan.Planned.Summary, c.prior.Status, diffOf(c.prior.Objects, plan.Planned.Objects))
	}
	if strings.Contains(c.attrs.Manifests, "reapply-interval") {
		// It may be due again by now.
		return nil
	}
	before := len(c.w.proxy.since(0))
	if _, err := c.execute(ctx, "", plan.Planned.Objects); err != nil {
		return fmt.Errorf("the second apply fails: %w", err)
	}
	if writes := c.w.proxy.since(before); len(writes) > 0 {
		return fmt.Errorf("the second apply writes: %s", strings.Join(writes, ", "))
	}
	return nil
}
