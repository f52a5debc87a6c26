package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/script"
	"github.com/mcpbroker/mcpbroker/state"
)

// The names under which models send skills.
var skillKeys = []string{"skill", "name", "skill_name"}

// skillArguments reads the arguments of a tool for skills: which skill, and the
// others.
func skillArguments(raw json.RawMessage, example string) (string, surface.Arguments, error) {
	a, err := surface.ParseArguments(raw, skillKeys...)
	if err != nil {
		return "", nil, err
	}
	for _, k := range skillKeys {
		if name := strings.TrimSpace(a.Text(k)); name != "" {
			return name, a, nil
		}
	}
	return "", nil, errors.New("which skill? Use " + example)
}

// models are a Feature as models use it.
type models struct{ f *Feature }

func (m models) handleActivate(ctx context.Context, c *surface.Call) (*mcp.CallToolResult, error) {
	name, a, err := skillArguments(c.Arguments, `{"name": "…"}`)
	if err != nil {
		return nil, err
	}
	m.f.refreshFor(name)
	text, err := m.f.activate(ctx, c.Client, readerOf(c.Caller), name, a.Text("arguments"), a.Text("force") == "true")
	if err != nil {
		return nil, skillFailure(err)
	}
	return surface.TextResult(gate.NewText(text), false), nil
}

// activate is the text of a skill for a reader.
func (m models) activate(ctx context.Context, client string, r reader, name, arguments string, force bool) (string, error) {
	k, err := m.f.skillToActivate(ctx, r, name)
	if err != nil {
		return "", err
	}
	return m.f.activateNoted(ctx, client, r, k, arguments, force, "")
}

// activateNoted is the text of k for a reader, with how to use what belongs to
// it. detail is what the record says of it.
func (m models) activateNoted(ctx context.Context, client string, r reader, k *skills.Skill, arguments string, force bool, detail string) (string, error) {
	ctx, end := m.f.runs.Skill(ctx, "activate_skill", k.Ref, "")
	k, act, err := m.f.activateSkill(ctx, r, k, arguments, force)
	end(err)
	if err == nil && act.AlreadyActive {
		return act.Text, nil
	}
	m.f.note(state.EventSkillActivated, k, client, detail, err)
	if err != nil {
		return "", err
	}
	text := act.Text
	if short := gate.Cut(text, maxSkillChars); short != text {
		text = fmt.Sprintf("%s\n</skill_content>\n[cut: the first %d characters of the skill; read_skill_file reads the rest of %s, by offset]", short, maxSkillChars, skills.FileName)
	}
	return text + gate.Cut(m.f.skillUse(k), maxUseChars), nil
}

const (
	// maxSkillChars is how much of a skill's text an activation gives, and
	// maxUseChars how much it says of using what belongs to the skill.
	maxSkillChars = 100_000
	maxUseChars   = 20_000
)

func (m models) handleReadSkill(ctx context.Context, c *surface.Call) (*mcp.CallToolResult, error) {
	name, a, err := skillArguments(c.Arguments, `{"skill": "…", "path": "references/guide.md"}`)
	if err != nil {
		return nil, err
	}
	offset, err := a.Int("offset")
	if err != nil {
		return nil, err
	}
	limit, err := a.Int("limit")
	if err != nil {
		return nil, err
	}
	m.f.refreshFor(name)
	k, err := m.f.find(readerOf(c.Caller), name)
	if err != nil {
		return nil, skillFailure(err)
	}
	page, err := k.With(ctx).ReadFile(a.Text("path"), int64(offset), int64(limit))
	if e, ok := errors.AsType[*skills.FileError](err); ok && e.Code == "is_directory" {
		return surface.TextResult(gate.NewText(e.Message), false), nil // what is in it is what was asked for
	}
	size := 0
	if page != nil {
		size = len(page.Text)
	}
	m.f.noteRead(k, c.Client, a.Text("path"), size, err)
	if err != nil {
		return nil, skillFailure(err)
	}
	return surface.JSONResult(page, false), nil
}

func (m models) handleSkillCall(ctx context.Context, call *surface.Call) (*mcp.CallToolResult, error) {
	name, a, err := skillArguments(call.Arguments, `{"skill": "…", "tool": "start", "input": {…}}`)
	if err != nil {
		return nil, err
	}
	c := skillCall{reader: readerOf(call.Caller), skill: name, tool: strings.TrimSpace(a.Text("tool"))}
	if c.tool == "" {
		return nil, errors.New(`which tool of the skill? Use {"skill": "…", "tool": "start", "input": {…}}; activate_skill names them`)
	}
	for _, key := range surface.ArgumentKeys {
		if a.Given(key) {
			c.input = a[key]
			break
		}
	}
	m.f.refreshFor(c.skill)
	return m.f.callSkill(ctx, c, run.Request{Client: call.Client, ClientInfo: call.ClientInfo, Owner: call.Owner, Team: call.Team, Session: call.Session, Talker: call.Talker, Progress: call.Progress}), nil
}

