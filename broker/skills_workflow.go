package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// maxWorkflowBytes bounds a workflow.json.
const maxWorkflowBytes = 1 << 20

// The tools of a skill that has a workflow.
const (
	workflowStart   = "start"
	workflowAdvance = "advance"
)

// workflowUse says to one who has activated a skill how its workflow is run;
// empty if it has none.
func (b *Broker) workflowUse(k *skills.Skill) string {
	if notRun(k) != nil {
		return ""
	}
	text, err := readWhole(k, workflow.FileName, maxWorkflowBytes)
	if err != nil {
		return ""
	}
	if _, err := workflow.Parse([]byte(text)); err != nil {
		return "\nThe workflow of this skill is wrong and cannot be run: " + err.Error()
	}
	var form struct {
		Params json.RawMessage `json:"params"`
	}
	_ = json.Unmarshal([]byte(text), &form) // it was parsed before
	use := `
This skill is a workflow. call_skill_tool with tool "start"`
	if len(form.Params) > 0 {
		use += " and this input: " + string(compactJSON(form.Params))
	}
	return use + ` begins it; do what the prompt says, then tool "advance" with input {"session", "answer"}, until its status is "done".`
}

// An engineKey says whose sessions of which skill an engine runs: nobody can go
// on with those of another client.
type engineKey struct{ owner, origin, skill string }

// An engine runs the workflow of a skill for one owner.
type engine struct {
	*workflow.Engine
	text     string // of the workflow.json
	sessions workflow.Sessions
}

// workflowEngine returns the engine of a skill's workflow.json as it is now. An
// error is errNoWorkflowTool if there is none.
func (b *Broker) workflowEngine(owner string, k *skills.Skill) (*engine, error) {
	text, err := readWhole(k, workflow.FileName, maxWorkflowBytes)
	if e, ok := errors.AsType[*skills.FileError](err); ok && e.Code == "not_found" {
		return nil, errNoWorkflowTool
	}
	if err != nil {
		return nil, err
	}
	key := engineKey{owner, k.Origin(), k.ID()}
	b.skills.mu.Lock()
	defer b.skills.mu.Unlock()
	old := b.skills.engines[key]
	if old != nil && old.text == text {
		return old, nil
	}
	w, err := workflow.Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the workflow of skill %s is wrong: %w", k.Ref, err)
	}
	e := &engine{text: text}
	if old != nil {
		e.sessions = old.sessions
	} else if e.sessions, err = b.workflowSessions(key); err != nil {
		return nil, err
	}
	e.Engine = workflow.NewEngine(w, &workflow.Options{Call: callAction, Sessions: e.sessions})
	if b.skills.engines == nil {
		b.skills.engines = make(map[engineKey]*engine)
	}
	b.skills.engines[key] = e
	return e, nil
}

// workflowSessions opens the sessions that belong to key.
func (b *Broker) workflowSessions(key engineKey) (workflow.Sessions, error) {
	dir := b.options().WorkflowDir
	if dir == "" {
		return workflow.NewMemory(), nil
	}
	sum := sha256.Sum256(compactJSON([]string{key.owner, key.origin, key.skill}))
	return workflow.OpenFiles(filepath.Join(dir, hex.EncodeToString(sum[:16])))
}

// closeWorkflows gives the folders of the sessions back.
func (b *Broker) closeWorkflows() error {
	b.skills.mu.Lock()
	defer b.skills.mu.Unlock()
	var errs []error
	for _, e := range b.skills.engines {
		if f, ok := e.sessions.(*workflow.Files); ok {
			errs = append(errs, f.Close())
		}
	}
	b.skills.engines = nil
	return errors.Join(errs...)
}

// actionKey is under what the context of a workflow's call has its action.
type actionKey struct{}

// An action is of a skill, and belongs to an execution.
type action struct {
	x     *execution
	skill *skills.Skill
}

// callAction does an action of a workflow like a call of a script: checked,
// policed and recorded.
func callAction(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
	a := ctx.Value(actionKey{}).(action)
	if err := a.allows(ctx, tool); err != nil {
		return nil, err
	}
	value, err := a.x.bridge.Call(ctx, tool, input)
	if err != nil {
		return nil, errors.New(errorText(err))
	}
	return value, nil
}

// errNoWorkflowTool means that a tool is none of a workflow.
var errNoWorkflowTool = errors.New("no tool of a workflow")

// ofWorkflow answers start and advance of a skill that has a workflow, unless
// it has tools of these names that are defined in Go.
func (x *execution) ofWorkflow(ctx context.Context, k *skills.Skill, c skillCall, input json.RawMessage) (json.RawMessage, error) {
	for _, t := range k.Tools {
		if t.Name == c.tool {
			return nil, errNoWorkflowTool
		}
	}
	e, err := x.b.workflowEngine(c.reader.owner, k)
	if err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, actionKey{}, action{x, k})
	switch c.tool {
	case workflowStart:
		return workflowResult(e.Start(ctx, input))
	case workflowAdvance:
		a, err := parseArguments(input, "session")
		if err != nil {
			return nil, err
		}
		if a.text("session") == "" {
			return nil, errors.New(`advance which session? Use input {"session": "…", "answer": …}; start begins one`)
		}
		var answer json.RawMessage
		if a.has("answer") {
			answer = a["answer"]
		}
		return workflowResult(e.Advance(ctx, a.text("session"), a.text("step"), answer))
	}
	if near := nearest.Names(c.tool, []string{workflowStart, workflowAdvance}, 1); len(near) > 0 {
		return nil, &skills.FileError{Code: "tool_not_found", Message: fmt.Sprintf("skill %q has no tool %q: did you mean %s?", k.Ref, clip(c.tool, 60), near[0])}
	}
	return nil, errNoWorkflowTool
}

// A workflowError is a result that says what went wrong.
type workflowError struct{ answer json.RawMessage }

func (e *workflowError) Error() string { return string(e.answer) }

func workflowResult(r workflow.Result) (json.RawMessage, error) {
	answer := compactJSON(r)
	if r.Status == workflow.StatusError {
		return nil, &workflowError{answer}
	}
	return answer, nil
}
