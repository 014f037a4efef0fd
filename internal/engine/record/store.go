package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubewave/terraform-provider-component/internal/engine/cluster"
)

const (
	secretType     = "terraform-provider-component/record"
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "terraform-provider-component"
	instanceLabel  = "terraform-provider-component/instance"
	ownerLabel     = "terraform-provider-component/owner-id"
	contentKey     = "record"
	chunksKey      = "chunks"
	// chunkSize keeps every Secret below 1,000,000 bytes: base64 makes 900,000 of
	// it.
	chunkSize = 675_000
)

// secrets is how every API server serves Secrets.
var secrets = cluster.Type{
	GVK:        corev1.SchemeGroupVersion.WithKind("Secret"),
	Resource:   corev1.SchemeGroupVersion.WithResource("secrets"),
	Namespaced: true,
}

// SecretName is the name of the Secret that holds a component's record.
func SecretName(component string) string { return "component." + component }

// Store reads and writes the record of one component. A write fails with a
// conflict when somebody else wrote since the store last read or wrote. It is
// not safe for concurrent use.
type Store struct {
	cluster         *cluster.Cluster
	namespace, name string

	resourceVersion string
	uid             types.UID
	chunks          []string
}

// NewStore returns the store of a component. It makes no request.
func NewStore(c *cluster.Cluster, namespace, name string) *Store {
	return &Store{cluster: c, namespace: namespace, name: name}
}

// Reference names the Secret, for an event about the component. It has no UID
// before the record was read or written.
func (s *Store) Reference() corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: s.namespace, Name: SecretName(s.name), UID: s.uid}
}

// Load reads the record. It returns nil when there is none.
func (s *Store) Load(ctx context.Context) (*Record, error) {
	s.resourceVersion, s.chunks = "", nil
	secret, err := s.cluster.Get(ctx, secrets, s.namespace, SecretName(s.name))
	if reason := cluster.ReasonOf(err); err != nil && (reason == cluster.NotFound || reason == cluster.NamespaceMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the record Secret/%s/%s: %w", s.namespace, SecretName(s.name), err)
	}
	content, chunks, err := s.content(ctx, secret)
	if err != nil {
		return nil, err
	}
	s.resourceVersion, s.uid, s.chunks = secret.GetResourceVersion(), secret.GetUID(), chunks
	return s.decode(content)
}

func (s *Store) content(ctx context.Context, secret *unstructured.Unstructured) ([]byte, []string, error) {
	content, err := secretData(secret, contentKey)
	if err != nil {
		return nil, nil, s.unreadable(err)
	}
	list, err := secretData(secret, chunksKey)
	if err != nil || len(list) == 0 {
		return content, nil, nil
	}
	chunks := strings.Split(string(list), ",")
	for _, chunk := range chunks {
		part, err := s.cluster.Get(ctx, secrets, s.namespace, chunk)
		if err != nil && cluster.ReasonOf(err) == cluster.NotFound {
			return nil, nil, s.unreadable(fmt.Errorf("its part %s is gone", chunk))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading the record Secret/%s/%s: %w", s.namespace, chunk, err)
		}
		more, err := secretData(part, contentKey)
		if err != nil {
			return nil, nil, s.unreadable(err)
		}
		content = append(content, more...)
	}
	return content, chunks, nil
}

func (s *Store) unreadable(err error) error {
	return fmt.Errorf("the record Secret/%s/%s cannot be read: %w; restore it, or delete it to let the next apply rebuild it from the labels of the objects",
		s.namespace, SecretName(s.name), err)
}

func (s *Store) decode(content []byte) (*Record, error) {
	reader, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, s.unreadable(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		return nil, s.unreadable(err)
	}
	var rec Record
	if err := json.Unmarshal(text, &rec); err != nil {
		return nil, s.unreadable(errors.New("its content is not what a provider writes"))
	}
	if rec.Schema > SchemaVersion {
		return nil, fmt.Errorf("the record Secret/%s/%s was written by a later version of this provider (%s): use that version",
			s.namespace, SecretName(s.name), rec.ProviderVersion)
	}
	return &rec, nil
}

// Save writes the record.
func (s *Store) Save(ctx context.Context, rec *Record) error {
	rec.Schema = SchemaVersion
	content, err := encode(rec)
	if err != nil {
		return err
	}
	chunks, first, err := s.saveChunks(ctx, rec, content)
	if err != nil {
		return err
	}
	secret := s.secret(SecretName(s.name), rec, first)
	secret.SetAnnotations(rec.annotations())
	if len(chunks) > 0 {
		setData(secret, chunksKey, []byte(strings.Join(chunks, ",")))
	}
	written, err := s.put(ctx, secret)
	if err != nil && cluster.ReasonOf(err) == cluster.Conflict {
		written, err = s.settle(ctx, secret, chunks, err)
	}
	if err != nil {
		return fmt.Errorf("writing the record Secret/%s/%s: %w", s.namespace, SecretName(s.name), err)
	}
	old := s.chunks
	s.resourceVersion, s.uid, s.chunks = written.GetResourceVersion(), written.GetUID(), chunks
	return s.removeChunks(ctx, old, chunks)
}

