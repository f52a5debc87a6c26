// Package workflow runs skills that go step by step: the engine says what to do
// next, the model does it and answers in the form that the step asks for, and
// the answer decides which step follows. Between answers it can call tools by
// itself.
//
// A workflow is a pure function of what has happened: a session is a list of
// events that only grows, and reading it again gives the same state without
// doing anything a second time. That is why a session survives the process.
//
// A Definition is written as JSON or in Go; in Go its prompts, transitions and
// actions may be functions. New checks it, NewEngine runs it.
package workflow

import (
	"context"
	"encoding/json"
	"errors"
)

const (
	// FileName is the file of a skill that holds its workflow.
	FileName = "workflow.json"
	// End is the target that ends a workflow.
	End = "done"
	// Self is, as a target, the step itself.
	Self = "self"
	// DefaultVisits is how often a step may be visited if it does not say.
	DefaultVisits = 10

	// toSubskill, toTopic and toSkill begin targets that are not steps: the workflow
	// that leads to one ends there.
	toSubskill = "subskill:"
	toTopic    = "topic:"
	toSkill    = "skill:"

	maxSteps = 500
)

// A Definition is a workflow as it is written. Fields that JSON cannot hold are
// for definitions in Go.
type Definition struct {
	// Name and Description are for people.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Version is part of what tells one definition from another. Change it when
	// the functions of the definition change: a session goes on only with the
	// definition that it was started with.
	Version string `json:"version,omitempty"`
	// Preamble is given with the first prompt.
	Preamble string `json:"preamble,omitempty"`
	// Start is the first step.
	Start string `json:"start"`
	// Params is the JSON Schema of what a session is started with; nil accepts any
	// object.
	Params json.RawMessage `json:"params,omitempty"`
	// Stores are the JSON Schemas of what steps save into, by name. What is saved is
	// merged into what is there, so that a field that another step saves must not be
	// required.
	Stores map[string]json.RawMessage `json:"stores,omitempty"`
	// Steps by name. Names have no dots, slashes or colons.
	Steps map[string]*Step `json:"steps"`
	// Subskills are workflows that a step may lead to as "subskill:NAME", and that
	// can be started by themselves. They have no subskills and topics of their own.
	Subskills map[string]*Subskill `json:"subskills,omitempty"`
	// Topics are texts that a step may lead to as "topic:NAME", which ends the
	// session with the text, and that can be looked up at any time.
	Topics map[string]*Topic `json:"topics,omitempty"`
	// Result is a template of the answer at the end; nil means the last answer.
	Result json.RawMessage `json:"result,omitempty"`
}

// A Step is one thing to do. A step without a prompt and an answer is passed
// after its action.
type Step struct {
	// Prompt says what the model is to do. {{params.x}}, {{steps.name.x}} and
	// {{answer.x}} are replaced by what was given, by the last answer or the
	// action's result of a step, and by the last answer of all; {{store.name.x}} is
	// what steps have saved, {{host}} is one of Hosts, and {{tools.id}} exists if
	// there is such a tool.
	Prompt Prompt `json:"prompt,omitempty"`
	// PromptFunc makes the prompt instead. It is called again each time the prompt
	// is repeated.
	PromptFunc func(*View) (Prompt, error) `json:"-"`
	// Answer is the JSON Schema of the answer. Without one any answer is accepted,
	// and the step may be passed without one; a prompt that only asks questions
	// has the schema of those.
	Answer json.RawMessage `json:"answer,omitempty"`
	// Action runs before the prompt is given.
	Action *Action `json:"action,omitempty"`
	// Save are templates of what is kept when the step is done: in the stores of
	// these names, and under "step" what {{steps.name}} is from then on instead of
	// the answer or the result.
	Save map[string]json.RawMessage `json:"save,omitempty"`
	// SaveFunc makes that instead; its values are written as JSON.
	SaveFunc func(*View) (map[string]any, error) `json:"-"`
	// Next are tried in order; the first with a true condition is taken. Without any
	// the workflow ends.
	Next Branches `json:"next,omitempty"`
	// NextFunc names the target instead, one of Targets.
	NextFunc func(*View) (string, error) `json:"-"`
	Targets  []string                    `json:"-"`
	// MaxVisits is how often the step may be visited, 10,000 at most; 0 means
	// DefaultVisits. One visit more goes to OnMaxVisits, or fails without it.
	MaxVisits   int    `json:"maxVisits,omitempty"`
	OnMaxVisits string `json:"onMaxVisits,omitempty"`
}

// An Action is a call of a tool, or of a function.
type Action struct {
	// Tool is an id, which the caller of the engine understands. With Run it is
	// only a name.
	Tool string `json:"tool"`
	// Run is called instead of a tool. It must return soon after ctx is done; its
	// result is written as JSON. After an error the model may try again.
	Run func(ctx context.Context, input json.RawMessage) (any, error) `json:"-"`
	// Input is a template: strings in it may hold {{…}}, and one that is nothing
	// else becomes the value itself.
	Input json.RawMessage `json:"input,omitempty"`
	// InputSchema and OutputSchema are JSON Schemas of the input and the result; nil
	// accepts any. What does not match ends the session.
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Repeatable means that running it twice does no harm. An action that is not
	// repeatable, and that was interrupted by the end of the process, runs again
	// only when the model asks for that.
	Repeatable bool `json:"repeatable,omitempty"`
}

// ErrUnsure is wrapped by errors of calls that may or may not have been carried
// out. Such an action runs again only when the model asks for that.
var ErrUnsure = errors.New("it may have been done")

// A Branch goes to a target if its condition holds: a step, End, Self,
// "subskill:NAME", "topic:NAME", or "skill:NAME" for another skill.
type Branch struct {
	To string `json:"to"`
	// When is nil if it always holds.
	When *Condition `json:"when,omitempty"`
	// With is a template of the params of a subskill, instead of those that the
	// subskill declares, or of the input for another skill.
	With json.RawMessage `json:"with,omitempty"`
}

// A Condition compares a value. Exactly one of the comparisons is set.
type Condition struct {
	// Path is like what is between {{ and }}.
	Path   string            `json:"path"`
	Equals json.RawMessage   `json:"equals,omitempty"`
	In     []json.RawMessage `json:"in,omitempty"`
	Exists *bool             `json:"exists,omitempty"`
	Above  *float64          `json:"above,omitempty"`
	Below  *float64          `json:"below,omitempty"`
	// Not inverts the comparison.
	Not bool `json:"not,omitempty"`
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

// Branches may be written as the name of one target.
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
