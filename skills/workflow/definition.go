// Package workflow runs skills that go step by step: the engine says what to do
// next, the model does it and answers in the form that the step asks for, and
// the answer decides which step comes then. Between the answers it may call
// tools by itself.
//
// A workflow is a pure function of what has happened: a session is a list of
// events that only grows, and reading it again gives the same state without
// doing anything a second time. So a session survives the process.
package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// FileName is the file of a skill that holds its workflow.
	FileName = "workflow.json"
	// End is the step that ends a workflow.
	End = "done"
	// DefaultVisits is how often a step may be come to when it does not say.
	DefaultVisits = 10

	maxSteps = 500
	maxDepth = 8 // of parts in parts
)

// A Definition is a workflow as it is written.
type Definition struct {
	// Name and Description are for people.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Preamble is given with the first prompt.
	Preamble string `json:"preamble,omitempty"`
	// Start is the first step.
	Start string `json:"start"`
	// Params is the JSON Schema of what a session is started with; nil takes an
	// object of any form.
	Params json.RawMessage `json:"params,omitempty"`
	// Steps by name. Names have no slash.
	Steps map[string]*Step `json:"steps"`
	// Parts are workflows that steps use.
	Parts map[string]*Definition `json:"parts,omitempty"`
	// Result is a template of the answer at the end; nil gives the last answer.
	Result json.RawMessage `json:"result,omitempty"`
}

// A Step is one thing to do. A step without a prompt and an answer is passed
// through, after its action.
type Step struct {
	// Prompt says what the model is to do. {{params.x}}, {{steps.name.x}} and
	// {{answer.x}} stand for what was given, for the last answer or the action's
	// result of a step, and for the last answer of all.
	Prompt string `json:"prompt,omitempty"`
	// Answer is the JSON Schema of the answer; nil takes any.
	Answer json.RawMessage `json:"answer,omitempty"`
	// Action is done before the prompt is given.
	Action *Action `json:"action,omitempty"`
	// Use is the part that the step consists of, instead of the above.
	Use string `json:"use,omitempty"`
	// Next are tried in order; the first whose condition holds is taken. Without
	// any the workflow ends.
	Next Branches `json:"next,omitempty"`
	// MaxVisits is how often the step may be come to; 0 means DefaultVisits. What
	// would be one more goes to OnMaxVisits, or fails without it.
	MaxVisits   int    `json:"maxVisits,omitempty"`
	OnMaxVisits string `json:"onMaxVisits,omitempty"`
}

// An Action is a call of a tool.
type Action struct {
	// Tool is an id, which the caller of the engine understands.
	Tool string `json:"tool"`
	// Input is a template: strings in it may hold {{…}}, and one that is nothing
	// else becomes the value itself.
	Input json.RawMessage `json:"input,omitempty"`
}

// A Branch goes to a step if its condition holds.
type Branch struct {
	To string `json:"to"`
	// When is nil if it always holds.
	When *Condition `json:"when,omitempty"`
}

// A Condition compares a value. Exactly one of the comparisons is set.
type Condition struct {
	// Path is like what stands in {{…}}.
	Path   string            `json:"path"`
	Equals json.RawMessage   `json:"equals,omitempty"`
	In     []json.RawMessage `json:"in,omitempty"`
	Exists *bool             `json:"exists,omitempty"`
	Above  *float64          `json:"above,omitempty"`
	Below  *float64          `json:"below,omitempty"`
	// Not turns the answer round.
	Not bool `json:"not,omitempty"`
}

// Branches may be written as the name of one step.
type Branches []Branch

// UnmarshalJSON implements json.Unmarshaler.
func (b *Branches) UnmarshalJSON(data []byte) error {
	var to string
	if json.Unmarshal(data, &to) == nil {
		*b = Branches{{To: to}}
		return nil
	}
	return json.Unmarshal(data, (*[]Branch)(b))
}

// A Workflow is a Definition that was found right. It is not changed, and may
// be used by several goroutines.
type Workflow struct {
	def     *Definition
	params  *jsonschema.Resolved
	steps   map[string]*Step // with those of parts, as step/inner
	answers map[string]*jsonschema.Resolved
}

