package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/testcluster"
)

// roundTripper is a function that answers HTTP requests.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// connect connects to the test cluster. wrap, if any, sees every request.
func connect(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper) *cluster.Cluster {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", testcluster.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	if wrap != nil {
		config.Wrap(wrap)
	}
	c, err := cluster.New(config, "terraform-provider-component")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var namespaces = cluster.Type{
	GVK:      corev1.SchemeGroupVersion.WithKind("Namespace"),
	Resource: corev1.SchemeGroupVersion.WithResource("namespaces"),
}

// namespace makes a namespace for one test.
func namespace(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	ns := &unstructured.Unstructured{}
	ns.SetGroupVersionKind(namespaces.GVK)
	ns.SetName(fmt.Sprintf("record-%08x", rand.Uint32()))
	if _, err := c.Create(t.Context(), namespaces, ns, cluster.Persist); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), namespaces, "", ns.GetName(), ""); err != nil {
			t.Error(err)
		}
	})
	return ns.GetName()
}

// secretsIn lists what a test has in its namespace.
func secretsIn(t *testing.T, c *cluster.Cluster, ns string) []unstructured.Unstructured {
	t.Helper()
	list, err := c.List(t.Context(), secrets, ns, "")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func names(list []unstructured.Unstructured) []string {
	var all []string
	for i := range list {
		all = append(all, list[i].GetName())
	}
	slices.Sort(all)
	return all
}

// full is a record with every field set.
func full(ns string) *Record {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	purge := 3
	return &Record{
		Schema: SchemaVersion, Namespace: ns, Name: "web", OwnerID: "terraform-provider-component/uid/" + ns + "/web",
		Instance: "3f1c", Holder: "host, process 1", Phase: Processing, Reason: "Applying", Revision: 7, Installed: true, Install: true, Updated: at,
		Artifact: Artifact{URL: "files", Digest: "sha256:00", Revision: "1.2.3"},
		Inputs:   map[string]any{"update_policy": "SsaOverride", "values": map[string]any{"replicas": 2.0}},
		Key:      []byte{0, 1, 2, 255},
		Leaves:   map[string]map[string]Leaf{"Secret/" + ns + "/s": {"/data/a~1b": {Version: 2, Hash: "h"}}},
		Intended: map[string]string{"Secret/" + ns + "/s": "d"},
		Inventory: []Item{{
			Key: "Secret/" + ns + "/s", ID: object.ID{Kind: "Secret", Namespace: ns, Name: "s"}, APIVersion: "v1", Namespaced: true,
			ApplyOrder: -1, DeleteOrder: 1, PurgeOrder: &purge, DeletePolicy: "Orphan", DeleteExplicit: true, Managed: true, Adopted: true,
			Digest: "__once__", Phase: ItemReady, LastApplied: at, Planned: `{"kind":"Secret"}`, Live: "hash", Folded: map[string]string{"/data/long": "h"},
		}, {
			Key: "ClusterRole.rbac.authorization.k8s.io/r", ID: object.ID{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "r"},
			APIVersion: "rbac.authorization.k8s.io/v1", DeletePolicy: "Delete", Phase: Scheduled,
		}},
		ProviderVersion: "1.0.0",
	}
}

// large is a record whose content, compressed, has about the given size.
func large(ns string, size int) *Record {
	noise := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(rand.Uint32())})
	_, _ = source.Read(noise) // never fails
	rec := full(ns)
	rec.Inventory[0].Planned = base64.StdEncoding.EncodeToString(noise)
	return rec
}

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := namespace(t, c)
	want := full(ns)
	if err := NewStore(c, ns, "web").Save(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	store := NewStore(c, ns, "web")
	got, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	want.Phase, want.Inventory = Ready, want.Inventory[:1]
	if err := store.Save(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if got, err = NewStore(c, ns, "web").Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecordCanBeFoundByItsLabels(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := namespace(t, c)
	rec := full(ns)
	if err := NewStore(c, ns, "web").Save(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	list := secretsIn(t, c, ns)
	if diff := cmp.Diff([]string{"component.web"}, names(list)); diff != "" {
		t.Fatal(diff)
	}
	secret := list[0]
	if got := secret.GetLabels()["app.kubernetes.io/managed-by"]; got != "terraform-provider-component" {
		t.Errorf("managed by %q", got)
	}
	if !IsRecord(&secret) || !BelongsTo(secret.GetLabels(), rec.OwnerID) || BelongsTo(secret.GetLabels(), rec.OwnerID+"x") {
		t.Errorf("it does not know what it is: %v", secret.Object)
	}
}

func TestNoRecord(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := namespace(t, c)
	for name, store := range map[string]*Store{
		"no Secret":    NewStore(c, ns, "web"),
		"no namespace": NewStore(c, ns+"-none", "web"),
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := store.Load(t.Context())
			if rec != nil || err != nil {
				t.Errorf("got %v, %v, want nothing", rec, err)
			}
			if err := store.Delete(t.Context()); err != nil {
				t.Errorf("a record that is gone is deleted already: %v", err)
			}
		})
	}
}

// maxSecret is how long the JSON of a Secret may be: API servers and their
// stores have limits not far above it.
const maxSecret = 1_000_000

func TestLargeRecordIsSplit(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := namespace(t, c)
	store := NewStore(c, ns, "web")
	sizes := []struct{ size, secrets int }{
		{1_500_000, 3},
		{600_000, 1},
		{700_000, 2},
		{10, 1},
	}
	for _, step := range sizes {
		want := large(ns, step.size)
		if err := store.Save(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		list := secretsIn(t, c, ns)
		if len(list) != step.secrets {
			t.Errorf("%d bytes are in %v, want %d Secrets", step.size, names(list), step.secrets)
		}
		for i := range list {
			text, err := json.Marshal(list[i].Object)
			if err != nil {
				t.Fatal(err)
			}
			if len(text) > maxSecret {
				t.Errorf("%s has %d bytes, more than %d", list[i].GetName(), len(text), maxSecret)
			}
			if !IsRecord(&list[i]) || !BelongsTo(list[i].GetLabels(), want.OwnerID) {
				t.Errorf("%s does not say what it is: %v", list[i].GetName(), list[i].GetLabels())
			}
		}
		got, err := NewStore(c, ns, "web").Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the record is another one after it was split (%d bytes)", step.size)
		}
	}
	if err := store.Save(t.Context(), large(ns, 700_000)); err != nil {
		t.Fatal(err)
	}
	other := NewStore(c, ns, "web")
	if _, err := other.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := other.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := names(secretsIn(t, c, ns)); len(left) > 0 {
		t.Errorf("left after the deletion: %v", left)
	}
}

func TestSplitRecordIsSavedAgainUnchanged(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := namespace(t, c)
	store, rec := NewStore(c, ns, "web"), large(ns, 700_000)
	for range 2 {
		if err := store.Save(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := NewStore(c, ns, "web").Load(t.Context()); err != nil || got == nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWriteFailsWhenSomebodyElseWrote(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 10, "split": 700_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, nil)
			ns := namespace(t, c)
			if err := NewStore(c, ns, "web").Save(t.Context(), full(ns)); err != nil {
				t.Fatal(err)
			}
			first, second := NewStore(c, ns, "web"), NewStore(c, ns, "web")
			for _, store := range []*Store{first, second} {
				if _, err := store.Load(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			want := large(ns, size)
			if err := first.Save(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			before := names(secretsIn(t, c, ns))
			for name, store := range map[string]*Store{
				"the one that read an older record": second,
				"the one that saw none":             NewStore(c, ns, "web"),
			} {
				err := store.Save(t.Context(), large(ns, size))
				if got := cluster.ReasonOf(err); got != cluster.Conflict {
					t.Errorf("%s: got %v (%v), want a conflict", name, got, err)
				}
			}
			if diff := cmp.Diff(before, names(secretsIn(t, c, ns))); diff != "" {
				t.Errorf("the refused writes left something:\n%s", diff)
			}
			got, err := NewStore(c, ns, "web").Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error("the record is not that of the first writer")
			}
		})
	}
}

// The answer of a write is lost after the write took effect; its repetition
// finds what it wrote itself.
func TestLostAnswerOfAWriteIsNoConflict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		size   int
	}{
		"first write":         {http.MethodPost, 10},
		"later write":         {http.MethodPut, 10},
		"later, split record": {http.MethodPut, 700_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var armed atomic.Bool
			conn := connect(t, func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(req *http.Request) (*http.Response, error) {
					resp, err := next.RoundTrip(req)
					if err == nil && req.Method == c.method && armed.CompareAndSwap(true, false) {
						_ = resp.Body.Close() // nobody reads it
						return nil, syscall.ECONNRESET
					}
					return resp, err
				})
			})
			ns := namespace(t, conn)
			store, rec := NewStore(conn, ns, "web"), full(ns)
			if c.method == http.MethodPut {
				if err := store.Save(t.Context(), rec); err != nil {
					t.Fatal(err)
				}
			}
			want := large(ns, c.size)
			armed.Store(true)
			if err := store.Save(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			if armed.Load() {
				t.Fatal("no answer was lost")
			}
			want.Phase = Ready
			if err := store.Save(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			got, err := NewStore(conn, ns, "web").Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error("the record is another one")
			}
		})
	}
}

