package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
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
func skillArguments(raw json.RawMessage, example string) (string, arguments, error) {
	a, err := parseArguments(raw, skillKeys...)
	if err != nil {
		return "", nil, err
	}
	for _, k := range skillKeys {
		if name := strings.TrimSpace(a.text(k)); name != "" {
			return name, a, nil
		}
	}
	return "", nil, errors.New("which skill? Use " + example)
}

func (b *Broker) handleActivate(client string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		name, a, err := skillArguments(req.Params.Arguments, `{"name": "…"}`)
		if err != nil {
			return failed(err), nil
		}
		b.refreshSkill(name)
		text, err := b.activate(ctx, client, readerOf(req.Extra, req.Session), name, a.text("arguments"), a.text("force") == "true")
		if err != nil {
			return failed(skillFailure(err)), nil
		}
		return textResult(gate.NewText(text), false), nil
	}
}

// activate is the text of a skill for a reader.
func (b *Broker) activate(ctx context.Context, client string, r reader, name, arguments string, force bool) (string, error) {
	k, err := b.skillToActivate(ctx, r, name)
	if err != nil {
		return "", err
	}
	return b.activateNoted(ctx, client, r, k, arguments, force, "")
}

// activateNoted is the text of k for a reader, with how to use what belongs to
// it. detail is what the record says of it.
func (b *Broker) activateNoted(ctx context.Context, client string, r reader, k *skills.Skill, arguments string, force bool, detail string) (string, error) {
	k, act, err := b.activateSkill(ctx, r, k, arguments, force)
	if err == nil && act.AlreadyActive {
		return act.Text, nil
	}
	b.noteSkill(state.EventSkillActivated, k, client, detail, err)
	if err != nil {
		return "", err
	}
	text := act.Text
	if short := gate.Cut(text, maxSkillChars); short != text {
		text = fmt.Sprintf("%s\n</skill_content>\n[cut: the first %d characters of the skill; read_skill_file reads the rest of %s, by offset]", short, maxSkillChars, skills.FileName)
	}
	return text + gate.Cut(b.skillUse(k), maxUseChars), nil
}

const (
	// maxSkillChars is how much of a skill's text an activation gives, and
	// maxUseChars how much it says of using what belongs to the skill.
	maxSkillChars = 100_000
	maxUseChars   = 20_000
)

func (b *Broker) handleReadSkill(client string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		name, a, err := skillArguments(req.Params.Arguments, `{"skill": "…", "path": "references/guide.md"}`)
		if err != nil {
			return failed(err), nil
		}
		offset, err := a.number("offset")
		if err != nil {
			return failed(err), nil
		}
		limit, err := a.number("limit")
		if err != nil {
			return failed(err), nil
		}
		b.refreshSkill(name)
		k, err := b.findSkill(readerOf(req.Extra, req.Session), name)
		if err != nil {
			return failed(skillFailure(err)), nil
		}
		page, err := k.With(ctx).ReadFile(a.text("path"), int64(clampInt(offset)), int64(clampInt(limit)))
		if e, ok := errors.AsType[*skills.FileError](err); ok && e.Code == "is_directory" {
			return textResult(gate.NewText(e.Message), false), nil // what is in it is what was asked for
		}
		size := 0
		if page != nil {
			size = len(page.Text)
		}
		b.noteSkillRead(k, client, a.text("path"), size, err)
		if err != nil {
			return failed(skillFailure(err)), nil
		}
		return answered(page, false), nil
	}
}

// readSkillCall reads a request for call_skill_tool.
func (b *Broker) readSkillCall(client string, req *mcp.CallToolRequest) (job, error) {
	name, a, err := skillArguments(req.Params.Arguments, `{"skill": "…", "tool": "start", "input": {…}}`)
	if err != nil {
		return nil, err
	}
	c := skillCall{reader: readerOf(req.Extra, req.Session), skill: name, tool: strings.TrimSpace(a.text("tool"))}
	if c.tool == "" {
		return nil, errors.New(`which tool of the skill? Use {"skill": "…", "tool": "start", "input": {…}}; activate_skill names them`)
	}
	for _, key := range argumentKeys {
		if a.given(key) {
			c.input = a[key]
			break
		}
	}
	return func(ctx context.Context, talker upstream.Talker, progress func(int, string)) *mcp.CallToolResult {
		b.refreshSkill(c.skill)
		return b.callSkill(ctx, c, ExecuteRequest{Client: client, Owner: c.reader.owner, Session: c.reader.session, Talker: talker, Progress: progress})
	}, nil
}

// A skillCall is the call of one tool of a skill.
type skillCall struct {
	reader      reader
	skill, tool string
	input       json.RawMessage // a JSON value, also as text in a string; nil for none
}

// callSkill answers call_skill_tool. It is recorded like a script, so that the
// calls of tools that a workflow makes are found under it.
func (b *Broker) callSkill(ctx context.Context, c skillCall, req ExecuteRequest) *mcp.CallToolResult {
	x := b.beginSkillCall(ctx, c, req)
	value, err := x.skillTool(ctx, c)
	res := ended(value, err)
	var answer *mcp.CallToolResult
	switch {
	case err != nil:
		answer = x.textResult(res.Error)
		if e, ok := errors.AsType[*workflowError](err); ok {
			answer = x.textResult(string(e.answer))
		}
		answer.IsError = true
	case value.script != nil:
		// It is bounded by itself, and would be no JSON if it were cut.
		answer = textResult(gate.EncodeRaw(value.JSON), false)
		answer.IsError = res.ExitCode != sandbox.ExitOK && res.ExitCode != sandbox.ExitApproval
	default:
		text := string(value.JSON)
		_ = json.Unmarshal(value.JSON, &text) // what is no text stays JSON
		answer = x.textResult(text)
	}
	x.commit(res, int64(len(compactJSON(answer))))
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
		res.ExitCode, res.Error = exitOf(err), errorText(skillFailure(err))
	case value.script != nil:
		res.ExitCode, res.Error = scriptExit(value.script), value.script.Error
	}
	return res
}

// skillTool calls a tool of a skill for x, which has a bridge: one that is
// defined in Go, the workflow's start and advance, or a script. What these call
// with its context are calls of x.
func (x *execution) skillTool(ctx context.Context, c skillCall) (value skillValue, err error) {
	ctx = context.WithValue(ctx, executionKey{}, x)
	k, err := x.b.findSkill(c.reader, c.skill)
	if err != nil {
		return value, err
	}
	if err := checkSkillName("tool", c.tool); err != nil {
		return value, err
	}
	input := unquoted(c.input)
	detail := clip(c.tool, 200)
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
		value.JSON = compactJSON(value.script)
		if !value.script.Success {
			failure = errors.New(value.script.Error)
		}
	}
	x.b.noteSkill(state.EventSkillToolCalled, k, x.req.Client, detail, failure)
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
func (x *execution) noTool(k *skills.Skill, tool string) error {
	if hasFile(k, tool) {
		return &skills.FileError{Code: "script_refused", Message: `scripts of skills do not run here ("scripts" of "skills" in the config is off): ` + insteadOf(k, tool)}
	}
	return k.NoTool(clip(tool, 60), x.o.Scripts.ToolsOf(k))
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
		return fmt.Sprintf("import it in execute_code, as in import * as script from './skills/%s/%s'", k.Ref, clip(script, 200))
	}
	return fmt.Sprintf("read %s with read_skill_file, and do what it does with execute_code", clip(script, 200))
}
