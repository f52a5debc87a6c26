package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/schema"
)

// A Subskill is a workflow that another one leads to. The session goes on in it
// with params and values of its own, and ends where it ends. Its steps are named
// SUBSKILL/STEP.
type Subskill struct {
	// Params is a template of what the subskill is started with; nil means {}.
	Params   json.RawMessage `json:"params,omitempty"`
	Workflow *Definition     `json:"workflow"`
}

// A Topic is something to look up.
type Topic struct {
	// Label says in a few words what it is.
	Label string `json:"label,omitempty"`
	// Text is the topic itself, or File is the file of the skill that holds it.
	Text string `json:"text,omitempty"`
	File string `json:"file,omitempty"`
}

// maxNameBytes bounds the names of subskills and topics, which become those of
// tools, and maxTopics how many topics there are.
const (
	maxNameBytes = 100
	maxTopics    = 500
)

// isElsewhere reports whether a target is not a step of the same area.
func isElsewhere(to string) bool {
	return strings.HasPrefix(to, toSubskill) || strings.HasPrefix(to, toTopic) || strings.HasPrefix(to, toSkill)
}

// An area is the workflow itself or one of its subskills: each has params and
// values of its own.
type area struct {
	name   string // of the subskill; "" for the workflow itself
	def    *Definition
	given  json.RawMessage // a template of the params, of a subskill
	params *schema.Schema
	stores map[string]*schema.Schema
}

// prefix begins the full names of its steps.
func (a *area) prefix() string {
	if a.name == "" {
		return ""
	}
	return a.name + "/"
}

// label begins what is said about a subskill.
func (a *area) label() string {
	if a == nil || a.name == "" {
		return ""
	}
	return "[" + toSubskill + a.name + "] "
}

// area checks the workflow itself or a subskill, and adds its steps.
func (c *compiler) area(a *area) {
	c.current, c.w.areas[a.name] = a, a
	d := a.def
	a.params = c.schema(d.Params, "params")
	c.stores(a)
	if len(d.Result) > 0 && !json.Valid(d.Result) {
		c.fail("result is invalid JSON")
	}
	if _, ok := d.Steps[d.Start]; !ok {
		c.fail("start: there is no step %q%s", d.Start, didYouMean(d.Start, slices.Collect(maps.Keys(d.Steps))))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Steps)) {
		switch s := d.Steps[name]; {
		case s == nil:
			c.fail("step %q is null: a step that does nothing is {}", name)
		case name == "" || name == End || name == Self || strings.ContainsAny(name, "/:."):
			c.fail("%q cannot be a step: it needs a name without dots, slashes and colons, other than %q and %q", name, End, Self)
		default:
			n := newNode(a, name, s)
			c.w.steps[n.name] = n
		}
	}
}

// validName reports whether name is a valid name of a subskill or topic, and records a problem
// if it is not.
func (c *compiler) validName(what, name string) bool {
	if name != "" && len(name) <= maxNameBytes && !strings.Contains(name, "/") && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return true
	}
	c.fail("%q cannot be a %s: it needs a name of at most %d printable bytes, without slashes", name, what, maxNameBytes)
	return false
}

// subskills checks those of a definition.
func (c *compiler) subskills(d *Definition) {
	for _, name := range slices.Sorted(maps.Keys(d.Subskills)) {
		c.current = c.w.areas[""]
		s := d.Subskills[name]
		switch {
		case !c.validName("subskill", name):
			continue
		case s == nil || s.Workflow == nil:
			c.fail("subskill %q has no workflow", name)
			continue
		case d.Steps[name] != nil:
			c.fail("subskill %q has the name of a step", name)
		case len(s.Params) > 0 && !json.Valid(s.Params):
			c.fail("subskill %q: its params are invalid JSON", name)
		}
		c.area(&area{name: name, def: s.Workflow, given: s.Params})
		if len(s.Workflow.Subskills) > 0 || len(s.Workflow.Topics) > 0 {
			c.fail("it has subskills or topics, which only the workflow itself can have")
		}
	}
	c.current = c.w.areas[""]
}

