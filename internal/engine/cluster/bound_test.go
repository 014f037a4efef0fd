package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestRequestsAreBounded uses a server that holds its answers back, which a
// real API server cannot be told to do.
func TestRequestsAreBounded(t *testing.T) {
	tests := map[string]struct {
		path string
		// begins sends the head of the answer before the server falls silent.
		begins  bool
		noWait  bool
		bounded bool
	}{
		"no answer at all is given up":                 {path: "/api/v1/namespaces", bounded: true},
		"an answer that stops in the middle, too":      {path: "/api/v1/namespaces", begins: true, bounded: true},
		"a watch may be silent as long as it likes":    {path: "/api/v1/namespaces?watch=true", begins: true},
		"what the caller gives up is not said to hang": {path: "/api/v1/namespaces", noWait: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if test.begins {
					_, _ = w.Write([]byte("{"))
					w.(http.Flusher).Flush()
				}
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}))
			defer server.Close()
			defer close(release)
			const limit = 300 * time.Millisecond
			config := boundRequests(&rest.Config{Host: server.URL}, limit)
			client, err := rest.HTTPClientFor(config)
			if err != nil {
				t.Fatal(err)
			}
			callers := 2 * limit
			if test.noWait {
				callers = limit / 6
			} else if test.bounded {
				callers = time.Minute
			}
			ctx, cancel := context.WithTimeout(t.Context(), callers)
			defer cancel()
			err = read(ctx, client, server.URL+test.path)
			if got := errors.Is(err, errNoAnswer); got != test.bounded {
				t.Errorf("the error is %v", err)
			}
			if test.bounded && (ReasonOf(err) != Unreachable || !strings.Contains(err.Error(), "did not answer within 300ms")) {
				t.Errorf("reason %q, error %v", ReasonOf(err), err)
			}
			if !test.bounded && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func read(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // read only
	_, err = io.ReadAll(response.Body)
	return err
}
