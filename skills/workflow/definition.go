// Package workflow runs skills that go step by step: the engine says what to do
// next, the model does it and answers in the form that the step asks for, and
// the answer decides which step comes then. Between the answers it may call
// tools by itself.
//
// A workflow is a pure function of what has happened: a session is a list of
// events that only grows, and reading it again gives the same state without
// doing anything a second time. So a session survives the process.
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
	// End is the step that ends a workflow.
	End = "done"
	// Self is, as a target, the step itself.
	Self = "self"
	// DefaultVisits is how often a step may be come to when it does not say.
	DefaultVisits = 10

	// The beginnings of targets that are no steps: what they name ends the
	// workflow that leads to them.
	toSubskill = "subskill:"
	toTopic    = "topic:"
	toSkill    = "skill:"

	maxSteps = 500
	maxDepth = 8 // of parts in parts
)

// A Definition is a workflow as it is written. Fields that JSON cannot hold are
// for definitions in Go.
type Definition struct {
	// Name and Description are for people.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Version is part of what tells one definition from another. One with
	// functions should change it whenever they do something else: sessions that
	// were begun with another definition are not gone on with.
	Version string `json:"version,omitempty"`
	// System is how the model is to behave in all steps.
	System string `json:"system,omitempty"`
	// Preamble is given with the first prompt.
	Preamble string `json:"preamble,omitempty"`
	// Start is the first step.
	Start string `json:"start"`
	// Params is the JSON Schema of what a session is started with; nil takes an
	// object of any form.
	Params json.RawMessage `json:"params,omitempty"`
	// Stores are the JSON Schemas of what steps save into, by name. What is saved
	// is merged into what is there, so that a field that another step saves must
	// not be required.
	Stores map[string]json.RawMessage `json:"stores,omitempty"`
	// Steps by name. Names have no slash.
	Steps map[string]*Step `json:"steps"`
	// Parts are workflows that steps use. They have nothing but a start, steps and
	// parts, a name, a description and a version: the rest is that of the workflow.
	Parts map[string]*Definition `json:"parts,omitempty"`
	// Subskills are workflows that a step may lead to as "subskill:NAME". The
	// session goes on in them with params and values of their own, and ends where
	// they end. They have no subskills themselves.
	Subskills map[string]*Subskill `json:"subskills,omitempty"`
	// Topics are texts that a step may lead to as "topic:NAME", which ends the
	// session with the text.
	Topics map[string]*Topic `json:"topics,omitempty"`
	// Result is a template of the answer at the end; nil gives the last answer.
	Result json.RawMessage `json:"result,omitempty"`
	// ResultSchema is what the result has to fit; nil takes any.
	ResultSchema json.RawMessage `json:"resultSchema,omitempty"`
	// Observers are told of each event, after those of the engine; those of a
	// subskill of the events in it, after those of the workflow.
	Observers []Observer `json:"-"`
}

// A Subskill is a workflow that another one leads to.
type Subskill struct {
	// Params is a template of what it is started with; nil means {}.
	Params json.RawMessage `json:"params,omitempty"`
	// ParamsFunc makes them instead.
	ParamsFunc func(*View) (any, error) `json:"-"`
	Workflow   *Definition              `json:"workflow"`
}

// A Topic is something to look up.
type Topic struct {
	// Label says in a few words what it is.
	Label string `json:"label,omitempty"`
	// Text is the topic itself, or File the file of the skill that holds it.
	Text string `json:"text,omitempty"`
	File string `json:"file,omitempty"`
}

// A Step is one thing to do. A step without a prompt and an answer is passed
// through, after its action.
type Step struct {
	// Prompt says what the model is to do. {{params.x}}, {{steps.name.x}} and
	// {{answer.x}} stand for what was given, for the last answer or the action's
	// result of a step, and for the last answer of all. In a part, the names of
	// its own steps come before those of the workflow.
	Prompt Prompt `json:"prompt,omitempty"`
	// PromptFunc makes the prompt instead. It is called again each time when the
	// prompt is said again.
	PromptFunc func(*View) (Prompt, error) `json:"-"`
	// Answer is the JSON Schema of the answer. Without one any is taken, and the
	// step may be passed without an answer; a prompt that is one question only
	// has that of the question.
	Answer json.RawMessage `json:"answer,omitempty"`
	// Action is done before the prompt is given.
	Action *Action `json:"action,omitempty"`
	// Save are templates of what is kept when the step is done: into the stores
	// of these names, and under "step" what {{steps.name}} is from then on instead
	// of the answer or the result.
	Save map[string]json.RawMessage `json:"save,omitempty"`
	// SaveFunc makes that instead; its values are written as JSON.
	SaveFunc func(*View) (map[string]any, error) `json:"-"`
	// Use is the part that the step consists of, instead of the above. The last
	// answer or result in it is the step's.
	Use string `json:"use,omitempty"`
	// Next are tried in order; the first whose condition holds is taken. Without
	// any the workflow ends.
	Next Branches `json:"next,omitempty"`
	// NextFunc names the target instead, one of Targets.
	NextFunc func(*View) (string, error) `json:"-"`
	Targets  []string                    `json:"-"`
	// MaxVisits is how often the step may be come to, 10,000 at most; 0 means
	// DefaultVisits. What would be one more goes to OnMaxVisits, or fails without
	// it.
	MaxVisits   int    `json:"maxVisits,omitempty"`
	OnMaxVisits string `json:"onMaxVisits,omitempty"`
}

// An Action is a call of a tool, or of a function.
type Action struct {
	// Tool is an id, which the caller of the engine understands. With Run it is
	// only a name.
	Tool string `json:"tool"`
	// Run does it instead of a tool. It has to return soon after ctx is done; its
	// result is written as JSON. An error may be tried again by the model, one
	// that wraps ErrAbort ends the session.
	Run func(ctx context.Context, input json.RawMessage) (any, error) `json:"-"`
	// Input is a template: strings in it may hold {{…}}, and one that is nothing
	// else becomes the value itself.
	Input json.RawMessage `json:"input,omitempty"`
	// InputFunc makes the input instead.
	InputFunc func(*View) (any, error) `json:"-"`
	// InputSchema and OutputSchema are what the input and the result have to fit;
	// nil takes any. What does not fit ends the session.
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Repeatable means that it does no harm to do it twice. One that is not, and
	// that was interrupted by the end of the process, is done again only when the
	// model asks for that.
	Repeatable bool `json:"repeatable,omitempty"`
}

// ErrAbort is wrapped by errors of actions that no further try would mend.
var ErrAbort = errors.New("aborted")

// ErrUnsure is wrapped by errors of calls of which nobody knows whether they were
// done. Such an action is done again only when the model asks for that.
var ErrUnsure = errors.New("it may have been done")

// A Branch goes to a target if its condition holds: a step, End, Self,
// "subskill:NAME", "topic:NAME", or "skill:NAME" for another skill.
type Branch struct {
	To string `json:"to"`
	// When is nil if it always holds.
	When *Condition `json:"when,omitempty"`
	// With is a template of the params for a subskill, instead of its own, or of
	// the input for another skill.
	With json.RawMessage `json:"with,omitempty"`
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
	return strict(data, (*[]Branch)(b))
}