// Parse reads a workflow from JSON. Unknown keys are errors: a condition that is
// not read would send the model elsewhere.
func Parse(data []byte) (*Workflow, error) {
	var d Definition
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("%s: %w", FileName, err)
	}
	return New(&d)
}

// New checks a definition, which must not be changed any more. The error names
// everything that is wrong.
func New(d *Definition) (*Workflow, error) {
	w := &Workflow{def: d, steps: map[string]*Step{}, answers: map[string]*jsonschema.Resolved{}}
	var problems []error
	fail := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	w.expand(d, "", End, 0, fail)
	if len(w.steps) > maxSteps {
		fail("there are more than %d steps", maxSteps)
	}
	var err error
	if w.params, err = schema(d.Params); err != nil {
		fail("params: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(w.steps)) {
		if w.answers[name], err = schema(w.steps[name].Answer); err != nil {
			fail("step %q: answer: %w", name, err)
		}
		w.checkStep(name, fail)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("workflow %s: %w", d.Name, errors.Join(problems...))
	}
	return w, nil
}

// expand takes in the steps of a definition, those of parts with the name of
// the step that uses them before theirs. end is where End leads.
func (w *Workflow) expand(d *Definition, prefix, end string, depth int, fail func(string, ...any)) {
	switch {
	case depth > maxDepth:
		fail("parts use each other more than %d deep", maxDepth)
		return
	case len(w.steps) > maxSteps:
		return // which New says
	}
	if _, ok := d.Steps[d.Start]; !ok {
		fail("%sstart: there is no step %q", prefix, d.Start)
	}
	at := func(name string) string {
		if name == End {
			return end
		}
		return prefix + name
	}
	for name, s := range d.Steps {
		if s == nil || name == "" || name == End || strings.Contains(name, "/") {
			fail("%q cannot be a step: it needs a name without a slash, other than %q", prefix+name, End)
			continue
		}
		c := *s
		c.Next = nil
		for _, b := range s.Next {
			c.Next = append(c.Next, Branch{at(b.To), b.When})
		}
		if len(s.Next) == 0 {
			c.Next = Branches{{To: end}}
		}
		if s.OnMaxVisits != "" {
			c.OnMaxVisits = at(s.OnMaxVisits)
		}
		w.steps[prefix+name] = &c
		if s.Use == "" {
			continue
		}
		part := d.Parts[s.Use]
		if part == nil || s.Prompt != "" || s.Answer != nil || s.Action != nil {
			fail("step %q: use: there is no part %q, or the step has something of its own too", prefix+name, s.Use)
			continue
		}
		inner := prefix + name + "/"
		// What comes after the part is decided where it ends.
		w.steps[inner+End] = &Step{Next: c.Next, MaxVisits: c.MaxVisits}
		c.Next = Branches{{To: inner + part.Start}}
		w.expand(part, inner, inner+End, depth+1, fail)
	}
}

func (w *Workflow) checkStep(name string, fail func(string, ...any)) {
	s := w.steps[name]
	known := func(to string) {
		if _, ok := w.steps[to]; !ok && to != End {
			fail("step %q leads to %q, which does not exist", name, to)
		}
	}
	for _, b := range s.Next {
		known(b.To)
		if b.When != nil {
			if n := b.When.comparisons(); n != 1 {
				fail("step %q: the condition for %q has %d comparisons: write one of equals, in, exists, above, below", name, b.To, n)
			}
		}
	}
	if s.OnMaxVisits != "" {
		known(s.OnMaxVisits)
	}
	if s.MaxVisits < 0 {
		fail("step %q: maxVisits is negative", name)
	}
	if s.Action != nil && s.Action.Tool == "" {
		fail("step %q: its action names no tool", name)
	}
}

func (c *Condition) comparisons() int {
	n := 0
	for _, set := range []bool{c.Equals != nil, c.In != nil, c.Exists != nil, c.Above != nil, c.Below != nil} {
		if set {
			n++
		}
	}
	return n
}

// schema prepares a JSON Schema; nil stays nil.
func schema(raw json.RawMessage) (*jsonschema.Resolved, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}
