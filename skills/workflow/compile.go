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

	"github.com/mcpbroker/mcpbroker/internal/jsoncheck"
)

// A Workflow is a Definition that was found right. It is not changed, and may
// be used by several goroutines.
type Workflow struct {
	def    *Definition
	digest string
	areas  map[string]*area // by name; that of the workflow itself is ""
	steps  map[string]*node // by their full names
}

// An area is the workflow itself or one of its subskills: each has params and
// values of its own.
type area struct {
	def      *Definition
	prefix   string // of the full names of its steps
	params   *jsoncheck.Schema
	result   *jsoncheck.Schema
	stores   map[string]*jsoncheck.Schema
	subskill *Subskill // nil for the workflow itself
}

// A node is a step in its place.
type node struct {
	Step          // with a Next that is resolved
	area   *area  // that it belongs to
	inside string // the steps with parts that it is in, such as "a/b/", or nothing
	local  string // its name within the area
	ends   string // the local name of the step whose part ends here, or nothing

	answer, input, output *jsoncheck.Schema
	schema                json.RawMessage // of the answer, also if it is that of a question
	asks                  *Piece          // the question that the prompt is, or nil
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
	return n.PromptFunc != nil || !n.Prompt.empty() || n.Answer != nil
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

// New checks a definition, which must not be changed any more. The error names
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
	c.area("", d, nil)
	for _, name := range slices.Sorted(maps.Keys(d.Subskills)) {
		switch s := d.Subskills[name]; {
		case name == "" || strings.Contains(name, "/"):
			c.fail("%q cannot be a subskill: it needs a name without a slash", name)
		case s == nil || s.Workflow == nil:
			c.fail("subskill %q has no workflow", name)
		case d.Steps[name] != nil:
			c.fail("subskill %q has the name of a step", name)
		case len(s.Workflow.Subskills) > 0:
			c.fail("subskill %q has subskills, which only the workflow itself can have", name)
		default:
			c.area(name, s.Workflow, s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Topics)) {
		if t := d.Topics[name]; name == "" || t == nil || (t.Text == "") == (t.File == "") {
			c.fail("topic %q needs a name, and either a text or a file", name)
		}
	}
	if len(c.w.steps) > maxSteps {
		c.fail("there are more than %d steps", maxSteps)
	}
	for _, name := range slices.Sorted(maps.Keys(c.w.steps)) {
		c.step(name, c.w.steps[name])
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

// Digest tells one definition from another. What its functions do is not in it:
// Definition.Version is there for that.
func (w *Workflow) Digest() string { return w.digest }

// Params is the JSON Schema of what a session is started with, or nil.
func (w *Workflow) Params() json.RawMessage { return w.def.Params }

// Subskills are the names of those that can be started by themselves, sorted.
func (w *Workflow) Subskills() []string { return slices.Sorted(maps.Keys(w.def.Subskills)) }

// SubskillParams is the JSON Schema of what a subskill is started with, or nil.
func (w *Workflow) SubskillParams(name string) json.RawMessage {
	if a := w.areas[name]; a != nil && name != "" {
		return a.def.Params
	}
	return nil
}

// Topics are the names of what can be looked up, sorted.
func (w *Workflow) Topics() []string { return slices.Sorted(maps.Keys(w.def.Topics)) }

// Files are the files of the skill that the workflow reads, sorted.
func (w *Workflow) Files() []string {
	var files []string
	for _, t := range w.def.Topics {
		if t.File != "" {
			files = append(files, t.File)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Tools are the ids of the tools that its actions call, sorted.
func (w *Workflow) Tools() []string {
	var ids []string
	for _, n := range w.steps {
		if n.Action != nil && n.Action.Run == nil {
			ids = append(ids, n.Action.Tool)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// A compiler makes a Workflow and collects what is wrong.
type compiler struct {
	w        *Workflow
	problems []error
}

func (c *compiler) fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

// schema compiles one of what.
func (c *compiler) schema(raw json.RawMessage, format string, args ...any) *jsoncheck.Schema {
	s, err := jsoncheck.Compile(raw)
	if err != nil {
		c.fail("%s: %w", fmt.Sprintf(format, args...), err)
	}
	return s
}

// area takes in the workflow itself or a subskill.
func (c *compiler) area(name string, d *Definition, s *Subskill) {
	a := &area{def: d, subskill: s, stores: map[string]*jsoncheck.Schema{}}
	if s != nil {
		a.prefix = name + "/"
		if len(d.Topics) > 0 {
			c.fail("subskill %q has topics, which only the workflow itself can have", name)
		}
	}
	c.w.areas[name] = a
	a.params = c.schema(d.Params, "%sparams", a.prefix)
	a.result = c.schema(d.ResultSchema, "%sresultSchema", a.prefix)
	for _, store := range slices.Sorted(maps.Keys(d.Stores)) {
		if store == "" || store == saveStep || strings.ContainsAny(store, "./") {
			c.fail("%q cannot be a store: it needs a name without dots and slashes, other than %q", a.prefix+store, saveStep)
		}
		a.stores[store] = c.schema(d.Stores[store], "store %q", a.prefix+store)
	}
	if len(d.Result) > 0 && !json.Valid(d.Result) {
		c.fail("%sresult is no JSON", a.prefix)
	}
	c.expand(a, d, a.prefix, End, 0)
}

// ofTheWhole are the fields that a definition has and a part cannot have.
func (d *Definition) ofTheWhole() (fields []string) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"system", d.System != ""}, {"preamble", d.Preamble != ""}, {"params", d.Params != nil}, {"stores", len(d.Stores) > 0},
		{"subskills", len(d.Subskills) > 0}, {"topics", len(d.Topics) > 0}, {"result", d.Result != nil},
		{"resultSchema", d.ResultSchema != nil}, {"observers", len(d.Observers) > 0},
	} {
		if f.set {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// expand takes in the steps of a definition, those of parts with the name of
// the step that uses them before theirs. end is where End leads.
func (c *compiler) expand(a *area, d *Definition, prefix, end string, depth int) {
	switch {
	case depth > maxDepth:
		c.fail("parts use each other more than %d deep", maxDepth)
		return
	case len(c.w.steps) > maxSteps:
		return // which New says
	case depth > 0 && len(d.ofTheWhole()) > 0:
		c.fail("step %q: the part that it uses cannot have %s of its own: those of the workflow hold there too",
			strings.TrimSuffix(prefix, "/"), strings.Join(d.ofTheWhole(), ", "))
	}
	if _, ok := d.Steps[d.Start]; !ok {
		c.fail("%sstart: there is no step %q%s", prefix, d.Start, near(d.Start, slices.Collect(maps.Keys(d.Steps))))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Steps)) {
		s := d.Steps[name]
		if s == nil {
			c.fail("step %q is null: a step that does nothing is {}", prefix+name)
			continue
		}
		if name == "" || name == End || name == Self || strings.ContainsAny(name, "/:") {
			c.fail("%q cannot be a step: it needs a name without slashes and colons, other than %q and %q", prefix+name, End, Self)
			continue
		}
		n := c.place(a, s, prefix, end, prefix+name)
		if s.Use == "" {
			continue
		}
		if own := s.own(); len(own) > 0 {
			c.fail("step %q: it uses a part and has %s of its own: write one of them", prefix+name, strings.Join(own, ", "))
			continue
		}
		part := d.Parts[s.Use]
		if part == nil {
			c.fail("step %q: use: there is no part %q%s", prefix+name, s.Use, near(s.Use, slices.Collect(maps.Keys(d.Parts))))
			continue
		}
		// What comes after the part is decided where it ends.
		inner := prefix + name + "/"
		after := *n
		after.Step = Step{Next: n.Next, NextFunc: n.NextFunc, Targets: n.Targets, MaxVisits: n.MaxVisits, OnMaxVisits: n.OnMaxVisits}
		after.local, after.ends = n.local+"/"+End, n.local
		c.w.steps[inner+End] = &after
		n.Next, n.NextFunc, n.Targets = Branches{{To: inner + part.Start}}, nil, nil
		c.expand(a, part, inner, inner+End, depth+1)
	}
}

// own are the fields of a step that say what it does, which are those of its
// part if it uses one.
func (s *Step) own() (fields []string) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"prompt", !s.Prompt.empty()}, {"PromptFunc", s.PromptFunc != nil}, {"answer", s.Answer != nil}, {"action", s.Action != nil},
		{"save", s.Save != nil}, {"SaveFunc", s.SaveFunc != nil},
	} {
		if f.set {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// place makes the node of a step.
func (c *compiler) place(a *area, s *Step, prefix, end, name string) *node {
	n := &node{Step: *s, area: a, inside: strings.TrimPrefix(prefix, a.prefix), local: strings.TrimPrefix(name, a.prefix)}
	n.Next = nil
	for _, b := range s.Next {
		b.To = target(b.To, prefix, end, name)
		n.Next = append(n.Next, b)
	}
	if f := s.NextFunc; f != nil {
		n.NextFunc = func(v *View) (string, error) {
			to, err := f(v)
			return target(to, prefix, end, name), err
		}
		n.Targets = nil
		for _, to := range s.Targets {
			n.Targets = append(n.Targets, target(to, prefix, end, name))
		}
	} else if len(s.Next) == 0 {
		n.Next = Branches{{To: end}}
	}
	if s.OnMaxVisits != "" {
		n.OnMaxVisits = target(s.OnMaxVisits, prefix, end, name)
	}
	c.w.steps[name] = n
	return n
}

// target is the full name of what a step leads to.
func target(to, prefix, end, step string) string {
	switch {
	case to == End:
		return end
	case to == Self:
		return step
	case isElsewhere(to):
		return to
	}
	return prefix + to
}

// isElsewhere reports whether a target is no step of the same area.
func isElsewhere(to string) bool {
	return strings.HasPrefix(to, toSubskill) || strings.HasPrefix(to, toTopic) || strings.HasPrefix(to, toSkill)
}

// step checks one that is in its place.
func (c *compiler) step(name string, n *node) {
	for _, b := range n.Next {
		c.target(name, n, b)
	}
	for _, to := range n.Targets {
		c.target(name, n, Branch{To: to})
	}
	if n.OnMaxVisits != "" {
		c.target(name, n, Branch{To: n.OnMaxVisits})
	}
	switch {
	case n.NextFunc != nil && len(n.Step.Next) > 0:
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
	if !n.Prompt.empty() && n.PromptFunc != nil {
		c.fail("step %q has Prompt and PromptFunc: write one of them", name)
	}
	for _, problem := range n.Prompt.check() {
		c.fail("step %q: prompt: %s", name, problem)
	}
	n.schema = n.Answer
	if n.PromptFunc == nil {
		if n.asks = n.Prompt.question(); n.asks != nil && n.Answer == nil {
			n.schema = n.asks.schema()
		}
	}
	n.answer = c.schema(n.schema, "step %q: answer", name)
	c.action(name, n)
	for _, key := range slices.Sorted(maps.Keys(n.Save)) {
		if _, ok := n.area.stores[key]; !ok && key != saveStep {
			c.fail("step %q saves into %q: it is no store, and not %q", name, key, saveStep)
		}
		if !json.Valid(n.Save[key]) {
			c.fail("step %q: what it saves into %q is no JSON", name, key)
		}
	}
	if n.Save != nil && n.SaveFunc != nil {
		c.fail("step %q has Save and SaveFunc: write one of them", name)
	}
}

func (c *compiler) action(name string, n *node) {
	a := n.Action
	if a == nil {
		return
	}
	switch {
	case a.Tool == "":
		c.fail("step %q: its action names no tool", name)
	case a.Input != nil && a.InputFunc != nil:
		c.fail("step %q: its action has Input and InputFunc: write one of them", name)
	case len(a.Input) > 0 && !json.Valid(a.Input):
		c.fail("step %q: the input of its action is no JSON", name)
	}
	n.input = c.schema(a.InputSchema, "step %q: inputSchema of its action", name)
	n.output = c.schema(a.OutputSchema, "step %q: outputSchema of its action", name)
}

// beside are the full names of the steps that a step may lead to.
func (c *compiler) beside(n *node) []string {
	var names []string
	for name, other := range c.w.steps {
		if other.area == n.area && other.inside == n.inside && other.ends == "" {
			names = append(names, name)
		}
	}
	return names
}

// target checks one branch.
func (c *compiler) target(name string, n *node, b Branch) {
	kind, what, _ := strings.Cut(b.To, ":")
	switch {
	case !isElsewhere(b.To):
		if _, ok := c.w.steps[b.To]; !ok && b.To != End {
			c.fail("step %q leads to %q, which does not exist%s", name, b.To, near(b.To, c.beside(n)))
		}
	case n.area.subskill != nil && kind == strings.TrimSuffix(toSubskill, ":"):
		c.fail("step %q leads to %q: a subskill cannot lead to another one", name, b.To)
	case what == "",
		strings.HasPrefix(b.To, toSubskill) && c.w.areas[what] == nil,
		strings.HasPrefix(b.To, toTopic) && c.w.def.Topics[what] == nil:
		known := slices.Collect(maps.Keys(c.w.def.Topics))
		if strings.HasPrefix(b.To, toSubskill) {
			known = slices.Collect(maps.Keys(c.w.def.Subskills))
		}
		c.fail("step %q leads to the %s %q, which does not exist%s", name, kind, what, near(what, known))
	}
	if len(b.With) > 0 && (!isElsewhere(b.To) || strings.HasPrefix(b.To, toTopic)) {
		c.fail("step %q: the branch for %q has a with that nobody takes: only subskills and skills do", name, b.To)
	} else if len(b.With) > 0 && !json.Valid(b.With) {
		c.fail("step %q: the with of the branch for %q is no JSON", name, b.To)
	}
	if b.When != nil {
		if k := b.When.comparisons(); k != 1 {
			c.fail("step %q: the condition for %q has %d comparisons: write one of equals, in, exists, above, below", name, b.To, k)
		}
	}
}
