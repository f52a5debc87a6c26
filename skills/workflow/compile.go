package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/schema"
)

// A Workflow is a Definition that was checked. It is not changed, and may be used
// by several goroutines.
type Workflow struct {
	def    *Definition
	digest string
	areas  map[string]*area // by name; that of the workflow itself is ""
	steps  map[string]*node // by their full names
}

// A node is a step in its workflow.
type node struct {
	Step   // with a Next that is resolved
	area   *area
	name   string          // in full, such as doctor/diagnose
	asks   Prompt          // the questions that the prompt consists of, or nil
	schema json.RawMessage // of the answer, also if it is that of the questions
	answer *schema.Schema
	input  *schema.Schema // of the action
	output *schema.Schema
}

// takes checks an answer.
func (n *node) takes(answer json.RawMessage) error {
	if err := fits(answer); err != nil {
		return fmt.Errorf("the answer: %w", err)
	}
	return n.answer.Check(answer)
}

// prompts reports whether the model has to do something at the step.
func (n *node) prompts() bool {
	return n.PromptFunc != nil || len(n.Prompt) > 0 || n.Answer != nil
}

// Parse reads a workflow from JSON. Unknown keys are errors: a condition that is
// not read would send the model elsewhere. The error names everything that is
// wrong.
func Parse(data []byte) (*Workflow, error) {
	var d Definition
	if err := strict(data, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", FileName, err)
	}
	w, err := compile(&d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", FileName, err)
	}
	return w, nil
}

// New checks a definition, which must not be changed afterwards. The error names
// everything that is wrong.
func New(d *Definition) (*Workflow, error) {
	w, err := compile(d)
	switch {
	case err == nil:
		return w, nil
	case d.Name == "":
		return nil, fmt.Errorf("workflow: %w", err)
	}
	return nil, fmt.Errorf("workflow %s: %w", d.Name, err)
}

func compile(d *Definition) (*Workflow, error) {
	c := &compiler{w: &Workflow{def: d, areas: map[string]*area{}, steps: map[string]*node{}}}
	c.area(&area{def: d})
	c.subskills(d)
	c.topics(d)
	if len(c.w.steps) > maxSteps {
		c.fail("there are more than %d steps", maxSteps)
	}
	for _, name := range slices.Sorted(maps.Keys(c.w.steps)) {
		n := c.w.steps[name]
		c.current = n.area
		c.step(name, n)
	}
	if len(c.problems) > 0 {
		return nil, errors.Join(c.problems...)
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	c.w.digest = hex.EncodeToString(sum[:])
	return c.w, nil
}

// newNode resolves where a step leads.
func newNode(a *area, name string, s *Step) *node {
	n := &node{Step: *s, area: a, name: a.prefix() + name}
	n.Next = slices.Clone(s.Next)
	for i := range n.Next {
		n.Next[i].To = n.target(n.Next[i].To)
	}
	if len(n.Next) == 0 && n.NextFunc == nil {
		n.Next = Branches{{To: End}}
	}
	n.Targets = nil
	for _, to := range s.Targets {
		n.Targets = append(n.Targets, n.target(to))
	}
	n.OnMaxVisits = n.target(s.OnMaxVisits)
	return n
}

// target is where a target of the step leads, a step by its full name.
func (n *node) target(to string) string {
	switch {
	case to == Self:
		return n.name
	case to == "" || to == End || isElsewhere(to):
		return to
	}
	return n.area.prefix() + to
}

// Digest tells one definition from another. What its functions do is not in it:
// Definition.Version is there for that.
func (w *Workflow) Digest() string { return w.digest }

// Params is the JSON Schema of what a session is started with, or nil.
func (w *Workflow) Params() json.RawMessage { return w.def.Params }

// A compiler makes a Workflow and collects what is wrong.
type compiler struct {
	w        *Workflow
	current  *area // that is looked at
	problems []error
}

func (c *compiler) fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("%s%w", c.current.label(), fmt.Errorf(format, args...)))
}

// schema compiles one of what.
func (c *compiler) schema(raw json.RawMessage, format string, args ...any) *schema.Schema {
	s, err := schema.Compile(raw)
	if err != nil {
		c.fail("%s: %w", fmt.Sprintf(format, args...), err)
	}
	return s
}

