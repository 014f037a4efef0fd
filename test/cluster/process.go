package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// A process is a running component.
type process struct {
	name    string
	logFile string
	cmd     *exec.Cmd
}

// processes are the components of one cluster. They write to log files of their own, end with
// this process, and report their end on exited.
type processes struct {
	logDir  string
	pipe    [2]*os.File // reading and writing end: see endWithParent
	running []*process
	exited  chan *process
}

func newProcesses(logDir string) (*processes, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &processes{logDir: logDir, pipe: [2]*os.File{reader, writer}, exited: make(chan *process)}, nil
}

// start starts this program once more as the component of that name.
func (p *processes) start(name string, args []string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	logFile := filepath.Join(p.logDir, name+".log")
	log, err := os.Create(logFile)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the component has its own descriptor
	cmd := exec.Command(program, append([]string{name}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{p.pipe[0]}
	// A group of its own, so that Ctrl-C in a terminal reaches this process only, which then
	// ends the components: they would otherwise seem to have ended by themselves.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	proc := &process{name: name, logFile: logFile, cmd: cmd}
	p.running = append(p.running, proc)
	go func() {
		_ = cmd.Wait() // the state is read from cmd.ProcessState
		p.exited <- proc
	}()
	return nil
}

// stop kills all components and returns when they are gone. Nothing of them is kept, so there
// is nothing that they could do in an orderly end.
func (p *processes) stop() {
	for _, proc := range p.running {
		_ = proc.cmd.Process.Kill() // fails only for a process that has ended
	}
	for len(p.running) > 0 {
		p.forget(<-p.exited)
	}
	_ = p.pipe[1].Close()
	_ = p.pipe[0].Close()
}

// forget takes a process that has ended from the list of running ones.
func (p *processes) forget(ended *process) {
	for i, proc := range p.running {
		if proc == ended {
			p.running = append(p.running[:i], p.running[i+1:]...)
			return
		}
	}
}

// endError describes the end of a component that nobody asked to end.
func (p *processes) endError(ended *process) error {
	p.forget(ended)
	return fmt.Errorf("%s ended: %s; its last log lines:\n%s",
		ended.name, ended.cmd.ProcessState, lastLines(ended.logFile, 15))
}

// lastLines returns the end of a text file, indented.
func lastLines(file string, count int) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return "  " + err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	lines = lines[max(0, len(lines)-count):]
	return "  " + strings.Join(lines, "\n  ")
}
