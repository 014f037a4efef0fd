// Command bench prints what the provider costs beside a bare client that does the least that could
// be done, in one run on one cluster:
//
//	bench -kubeconfig FILE -terraform PATH -provider DIRECTORY
//
// Times depend on the machine, so a number over its budget is printed as such and is no failure.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/kubewave/terraform-provider-component/test/live"
	"github.com/kubewave/terraform-provider-component/test/tfcli"
)

// Budgets, for the number of objects that is the default.
const (
	applyBudget   = 5 // times the bare client's writes
	planBudget    = 4 * time.Second
	refreshBudget = 50 // requests
)

func main() {
	var b bench
	flag.StringVar(&b.kubeconfig, "kubeconfig", "", "`file` that names the cluster")
	flag.StringVar(&b.terraform, "terraform", "", "`path` of Terraform or OpenTofu")
	flag.StringVar(&b.provider, "provider", "", "`directory` of the provider")
	flag.IntVar(&b.count, "objects", 1000, "how many objects")
	flag.IntVar(&b.workers, "workers", 16, "how many requests the bare client makes at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	kubeconfig, terraform, provider string
	count, workers                  int
	dir                             string
}

func (b *bench) run(ctx context.Context) (err error) {
	b.dir, err = os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)

	bare, ours, err := b.compare(ctx)
	if err != nil {
		return err
	}
	printTimes(b.count, bare, ours)

	refresh, plan, err := b.countRequests(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("\n%d objects of 3 kinds in 3 namespaces, nothing to do\n\n", b.count)
	printRequests("terraform plan -refresh-only", refresh, refreshBudget)
	printRequests("terraform plan", plan, 0)
	return nil
}

// times are the times of one run, in the order of a component's life.
type times struct {
	write, dryRun, list              time.Duration // of the bare client
	apply, plan, secondApply, change time.Duration
	destroy                          time.Duration
}

// compare measures the bare client before and after Terraform, because other work on the machine
// may come and go, and takes the mean. A round that does not count warms the server up.
func (b *bench) compare(ctx context.Context) (bare, ours times, err error) {
	config, err := live.Config(b.kubeconfig)
	if err != nil {
		return bare, ours, err
	}
	client, err := newBareClient(config, b.workers)
	if err != nil {
		return bare, ours, err
	}
	if _, err := client.measure(ctx, "bench-warm-up", b.count); err != nil {
		return bare, ours, err
	}
	before, err := client.measure(ctx, "bench-before", b.count)
	if err != nil {
		return bare, ours, err
	}
	if ours, err = b.runTerraform(ctx); err != nil {
		return bare, ours, err
	}
	after, err := client.measure(ctx, "bench-after", b.count)
	return times{
		write:  (before.write + after.write) / 2,
		dryRun: (before.dryRun + after.dryRun) / 2,
		list:   (before.list + after.list) / 2,
	}, ours, err
}

// runTerraform takes a component with the same objects through its life.
func (b *bench) runTerraform(ctx context.Context) (t times, err error) {
	work, err := b.workspace("times", b.kubeconfig, configMaps(b.count))
	if err != nil {
		return t, err
	}
	variables := []string{"-input=false", "-no-color"}
	if t.apply, err = timed(ctx, work, append([]string{"apply", "-auto-approve"}, variables...)...); err != nil {
		return t, err
	}
	var plans []time.Duration
	for range 3 {
		plan, err := timed(ctx, work, append([]string{"plan", "-detailed-exitcode"}, variables...)...)
		if err != nil {
			return t, err
		}
		plans = append(plans, plan)
	}
	slices.Sort(plans)
	t.plan = plans[1]
	if t.secondApply, err = timed(ctx, work, append([]string{"apply", "-auto-approve"}, variables...)...); err != nil {
		return t, err
	}
	if err := writeObjects(filepath.Join(b.dir, "times", "manifests"), changed(configMaps(b.count))); err != nil {
		return t, err
	}
	if t.change, err = timed(ctx, work, append([]string{"apply", "-auto-approve"}, variables...)...); err != nil {
		return t, err
	}
	t.destroy, err = timed(ctx, work, append([]string{"destroy", "-auto-approve"}, variables...)...)
	return t, err
}

// countRequests counts what two commands ask of the API server when nothing is to be done.
func (b *bench) countRequests(ctx context.Context) (refresh, plan requests, err error) {
	proxy, err := startProxy(b.kubeconfig, filepath.Join(b.dir, "proxy.kubeconfig"))
	if err != nil {
		return nil, nil, err
	}
	defer proxy.close()
	work, err := b.workspace("requests", proxy.kubeconfig, mixed(b.count))
	if err != nil {
		return nil, nil, err
	}
	count := func(args ...string) (requests, error) {
		proxy.reset()
		_, err := timed(ctx, work, append(args, "-input=false", "-no-color")...)
		return proxy.reset(), err
	}
	if _, err := count("apply", "-auto-approve"); err != nil {
		return nil, nil, err
	}
	if refresh, err = count("plan", "-refresh-only"); err != nil {
		return nil, nil, err
	}
	if plan, err = count("plan", "-detailed-exitcode"); err != nil {
		return nil, nil, err
	}
	_, err = count("destroy", "-auto-approve")
	return refresh, plan, err
}

// workspace writes a configuration with one component of the objects given.
func (b *bench) workspace(name, kubeconfig string, objects []object) (*tfcli.Dir, error) {
	dir := filepath.Join(b.dir, name)
	if err := writeObjects(filepath.Join(dir, "manifests"), objects); err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`terraform {
  required_providers {
    component = { source = "kubewave/component" }
  }
}

provider "component" {
  kubernetes {
    config_path = %q
  }
}

resource "component" "bench" {
  name      = "bench"
  namespace = "bench-%s"
  source    = { directory = "${path.module}/manifests" }
}
`, kubeconfig, name)
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	return tfcli.New(dir, b.terraform, b.provider)
}