// step checks one.
func (c *compiler) step(name string, n *node) {
	for _, b := range n.Next {
		c.branch(name, b)
	}
	for _, to := range n.Targets {
		c.branch(name, Branch{To: to})
	}
	if n.OnMaxVisits != "" {
		c.branch(name, Branch{To: n.OnMaxVisits})
	}
	switch {
	case n.NextFunc != nil && len(n.Next) > 0:
		c.fail("step %q has Next and NextFunc: write one of them", name)
	case n.NextFunc != nil && len(n.Targets) == 0:
		c.fail("step %q has NextFunc without Targets: say where it may lead to", name)
	}
	switch {
	case n.MaxVisits < 0:
		c.fail("step %q: maxVisits is negative", name)
	case n.MaxVisits > mostVisits:
		c.fail("step %q: maxVisits is %d, and %d is the most", name, n.MaxVisits, mostVisits)
	}
	if len(n.Prompt) > 0 && n.PromptFunc != nil {
		c.fail("step %q has Prompt and PromptFunc: write one of them", name)
	}
	problems := n.Prompt.check()
	for _, problem := range problems {
		c.fail("step %q: prompt: %s", name, problem)
	}
	n.asks, n.schema = n.Prompt.asks(), n.Answer
	if len(n.asks) > 0 && n.Answer == nil && len(problems) == 0 {
		n.schema = answerSchema(n.asks, nil)
	}
	n.answer = c.schema(n.schema, "step %q: answer", name)
	if a := n.Action; a != nil && a.Tool == "" {
		c.fail("step %q: its action names no tool", name)
	} else if a != nil && len(a.Input) > 0 && !json.Valid(a.Input) {
		c.fail("step %q: the input of its action is invalid JSON", name)
	}
	if a := n.Action; a != nil {
		n.input = c.schema(a.InputSchema, "step %q: inputSchema of its action", name)
		n.output = c.schema(a.OutputSchema, "step %q: outputSchema of its action", name)
	}
	c.save(name, n)
}

// branch checks one of a step.
func (c *compiler) branch(name string, b Branch) {
	kind, what, _ := strings.Cut(b.To, ":")
	switch {
	case !isElsewhere(b.To):
		if b.To != End && c.w.steps[b.To] == nil {
			to := strings.TrimPrefix(b.To, c.current.prefix())
			c.fail("step %q leads to %q, which does not exist%s", name, to, didYouMean(to, slices.Collect(maps.Keys(c.current.def.Steps))))
		}
	case what == "":
		c.fail("step %q leads to %q, which names no %s", name, b.To, kind)
	case kind+":" == toSubskill && c.current.name != "":
		c.fail("step %q leads to %q: a subskill leads neither to itself nor to another one; go on with a step, or end with %q", name, b.To, End)
	case kind+":" == toSubskill && c.w.areas[what] == nil:
		c.fail("step %q leads to %q, which does not exist%s", name, b.To, didYouMean(what, c.w.Subskills()))
	case kind+":" == toTopic && c.w.def.Topics[what] == nil:
		c.fail("step %q leads to %q, which does not exist%s", name, b.To, didYouMean(what, c.w.Topics()))
	}
	if len(b.With) > 0 && kind+":" != toSkill && kind+":" != toSubskill {
		c.fail("step %q: the branch for %q has a with, which only a skill uses, or a subskill", name, b.To)
	} else if len(b.With) > 0 && !json.Valid(b.With) {
		c.fail("step %q: the with of the branch for %q is invalid JSON", name, b.To)
	}
	if b.When != nil {
		if k := b.When.comparisons(); k != 1 {
			c.fail("step %q: the condition for %q has %d comparisons: write one of equals, in, exists, above, below", name, b.To, k)
		}
	}
}

// paths are those that a step reads.
func (n *node) paths() []string {
	var texts strings.Builder
	prompt, _ := json.Marshal(n.Prompt) // of strings only
	texts.Write(prompt)
	if n.Action != nil {
		texts.Write(n.Action.Input)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Save)) {
		texts.Write(n.Save[name])
	}
	var paths []string
	for _, b := range n.Next {
		texts.Write(b.With)
		if b.When != nil {
			paths = append(paths, b.When.Path)
		}
	}
	return append(paths, variables(texts.String())...)
}
