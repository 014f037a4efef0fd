package e2e

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// componentCount is how many processes a cluster has beside its own: API server, controller
// manager, scheduler, kubelet.
const componentCount = 4

func TestVersionIsThatOfTheServer(t *testing.T) {
	output, err := exec.Command(binary(), "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	version, err := sharedCluster(t).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if want := "cluster (Kubernetes " + version.GitVersion + ", kwok v"; !strings.HasPrefix(string(output), want) {
		t.Errorf("got %q, want it to start with %q", output, want)
	}
	if !strings.HasPrefix(version.GitVersion, "v"+version.Major+"."+version.Minor+".") {
		t.Errorf("%s is not %s.%s", version.GitVersion, version.Major, version.Minor)
	}
}

func TestHelpNamesFlagsAndAnnotations(t *testing.T) {
	for arg, words := range map[string][]string{
		"--help": {"cluster start", "cluster.test/fail", "cluster.test/ready-after"},
		"start":  {"-dir", "-kubeconfig", "-detached", "-timeout"},
	} {
		output, err := exec.Command(binary(), arg, "--help").CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range words {
			if !strings.Contains(string(output), word) {
				t.Errorf("cluster %s --help does not mention %s:\n%s", arg, word, output)
			}
		}
	}
}

func TestMistakesInTheCommandLineAreNamed(t *testing.T) {
	for mistake, args := range map[string][]string{
		"stop": {"stop"}, "-directory": {"start", "--directory", "x"}, `"x"`: {"start", "x"},
	} {
		output, err := exec.Command(binary(), args...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("cluster %s: got %v, want exit code 2", args, err)
		}
		if !strings.Contains(string(output), mistake) {
			t.Errorf("cluster %s: got %q, want it to name %s", args, output, mistake)
		}
	}
}

func TestTwoClustersAreApart(t *testing.T) {
	one, other := sharedCluster(t), ownCluster(t)
	name := one.namespace(t)
	if _, err := other.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want not found: the namespace is in the other cluster", err)
	}
	uid := func(c *cluster) string {
		system, err := c.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(system.UID)
	}
	if uid(one) == uid(other) {
		t.Error("both clusters have the same identity")
	}
}

func TestNothingIsLeftAfterSIGTERM(t *testing.T) {
	c := ownCluster(t)
	components := descendants(t, c.cmd.Process.Pid)
	if len(components) != componentCount {
		t.Fatalf("got %d processes, want %d", len(components), componentCount)
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("got %v, want exit code 0: %s", err, c.stderr)
	}
	awaitGone(t, components...)
	awaitMissing(t, filepath.Dir(c.kubeconfig))
}

func TestDirectoryAndKubeconfigAreTheGivenOnes(t *testing.T) {
	dir, kubeconfig := filepath.Join(t.TempDir(), "a", "b"), filepath.Join(t.TempDir(), "config")
	for range 2 { // the second cluster finds what the first one left
		c := ownCluster(t, "--dir", dir, "--kubeconfig", kubeconfig)
		if c.kubeconfig != kubeconfig {
			t.Errorf("got kubeconfig %s, want %s", c.kubeconfig, kubeconfig)
		}
		// Fails for the second cluster if it has the data of the first.
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
		if _, err := c.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := c.cmd.Wait(); err != nil {
			t.Error(err)
		}
		awaitMissing(t, kubeconfig)
		for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"} {
			if _, err := os.Stat(filepath.Join(dir, "logs", name+".log")); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestComponentsEndWithTheProgram(t *testing.T) {
	c := ownCluster(t, "--dir", t.TempDir()) // after SIGKILL nobody removes a temporary one
	components := descendants(t, c.cmd.Process.Pid)
	kill(t, c.cmd)
	awaitGone(t, components...)
}

func TestEndOfAComponentIsReported(t *testing.T) {
	c := ownCluster(t)
	scheduler := 0
	for _, pid := range descendants(t, c.cmd.Process.Pid) {
		command, err := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(command), " kube-scheduler ") {
			scheduler = pid
		}
	}
	if err := syscall.Kill(scheduler, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("got %v, want exit code 1", err)
	}
	for _, want := range []string{"kube-scheduler ended: signal: killed", "Starting Kubernetes Scheduler"} {
		if !strings.Contains(c.stderr.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, c.stderr)
		}
	}
}

func TestClusterEndsWithItsParent(t *testing.T) {
	shell, cluster, dir := startInShell(t)
	components := descendants(t, cluster)
	kill(t, shell)
	awaitGone(t, append(components, cluster)...)
	awaitMissing(t, dir)
}

func TestDetachedClusterGoesOn(t *testing.T) {
	shell, cluster, dir := startInShell(t, "--detached")
	kill(t, shell)
	// As long as another one needs to start, it would have had time to end.
	ownCluster(t)
	if err := syscall.Kill(cluster, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	awaitMissing(t, dir)
}

// startInShell starts a cluster as a child of a shell and returns, when it is ready, the shell,
// the process of the cluster and its directory.
func startInShell(t *testing.T, args ...string) (shell *exec.Cmd, cluster int, dir string) {
	t.Helper()
	shell = exec.Command("sh", append([]string{"-c", `"$0" start "$@" & echo "PID=$!"; wait`, binary()}, args...)...)
	stdout, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != "ready"; {
		if text, ok := strings.CutPrefix(lines.Text(), "PID="); ok {
			if cluster, err = strconv.Atoi(text); err != nil {
				t.Fatal(err)
			}
		}
		if path, ok := strings.CutPrefix(lines.Text(), "KUBECONFIG="); ok {
			dir = filepath.Dir(path)
		}
	}
	if dir == "" {
		t.Fatal("the cluster did not become ready")
	}
	return shell, cluster, dir
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
}