// saveChunks writes what does not fit into the first Secret. The names depend
// on the content, so that the chunks of the record in force are never touched
// before the new one points to others.
func (s *Store) saveChunks(ctx context.Context, rec *Record, content []byte) (names []string, first []byte, err error) {
	if len(content) <= chunkSize {
		return nil, content, nil
	}
	sum := sha256.Sum256(content)
	first = content[:chunkSize]
	for i, part := range slices.Collect(slices.Chunk(content[chunkSize:], chunkSize)) {
		name := fmt.Sprintf("%s--%s-%d", SecretName(s.name), hex.EncodeToString(sum[:4]), i+1)
		_, err := s.cluster.Create(ctx, secrets, s.secret(name, rec, part), cluster.Persist)
		if err != nil && cluster.ReasonOf(err) != cluster.Conflict {
			return nil, nil, fmt.Errorf("writing the record Secret/%s/%s: %w", s.namespace, name, err)
		}
		names = append(names, name)
	}
	return names, first, nil
}

func (s *Store) removeChunks(ctx context.Context, old, kept []string) error {
	for _, name := range old {
		if slices.Contains(kept, name) {
			continue
		}
		if err := s.cluster.Delete(ctx, secrets, s.namespace, name, ""); err != nil && cluster.ReasonOf(err) != cluster.NotFound {
			return err
		}
	}
	return nil
}

func (s *Store) put(ctx context.Context, secret *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if s.resourceVersion == "" {
		return s.cluster.Create(ctx, secrets, secret, cluster.Persist)
	}
	secret.SetResourceVersion(s.resourceVersion)
	return s.cluster.Replace(ctx, secrets, secret, cluster.Persist)
}

// settle looks into a conflict. A write whose answer was lost was repeated and
// found what it wrote itself: it has succeeded. Otherwise somebody else wrote,
// and the chunks of the refused record go.
func (s *Store) settle(ctx context.Context, secret *unstructured.Unstructured, chunks []string, conflict error) (*unstructured.Unstructured, error) {
	live, err := s.cluster.Get(ctx, secrets, s.namespace, secret.GetName())
	if err != nil {
		return nil, conflict
	}
	if reflect.DeepEqual(live.Object["data"], secret.Object["data"]) {
		return live, nil
	}
	inForce, err := secretData(live, chunksKey)
	if err != nil {
		return nil, conflict
	}
	return nil, errors.Join(conflict, s.removeChunks(ctx, chunks, strings.Split(string(inForce), ",")))
}

func (s *Store) secret(name string, rec *Record, content []byte) *unstructured.Unstructured {
	secret := &unstructured.Unstructured{Object: map[string]any{"type": secretType}}
	secret.SetGroupVersionKind(secrets.GVK)
	secret.SetNamespace(s.namespace)
	secret.SetName(name)
	secret.SetLabels(map[string]string{
		managedByLabel: managedBy, instanceLabel: rec.Instance, ownerLabel: ownerHash(rec.OwnerID),
	})
	setData(secret, contentKey, content)
	return secret
}

// Delete removes the record and its chunks. A record that is gone already, or
// whose namespace is, is no error.
func (s *Store) Delete(ctx context.Context) error {
	for _, name := range append([]string{SecretName(s.name)}, s.chunks...) {
		err := s.cluster.Delete(ctx, secrets, s.namespace, name, "")
		if reason := cluster.ReasonOf(err); err != nil && reason != cluster.NotFound && reason != cluster.NamespaceMissing {
			return fmt.Errorf("deleting the record Secret/%s/%s: %w", s.namespace, name, err)
		}
	}
	s.resourceVersion, s.chunks = "", nil
	return nil
}

// IsRecord reports whether an object is a record of some component.
func IsRecord(obj *unstructured.Unstructured) bool {
	kind, _ := obj.Object["type"].(string)
	return kind == secretType
}

func ownerHash(ownerID string) string {
	sum := sha256.Sum256([]byte(ownerID))
	return hex.EncodeToString(sum[:16])
}

func encode(rec *Record) ([]byte, error) {
	text, err := json.Marshal(rec)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write(text); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func setData(secret *unstructured.Unstructured, key string, content []byte) {
	data, _ := secret.Object["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
		secret.Object["data"] = data
	}
	data[key] = base64.StdEncoding.EncodeToString(content)
}

func secretData(secret *unstructured.Unstructured, key string) ([]byte, error) {
	text, _, err := unstructured.NestedString(secret.Object, "data", key)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(text)
}

// BelongsTo reports whether labels are those of a record of an owner.
func BelongsTo(labels map[string]string, ownerID string) bool {
	return labels[managedByLabel] == managedBy && labels[ownerLabel] == ownerHash(ownerID)
}
