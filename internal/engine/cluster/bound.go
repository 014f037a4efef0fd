package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// requestLimit is how long one request other than a watch may take. An API
// server gives up after a minute by itself (its --request-timeout), so that
// only a connection that died unnoticed takes longer.
const requestLimit = 90 * time.Second

// errNoAnswer says that a request was given up after its limit.
var errNoAnswer = errors.New("the API server did not answer")

// boundRequests gives every request but a watch a time limit, those of the
// libraries that read discovery and schemas included.
func boundRequests(config *rest.Config, limit time.Duration) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next: next, limit: limit} })
	return config
}

type bounded struct {
	next  http.RoundTripper
	limit time.Duration
}

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Get("watch") == "true" {
		return b.next.RoundTrip(request)
	}
	ctx, cancel := context.WithTimeout(request.Context(), b.limit)
	response, err := b.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		err = b.explain(ctx, request.Context(), err)
		cancel()
		return nil, err
	}
	response.Body = &boundedBody{ReadCloser: response.Body, cancel: cancel, explain: func(err error) error {
		return b.explain(ctx, request.Context(), err)
	}}
	return response, nil
}

// explain tells the end of the request's own limit from the end of what the
// caller allows.
func (b bounded) explain(own, callers context.Context, err error) error {
	if own.Err() != nil && callers.Err() == nil {
		return fmt.Errorf("%w within %s", errNoAnswer, b.limit)
	}
	return err
}

// boundedBody is an answer that has to be read within the limit, too.
type boundedBody struct {
	io.ReadCloser
	cancel  context.CancelFunc
	explain func(error) error
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.explain(err)
	}
	return n, err
}

func (b *boundedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
