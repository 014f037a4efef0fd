// Package e2e tests the cluster program from outside, with the binary as it was built.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// patience is how long a test waits for what has to happen.
const patience = 60 * time.Second

// A cluster is a running cluster program.
type cluster struct {
	kubernetes.Interface
	kubeconfig string
	cmd        *exec.Cmd
	stderr     *bytes.Buffer
}

// shared is the cluster of all tests that do not stop theirs. It ends with this process.
var shared = sync.OnceValues(func() (*cluster, error) { return start() })

func sharedCluster(t *testing.T) *cluster {
	t.Helper()
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ownCluster starts a cluster for one test, which may stop it.
func ownCluster(t *testing.T, args ...string) *cluster {
	t.Helper()
	c, err := start(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Signal(syscall.SIGTERM) // fails if the test has ended it
		_ = c.cmd.Wait()                          // and so does this
	})
	return c
}

// binary returns the path of the cluster program.
func binary() string {
	if path := os.Getenv("COMPONENT_TEST_CLUSTER_BINARY"); path != "" {
		return path
	}
	return filepath.Join("..", "..", "..", "bin", "cluster")
}

// start runs cluster start and returns when it says that it is ready.
func start(args ...string) (*cluster, error) {
	c := &cluster{cmd: exec.Command(binary(), append([]string{"start"}, args...)...), stderr: &bytes.Buffer{}}
	c.cmd.Stderr = c.stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: run `make cluster` first", err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "ready" {
		if path, ok := strings.CutPrefix(lines.Text(), "KUBECONFIG="); ok {
			c.kubeconfig = path
		}
	}
	if lines.Text() != "ready" {
		err := c.cmd.Wait()
		return nil, fmt.Errorf("not ready: %w: %s", err, c.stderr)
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	c.Interface, err = kubernetes.NewForConfig(config)
	return c, err
}

// namespace creates a namespace for one test.
func (c *cluster) namespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	created, err := c.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Admission refuses pods before the controller manager has created their service account.
	eventually(t, func(ctx context.Context) error {
		_, err := c.CoreV1().ServiceAccounts(created.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return created.Name
}

// eventually waits until check returns nil.
func eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("still not so after %s: %v", patience, err)
		case <-tick.C:
		}
	}
}

var errNotYet = errors.New("not yet")

// descendants returns the processes that a process has started, directly or not.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	output, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		t.Fatal(err)
	}
	children := map[string][]string{}
	for line := range strings.Lines(string(output)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			children[fields[1]] = append(children[fields[1]], fields[0])
		}
	}
	var found []int
	todo := []string{strconv.Itoa(pid)}
	for len(todo) > 0 {
		next := children[todo[0]]
		todo = append(todo[1:], next...)
		for _, child := range next {
			number, err := strconv.Atoi(child)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, number)
		}
	}
	return found
}

// awaitGone waits until none of the processes exists.
func awaitGone(t *testing.T, pids ...int) {
	t.Helper()
	eventually(t, func(context.Context) error {
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil {
				return fmt.Errorf("process %d exists", pid)
			}
		}
		return nil
	})
}

// awaitMissing waits until there is no such file.
func awaitMissing(t *testing.T, path string) {
	t.Helper()
	eventually(t, func(context.Context) error {
		if _, err := os.Stat(path); err == nil {
			return fmt.Errorf("%s exists", path)
		}
		return nil
	})
}
