package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// finding is what the plan has to say about an object besides its difference.
type finding struct {
	adopted   *adoption
	reclaimed []string
	// recreated is a line about an object that is deleted and created anew.
	recreated string
}

// recreation is the line about an object that is deleted and created anew;
// empty for others.
func recreation(change *Change, s Situation) string {
	if change.Action != Recreate {
		return ""
	}
	return fmt.Sprintf(" %s   %s", change.ID, whyRecreated(s))
}

// whyRecreated says why an object of ours with update-policy recreate is due.
func whyRecreated(s Situation) string {
	switch {
	case s.LiveDigest != s.Digest:
		return "its manifest changes"
	case s.Drifted:
		return "somebody changed it"
	case s.FailedJob:
		return "it failed"
	case s.Policies.Reconcile == ReconcileOnObjectOrComponentChange && s.ComponentChanged:
		return "it runs again whenever the component changes (reconcile-policy: on-object-or-component-change)"
	default:
		return "it was applied longer ago than its reapply interval"
	}
}

// recreateWarning is the one warning about all objects that are deleted and
// created anew.
func recreateWarning(c Component, findings []finding) (Warning, bool) {
	var lines []string
	for _, found := range findings {
		if found.recreated != "" {
			lines = append(lines, found.recreated)
		}
	}
	return Warning{
		Title: fmt.Sprintf("%s of component %s will be deleted and created anew", counted(len(lines), "object", "objects"), c), Lines: lines,
	}, len(lines) > 0
}

// warnings are about what may happen at apply.
func (p *Plan) warnings(findings []finding) []Warning {
	var warnings []Warning
	adoptions, reclaims := make([]*adoption, len(findings)), make([][]string, len(findings))
	for i, found := range findings {
		adoptions[i], reclaims[i] = found.adopted, found.reclaimed
	}
	if warning, ok := adoptionWarning(p.Component, adoptions); ok {
		warnings = append(warnings, warning)
	}
	if warning, ok := reclaimWarning(p.Component, reclaims); ok {
		warnings = append(warnings, warning)
	}
	if warning, ok := recreateWarning(p.Component, findings); ok {
		warnings = append(warnings, warning)
	}
	var lines []string
	for _, change := range p.Changes {
		if change.Unchecked != "" {
			lines = append(lines, fmt.Sprintf(" %s: %s", change.ID, strings.TrimSpace(change.Unchecked)))
		}
	}
	if len(lines) > 0 {
		warnings = append(warnings, Warning{
			Title: fmt.Sprintf("%s of component %s could not be checked", counted(len(lines), "object", "objects"), p.Component),
			Lines: append(lines, " Something else in this run may provide what is missing: say so with depends_on, so that it comes first. The apply waits for kinds that are not served, and fails without the rest."),
		})
	}
	if warning, ok := unstableWarning(p.Component, p.Planned); ok {
		warnings = append(warnings, warning)
	}
	if len(p.rendered.Notes) > 0 {
		notes := make([]string, len(p.rendered.Notes))
		for i, note := range p.rendered.Notes {
			notes[i] = " " + note
		}
		warnings = append(warnings, Warning{Title: fmt.Sprintf("Notes about the source of component %s", p.Component), Lines: notes})
	}
	return warnings
}

// unstableWarning names the objects that come out differently each time.
func unstableWarning(c Component, p Planned) (Warning, bool) {
	if len(p.Unknown) == 0 {
		return Warning{}, false
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(p.Unknown)) {
		lines = append(lines, " "+key)
	}
	return Warning{
		Title: fmt.Sprintf("%s of component %s will differ at each rendering", counted(len(p.Unknown), "object", "objects"), c),
		Lines: append(lines, " They draw random values or read the clock, so they change at every apply. Give the value as an input, or annotate the object with reconcile-policy: once."),
	}, true
}
