package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubewave/terraform-provider-component/test/live"
)

// requests counts requests by what they ask for, such as "LIST configmaps".
type requests map[string]int

func (r requests) total() int {
	sum := 0
	for _, n := range r {
		sum += n
	}
	return sum
}

// print prints the most frequent requests.
func (r requests) print(w io.Writer, limit int) {
	names := slices.SortedFunc(maps.Keys(r), func(a, b string) int {
		return cmp.Or(cmp.Compare(r[b], r[a]), cmp.Compare(a, b))
	})
	for _, name := range names[:min(limit, len(names))] {
		_, _ = fmt.Fprintf(w, "  %5d  %s\n", r[name], name)
	}
	if len(names) > limit {
		_, _ = fmt.Fprintf(w, "         and %d more\n", len(names)-limit)
	}
}

// A proxy stands before the API server and counts what passes. It signs in with the credentials of
// the kubeconfig it was started with; who comes through it needs none.
type proxy struct {
	kubeconfig string
	server     *http.Server

	mu      sync.Mutex
	counted requests
}

// startProxy starts a proxy, and writes a kubeconfig that leads through it.
func startProxy(kubeconfig, newKubeconfig string) (*proxy, error) {
	config, err := live.Config(kubeconfig)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{kubeconfig: newKubeconfig, counted: requests{}}
	forward := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport,
	}
	p.server = &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.count(r)
			forward.ServeHTTP(w, r)
		}),
	}
	go func() { _ = p.server.Serve(listener) }() // ends with ErrServerClosed
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: proxy, cluster: {server: "http://%s"}}]
contexts: [{name: proxy, context: {cluster: proxy, user: proxy}}]
users: [{name: proxy, user: {}}]
current-context: proxy
`, listener.Addr())
	return p, os.WriteFile(newKubeconfig, []byte(text), 0o600)
}

func (p *proxy) close() {
	_ = p.server.Close()
}

func (p *proxy) count(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counted[describe(r)]++
}

// reset returns what was counted since the last reset.
func (p *proxy) reset() requests {
	p.mu.Lock()
	defer p.mu.Unlock()
	counted := p.counted
	p.counted = requests{}
	return counted
}

// describe names a request as Kubernetes does: the verb and the type, or the path if it asks for
// none.
func describe(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return r.Method + " " + r.URL.Path
	}
	if len(parts) >= 3 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	verb := r.Method
	if verb == http.MethodGet && len(parts) == 1 {
		verb = "LIST"
		if r.URL.Query().Get("watch") != "" {
			verb = "WATCH"
		}
	}
	if r.URL.Query().Get("dryRun") != "" {
		verb += " (dry-run)"
	}
	return verb + " " + parts[0]
}
