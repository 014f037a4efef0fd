package engine

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// sixty are 60 objects of 3 kinds in 3 namespaces.
func sixty(r *rig) string {
	var manifests []string
	for i := range 60 {
		kind := []string{"ConfigMap", "Secret", "ServiceAccount"}[i%3]
		namespace := []string{r.namespace, r.namespace + "-b", r.namespace + "-c"}[i/3%3]
		manifests = append(manifests, fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: x-%d, namespace: %s}}", kind, i, namespace))
	}
	return strings.Join(manifests, "\n---\n")
}

// objectReads are the requests that read a single object of a component.
func objectReads(q request) bool {
	return q.method == http.MethodGet && strings.Contains(q.path, "/x-")
}

func TestReadsGoByList(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create("{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-b}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-c}}")
	s := r.story("c", sixty(r))
	s.mustApply()

	// Each command of Terraform is a process of its own.
	s.engine = r.newEngine(Options{}, nil)
	r.wire.clear()
	s.refresh()
	all := r.wire.all(func(request) bool { return true })
	if len(all) > 50 {
		t.Errorf("a refresh that finds no change takes %d requests, more than 50:\n%s", len(all), strings.Join(all, "\n"))
	}
	if got := r.wire.all(objectReads); len(got) > 0 {
		t.Errorf("it reads objects one by one: %v", got)
	}

	r.wire.clear()
	s.wantNothingToDo()
	if got := r.wire.all(writes); len(got) > 0 {
		t.Errorf("a plan with nothing to do writes %v", got)
	}
	if got := r.wire.all(request.dryRun); len(got) > 0 {
		t.Errorf("a plan with nothing to do tries %v", got)
	}

	// One object changes: one dry-run, one write and the record.
	s.write(strings.Replace(sixty(r), "{name: x-0,", "{name: x-0, labels: {a: b},", 1))
	r.wire.clear()
	approved := s.mustPlan().Planned.Objects
	if got := r.wire.all(request.dryRun); len(got) != 1 {
		t.Errorf("the plan of one change tries %v", got)
	}
	r.wire.clear()
	if _, err := s.execute(t.Context(), approved); err != nil {
		t.Fatal(err)
	}
	if got := r.wire.all(writesTo("configmaps/x-0")); len(got) != 1 {
		t.Errorf("one change writes %v", got)
	}
	if got := r.wire.all(request.writesObjects); len(got) > 1 {
		t.Errorf("one change writes %v", got)
	}
	if got := r.wire.all(writes); len(got) > 6 {
		t.Errorf("one change writes %v", got)
	}
	if got := r.wire.all(objectReads); len(got) > 0 {
		t.Errorf("the apply reads objects one by one: %v", got)
	}
}

// A first create learns from the dry-run what exists.
func TestACreateReadsNothingThatDoesNotExist(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create("{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-b}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-c}}")
	s := r.story("c", sixty(r))
	r.wire.clear()
	s.mustPlan()
	if got := r.wire.all(request.dryRun); len(got) != 60 {
		t.Errorf("the plan of a create makes %d dry-runs, want one an object", len(got))
	}
	if got := r.wire.all(objectReads); len(got) > 0 {
		t.Errorf("it reads %v", got)
	}
}

func TestPassedDryRunsAreRemembered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := t.TempDir()
	dryRuns := func() int { return len(r.wire.all(request.dryRun)) }
	s := r.story("c", twoMaps+"\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: S3cr3t-Zq9!}}")
	// Each command of Terraform is a process of its own.
	process := func() { s.engine = r.newEngine(Options{CacheDir: dir}, nil) }

	process()
	s.mustPlan()
	if got := dryRuns(); got != 3 {
		t.Fatalf("the first plan makes %d dry-runs, want 3", got)
	}
	process()
	r.wire.clear()
	approved := s.mustPlan().Planned.Objects
	if got := dryRuns(); got != 0 {
		t.Errorf("the second plan makes %d dry-runs", got)
	}
	if _, err := s.execute(t.Context(), approved); err != nil {
		t.Fatal(err)
	}
	if got := dryRuns(); got != 0 {
		t.Errorf("the apply makes %d dry-runs", got)
	}

	// A changed object is tried, and so is the same one in place of another.
	s.write(strings.Replace(twoMaps, `"1"`, `"2"`, 1) + "\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: another}}")
	process()
	r.wire.clear()
	s.mustPlan()
	if got := dryRuns(); got != 2 {
		t.Errorf("the plan of two changes makes %d dry-runs", got)
	}
	r.remove("ConfigMap/one")
	process()
	r.wire.clear()
	s.mustPlan()
	if got := dryRuns(); got != 1 {
		t.Errorf("after the object was deleted the plan makes %d dry-runs, want 1", got)
	}

	// After ten minutes nothing is remembered.
	file := filepath.Join(dir, "passed.json")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]time.Time{}
	if err := json.Unmarshal(content, &entries); err != nil {
		t.Fatal(err)
	}
	for key, at := range entries {
		entries[key] = at.Add(-11 * time.Minute)
	}
	aged, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, aged, 0o600); err != nil {
		t.Fatal(err)
	}
	process()
	r.wire.clear()
	s.mustPlan()
	if got := dryRuns(); got != 2 {
		t.Errorf("after ten minutes the plan makes %d dry-runs, want 2", got)
	}

	// The cache is a matter of the user alone, and holds no value.
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range files {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s may be read by others: %v", entry.Name(), info.Mode())
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "S3cr3t") || strings.Contains(string(text), "ConfigMap") {
			t.Errorf("%s tells what is applied", entry.Name())
		}
	}
}

