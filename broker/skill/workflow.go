package skill

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/schema"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
	"github.com/mcpbroker/mcpbroker/state"
)

// workflowUse says to one who has activated a skill how its workflow is run;
// empty if it has none.
func workflowUse(k *skills.Skill) string {
	if notRun(k) != nil {
		return ""
	}
	w, err := k.Workflow()
	if err != nil {
		return "\nThe workflow of this skill is wrong and cannot be run: " + err.Error()
	}
	if w == nil {
		return ""
	}
	var use strings.Builder
	use.WriteString(`
This skill is a workflow. call_skill_tool with tool "start"` + withInput(w.Params()) +
		` begins it; do what the prompt says, then tool "advance" with input {"session", "answer"}, until its status is "done".`)
	for _, s := range w.Subskills() {
		fmt.Fprintf(&use, "\nWith tool %q%s, only that part runs.", s+"/"+workflow.ToolStart, withInput(w.SubskillParams(s)))
	}
	for i, t := range w.Topics() {
		if i == 0 {
			use.WriteString("\nTool \"topic\" with input {\"name\"} looks up one of:")
		}
		use.WriteString("\n- " + t)
		if label := gate.Line(w.TopicLabel(t)); label != "" {
			use.WriteString(": " + gate.Cut(label, maxLabelBytes))
		}
	}
	return use.String()
}

// maxLabelBytes bounds what is said of a topic.
const maxLabelBytes = 200

func withInput(schema json.RawMessage) string {
	if len(schema) == 0 {
		return ""
	}
	return " and this input: " + string(gate.Compact(schema))
}

// An engineKey identifies the client and the skill of an engine's sessions: other
// clients cannot continue them.
type engineKey struct{ owner, origin, skill string }

// An engine runs the workflow of a skill for one owner.
type engine struct {
	*workflow.Engine
	sessions workflow.Sessions
	used     time.Time
}

// engines are the engines in use. The zero value is ready to use.
type engines struct {
	mu    sync.Mutex
	byKey map[engineKey]*engine
}

// maxEngines bounds the engines of all owners: beyond it, the one whose last use is the
// longest ago is dropped, with its sessions if they are not stored.
const maxEngines = 1000

// engine returns the engine of a skill's current workflow w, with sessions stored as in o.
func (e *engines) engine(owner string, k *skills.Skill, w *workflow.Workflow, o *Options, log *slog.Logger) *engine {
	key := engineKey{owner, k.Origin(), k.ID()}
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.byKey[key]
	if old != nil && old.Workflow().Digest() == w.Digest() {
		old.used = time.Now()
		return old
	}
	one := &engine{used: time.Now()}
	switch docs := o.Workflows; {
	case old != nil:
		one.sessions = old.sessions
	case docs != nil:
		one.sessions = keptSessions{docs, keyOf("workflows", o.Room, key.owner, key.origin, key.skill), log}
	default:
		one.sessions = workflow.NewMemory()
	}
	one.Engine = workflow.NewEngine(w, &workflow.Options{Sessions: one.sessions})
	if e.byKey == nil {
		e.byKey = make(map[engineKey]*engine)
	}
	if old == nil && len(e.byKey) >= maxEngines {
		delete(e.byKey, slices.MinFunc(slices.Collect(maps.Keys(e.byKey)), func(a, b engineKey) int {
			return e.byKey[a].used.Compare(e.byKey[b].used)
		}))
	}
	e.byKey[key] = one
	return one
}

// shortSession names a session in the record without giving it away.
func shortSession(id string) string { return id[:min(len(id), 8)] }

// forCall is an engine for the calls of x: its actions are calls like those of a
// script, checked, policed and recorded, and its questions go to the client.
func (x *running) forCall(ctx context.Context, e *engine, k *skills.Skill) *workflow.Engine {
	return e.With(func(o *workflow.Options) {
		o.Observe = func(session string, ev workflow.Event) {
			// What happened is recorded, without what was said.
			what := strings.TrimSpace(shortSession(session) + " " + string(ev.Kind) + " " + ev.Step)
			x.f.note(state.EventSkillWorkflow, k, x.Request.Client, what, nil)
		}
		o.Call = func(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
			value, err := x.CallOfSkill(ctx, &policy.Skill{Ref: k.Ref, AllowedTools: k.AllowedTools}, tool, input)
			if message, ok := run.Unsure(err); ok {
				return nil, fmt.Errorf("%s: %w", message, workflow.ErrUnsure)
			}
			if err != nil {
				return nil, errors.New(run.ErrorText(err))
			}
			return value, nil
		}
		o.Skill, o.Host = k.Ref, x.o.Host
		if o.Host.Name == "" {
			o.Host.Name = x.Request.ClientInfo
		}
		o.Host.HasTool = func(id string) bool {
			_, err := x.f.catalog.Resolve(ctx, id)
			return err == nil
		}
		o.Read = func(ctx context.Context, path string) (string, error) {
			text, err := readWhole(k.With(ctx), path, skills.MaxFileBytes)
			x.f.noteRead(k, x.Request.Client, path, len(text), err)
			if err != nil {
				return "", skillFailure(err)
			}
			return text, nil
		}
		if t := x.Request.Talker; t != nil && t.Capabilities().Form && !x.o.DisableForms {
			o.Ask = func(ctx context.Context, f workflow.Form) (workflow.FormAction, json.RawMessage, error) {
				who := gate.Speaker("Skill", k.Ref) + ", " + gate.Speaker("step", f.Step) + ", asks:"
				return askForm(ctx, asker{Talker: t, first: who}, f)
			}
		}
	})
}

