// Package tfcli runs the real Terraform CLI, cut off from the settings of the user who started it.
package tfcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Dir is a working directory of the CLI: it holds a configuration, and later its state.
type Dir struct {
	path      string
	terraform string
	env       []string
}

// Result is what a command said.
type Result struct {
	Stdout, Stderr string
	ExitCode       int
}

// Path returns the Terraform or OpenTofu to use: TF_ACC_TERRAFORM_PATH, else one from PATH.
func Path() (string, error) {
	if path := os.Getenv("TF_ACC_TERRAFORM_PATH"); path != "" {
		return path, nil
	}
	for _, name := range []string{"terraform", "tofu"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither TF_ACC_TERRAFORM_PATH nor a terraform on PATH: run make test, which builds one")
}

// BuildProvider builds the provider of the module with the given root into a directory.
func BuildProvider(ctx context.Context, root, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "terraform-provider-component"), ".")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the provider: %w\n%s", err, out)
	}
	return nil
}

// New prepares the directory at path for runs of terraform with the provider in providerDir. No
// init is needed: the provider is the only one, and it is taken from where it lies.
func New(path, terraform, providerDir string) (*Dir, error) {
	config := filepath.Join(path, ".terraformrc")
	text := fmt.Sprintf(`provider_installation {
  dev_overrides {
    "kubewave/component" = %q
  }
}
`, providerDir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	env := append(cleanEnvironment(), "TF_CLI_CONFIG_FILE="+config, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1",
		"XDG_CACHE_HOME="+filepath.Join(path, ".cache")) // no run profits from an earlier one
	return &Dir{path: path, terraform: terraform, env: env}, nil
}

// cleanEnvironment returns the environment without what would lead a run to another cluster, or
// to other settings of the CLI.
func cleanEnvironment() []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name != "KUBECONFIG" && !strings.HasPrefix(name, "KUBE_") && !strings.HasPrefix(name, "TF_") {
			env = append(env, entry)
		}
	}
	return env
}

// With returns the same directory for runs that see further environment variables, such as
// "TF_LOG=trace".
func (d *Dir) With(variables ...string) *Dir {
	more := *d
	more.env = append(slices.Clone(d.env), variables...)
	return &more
}

// Run runs one command of the CLI. A command that ends with another exit code than 0 is no error:
// the caller knows which codes it expects.
func (d *Dir) Run(ctx context.Context, args ...string) (Result, error) {
	result, err := d.run(exec.CommandContext(ctx, d.terraform, args...))
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return result, err
}

// RunInterrupted runs one command of the CLI like Run, and interrupts it, as Ctrl-C does, when the
// context ends. The command has some time to end in its own way.
func (d *Dir) RunInterrupted(ctx context.Context, args ...string) (Result, error) {
	cmd := exec.CommandContext(ctx, d.terraform, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = interruptTime
	result, err := d.run(cmd)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return result, err
}

// interruptTime is how long a command that was interrupted may take to end.
const interruptTime = time.Minute

func (d *Dir) run(cmd *exec.Cmd) (Result, error) {
	cmd.Dir, cmd.Env = d.path, d.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	result := Result{Stdout: stdout.String(), Stderr: stderr.String(), ExitCode: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return result, err
}
