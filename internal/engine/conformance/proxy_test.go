package conformance

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// proxy stands between the engine and the API server and knows what the engine
// asks for.
type proxy struct {
	url string

	mu     sync.Mutex
	writes []string
}

func startProxy(t *testing.T, config *rest.Config) *proxy {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{}
	reverse := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		// A watch that its reader leaves is no news.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.note(r)
		reverse.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	p.url = server.URL
	return p
}

// note remembers requests that change an object. Records and events are the
// provider's own book-keeping.
func (p *proxy) note(r *http.Request) {
	bookkeeping := strings.Contains(r.URL.Path, "/secrets/component.") || strings.HasSuffix(r.URL.Path, "/events") ||
		strings.HasPrefix(r.URL.Path, "/apis/authorization.k8s.io/")
	if r.Method == http.MethodGet || r.URL.Query().Has("dryRun") || bookkeeping {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, r.Method+" "+r.URL.Path)
}

// since returns the writes after the first n.
func (p *proxy) since(n int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.writes[n:]...)
}
