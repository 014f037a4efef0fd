package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/version"
)

// options are what the user can say about a cluster.
type options struct {
	dir        string // empty: a temporary one
	kubeconfig string // empty: in dir
	detached   bool
	timeout    time.Duration
}

// A cluster is what start runs.
type cluster struct {
	dir   string
	temp  bool // dir goes away with the cluster
	etcd  *embed.Etcd
	port  *os.File // holds the port of the API server
	procs *processes
}

// start runs a cluster until the context ends, which is no error, or until a component does.
func start(ctx context.Context, opts options, stdout io.Writer) error {
	if err := checkStamp(); err != nil {
		return err
	}
	c, err := newCluster(opts.dir)
	if err != nil {
		return err
	}
	defer c.stop()
	if opts.kubeconfig == "" {
		opts.kubeconfig = filepath.Join(c.dir, "kubeconfig")
	}
	// Whoever waits for the file must not find that of an earlier cluster.
	if err := os.Remove(opts.kubeconfig); err != nil && !os.IsNotExist(err) {
		return err
	}
	err = c.run(ctx, opts, stdout)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// newCluster makes the directory of a cluster, empty of what an earlier one left in it.
func newCluster(dir string) (*cluster, error) {
	c := &cluster{dir: dir, temp: dir == ""}
	var err error
	if c.temp {
		c.dir, err = os.MkdirTemp("", "cluster-")
	} else {
		c.dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"etcd", "files", "logs"} {
		path := filepath.Join(c.dir, name)
		if err := os.RemoveAll(path); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
	}
	c.procs, err = newProcesses(filepath.Join(c.dir, "logs"))
	return c, err
}

// run starts the components, says that the cluster is ready, and waits for its end.
func (c *cluster) run(ctx context.Context, opts options, stdout io.Writer) error {
	if err := c.launch(ctx, opts); err != nil {
		return err
	}
	defer os.Remove(opts.kubeconfig) //nolint:errcheck // of no use without the cluster
	if _, err := fmt.Fprintf(stdout, "KUBECONFIG=%s\nready\n", opts.kubeconfig); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case ended := <-c.procs.exited:
		return c.procs.endError(ended)
	}
}

// launch starts the components and returns when the cluster works and its kubeconfig is
// written.
func (c *cluster) launch(ctx context.Context, opts options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, opts.timeout, fmt.Errorf("not within %s", opts.timeout))
	defer cancel()
	var port, etcdURL string
	var err error
	if port, c.port, err = reservePort(); err != nil {
		return err
	}
	f, err := writeFiles(filepath.Join(c.dir, "files"), "https://127.0.0.1:"+port)
	if err != nil {
		return err
	}
	if c.etcd, etcdURL, err = startEtcd(ctx, filepath.Join(c.dir, "etcd"), filepath.Join(c.dir, "logs", "etcd.log")); err != nil {
		return err
	}
	client, err := newClient(f.kubeconfig)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		component string
		args      []string
		then      condition
	}{
		{"kube-apiserver", apiServerArgs(f, etcdURL, port), condition{"the API server answers", get(client, "/version")}},
		{"kube-scheduler", schedulerArgs(f), condition{}},
		// The controller manager asks for the API server's health once a second. Asking before
		// it is started, and more often, is quicker.
		{"kubelet", kubeletArgs(f), condition{"the API server is healthy", get(client, "/healthz")}},
		{"kube-controller-manager", controllerManagerArgs(f), condition{}},
	} {
		if err := c.procs.start(step.component, step.args); err != nil {
			return err
		}
		if err := c.await(ctx, step.then); err != nil {
			return err
		}
	}
	for _, condition := range readyConditions(client) {
		if err := c.await(ctx, condition); err != nil {
			return err
		}
	}
	return publish(f.kubeconfig, opts.kubeconfig)
}

// await polls until the condition holds. It fails when a component ends before.
func (c *cluster) await(ctx context.Context, until condition) error {
	if until.holds == nil {
		return nil
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := until.holds(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w; at the end: %w", until.text, context.Cause(ctx), err)
		case ended := <-c.procs.exited:
			return c.procs.endError(ended)
		case <-tick.C:
		}
	}
}

// stop ends the components and removes the directory if it is a temporary one.
func (c *cluster) stop() {
	c.procs.stop()
	if c.etcd != nil {
		c.etcd.Close()
	}
	if c.port != nil {
		_ = c.port.Close()
	}
	if c.temp {
		_ = os.RemoveAll(c.dir) // a file that cannot be removed harms nobody
	}
}

// checkStamp refuses to run a program whose API server would call itself v0.0.0: clients that
// ask for a minimum version, as Helm charts do, would refuse it.
func checkStamp() error {
	if stamped, want := version.Get().GitVersion, moduleVersion("k8s.io/kubernetes"); stamped != want {
		return fmt.Errorf("built with version %s of Kubernetes and stamped as %s: build as README.md says", want, stamped)
	}
	return nil
}
