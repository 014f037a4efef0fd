package engine

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// Refreshed is what a component looks like in the cluster.
type Refreshed struct {
	// Gone: neither record nor object exists.
	Gone     bool
	Objects  map[string]string
	Status   string
	Revision int64
	Artifact Artifact
	Memory   Memory
	Warnings []Warning
}

// Refresh reads a component. Objects that are as they were applied keep the
// text that was planned; those that drifted show the live value of the fields
// that differ. It changes nothing. Anything but an answer is an error, never
// "gone".
func (e *Engine) Refresh(ctx context.Context, id Identity, prior Prior) (*Refreshed, error) {
	owner, clusterID, err := e.owner(ctx, id.Namespace, id.Name)
	if err != nil {
		return nil, err
	}
	if prior.Memory.ClusterID != "" && prior.Memory.ClusterID != clusterID {
		return nil, componentErrorf("The cluster is another one",
			"component %s/%s was applied to the cluster with id %s; the provider now points to the cluster with id %s. Nothing was changed. Point the provider to the former cluster, or remove the resource from state with terraform state rm",
			id.Namespace, id.Name, prior.Memory.ClusterID, clusterID)
	}
	rec, err := e.store(id.Namespace, id.Name).Load(ctx)
	if err != nil {
		return nil, e.connectionError(err)
	}
	lost := rec == nil
	if lost {
		rec = recordFromMemory(id, owner, prior)
	}
	capabilities, err := e.capabilitiesFor(ctx, rec)
	if err != nil {
		return nil, err
	}
	r := &refresher{e: e, owner: owner, record: rec, renewed: prior.Memory.Live}
	objects, hashes, err := r.objects(ctx)
	if err != nil {
		return nil, err
	}
	if lost && len(objects) == 0 {
		return &Refreshed{Gone: true}, nil
	}
	refreshed := &Refreshed{
		Objects: objects, Status: statusOf(rec), Revision: rec.Revision,
		Artifact: Artifact(rec.Artifact), Memory: memoryOf(rec, clusterID),
	}
	refreshed.Memory.Live, refreshed.Memory.Capabilities, refreshed.Memory.Lost = hashes, capabilities, lost
	if lost {
		refreshed.Status, refreshed.Artifact = prior.Status, prior.Artifact
		refreshed.Memory = prior.Memory
		refreshed.Memory.Lost = true
		refreshed.Warnings = []Warning{{
			Title: fmt.Sprintf("The record of component %s/%s is gone", id.Namespace, id.Name),
			Lines: []string{fmt.Sprintf("Secret/%s/%s does not exist any more. The next apply writes it anew.", id.Namespace, record.SecretName(id.Name))},
		}}
	}
	return refreshed, nil
}

// capabilitiesFor reads what the cluster offers where a later plan may depend
// on it. Others would only see private state change with every new type.
func (e *Engine) capabilitiesFor(ctx context.Context, rec *record.Record) (Capabilities, error) {
	if !rec.Chart {
		return Capabilities{}, nil
	}
	return e.capabilities(ctx)
}

// statusOf is the status attribute for a record.
func statusOf(rec *record.Record) string {
	if rec.Reason == reasonInterrupted || rec.Reason == StatusSuspended {
		return rec.Reason
	}
	return string(rec.Phase)
}

// recordFromMemory stands in for a record that is gone.
func recordFromMemory(id Identity, owner Owner, prior Prior) *record.Record {
	rec := &record.Record{Namespace: id.Namespace, Name: id.Name, OwnerID: owner.ID, Instance: prior.Memory.Instance, Revision: prior.Revision}
	for _, item := range prior.Memory.Inventory {
		parsed, err := object.ParseID(item.ID)
		if err != nil {
			continue
		}
		rec.Inventory = append(rec.Inventory, record.Item{
			Key: item.Key, ID: parsed, APIVersion: item.APIVersion, Namespaced: item.Namespaced,
			DeleteOrder: item.DeleteOrder, DeletePolicy: string(item.DeletePolicy), Managed: item.Managed,
			Adopted: item.Adopted, Planned: prior.Objects[item.Key], Live: prior.Memory.Live[item.Key],
		})
	}
	return rec
}

