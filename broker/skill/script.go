package skill

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/script"
)

// A ScriptMode is where scripts of skills run.
type ScriptMode string

// The modes.
const (
	// ScriptsOff runs none; it is the default.
	ScriptsOff ScriptMode = "off"
	// ScriptsSandbox runs them by Options.ScriptSandbox.
	ScriptsSandbox ScriptMode = "sandbox"
	// ScriptsHost runs them on this host, as the user, those of a skill that a
	// person has approved.
	ScriptsHost ScriptMode = "host"
)

// Scripts say how scripts of skills run. The zero value runs none.
type Scripts struct {
	Mode ScriptMode
	// Timeout and MaxOutput are those of package script; zero means its defaults.
	Timeout   time.Duration
	MaxOutput int
	// Cwd is the folder that they start in: "skill", which empty means, "tmp" for
	// an empty one, or with ScriptsHost the path of one.
	Cwd string
	// Image is the image that they run in with ScriptsSandbox; empty means one
	// that suits them.
	Image string
	// Programs are the available programs that run scripts, such as "python3"; scripts
	// for others are hidden. Nil hides none.
	Programs []string
	// Environ returns the environment in which scripts on the host find programs; nil
	// means os.Environ.
	Environ func() []string
	// Env are the names of variables of this process that they get.
	Env []string
	// Approvals hold which skills are approved, by approvals.Script; nil
	// means that none is.
	Approvals approvals.Text
}

// The words for Cwd.
const (
	cwdSkill = "skill"
	cwdTemp  = "tmp"
)

func (s Scripts) on() bool { return s.Mode == ScriptsSandbox || s.Mode == ScriptsHost }

