package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// backoff is the pace of retries: from 0.1 s, doubling, up to 5 s.
func backoff() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 8, Cap: 5 * time.Second}
}

// retryable says which errors a repetition can heal (semantics.md, section 6).
// An unreachable server is one only as long as a few repetitions take: a wrong
// address must be reported in seconds, and one that swallows requests in
// minutes.
func retryable(err error, attempt int) bool {
	switch ReasonOf(err) {
	case Transient:
		return true
	case Unreachable:
		return attempt < 4 && !errors.Is(err, errNoAnswer) || attempt < 2
	default:
		return false
	}
}

// retry repeats a request while the fault is one that a repetition can heal,
// and returns the last answer. It honours Retry-After. Requests whose
// repetition would not be safe carry preconditions.
func retry[T any](ctx context.Context, request func() (T, error)) (T, error) {
	pace := backoff()
	for attempt := 1; ; attempt++ {
		answer, err := request()
		if err == nil || pace.Steps == 0 || !retryable(err, attempt) {
			return answer, err
		}
		pause := pace.Step()
		if after, ok := retryAfter(err); ok {
			pause = after
		}
		select {
		case <-ctx.Done():
			return answer, errors.Join(err, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

func retryAfter(err error) (time.Duration, bool) {
	seconds, ok := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second, ok
}

// Eventually repeats a request while its error has one of the given reasons,
// until the context ends: a kind that a new CRD brings is not served at once.
func Eventually[T any](ctx context.Context, request func() (T, error), reasons ...Reason) (T, error) {
	pace := backoff()
	pace.Steps = 1 << 20
	for {
		answer, err := request()
		if err == nil || !slices.Contains(reasons, ReasonOf(err)) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(min(pace.Step(), time.Second)):
		}
	}
}