// A skillCall is the call of one tool of a skill.
type skillCall struct {
	reader      reader
	skill, tool string
	input       json.RawMessage // a JSON value, also as text in a string; may be nil
}

// callSkill answers call_skill_tool. It is recorded like a script, so that the
// calls of tools that a workflow makes are found under it.
func (m models) callSkill(ctx context.Context, c skillCall, req run.Request) *mcp.CallToolResult {
	x := m.f.begin(ctx, c, req)
	value, err := x.skillTool(ctx, c)
	res := ended(value, err)
	var answer *mcp.CallToolResult
	switch {
	case err != nil:
		answer = x.TextResult(res.Error)
		if e, ok := errors.AsType[*workflowError](err); ok {
			answer = x.TextResult(string(e.answer))
		}
		answer.IsError = true
	case value.script != nil:
		// It is bounded by itself, and would be no JSON if it were cut.
		answer = surface.TextResult(gate.EncodeRaw(value.JSON), false)
		answer.IsError = res.ExitCode != sandbox.ExitOK && res.ExitCode != sandbox.ExitApproval
	default:
		text := string(value.JSON)
		_ = json.Unmarshal(value.JSON, &text) // other JSON stays unchanged
		answer = x.TextResult(text)
	}
	x.Commit(res, gate.Compact(answer))
	return answer
}

// A skillValue is what a tool of a skill answers.
type skillValue struct {
	JSON   json.RawMessage
	script *script.Result // that JSON is, if the tool is a script
}

// ended is how the call of a tool of a skill went, for the record.
func ended(value skillValue, err error) (res sandbox.Result) {
	switch {
	case err != nil:
		res.ExitCode, res.Error = run.ExitOf(err), run.ErrorText(skillFailure(err))
	case value.script != nil:
		res.ExitCode, res.Error = scriptExit(value.script), value.script.Error
	}
	return res
}

// skillTool calls a tool of a skill for x, which has a bridge: one that is
// defined in Go, the workflow's start and advance, or a script. What these call
// with its context are calls of x.
func (x *running) skillTool(ctx context.Context, c skillCall) (value skillValue, err error) {
	ctx = x.Context(ctx)
	k, err := x.f.find(c.reader, c.skill)
	if err != nil {
		return value, err
	}
	if err := checkSkillName("tool", c.tool); err != nil {
		return value, err
	}
	input := unquoted(c.input)
	detail := gate.Cut(c.tool, 200)
	if err = notRun(k); err == nil {
		value.JSON, err = x.ofWorkflow(ctx, k, c, input)
	}
	switch {
	case !errors.Is(err, errNoWorkflowTool):
	case x.o.Scripts.on() && isScript(k, c.tool):
		var more string
		value.script, more, err = x.runScript(ctx, k, c.tool, input)
		if more != "" {
			detail += ", " + more
		}
	default:
		value.JSON, err = k.Call(ctx, c.tool, input)
		if e, ok := errors.AsType[*skills.FileError](err); ok && e.Code == "tool_not_found" {
			err = x.noTool(k, c.tool)
		}
	}
	failure := err
	if err == nil && value.script != nil {
		value.JSON = gate.Compact(value.script)
		if !value.script.Success {
			failure = errors.New(value.script.Error)
		}
	}
	x.f.note(state.EventSkillToolCalled, k, x.Request.Client, detail, failure)
	return value, err
}

// unquoted takes a JSON value out of a string, in which models put objects.
func unquoted(input json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(input, &text) != nil {
		return input
	}
	if t := strings.TrimSpace(text); strings.HasPrefix(t, "{") && json.Valid([]byte(t)) {
		return json.RawMessage(t)
	}
	return input
}

// noTool says that a skill has no such tool, and what it has, or that the name is
// that of a script, which is not run.
func (x *running) noTool(k *skills.Skill, tool string) error {
	if hasFile(k, tool) {
		return &skills.FileError{Code: "script_refused", Message: `scripts of skills do not run here ("scripts" of "skills" in the config is off): ` + insteadOf(k, tool)}
	}
	return k.NoTool(gate.Cut(tool, 60), x.o.Scripts.ToolsOf(k))
}

// hasFile reports whether there is a file of that name in a skill.
func hasFile(k *skills.Skill, name string) bool {
	files, done, err := k.Open()
	if err != nil {
		return false
	}
	defer done()
	info, err := fs.Stat(files, path.Clean(strings.ReplaceAll(name, `\`, "/")))
	return err == nil && info.Mode().IsRegular()
}

// insteadOf says how a script of a skill is used that is not run.
func insteadOf(k *skills.Skill, script string) string {
	if _, ok := moduleOf(script); ok {
		return fmt.Sprintf("import it in execute_code, as in import * as script from './skills/%s/%s'", k.Ref, gate.Cut(script, 200))
	}
	return fmt.Sprintf("read %s with read_skill_file, and do what it does with execute_code", gate.Cut(script, 200))
}
