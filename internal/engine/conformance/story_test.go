package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// story is what one file tells, or one entry of a recording.
type story struct {
	Name string `json:"name"`
	// About says what the story shows, for the reader.
	About string `json:"about,omitempty"`
	// Before are manifests that somebody else created.
	Before string `json:"before,omitempty"`
	Steps  []step `json:"steps"`
}

type step struct {
	Do         string                     `json:"do"`
	Others     []action                   `json:"others,omitempty"`
	Components map[string]json.RawMessage `json:"components,omitempty"`
	Delete     []string                   `json:"delete,omitempty"`
	// ReadyTimeout is for all components of the step, also for those deleted.
	ReadyTimeout string      `json:"ready_timeout,omitempty"`
	Meanwhile    []meanwhile `json:"meanwhile,omitempty"`
	Expect       expectation `json:"expect"`
}

// meanwhile is what somebody else does as soon as something is seen, such as
// "Widget/w is terminating", while the components of the step are handled.
type meanwhile struct {
	When   string   `json:"when"`
	Others []action `json:"others"`
}

// action is one thing that somebody else does. One of Create, Edit, Delete and
// Until is set.
type action struct {
	// Create are manifests.
	Create string `json:"create,omitempty"`
	// Edit is an object that Patch is merged into, as kubectl patch does.
	Edit  string         `json:"edit,omitempty"`
	Patch map[string]any `json:"patch,omitempty"`
	// As is the field manager; that of kubectl edit by default.
	As string `json:"as,omitempty"`
	// Status patches the subresource.
	Status bool `json:"status,omitempty"`
	// Delete is an object; it is waited for, unless a finalizer of the story
	// keeps it, or NoWait is set.
	Delete string `json:"delete,omitempty"`
	NoWait bool   `json:"no_wait,omitempty"`
	// Until waits until an object was not written for some time, or is gone.
	Until      string `json:"until,omitempty"`
	NotWritten string `json:"not_written_for,omitempty"`
	Gone       bool   `json:"gone,omitempty"`
}

// attributes are those of a component, named as in Terraform.
type attributes struct {
	// Manifests are the files of the source, in one text.
	Manifests               string          `json:"manifests,omitempty"`
	Values                  json.RawMessage `json:"values,omitempty"`
	TargetNamespace         string          `json:"target_namespace,omitempty"`
	AdoptionPolicy          string          `json:"adoption_policy,omitempty"`
	UpdatePolicy            string          `json:"update_policy,omitempty"`
	DeletePolicy            string          `json:"delete_policy,omitempty"`
	MissingNamespacesPolicy string          `json:"missing_namespaces_policy,omitempty"`
	ReapplyInterval         string          `json:"reapply_interval,omitempty"`
	ReadyTimeout            string          `json:"ready_timeout,omitempty"`
	Dependencies            []string        `json:"dependencies,omitempty"`
	Suspend                 bool            `json:"suspend,omitempty"`
	SkipSafeguards          bool            `json:"skip_safeguards,omitempty"`
	AdditionalManagedTypes  []string        `json:"additional_managed_types,omitempty"`
}

// expectation is how a step ends.
type expectation struct {
	Components map[string]outcome `json:"components,omitempty"`
	// Objects are all objects in the namespace of the story, and any elsewhere.
	// Absent, they are not looked at.
	Objects map[string]objectState `json:"objects"`
	// Order are the moments of the step, such as "ConfigMap/x appears": all
	// appearing and going in the namespace of the story, and any other that is
	// worth it. Those in one list have no order among them.
	Order []moments `json:"order"`
}

// outcome is how the handling of one component ends. Words must all occur.
type outcome struct {
	Status string `json:"status,omitempty"`
	// Refused are words of the error at plan: nothing at all is written.
	Refused []string `json:"refused"`
	// Error are words of the error at apply or delete.
	Error    []string `json:"error"`
	Warnings []string `json:"warnings,omitempty"`
	// Plan are words of the summary of the plan, such as "1 to create".
	Plan string `json:"plan,omitempty"`
	// Inventory is the phase of every object in the record.
	Inventory map[string]string `json:"inventory"`
}

// fails: the component is not expected to come out well.
func (o outcome) fails() bool { return o.Error != nil || o.Refused != nil }

// objectState is how an object is at the end of a step. What is not said is
// not looked at, except Terminating.
type objectState struct {
	Gone bool `json:"gone,omitempty"`
	// Owner is the name of a component, or "none".
	Owner string `json:"owner,omitempty"`
	// UID is "same" or "new", compared with the step before.
	UID string `json:"uid,omitempty"`
	// Written: the object is another one than a step before, besides its status.
	Written *bool `json:"written"`
	// Touched: it was written, or its status was.
	Touched     *bool             `json:"touched"`
	Data        map[string]string `json:"data"`
	Terminating bool              `json:"terminating,omitempty"`
	Finalizers  []string          `json:"finalizers"`
	// Fields are values by their path, null for none.
	Fields map[string]any `json:"fields,omitempty"`
}

// moments are one moment, or a list of those without an order among them.
type moments []string

// UnmarshalJSON reads a text or a list.
func (m *moments) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*m = moments{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(m))
}

// readStory reads a file. A key that does not exist is an error.
func readStory(text []byte) (story, error) {
	var s story
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return s, err
	}
	if err := strict(asJSON, &s); err != nil {
		return s, err
	}
	return s, s.check()
}

func strict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// check finds what a story says and nobody would look at.
func (s story) check() error {
	if s.Name == "" || len(s.Steps) == 0 {
		return fmt.Errorf("a story needs a name and steps")
	}
	for i, step := range s.Steps {
		handled := map[string]bool{}
		for name := range step.Components {
			handled[name] = true
		}
		for _, name := range step.Delete {
			handled[name] = true
		}
		for name := range step.Expect.Components {
			if !handled[name] {
				return fmt.Errorf("step %d expects something of component %s, which it does not handle", i+1, name)
			}
		}
		if step.Do == "" {
			return fmt.Errorf("step %d does not say what it does", i+1)
		}
	}
	return nil
}

// placed is the story with its own names in the place of others.
func (s story) placed(names *strings.Replacer) (story, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	var placed story
	return placed, strict([]byte(names.Replace(string(text))), &placed)
}
