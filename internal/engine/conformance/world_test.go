package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubewave/terraform-provider-component/internal/engine"
	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/testcluster"
)

// patience is how long a story waits for what must come.
const patience = time.Minute

// world is the place of one story in the cluster.
type world struct {
	t         *testing.T
	namespace string
	engine    *engine.Engine
	proxy     *proxy
	// client is that of somebody else.
	client  dynamic.Interface
	records *cluster.Cluster
	log     *eventLog

	mu         sync.Mutex
	components map[string]*component
	// seen are the objects at the end of the step before.
	seen map[string]snapshot
}

func newWorld(t *testing.T, name string) *world {
	t.Helper()
	config := restConfig(t)
	w := &world{t: t, namespace: fmt.Sprintf("%s-%06x", name[:min(len(name), 40)], rand.Uint32()&0xffffff), components: map[string]*component{}}
	w.proxy = startProxy(t, config)
	w.engine = newEngine(t, w.proxy.url)
	var err error
	if w.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if w.records, err = cluster.New(config, "conformance"); err != nil {
		t.Fatal(err)
	}
	if err := w.do(t.Context(), action{Create: "{apiVersion: v1, kind: Namespace, metadata: {name: " + w.namespace + "}}"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.removeTypes)
	w.log = watchAll(t.Context(), w)
	return w
}

func restConfig(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", testcluster.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	return config
}

// newEngine makes an engine with the settings that the provider has by default.
func newEngine(t *testing.T, url string) *engine.Engine {
	t.Helper()
	e, err := engine.New(cluster.Config{Connection: cluster.Connection{Host: url}}, engine.Options{
		ReclaimedFieldManagers: []string{"kubectl"},
		AdoptedFieldManagers:   []string{"helm", "Terraform", "kustomize-controller", "argocd-controller"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// group is the API group that only this story has.
func (w *world) group() string { return w.namespace + ".example" }

// names puts the names of this world into a story.
func (w *world) names() *strings.Replacer {
	return strings.NewReplacer("NAMESPACE", w.namespace, "GROUP", w.group())
}

// removeTypes takes the API group out of the cluster, which others share.
func (w *world) removeTypes() {
	ctx := context.WithoutCancel(w.t.Context())
	list, err := w.client.Resource(crds.resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Error(err)
		return
	}
	for i := range list.Items {
		if !w.isOwn(&list.Items[i]) {
			continue
		}
		err := w.client.Resource(crds.resource).Delete(ctx, list.Items[i].GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			w.t.Error(err)
		}
	}
}

// eventually asks until a condition holds or an error comes.
func eventually(ctx context.Context, limit time.Duration, what string, condition func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := condition(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("waited %v in vain: %s", limit, what), context.Cause(ctx))
		case <-tick.C:
		}
	}
}