// memoryOf is what private state keeps of a record.
func memoryOf(rec *record.Record, clusterID string) Memory {
	memory := Memory{
		Instance: rec.Instance, ClusterID: clusterID, Owner: rec.OwnerID, Installed: rec.Installed, Install: rec.Install,
		Intended: rec.Intended, Leaves: rec.Leaves, Live: map[string]string{},
	}
	for _, item := range rec.Inventory {
		memory.Live[item.Key] = item.Live
		memory.Inventory = append(memory.Inventory, MemoryItem{
			Key: item.Key, ID: item.ID.String(), APIVersion: item.APIVersion, Namespaced: item.Namespaced,
			DeleteOrder: item.DeleteOrder, DeletePolicy: DeletePolicy(item.DeletePolicy), Managed: item.Managed, Adopted: item.Adopted,
		})
	}
	return memory
}

// refresher compares the live objects of a component with its record.
type refresher struct {
	e      *Engine
	owner  Owner
	record *record.Record
	// renewed are hashes of private state: newer than those of the record when
	// a refresh found that the server prints the same object differently.
	renewed map[string]string

	mu     sync.Mutex
	shown  map[string]string
	hashes map[string]string
}

// objects returns what state should show, and the hash of each live
// projection.
func (r *refresher) objects(ctx context.Context) (shown, hashes map[string]string, err error) {
	live, err := r.e.listOwned(ctx, r.owner, r.record.Inventory)
	if err != nil {
		return nil, nil, err
	}
	r.shown, r.hashes = map[string]string{}, map[string]string{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.e.options.Workers)
	for i := range r.record.Inventory {
		item := &r.record.Inventory[i]
		group.Go(func() error { return r.object(ctx, item, live[item.ID]) })
	}
	return r.shown, r.hashes, group.Wait()
}

func (r *refresher) object(ctx context.Context, item *record.Item, live *unstructured.Unstructured) error {
	if item.Planned == "" {
		// It was never applied: the apply that should have was stopped.
		return nil
	}
	if item.Purged() {
		r.keep(item, item.Planned, item.Live)
		return nil
	}
	if live == nil {
		var err error
		if live, err = r.unlisted(ctx, item); err != nil || live == nil {
			return err
		}
	}
	if live.GetDeletionTimestamp() != nil {
		// It goes. The next apply waits for that and creates it anew.
		return nil
	}
	if item.Digest == onceDigest {
		r.keep(item, item.Planned, item.Live)
		return nil
	}
	return r.compare(ctx, item, live)
}

// unlisted reads an object by name that the LIST by owner did not show, before
// it counts as gone. Without our label it does.
func (r *refresher) unlisted(ctx context.Context, item *record.Item) (*unstructured.Unstructured, error) {
	served, err := r.e.cluster.AnyTypeFor(ctx, schema.FromAPIVersionAndKind(item.APIVersion, item.ID.Kind))
	if err != nil {
		if cluster.ReasonOf(err) == cluster.NotServed {
			return nil, nil
		}
		return nil, r.e.connectionError(err)
	}
	live, err := r.e.get(ctx, served, item.ID)
	if err != nil || live == nil || r.e.ownerOnObject(live).hash != r.owner.Hash {
		return nil, err
	}
	return live, nil
}

// compare keeps the planned text when the live object is what was applied.
func (r *refresher) compare(ctx context.Context, item *record.Item, live *unstructured.Unstructured) error {
	planned, err := object.DecodeCanonical(item.Planned)
	if err != nil {
		return fmt.Errorf("the record holds an unreadable object %s: %w", item.ID, err)
	}
	projected, err := r.e.project(ctx, fill(planned, live.Object), live.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", item.ID, err)
	}
	hash, err := projected.hash(r.record.Key)
	if err != nil {
		return err
	}
	if hash != "" && (hash == item.Live || hash == r.renewed[item.Key]) {
		r.keep(item, item.Planned, hash)
		return nil
	}
	text, same, err := r.suspected(ctx, item, planned, projected, live)
	if err != nil {
		return err
	}
	if !same {
		hash = item.Live
	}
	r.keep(item, text, hash)
	return nil
}

