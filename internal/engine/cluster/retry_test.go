package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// answers is a server that gives its answers one after the other, the last
// one for ever. It stands in for an API server here only: the assertions are
// about how often a request is repeated and when, and a real server cannot be
// told to fail exactly twice.
type answers struct {
	steps    []func(http.ResponseWriter)
	requests atomic.Int32
}

func (a *answers) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	n := int(a.requests.Add(1)) - 1
	a.steps[min(n, len(a.steps)-1)](w)
}

func (a *answers) connect(t *testing.T) *Cluster {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return connect(t, &rest.Config{Host: server.URL, QPS: -1})
}

// found is the answer of a server that has the object.
func found(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`)) // the client would see it
}

// failed answers with a Status.
func failed(code int32, reason metav1.StatusReason, message string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(code))
		status := metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		}
		_ = json.NewEncoder(w).Encode(status) // the client would see it
	}
}

// plain answers without a Status, as a proxy or an overloaded server does.
func plain(code int, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		http.Error(w, "sorry", code)
	}
}

// dropped breaks the connection off.
func dropped(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = connection.Close() // that is the point
	}
}

func TestWhatIsRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []func(http.ResponseWriter)
		// requests is how many are made, reason that of the last answer; none when it succeeds.
		requests int32
		reason   Reason
	}{
		"too many requests, without a time": {[]func(http.ResponseWriter){plain(429), plain(429), found}, 3, ""},
		"a 500 with a reason":               {[]func(http.ResponseWriter){failed(500, metav1.StatusReasonInternalError, "etcd"), found}, 2, ""},
		"a change of the etcd leader":       {[]func(http.ResponseWriter){failed(500, "", "etcdserver: leader changed"), found}, 2, ""},
		"service unavailable":               {[]func(http.ResponseWriter){plain(503), found}, 2, ""},
		"a gateway in between":              {[]func(http.ResponseWriter){plain(502), plain(504), found}, 3, ""},
		"a connection that breaks":          {[]func(http.ResponseWriter){dropped, dropped, found}, 3, ""},
		"a connection that always breaks":   {[]func(http.ResponseWriter){dropped}, 4, Unreachable},
		"a 500 without a reason":            {[]func(http.ResponseWriter){failed(500, "", "failed to create typed patch object")}, 1, Invalid},
		"an invalid object":                 {[]func(http.ResponseWriter){failed(422, metav1.StatusReasonInvalid, "no")}, 1, Invalid},
		"a conflict":                        {[]func(http.ResponseWriter){failed(409, metav1.StatusReasonConflict, "no")}, 1, Conflict},
		"a missing right":                   {[]func(http.ResponseWriter){failed(403, metav1.StatusReasonForbidden, `User "x" cannot get`)}, 1, Forbidden},
		"wrong credentials":                 {[]func(http.ResponseWriter){failed(401, metav1.StatusReasonUnauthorized, "Unauthorized")}, 1, Unauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &answers{steps: c.steps}
			// A write: client-go itself repeats some reads.
			obj := testObject()
			_, err := server.connect(t).Apply(t.Context(), configMaps, obj, Persist)
			if got := server.requests.Load(); got != c.requests {
				t.Errorf("made %d requests, want %d", got, c.requests)
			}
			if c.reason == "" && err != nil || c.reason != "" && ReasonOf(err) != c.reason {
				t.Errorf("got %v (%v), want %q", err, ReasonOf(err), c.reason)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	server := &answers{steps: []func(http.ResponseWriter){plain(429, "Retry-After", "1"), plain(503, "Retry-After", "1"), found}}
	start := time.Now()
	if _, err := server.connect(t).Apply(t.Context(), configMaps, testObject(), Persist); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 2*time.Second {
		t.Errorf("came back after %v; the server asked for two pauses of a second", took)
	}
	if got := server.requests.Load(); got != 3 {
		t.Errorf("made %d requests, want 3", got)
	}
}

func TestRetryAfterOfAStatusIsHonoured(t *testing.T) {
	t.Parallel()
	busy := apierrors.NewTooManyRequests("busy", 1)
	calls := 0
	start := time.Now()
	_, err := retry(t.Context(), func() (struct{}, error) {
		if calls++; calls == 1 {
			return struct{}{}, busy
		}
		return struct{}{}, nil
	})
	if took := time.Since(start); err != nil || took < time.Second {
		t.Errorf("got %v after %v, want a pause of a second", err, took)
	}
}

func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	calls := 0
	start := time.Now()
	_, err := retry(t.Context(), func() (struct{}, error) {
		calls++
		return struct{}{}, apierrors.NewInternalError(errors.New("always"))
	})
	if took := time.Since(start); ReasonOf(err) != Transient || took > 30*time.Second || calls < 4 {
		t.Errorf("got %v after %v and %d requests", err, took, calls)
	}
}

func TestRetriesEndWithTheContext(t *testing.T) {
	t.Parallel()
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	start := time.Now()
	_, err := retry(ctx, func() (struct{}, error) {
		cancel(why)
		return struct{}{}, apierrors.NewTooManyRequests("busy", 60)
	})
	if took := time.Since(start); took > time.Second {
		t.Errorf("waited %v after the context had ended", took)
	}
	if !errors.Is(err, why) || ReasonOf(err) != Transient {
		t.Errorf("got %v, want what the server said and why it was not asked again", err)
	}
}

func TestEventually(t *testing.T) {
	t.Parallel()
	missing := &NotServedError{GVK: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Widget"}}
	for name, c := range map[string]struct {
		answers []error
		calls   int
		want    error
	}{
		"until it succeeds":      {[]error{missing, missing, nil}, 3, nil},
		"until another error":    {[]error{missing, apierrors.NewForbidden(schema.GroupResource{}, "x", nil), nil}, 2, apierrors.NewForbidden(schema.GroupResource{}, "x", nil)},
		"not when it need not":   {[]error{nil}, 1, nil},
		"until the context ends": {[]error{missing}, 0, missing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			calls := 0
			_, err := Eventually(ctx, func() (struct{}, error) {
				calls++
				return struct{}{}, c.answers[min(calls, len(c.answers))-1]
			}, NotServed)
			if ReasonOf(err) != ReasonOf(c.want) || c.calls > 0 && calls != c.calls {
				t.Errorf("got %v after %d calls, want %v after %d", err, calls, c.want, c.calls)
			}
		})
	}
}