// stored writes a Secret as somebody who damages it would.
func stored(t *testing.T, c *cluster.Cluster, ns string, data map[string][]byte) {
	t.Helper()
	secret := NewStore(c, ns, "web").secret(SecretName("web"), full(ns), nil)
	for key, content := range data {
		setData(secret, key, content)
	}
	if _, err := c.Create(t.Context(), secrets, secret, cluster.Persist); err != nil {
		t.Fatal(err)
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := io.WriteString(writer, text); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRecordThatCannotBeReadIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	good := zipped(t, `{"schema": 1, "key": "c2VjcmV0"}`)
	for name, step := range map[string]struct {
		data map[string][]byte
		want []string
	}{
		"empty":            {map[string][]byte{}, []string{"cannot be read", "delete it"}},
		"not compressed":   {map[string][]byte{"record": []byte(`{"schema": 1}`)}, []string{"cannot be read", "delete it"}},
		"cut off":          {map[string][]byte{"record": good[:len(good)-9]}, []string{"cannot be read", "delete it"}},
		"not JSON":         {map[string][]byte{"record": zipped(t, `key: c2VjcmV0`)}, []string{"cannot be read", "not what a provider writes"}},
		"other JSON":       {map[string][]byte{"record": zipped(t, `{"inventory": "c2VjcmV0"}`)}, []string{"cannot be read", "not what a provider writes"}},
		"a chunk is gone":  {map[string][]byte{"record": good, "chunks": []byte("component.web--00-1")}, []string{"cannot be read", "component.web--00-1"}},
		"a later provider": {map[string][]byte{"record": zipped(t, `{"schema": 2, "providerVersion": "9.8.7"}`)}, []string{"later version", "9.8.7"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := namespace(t, c)
			stored(t, c, ns, step.data)
			rec, err := NewStore(c, ns, "web").Load(t.Context())
			if err == nil {
				t.Fatalf("got %v", rec)
			}
			for _, part := range append(step.want, "Secret/"+ns+"/component.web") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "c2VjcmV0") {
				t.Errorf("%q quotes the content", err)
			}
			if reason := cluster.ReasonOf(err); reason == cluster.NotFound {
				t.Errorf("%v counts as no record", err)
			}
		})
	}
}

func TestItemsAreFoundByIdentityAndKey(t *testing.T) {
	rec := full("app")
	item := rec.Find(object.ID{Kind: "Secret", Namespace: "app", Name: "s"})
	if item == nil || item != rec.Keys()["Secret/app/s"] {
		t.Errorf("got %v", item)
	}
	if got := rec.Find(object.ID{Kind: "Secret", Namespace: "other", Name: "s"}); got != nil {
		t.Errorf("got %v, want nothing", got)
	}
}