func (r *refresher) keep(item *record.Item, text, hash string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown[item.Key] = text
	r.hashes[item.Key] = hash
}

// suspected finds out whether an object whose projection changed has really
// drifted: the server is asked what applying the same object again would give.
// It returns the text to show, and whether that is the planned one.
func (r *refresher) suspected(ctx context.Context, item *record.Item, planned map[string]any, projected *projection, live *unstructured.Unstructured) (string, bool, error) {
	drifted := r.driftedLeaves(item, live)
	content, err := r.liveFields(ctx, item, planned, projected, live)
	if err != nil {
		return "", false, err
	}
	if content == nil && len(drifted) == 0 {
		return item.Planned, true, nil
	}
	if content == nil {
		content = fill(planned, live.Object)
	}
	for _, pointer := range maskedPointers(planned, "") {
		shown, _ := valueAt(planned, pointer)
		setValueAt(content, pointer, shown)
	}
	for pointer, text := range drifted {
		setValueAt(content, pointer, text)
	}
	coverSecrets(content)
	text, err := object.EncodeCanonical(content)
	return text, text == item.Planned, err
}

// coverSecrets masks the data of a Secret that the planned text does not know:
// a key that somebody added is still a secret.
func coverSecrets(content map[string]any) {
	obj := &unstructured.Unstructured{Object: content}
	for _, pointer := range secretPointers(obj) {
		if value, _ := valueAt(content, pointer); !isMasked(value) {
			setValueAt(content, pointer, driftedMask)
		}
	}
}

// liveFields returns the planned object with the live values of the fields
// that drifted, or nil when none did.
func (r *refresher) liveFields(ctx context.Context, item *record.Item, planned map[string]any, projected *projection, live *unstructured.Unstructured) (map[string]any, error) {
	fields := fieldpath.NewSet()
	predicted, err := r.predict(ctx, item, planned, live)
	if err == nil {
		fields, err = projected.difference(predicted)
	}
	switch {
	case err != nil:
		// The server cannot be asked: show every field as it is.
		return projected.asLive()
	case fields.Empty():
		return nil, nil
	}
	return projected.withLive(fields)
}

// predict asks the server what applying the recorded object again would give.
func (r *refresher) predict(ctx context.Context, item *record.Item, planned map[string]any, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	served, err := r.e.cluster.AnyTypeFor(ctx, schema.FromAPIVersionAndKind(item.APIVersion, item.ID.Kind))
	if err != nil {
		return nil, err
	}
	content := fill(planned, live.Object)
	for _, pointer := range maskedPointers(content, "") {
		// The live object has lost this leaf; any value shows that.
		setValueAt(content, pointer, "")
	}
	want := &Want{ID: item.ID, Type: served, Object: &unstructured.Unstructured{Object: content}, Digest: item.Digest}
	if served.Namespaced {
		want.Object.SetNamespace(item.ID.Namespace)
	}
	obj := r.e.annotate(want, r.owner)
	predicted, err := r.e.tryUpdate(ctx, served, obj, live)
	if err != nil {
		return r.e.orReplaced(ctx, served, obj, live, err)
	}
	return predicted, nil
}

// driftedLeaves returns what to show of the masked and folded leaves whose live
// value is not the one that was applied, by JSON pointer.
func (r *refresher) driftedLeaves(item *record.Item, live *unstructured.Unstructured) map[string]string {
	drifted := map[string]string{}
	for pointer, leaf := range r.record.Leaves[item.Key] {
		if _, ok := r.changed(live, pointer, leaf.Hash); ok {
			drifted[pointer] = driftedMask
		}
	}
	for pointer, hash := range item.Folded {
		if text, ok := r.changed(live, pointer, hash); ok {
			drifted[pointer] = fold(text)
		}
	}
	return drifted
}

// changed returns a live leaf whose keyed hash is not the given one.
func (r *refresher) changed(live *unstructured.Unstructured, pointer, hash string) (text string, ok bool) {
	value, ok := valueAt(live.Object, pointer)
	text = leafText(value)
	return text, ok && keyedHash(r.record.Key, text) != hash
}