// A cache that cannot be used only costs time.
func TestADryRunCacheThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]func(t *testing.T) string{
		"a path that is a file": func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		},
		"content that is none": func(t *testing.T) string {
			dir := t.TempDir()
			for _, file := range []string{"key", "passed.json"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte("{"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRigWith(t, Options{CacheDir: dir(t)})
			r.story("c", twoMaps).mustApply()
		})
	}
}

// NOLEAK: no secret value is in the record, in what Terraform keeps, or on the
// wire anywhere but in the Secret itself.
func TestNoSecretIsInTheRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const value = "S3cr3t-Zq9!"
	s := r.story("c", `
{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: VALUE, long: "`+strings.Repeat(value, 1000)+`"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}
`)
	for _, password := range []string{value, value + "2"} {
		s.write(strings.ReplaceAll(`
{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: "VALUE", long: "`+strings.Repeat(value, 1000)+`"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}
`, "VALUE", password))
		s.mustApply()
	}
	r.edit("Secret/s", `{"data": {"password": "`+base64.StdEncoding.EncodeToString([]byte("drifted-"+value))+`"}}`)
	s.refresh()
	kept, err := json.Marshal([]any{s.record(), s.prior})
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value)), "UzNjcjN0LVpxO", "LVpxOS", "3ItWnE5"} {
		if strings.Contains(string(kept), form) {
			t.Errorf("%q is in the record or in state", form)
		}
	}
	if !strings.Contains(string(kept), "(sensitive, v2)") || !strings.Contains(string(kept), "(sensitive, drifted)") {
		t.Errorf("the Secret is not shown at all: %s", kept)
	}
}

// The record is one Secret that says what it is, however often it is written.
func TestTheRecordOfAComponent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.story("c", mixture)
	s.component.Inputs = map[string]any{"update_policy": "SsaOverride"}
	s.mustApply()
	secrets := 0
	list, err := r.others.List(t.Context(), r.typeOf(r.named("Secret/x")), r.namespace, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if record.IsRecord(&list[i]) {
			secrets++
		}
	}
	if secrets != 1 {
		t.Errorf("there are %d records", secrets)
	}
	rec := s.record()
	if rec.Phase != record.Ready || !rec.Installed || rec.Revision != 1 || rec.Instance == "" || rec.Instance != s.prior.Memory.Instance {
		t.Errorf("got %+v", rec)
	}
	for _, item := range rec.Inventory {
		want := record.ItemReady
		if item.Phase != want || item.Planned == "" || item.Live == "" || item.LastApplied.IsZero() {
			t.Errorf("%s: phase %s, planned %q, live %q", item.ID, item.Phase, item.Planned, item.Live)
		}
		if item.ID.Kind == "Job" && item.Digest != onceDigest {
			t.Errorf("the Job that ran once has the digest %s", item.Digest)
		}
	}
	var finalizers []string
	for _, id := range mixtureIDs {
		live := r.mustLive(id)
		finalizers = append(finalizers, ourFinalizers(live)...)
	}
	if len(finalizers) > 0 {
		t.Errorf("objects carry finalizers of ours: %v", finalizers)
	}
	s.mustDestroy()
}

func ourFinalizers(obj *unstructured.Unstructured) []string {
	var ours []string
	for _, finalizer := range obj.GetFinalizers() {
		if strings.Contains(finalizer, "component") {
			ours = append(ours, finalizer)
		}
	}
	return ours
}
