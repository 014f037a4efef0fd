// Command cluster runs a Kubernetes control plane and one simulated node on this machine, for
// tests and demonstrations. README.md beside this file describes it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
	_ "time/tzdata" // CronJobs may name a time zone, and the machine may know none.
)

const usage = `Runs a Kubernetes control plane and one simulated node, for tests and demonstrations.

  cluster start [flags]    start a cluster, print "ready", run until stopped
  cluster --version        print the version of Kubernetes and of kwok
  cluster start --help     print the flags of start

The cluster is etcd, kube-apiserver, kube-controller-manager, kube-scheduler and, as simulated
kubelet, kwok. It listens on free ports of 127.0.0.1, keeps nothing when it ends, and any number
of clusters can run side by side. It ends on SIGTERM or SIGINT, or when the process that started
it ends.

Annotations on a pod decide what becomes of it:

%s
`

const startUsage = `Starts a cluster and prints, when it is ready, two lines:

  KUBECONFIG=FILE
  ready

Then it runs until SIGTERM, SIGINT or SIGHUP, or until the process that started it ends. A component
that ends by itself ends the cluster with exit code 1 and its last log lines on standard error.
The logs of all components are in logs in the directory.

Flags:
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run carries out one command line and returns the exit code of the program.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		_, _ = fmt.Fprintf(stderr, usage, annotationHelp)
		return 2
	}
	if component, ok := findComponent(args[0]); ok {
		endWithParent()
		return component.run(args[1:])
	}
	switch args[0] {
	case "start":
		return runStart(args[1:], stdout, stderr)
	case "--version", "-version", "version":
		_, _ = fmt.Fprintf(stdout, "cluster (Kubernetes %s, kwok %s)\n",
			moduleVersion("k8s.io/kubernetes"), moduleVersion("sigs.k8s.io/kwok"))
		return 0
	case "--help", "-help", "-h", "help":
		_, _ = fmt.Fprintf(stdout, usage, annotationHelp)
		return 0
	}
	_, _ = fmt.Fprintf(stderr, "cluster: unknown command %q; run cluster --help\n", args[0])
	return 2
}

// runStart parses the flags of start and runs a cluster until a signal or the end of the parent.
func runStart(args []string, stdout, stderr io.Writer) int {
	var opts options
	flags := flag.NewFlagSet("cluster start", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = fmt.Fprint(stderr, startUsage)
		flags.PrintDefaults()
	}
	flags.StringVar(&opts.dir, "dir", "", "`directory` for data, certificates and logs; what it holds of an earlier cluster is lost (default: a temporary one, removed at the end)")
	flags.StringVar(&opts.kubeconfig, "kubeconfig", "", "`file` to write the administrator's kubeconfig to, once the cluster is ready (default: kubeconfig in the directory)")
	flags.BoolVar(&opts.detached, "detached", false, "go on when the process that started the cluster ends")
	flags.DurationVar(&opts.timeout, "timeout", 2*time.Minute, "how long the cluster may take to become ready")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "cluster: unexpected argument %q\n", flags.Arg(0))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	if !opts.detached {
		ctx = untilParentEnds(ctx)
	}
	if err := start(ctx, opts, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "cluster: %v\n", err)
		return 1
	}
	return 0
}

// moduleVersion returns the version of a module that this program is built from.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dep := range info.Deps {
		if dep.Path == path {
			return dep.Version
		}
	}
	return "unknown"
}