// timed runs a command of the CLI, which has to succeed.
func timed(ctx context.Context, work *tfcli.Dir, args ...string) (time.Duration, error) {
	start := time.Now()
	result, err := work.Run(ctx, args...)
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("exit code %d\n%.4000s\n%.4000s", result.ExitCode, result.Stdout, result.Stderr)
	}
	if err != nil {
		return 0, fmt.Errorf("terraform %s: %w", args[0], err)
	}
	return time.Since(start), nil
}

func printTimes(count int, bare, ours times) {
	fmt.Printf("\n%d ConfigMaps; a command of Terraform is measured from its start to its end\n\n", count)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(what, bare, ours, ratio, budget string) {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", what, bare, ours, ratio, budget)
	}
	row("", "bare client", "provider", "ratio", "budget")
	ratio := ours.apply.Seconds() / bare.write.Seconds()
	row("apply from nothing", "write "+seconds(bare.write), seconds(ours.apply), fmt.Sprintf("%.1fx", ratio),
		fmt.Sprintf("%dx: %s", applyBudget, verdict(ratio <= applyBudget)))
	row("plan, nothing to do", "list "+seconds(bare.list), seconds(ours.plan), "",
		fmt.Sprintf("%s: %s", planBudget, verdict(ours.plan <= planBudget)))
	row("apply, nothing to do", "", seconds(ours.secondApply), "", "")
	row("apply, every object changed", "write "+seconds(bare.write), seconds(ours.change),
		fmt.Sprintf("%.1fx", ours.change.Seconds()/bare.write.Seconds()), "")
	row("destroy", "", seconds(ours.destroy), "", "")
	row("(dry-run of all)", seconds(bare.dryRun), "", "", "")
	_ = w.Flush()
}

func printRequests(what string, counted requests, budget int) {
	limit := ""
	if budget > 0 {
		limit = fmt.Sprintf(" (budget %d: %s)", budget, verdict(counted.total() <= budget))
	}
	fmt.Printf("%s: %d requests%s\n", what, counted.total(), limit)
	counted.print(os.Stdout, 12)
	fmt.Println()
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func verdict(within bool) string {
	if within {
		return "within"
	}
	return "OVER"
}