// isScript reports whether a name that a model gives is that of a script, perhaps
// a misspelt one, rather than that of another tool.
func isScript(k *skills.Skill, tool string) bool {
	names := toolNames(k.AllTools())
	switch {
	case definesTool(k, tool):
		return false
	case len(names) == 0 || hasFile(k, tool):
		return true
	}
	return strings.ContainsAny(tool, `./\`) && len(nearest.Names(tool, names, 1)) == 0
}

// A scriptRun is one call of a script.
type scriptRun struct {
	x      *running
	o      Scripts
	skill  *skills.Skill
	script *script.Script
	bundle *skills.Bundle
	args   []string
	stdin  string
}

// runScript runs a script of a skill. It also returns the detail for the record of the
// call: the mode in which the script runs and the digest of the skill's files.
func (x *running) runScript(ctx context.Context, k *skills.Skill, name string, input json.RawMessage) (result *script.Result, detail string, err error) {
	r := scriptRun{x: x, o: x.o.Scripts, skill: k}
	if r.args, r.stdin, err = scriptInput(input); err != nil {
		return nil, "", err
	}
	if err = r.find(name); err == nil {
		detail = string(r.o.Mode) + ", files " + r.bundle.Digest
		stepped, end := x.f.runs.Skill(ctx, "skill_script", k.Ref, r.script.Path)
		result, err = r.run(stepped)
		end(cmp.Or(err, unsuccessful(result)))
	}
	return result, detail, r.toModel(ctx, err)
}

// run runs the script that was found, once it may.
func (r *scriptRun) run(ctx context.Context) (*script.Result, error) {
	run := r.inSandbox
	if r.o.Mode == ScriptsHost {
		if result, err := r.approve(ctx); result != nil || err != nil {
			return result, err
		}
		run = r.onHost
	}
	leave, err := r.x.f.enterScript(ctx, r.x.Request.Sharer())
	if err != nil {
		return nil, err
	}
	defer leave()
	return run(ctx)
}

// toModel is an error as models may read it. One of this host's files has their
// paths, which are for the log.
func (r *scriptRun) toModel(ctx context.Context, err error) error {
	_, ofScript := errors.AsType[*script.Error](err)
	_, ofSkill := errors.AsType[*skills.FileError](err)
	if err == nil || ofScript || ofSkill || ctx.Err() != nil {
		return err
	}
	r.x.f.log.Error("prepare script", "skill", r.skill.Ref, "err", err)
	return &script.Error{Code: script.Failed, Message: "the broker could not prepare it: its log says why"}
}

// unsuccessful is an error if a script has failed.
func unsuccessful(r *script.Result) error {
	if r == nil || scriptExit(r) == sandbox.ExitOK || scriptExit(r) == sandbox.ExitApproval {
		return nil
	}
	return errors.New("the script failed")
}

// scriptExit is the exit code that the record of a script's call has.
func scriptExit(r *script.Result) int {
	switch {
	case r.Success:
		return sandbox.ExitOK
	case r.Code == approvalRequired:
		return sandbox.ExitApproval
	case r.Code == script.Timeout:
		return sandbox.ExitTimeout
	}
	return sandbox.ExitThrew
}

// enterScript waits for a place among the scripts that run at one time.
func (f *Feature) enterScript(ctx context.Context, owner string) (leave func(), err error) {
	if err := f.slots.Acquire(ctx, owner); err != nil {
		return nil, fmt.Errorf("all places for scripts of skills were taken: %w", err)
	}
	return func() { f.slots.Release(owner) }, nil
}

// scriptInput reads {"args": […], "stdin": "…"}.
func scriptInput(input json.RawMessage) (args []string, stdin string, err error) {
	const use = `the input of a script is {"args": ["…"], "stdin": "…"}, both optional`
	if len(input) == 0 || string(input) == "null" {
		return nil, "", nil
	}
	a := surface.Arguments{}
	if err := json.Unmarshal(input, &a); err != nil {
		return nil, "", errors.New(use)
	}
	if err := a.Only("args", "stdin"); err != nil {
		return nil, "", fmt.Errorf("%w; %s", err, use)
	}
	if a.Has("stdin") && json.Unmarshal(a["stdin"], &stdin) != nil {
		return nil, "", errors.New(`"stdin" must be a text; ` + use)
	}
	if !a.Has("args") {
		return nil, stdin, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(a["args"], &list) != nil {
		return nil, "", errors.New(`"args" must be a list, one entry for each argument; ` + use)
	}
	for i, raw := range list {
		text := string(raw) // a number or a word as it was written
		if strings.ContainsAny(text[:1], "{[n") || text[0] == '"' && json.Unmarshal(raw, &text) != nil {
			return nil, "", fmt.Errorf("entry %d of \"args\" is no text; %s", i, use)
		}
		args = append(args, text)
	}
	return args, stdin, nil
}

// find finds the script, and reads the skill's files as they are run.
func (r *scriptRun) find(name string) error {
	files, done, err := r.skill.Open()
	if err != nil {
		return err
	}
	defer done()
	if r.script, err = script.Find(files, name); err != nil {
		return err
	}
	if !r.script.Allowed(r.text()) {
		return &script.Error{Code: script.NotAllowed, Message: fmt.Sprintf("%s is neither in %s nor executable, and the skill's text does not name it", r.script.Path, script.Folder)}
	}
	if slices.ContainsFunc(r.args, func(a string) bool { return strings.ContainsRune(a, 0) }) {
		return &script.Error{Code: script.NotAllowed, Message: "an argument has a NUL"}
	}
	if r.bundle, err = r.skill.Bundle(); err != nil {
		return err
	}
	if _, ok := r.bundle.File(r.script.Path); !ok {
		return &script.Error{Code: script.NotAllowed, Message: r.script.Path + " is in a folder that is no part of the skill"}
	}
	return nil
}

// text is the skill's SKILL.md.
func (r *scriptRun) text() string {
	doc, err := r.skill.Doc()
	if err != nil {
		return ""
	}
	return doc.Body
}

// env are the variables that the config lets through.
func (r *scriptRun) env() []string {
	var env []string
	for _, name := range r.o.Env {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// inSandbox runs the script where it finds nothing but the skill.
func (r *scriptRun) inSandbox(ctx context.Context) (*script.Result, error) {
	if r.x.o.ScriptSandbox == nil {
		return nil, &script.Error{Code: script.Failed, Message: "this broker has no sandbox for scripts of skills"}
	}
	dir := r.x.o.folderOf(r.skill)
	folder := path.Base(dir)
	stdout, stderr := script.NewOutput(r.o.MaxOutput), script.NewOutput(r.o.MaxOutput)
	c := sandbox.Command{
		Argv: r.script.Argv(dir, r.args), Env: append(r.env(), "SKILL_DIR="+dir), Dir: dir, Stdin: r.stdin, Image: r.o.Image,
		Stdout: stdout, Stderr: stderr, Timeout: cmp.Or(r.o.Timeout, script.DefaultTimeout), MemoryBytes: r.x.o.MemoryBytes,
		Files: &sandbox.Files{
			Dir: r.x.o.Dir, Key: func() string { return folder + " " + r.bundle.Digest },
			All: func(yield func(sandbox.File, error) bool) { eachOf(r.bundle, folder, yield) },
		},
	}
	if r.o.Cwd == cwdTemp {
		c.Dir = ""
	}
	start := time.Now()
	code, err := r.x.o.ScriptSandbox.Command(ctx, c)
	result := script.Result{ExitCode: code, Stdout: stdout.String(), Stderr: stderr.String(), DurationMS: time.Since(start).Milliseconds()}
	switch {
	case errors.Is(err, sandbox.ErrCommandTimeout):
		result.ExitCode = -1
		result = result.Late(r.script.Path, c.Timeout)
	case errors.Is(err, sandbox.ErrNoProgram):
		return nil, &script.Error{Code: script.Failed, Message: fmt.Sprintf("%s: %v (config: skills.scriptImage names another image)", r.script.Path, err)}
	case err != nil:
		return nil, &script.Error{Code: script.Failed, Message: fmt.Sprintf("%s cannot run in the sandbox: %v", r.script.Path, err)}
	default:
		result = result.Ended(r.script.Path)
	}
	if code == sandbox.ExitMemory {
		result.Error += ", as one that was killed: it may have used more memory than it may (config: sandbox.memory)"
	}
	return &result, nil
}

// An asker asks on behalf of a skill. The first line of each question, which only the
// broker writes, names the skill.
type asker struct {
	upstream.Talker
	first string
	text  string // instead of what the question says; empty keeps that
}

// Answer implements upstream.Talker.
func (a asker) Answer(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	if e, ok := q.(*mcp.ElicitParams); ok {
		out := *e
		if a.text != "" {
			out.Message = a.text
		}
		out.Message = gate.Question(a.first, out.Message)
		if schema, err := json.Marshal(e.RequestedSchema); err == nil && e.RequestedSchema != nil {
			out.RequestedSchema = gate.Form(schema)
		}
		q = &out
	}
	return a.Talker.Answer(ctx, q)
}

// asker asks whether the script may run, in lines of which the script, its skill
// and the model fill one each.
func (r *scriptRun) asker(why string) upstream.Talker {
	if r.x.Request.Talker == nil {
		return nil
	}
	var text strings.Builder
	for _, f := range [][2]string{
		{"script", gate.Cut(visible(r.script.Path), 300)}, {"of", r.skill.Origin()}, {"arguments", gate.Cut(string(gate.Compact(r.args)), maxShownInput)},
		{"input", gate.Cut(string(gate.Compact(r.stdin)), maxShownInput)}, {"files", r.bundle.Digest}, {"you are asked because", why},
	} {
		if f[1] != `""` { // no input
			text.WriteString(f[0] + ": " + gate.Line(f[1]) + "\n")
		}
	}
	return asker{r.x.Request.Talker, gate.Speaker("Skill", r.skill.Ref) + " asks to run a script on this computer, with your rights and no sandbox:", text.String()}
}

// visible is a path as it is read; one that has more than a reader sees is in
// quotes, with escapes.
func visible(path string) string {
	if gate.Terminal(path) == path {
		return path
	}
	return gate.Terminal(string(gate.Compact(path)))
}