// topics checks those of a definition.
func (c *compiler) topics(d *Definition) {
	if len(d.Topics) > maxTopics {
		c.fail("there are more than %d topics", maxTopics)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Topics)) {
		if t := d.Topics[name]; c.validName("topic", name) && (t == nil || (t.Text == "") == (t.File == "")) {
			c.fail("topic %q needs either a text or a file", name)
		}
	}
}

// Subskills are the names of the subskills, which can be started by themselves,
// sorted.
func (w *Workflow) Subskills() []string { return slices.Sorted(maps.Keys(w.def.Subskills)) }

// SubskillParams is the JSON Schema of what a subskill is started with, or nil.
func (w *Workflow) SubskillParams(name string) json.RawMessage {
	if a := w.areas[name]; a != nil {
		return a.def.Params
	}
	return nil
}

// Topics are the names of what can be looked up, sorted.
func (w *Workflow) Topics() []string { return slices.Sorted(maps.Keys(w.def.Topics)) }

// TopicLabel says in a few words what a topic is; it may be empty.
func (w *Workflow) TopicLabel(name string) string {
	if t := w.def.Topics[name]; t != nil {
		return t.Label
	}
	return ""
}

// Files are the files of the skill that its topics name, sorted.
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

// Tools are the names of the tools of the workflow.
func (w *Workflow) Tools() []string {
	names := []string{ToolStart, ToolAdvance}
	if len(w.def.Topics) > 0 {
		names = append(names, ToolTopic)
	}
	for _, name := range w.Subskills() {
		names = append(names, name+"/"+ToolStart)
	}
	return names
}

// StartSubskill begins a session in a subskill.
func (e *Engine) StartSubskill(ctx context.Context, name string, params json.RawMessage) Result {
	a := e.w.areas[name]
	if a == nil || name == "" {
		return failed("", "", false, "unknown subskill %q%s", name, known(name, e.w.Subskills()))
	}
	return e.start(ctx, a, params)
}

// Topic looks a topic up.
func (e *Engine) Topic(ctx context.Context, name string) Result {
	if e.w.def.Topics[name] == nil {
		return failed("", "", false, "unknown topic %q%s", name, known(name, e.w.Topics()))
	}
	value, err := e.topic(ctx, name)
	if err != nil {
		return failed("", "", true, "%s", err)
	}
	return Result{Status: StatusDone, Result: value}
}

func (e *Engine) topic(ctx context.Context, name string) (json.RawMessage, error) {
	t := e.w.def.Topics[name]
	text := t.Text
	if t.File != "" {
		if e.o.Read == nil {
			return nil, fmt.Errorf("topic %q is in the file %s, and files cannot be read here", name, t.File)
		}
		var err error
		if text, err = e.o.Read(ctx, t.File); err != nil {
			return nil, fmt.Errorf("topic %q: %w", name, err)
		}
	}
	value := encode(map[string]string{"topic": name, "content": text})
	if err := fits(value); err != nil {
		return nil, fmt.Errorf("topic %q: %w", name, err)
	}
	return value, nil
}

// known names the nearest of the names that exist, or all.
func known(name string, names []string) string {
	switch near := nearest.Names(name, names, 3); {
	case len(near) > 0:
		return ": did you mean " + strings.Join(near, ", ") + "?"
	case len(names) > 0:
		return "; there are " + strings.Join(names[:min(len(names), 20)], ", ")
	}
	return ": there are none"
}

// topic ends the session with a topic.
func (r *run) topic(ctx context.Context, name string) *Result {
	value, err := r.e.topic(ctx, name)
	if err != nil {
		return r.fail(true, "%s", err)
	}
	return r.done(value)
}

// enterSubskill goes on in a subskill, with the params of the branch or those that the
// subskill declares.
func (r *run) enterSubskill(name string, with json.RawMessage) *Result {
	a := r.e.w.areas[name]
	params := json.RawMessage("{}")
	if len(with) == 0 {
		with = a.given
	}
	var err error
	if len(with) > 0 {
		params, err = r.st.fill(with)
	}
	if err == nil {
		err = a.params.Check(params)
	}
	if err != nil {
		return r.stop("the params of subskill %q: %s", name, err)
	}
	if err := r.add(Event{Kind: Entered, Step: name, Value: params}); err != nil {
		return r.unkept(err)
	}
	r.preamble = strings.TrimSpace(r.preamble + "\n\n" + a.def.Preamble)
	return nil
}