// askForm puts a question of a workflow to the user of the client.
func askForm(ctx context.Context, t upstream.Talker, f workflow.Form) (workflow.FormAction, json.RawMessage, error) {
	answer, err := t.Answer(ctx, surface.FormQuestion(f.Schema, gate.NewText(f.Message)))
	if err != nil {
		return workflow.FormCancel, nil, err
	}
	res, ok := answer.(*mcp.ElicitResult)
	if !ok {
		return workflow.FormCancel, nil, fmt.Errorf("the client answered a form with %T", answer)
	}
	return workflow.FormAction(res.Action), gate.Compact(res.Content), nil
}

// errNoWorkflowTool means that a tool is none of a workflow.
var errNoWorkflowTool = errors.New("no tool of a workflow")

// ofWorkflow answers the tools of a workflow for a skill that has one, unless it
// has tools of these names that are defined in Go.
func (x *running) ofWorkflow(ctx context.Context, k *skills.Skill, c skillCall, input json.RawMessage) (json.RawMessage, error) {
	if definesTool(k, c.tool) {
		return nil, errNoWorkflowTool
	}
	w, err := k.Workflow()
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, errNoWorkflowTool
	}
	kept := x.f.engines.engine(c.reader.owner, k, w, x.o, x.f.log)
	e := x.forCall(ctx, kept, k)
	answer := func(r workflow.Result) (json.RawMessage, error) { return x.workflowAnswer(c.reader, r) }
	if subskill, ok := strings.CutSuffix(c.tool, "/"+workflow.ToolStart); ok && slices.Contains(w.Subskills(), subskill) {
		return answer(e.StartSubskill(ctx, subskill, startParams(w.SubskillParams(subskill), input)))
	}
	switch c.tool {
	case workflow.ToolStart:
		return answer(e.Start(ctx, startParams(w.Params(), input)))
	case workflow.ToolAdvance:
		r, err := advance(ctx, e, input)
		if err != nil {
			return nil, err
		}
		return answer(r)
	case workflow.ToolTopic:
		if len(w.Topics()) > 0 {
			name, err := topicName(input)
			if err != nil {
				return nil, err
			}
			return answer(e.Topic(ctx, name))
		}
	}
	return nil, errNoWorkflowTool
}

// topicName reads the input of the tool topic.
func topicName(input json.RawMessage) (string, error) {
	const use = `the input of topic is {"name": "…"}`
	a, err := surface.ParseArguments(input, "name")
	if err == nil {
		err = a.Only("name", "topic")
	}
	if err != nil {
		return "", fmt.Errorf("%w; %s", err, use)
	}
	return cmp.Or(a.Text("name"), a.Text("topic")), nil
}

// definesTool reports whether a skill has a tool of that name that is defined in
// Go.
func definesTool(k *skills.Skill, name string) bool {
	return slices.ContainsFunc(k.Tools, func(t skills.Tool) bool { return t.Name == name })
}

// toolNames are the names of tools of a skill.
func toolNames(list []skills.Tool) []string {
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	return names
}

// startParams takes the params out of {"params": {…}}, as which some models send
// them, unless there is a param of that name.
func startParams(declared, input json.RawMessage) json.RawMessage {
	var wrapped map[string]json.RawMessage
	if json.Unmarshal(input, &wrapped) != nil || len(wrapped) != 1 || len(wrapped["params"]) == 0 || wrapped["params"][0] != '{' {
		return input
	}
	if schema.Read(declared).Object().Properties().Has("params") {
		return input
	}
	return wrapped["params"]
}

// The names under which models send the answer of a step.
var answerKeys = []string{"answer", "output", "response"}

func advance(ctx context.Context, e *workflow.Engine, input json.RawMessage) (r workflow.Result, err error) {
	const use = `the input of advance is {"session": "…", "answer": …}, and "step" and "again" if need be`
	a, err := surface.ParseArguments(input, "session")
	if err != nil {
		return r, err
	}
	// A misspelt answer is none, and a step that takes any would be passed.
	if err := a.Only(slices.Concat([]string{"session", "step", "again"}, answerKeys)...); err != nil {
		return r, fmt.Errorf("%w; %s", err, use)
	}
	if a.Text("session") == "" {
		return r, errors.New("advance which session? " + use + "; start begins one")
	}
	reply := workflow.Reply{Step: a.Text("step"), Again: a.Text("again") == "true"}
	for _, key := range answerKeys {
		if a.Has(key) {
			reply.Answer = a[key]
			break
		}
	}
	return e.Advance(ctx, a.Text("session"), reply), nil
}

// A workflowError is a result that says what went wrong. As an error it is what
// goes on record; the model gets the whole answer.
type workflowError struct {
	message string
	answer  json.RawMessage
}

func (e *workflowError) Error() string { return e.message }

// workflowAnswer is a result as the model reads it.
func (x *running) workflowAnswer(to reader, r workflow.Result) (json.RawMessage, error) {
	if r.Status == workflow.StatusRedirect {
		r.Message = x.nextStep(to, r)
	}
	answer := gate.Compact(r)
	if r.Status == workflow.StatusError {
		return nil, &workflowError{r.Message, answer}
	}
	return answer, nil
}

// nextStep says how to go on with the skill that a workflow leads to.
func (x *running) nextStep(to reader, r workflow.Result) string {
	next, err := x.f.find(to, r.Skill)
	if err != nil {
		return "it leads to a skill that is not here: " + skillFailure(err).Error()
	}
	use := "go on with activate_skill " + string(gate.Compact(map[string]string{"name": next.Ref}))
	if w, err := next.Workflow(); err == nil && w != nil && len(r.Input) > 0 {
		use += ", and its tool " + workflow.ToolStart + " with this input"
	}
	return use
}
