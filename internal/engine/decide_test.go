package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubewave/terraform-provider-component/internal/engine/object"
	"github.com/kubewave/terraform-provider-component/internal/engine/record"
)

// grid prints a decision table as semantics.md prints its tables.
func grid(corner string, rows, columns []string, cell func(row, column int) string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s | %s\n", corner, strings.Join(columns, " | "))
	for i, row := range rows {
		cells := make([]string, len(columns))
		for j := range columns {
			cells[j] = cell(i, j)
		}
		fmt.Fprintf(&out, "%s | %s\n", row, strings.Join(cells, " | "))
	}
	return out.String()
}

// lines drops the indentation of a text written between backquotes.
func lines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(text, "\n")) {
		if line = strings.TrimSpace(line); line != "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// unchanged is an object of ours that is as it was applied an hour ago.
func unchanged() Situation {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	return Situation{
		Ownership: Ours,
		Policies: Policies{
			Adoption: AdoptIfUnowned, Reconcile: ReconcileOnObjectChange, Update: UpdateSSAOverride,
			Delete: DeleteDelete, ReapplyInterval: 2 * time.Hour,
		},
		Digest: "d1", LiveDigest: "d1", Now: now,
		Recorded: &record.Item{Digest: "d1", Phase: record.ItemReady, LastApplied: now.Add(-time.Hour)},
	}
}

func TestOwnershipMeetsAdoptionPolicy(t *testing.T) {
	owners := []Ownership{Absent, Ours, Unowned, Foreign}
	policies := []AdoptionPolicy{AdoptNever, AdoptIfUnowned, AdoptAlways}
	got := grid("live object", []string{"absent", "ours", "no owner", "another owner"}, []string{"never", "if-unowned", "always"},
		func(row, column int) string {
			s := unchanged()
			s.Ownership, s.Policies.Adoption = owners[row], policies[column]
			return string(decide(s))
		})
	want := lines(`
		live object | never | if-unowned | always
		absent | create | create | create
		ours | keep | keep | keep
		no owner | refuse | adopt | adopt
		another owner | refuse | refuse | adopt
	`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// occasions are the reasons for which an object of ours may be written.
var occasions = []struct {
	name   string
	happen func(*Situation)
}{
	{"nothing", func(*Situation) {}},
	{"manifest changed", func(s *Situation) { s.Digest = "d2" }},
	{"digest on the object is another", func(s *Situation) { s.LiveDigest = "somebody's" }},
	{"drifted", func(s *Situation) { s.Drifted = true }},
	{"component changed", func(s *Situation) { s.ComponentChanged = true }},
	{"older than its reapply interval", func(s *Situation) { s.Recorded.LastApplied = s.Now.Add(-3 * time.Hour) }},
	{"not in the record", func(s *Situation) { s.Recorded = nil }},
}

func TestReconcilePolicyMeetsOccasion(t *testing.T) {
	policies := []struct {
		name string
		set  func(*Situation)
	}{
		{"on-object-change", func(s *Situation) { s.Policies.Reconcile = ReconcileOnObjectChange }},
		{"on-object-or-component-change", func(s *Situation) { s.Policies.Reconcile = ReconcileOnObjectOrComponentChange }},
		{"once, and it was ready", func(s *Situation) {
			s.Policies.Reconcile = ReconcileOnce
			if s.Recorded != nil {
				s.Recorded.Digest = onceDigest
			}
		}},
		{"once, and it was never ready", func(s *Situation) { s.Policies.Reconcile = ReconcileOnce }},
		{"was once, and is no longer", func(s *Situation) {
			if s.Recorded != nil {
				s.Recorded.Digest = onceDigest
			}
		}},
	}
	var rows, columns []string
	for _, policy := range policies {
		rows = append(rows, policy.name)
	}
	for _, occasion := range occasions {
		columns = append(columns, occasion.name)
	}
	got := grid("reconcile policy", rows, columns, func(row, column int) string {
		s := unchanged()
		occasions[column].happen(&s)
		policies[row].set(&s)
		return string(decide(s))
	})
	want := lines(`
		reconcile policy | nothing | manifest changed | digest on the object is another | drifted | component changed | older than its reapply interval | not in the record
		on-object-change | keep | update | update | update | keep | update | update
		on-object-or-component-change | keep | update | update | update | update | update | update
		once, and it was ready | keep | keep | keep | keep | keep | keep | keep
		once, and it was never ready | update | update | update | update | update | update | keep
		was once, and is no longer | update | update | update | update | update | update | update
	`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUpdatePolicyMeetsOccasion(t *testing.T) {
	policies := []UpdatePolicy{UpdateSSAOverride, UpdateSSAMerge, UpdateReplace, UpdateRecreate}
	cases := []struct {
		name   string
		happen func(*Situation)
	}{
		{"nothing", func(*Situation) {}},
		{"manifest changed", func(s *Situation) { s.Digest = "d2" }},
		{"failed Job, unchanged", func(s *Situation) { s.FailedJob = true }},
		{"no owner", func(s *Situation) { s.Ownership = Unowned }},
		{"absent", func(s *Situation) { s.Ownership = Absent }},
	}
	var columns []string
	for _, c := range cases {
		columns = append(columns, c.name)
	}
	got := grid("update policy", []string{"ssa-override", "ssa-merge", "replace", "recreate"}, columns, func(row, column int) string {
		s := unchanged()
		s.Policies.Update = policies[row]
		cases[column].happen(&s)
		return string(decide(s))
	})
	want := lines(`
		update policy | nothing | manifest changed | failed Job, unchanged | no owner | absent
		ssa-override | keep | update | keep | adopt | create
		ssa-merge | keep | update | keep | adopt | create
		replace | keep | update | keep | adopt | create
		recreate | keep | recreate | recreate | adopt | create
	`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecideAboutSpecialObjects(t *testing.T) {
	completedItem := &record.Item{Digest: "d1", Phase: record.Completed}
	for name, c := range map[string]struct {
		change func(*Situation)
		want   Action
	}{
		"a completed object that is gone is not applied again": {
			func(s *Situation) { s.Ownership, s.Recorded = Absent, completedItem }, Keep,
		},
		"a completed once object is not applied again when its manifest changes": {
			func(s *Situation) {
				s.Ownership, s.Policies.Reconcile, s.Digest = Absent, ReconcileOnce, "d2"
				s.Recorded = &record.Item{Digest: onceDigest, Phase: record.Completed}
			}, Keep,
		},
		"an object that went while it was purged is not applied again": {
			func(s *Situation) { s.Ownership, s.Recorded.Phase = Absent, record.Completing }, Keep,
		},
		"an object that is still there after its purge began is kept, and purged then": {
			func(s *Situation) { s.Recorded.Phase = record.Completing }, Keep,
		},
		"a completed object is applied again when its digest changes": {
			func(s *Situation) { s.Ownership, s.Recorded, s.Digest = Absent, completedItem, "d2" }, Create,
		},
		"a completed object that somebody created anew is not silently taken over": {
			func(s *Situation) {
				s.Ownership, s.Recorded, s.Policies.Adoption = Unowned, completedItem, AdoptNever
			}, Refuse,
		},
		"an object that was ready and is gone is created": {
			func(s *Situation) { s.Ownership = Absent }, Create,
		},
		"a once object that is gone is created": {
			func(s *Situation) {
				s.Ownership, s.Policies.Reconcile, s.Recorded.Digest = Absent, ReconcileOnce, onceDigest
			}, Create,
		},
		"no reapply interval never makes an object old": {
			func(s *Situation) { s.Policies.ReapplyInterval, s.Recorded.LastApplied = 0, time.Time{}.Add(1) }, Keep,
		},
		"an object that was never applied has no age": {
			func(s *Situation) { s.Recorded.LastApplied = time.Time{} }, Keep,
		},
		"an object exactly as old as its reapply interval is not older": {
			func(s *Situation) { s.Recorded.LastApplied = s.Now.Add(-s.Policies.ReapplyInterval) }, Keep,
		},
		"an object of ours that is being deleted is applied again though unchanged": {
			func(s *Situation) { s.Terminating = true }, Update,
		},
		"a once object that is being deleted is applied again": {
			func(s *Situation) {
				s.Terminating, s.Policies.Reconcile, s.Recorded.Digest = true, ReconcileOnce, onceDigest
			}, Update,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := unchanged()
			c.change(&s)
			if diff := cmp.Diff(c.want, decide(s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeletePolicyMeetsRemoval(t *testing.T) {
	policies := []DeletePolicy{DeleteDelete, DeleteOrphan, DeleteOrphanOnApply, DeleteOrphanOnDelete}
	got := grid("delete policy", []string{"delete", "orphan", "orphan-on-apply", "orphan-on-delete"},
		[]string{"pruned by an apply", "deleted with the component"},
		func(row, column int) string {
			item := record.Item{ID: object.ID{Kind: "ConfigMap", Namespace: "n", Name: "x"}, DeletePolicy: string(policies[row])}
			return fate(removalOf(item, column == 1))
		})
	want := lines(`
		delete policy | pruned by an apply | deleted with the component
		delete | deleted | deleted
		orphan | orphaned | orphaned
		orphan-on-apply | orphaned | deleted
		orphan-on-delete | deleted | orphaned
	`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func fate(removal *Removal) string {
	if removal.Orphan {
		return "orphaned"
	}
	return "deleted"
}

func TestAdoptedObjectsThatHoldOthersAreKept(t *testing.T) {
	kinds := []object.ID{
		{Kind: "Namespace"}, {Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, {Kind: "PersistentVolume"},
		{Kind: "PersistentVolumeClaim"}, {Group: "apps", Kind: "Deployment"}, {Kind: "Secret"},
	}
	var rows []string
	for _, kind := range kinds {
		rows = append(rows, kind.Kind)
	}
	got := grid("kind", rows, []string{"created", "adopted", "adopted, delete by its own annotation", "adopted, orphan by its own annotation"},
		func(row, column int) string {
			item := record.Item{ID: kinds[row], DeletePolicy: string(DeleteDelete), Adopted: column > 0, DeleteExplicit: column > 1}
			if column == 3 {
				item.DeletePolicy = string(DeleteOrphan)
			}
			return fate(removalOf(item, true))
		})
	want := lines(`
		kind | created | adopted | adopted, delete by its own annotation | adopted, orphan by its own annotation
		Namespace | deleted | orphaned | deleted | orphaned
		CustomResourceDefinition | deleted | orphaned | deleted | orphaned
		PersistentVolume | deleted | orphaned | deleted | orphaned
		PersistentVolumeClaim | deleted | orphaned | deleted | orphaned
		Deployment | deleted | deleted | deleted | orphaned
		Secret | deleted | deleted | deleted | orphaned
	`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestVerdictOnADelete holds the rules (a) to (e) of DESIGN.md, "A failed
// create must not destroy at the next apply".
func TestVerdictOnADelete(t *testing.T) {
	self := Identity{Namespace: "n", Name: "c"}
	other := Identity{Namespace: "n", Name: "other"}
	some := map[string]string{"ConfigMap/n/x": "{}"}
	rec := func(instance string, phase record.Phase) *record.Record {
		return &record.Record{Instance: instance, Phase: phase}
	}
	for name, c := range map[string]struct {
		instance string
		planned  *Identity
		status   string
		objects  map[string]string
		record   *record.Record
		want     Verdict
	}{
		"(a) an own instance that is not the record's deletes nothing": {
			instance: "mine", record: rec("theirs", record.Ready), want: LeaveToOther,
		},
		"(a) also when the other one is not ready": {
			instance: "mine", record: rec("theirs", record.Error), want: LeaveToOther,
		},
		"(b) an own instance that is the record's deletes": {
			instance: "mine", record: rec("mine", record.Ready), status: StatusReady, want: Proceed,
		},
		"(b) also when the component never became ready": {
			instance: "mine", record: rec("mine", record.Error), status: "Error", want: Proceed,
		},
		"(b) an own instance whose record is gone deletes": {
			instance: "mine", objects: some, want: Proceed,
		},
		"(c) no instance, this very component planned, record not ready: the create resumes": {
			planned: &self, record: rec("mine", record.Error), status: StatusReady, want: LeaveToCreate,
		},
		"(c) no instance, this very component planned, interrupted while it was applied: the create resumes": {
			planned: &self, record: rec("mine", record.Processing), want: LeaveToCreate,
		},
		"(c) no instance, this very component planned, no record and status not ready: the create resumes": {
			planned: &self, status: "Error", want: LeaveToCreate,
		},
		"(d) no instance, this very component planned, but it is ready: it is deleted": {
			planned: &self, record: rec("mine", record.Ready), status: StatusReady, want: Proceed,
		},
		"(d) no instance, this very component planned, no record, but it was ready: it is deleted": {
			planned: &self, status: StatusReady, objects: some, want: Proceed,
		},
		"(d) no instance, another component planned in its place: it is deleted": {
			planned: &other, record: rec("mine", record.Error), want: Proceed,
		},
		"(d) no instance, the same name planned in another cluster: it is deleted": {
			planned: &Identity{Cluster: "eu", Namespace: "n", Name: "c"}, record: rec("mine", record.Error), want: Proceed,
		},
		"(e) neither instance nor plan: an error": {
			record: rec("mine", record.Ready), status: StatusReady, objects: some, want: Unexplained,
		},
		"(e) neither instance nor plan, no record, but state has objects: an error": {
			objects: some, want: Unexplained,
		},
		"nothing at all is deleted at once": {want: Proceed},
	} {
		t.Run(name, func(t *testing.T) {
			d := Deletion{Identity: self, Planned: c.planned}
			d.Prior = Prior{Objects: c.objects, Status: c.status, Memory: Memory{Instance: c.instance}}
			if diff := cmp.Diff(c.want, verdictOn(d, c.record)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
