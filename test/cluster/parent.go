package main

import (
	"context"
	"io"
	"os"
	"time"
)

// untilParentEnds returns a context that is cancelled when the process that started this one
// has ended, however it ended. The kernel then gives this process another parent. The signal
// that Linux can send instead (PR_SET_PDEATHSIG) comes too early: it is sent when the parent's
// thread ends, and a Go program ends threads while it runs.
func untilParentEnds(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	parent := os.Getppid()
	go func() {
		defer cancel()
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for os.Getppid() == parent {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return ctx
}

// parentPipe is the descriptor at which a component finds the pipe that startProcess gave it.
const parentPipe = 3

// endWithParent ends this process when the one that started it has ended, even by SIGKILL: that
// one alone holds the writing end of the pipe, never writes, and the kernel closes it.
func endWithParent() {
	pipe := os.NewFile(parentPipe, "parent")
	go func() {
		_, _ = io.Copy(io.Discard, pipe)
		os.Exit(1)
	}()
}
