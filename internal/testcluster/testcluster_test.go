package testcluster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestKubeconfigIsTheOneThatIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// In a process of its own, because a process asks only once.
	got := runSelf(t, "print-kubeconfig", KubeconfigEnv+"="+path)
	if got.err != nil || strings.TrimSpace(got.output) != path {
		t.Errorf("got %q (%v), want %q", got.output, got.err, path)
	}
}

func TestKubeconfigThatIsNamedMustExist(t *testing.T) {
	_, err := os.Stat("missing")
	got := runSelf(t, "print-kubeconfig", KubeconfigEnv+"=missing")
	if got.err == nil || !strings.Contains(got.output, err.Error()) {
		t.Errorf("got %q (%v), want an error that says %q", got.output, got.err, err)
	}
}

func TestMissingBinaryIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module github.com/kubewave/terraform-provider-component\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(BinaryEnv, "")
	t.Chdir(dir)
	_, err := binary()
	if err == nil || !strings.Contains(err.Error(), "run `make cluster` first") {
		t.Errorf("got %v, want advice to run make cluster", err)
	}
}

func TestClusterEndsWithItsProcess(t *testing.T) {
	got := runSelf(t, "print-kubeconfig", KubeconfigEnv+"=")
	if got.err != nil {
		t.Fatalf("%v: %s", got.err, got.output)
	}
	// It writes the kubeconfig into a folder that goes away with the cluster.
	awaitMissing(t, filepath.Dir(strings.TrimSpace(got.output)))
}

func TestStartedClustersAreApart(t *testing.T) {
	var one, other string
	t.Run("both run", func(t *testing.T) {
		one, other = Start(t), Start(t)
		for _, path := range []string{one, other} {
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		}
		if one == other {
			t.Error("both have the same kubeconfig")
		}
	})
	for _, path := range []string{one, other} {
		if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left (%v)", filepath.Dir(path), err)
		}
	}
}

// TestMain makes the test program print its kubeconfig when it is run by runSelf.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "print-kubeconfig" {
		path, err := shared()
		if err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString(path)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type result struct {
	output string
	err    error
}

// runSelf runs this test program in a process of its own.
func runSelf(t *testing.T, arg string, env ...string) result {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, arg)
	cmd.Env = append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	return result{string(output), err}
}

func awaitMissing(t *testing.T, path string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s is still there", path)
		}
	}
}
