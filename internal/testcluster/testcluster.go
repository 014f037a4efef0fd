// Package testcluster gives tests a Kubernetes cluster: the program of test/cluster, which runs a
// real control plane on this machine.
package testcluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// KubeconfigEnv names the environment variable with the kubeconfig of a cluster that runs
	// already and is shared by the tests of all packages.
	KubeconfigEnv = "COMPONENT_TEST_KUBECONFIG"

	// BinaryEnv names the environment variable with the path of the cluster program. Without it
	// the program is bin/cluster in the root of the repository.
	BinaryEnv = "COMPONENT_TEST_CLUSTER_BINARY"
)

// Kubeconfig returns the path of a kubeconfig of the cluster that this test process shares. It
// is the one that KubeconfigEnv names, or else one that is started for the first test that asks
// and that ends with the process. Tests keep apart by namespaces, and by the names of what has
// none.
func Kubeconfig(tb testing.TB) string {
	tb.Helper()
	path, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// shared is evaluated once. The cluster that it starts sees the end of this process and then
// ends too, so nobody has to stop it.
var shared = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(KubeconfigEnv); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w", KubeconfigEnv, err)
		}
		return path, nil
	}
	cluster, err := start()
	if err != nil {
		return "", err
	}
	return cluster.kubeconfig, nil
})

// Start starts a cluster for one test, which ends with the test, and returns the path of its
// kubeconfig.
func Start(tb testing.TB) string {
	tb.Helper()
	cluster, err := start()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := cluster.stop(); err != nil {
			tb.Error(err)
		}
	})
	return cluster.kubeconfig
}

// running is a cluster that was started here.
type running struct {
	kubeconfig string
	cmd        *exec.Cmd
	stderr     bytes.Buffer
	ended      chan struct{} // closed when the program has ended
}

// start starts a cluster and returns when it is ready.
func start() (*running, error) {
	program, err := binary()
	if err != nil {
		return nil, err
	}
	c := &running{cmd: exec.Command(program, "start"), ended: make(chan struct{})}
	// Not the descriptors of this process: go test waits until all that have them are gone.
	c.cmd.Stderr = &c.stderr
	reader, writer := io.Pipe()
	c.cmd.Stdout = writer
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the test cluster: %w", err)
	}
	go func() {
		_ = c.cmd.Wait() // the error is the exit code; stderr says more
		_ = writer.Close()
		close(c.ended)
	}()
	if c.kubeconfig, err = awaitReady(reader); err != nil {
		_ = c.stop() // the first error tells more
		return nil, fmt.Errorf("start the test cluster: %w\n%s", err, c.stderr.Bytes())
	}
	// What nobody reads would keep Wait from returning.
	go io.Copy(io.Discard, reader) //nolint:errcheck // nothing can fail
	return c, nil
}

// awaitReady reads what the program prints until it says that the cluster is ready. The program
// has a time limit of its own.
func awaitReady(stdout io.Reader) (kubeconfig string, err error) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if path, ok := strings.CutPrefix(lines.Text(), "KUBECONFIG="); ok {
			kubeconfig = path
		}
		if lines.Text() == "ready" {
			return kubeconfig, nil
		}
	}
	return "", errors.New("it ended before it was ready")
}

// stop ends the cluster and waits until nothing of it is left.
func (c *running) stop() error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the test cluster: %w", err)
	}
	select {
	case <-c.ended:
	case <-time.After(30 * time.Second):
		_ = c.cmd.Process.Kill() // its children end with it
		<-c.ended
		return errors.New("stop the test cluster: it did not end within 30s and was killed")
	}
	if !c.cmd.ProcessState.Success() {
		return fmt.Errorf("the test cluster had ended: %s", c.stderr.Bytes())
	}
	return nil
}

// binary returns the path of the cluster program.
func binary() (string, error) {
	if path := os.Getenv(BinaryEnv); path != "" {
		return path, nil
	}
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", "cluster")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("there is no test cluster (%w): run `make cluster` first", err)
	}
	return path, nil
}

// repositoryRoot returns the nearest folder above the working directory, which is that of the
// package under test, whose go.mod is that of the main module.
func repositoryRoot() (string, error) {
	const module = "module github.com/kubewave/terraform-provider-component\n"
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.Contains(data, []byte(module)) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no folder above the working directory holds the go.mod of terraform-provider-component")
		}
		dir = parent
	}
}
