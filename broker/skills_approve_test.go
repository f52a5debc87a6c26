//go:build unix

package broker_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

func TestScriptsOnTheHostWaitForApproval(t *testing.T) {
	needPython(t)
	dir, registry := newTools(t)
	stateDir := dir + ".state.json"
	store, err := sqlite.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	o := options{Deps: broker.Deps{Audit: store}, Settings: broker.Settings{Skills: registry, Scripts: broker.Scripts{Mode: broker.ScriptsHost, Approvals: skills.SwitchFile(stateDir)}}}
	cs := connect(t, newBroker(t, o.Deps, o.Settings), "2025-11-25", nil)
	waits := func(when, why string) {
		t.Helper()
		got := runTool(t, cs, "tools", "scripts/count.py", nil)
		if got.isError || got.ExitCode != 3 || got.Success == nil || *got.Success || got.code != "approval_required" ||
			!strings.Contains(got.Error, why) || !strings.Contains(got.Error, "broker skills approve tools") {
			t.Errorf("%s: error %v: %s", when, got.isError, got.text)
		}
	}
	waits("nobody was asked", "nobody has allowed the scripts of skill tools")
	list, err := store.List(t.Context(), state.Filter{Limit: 1})
	if err != nil || len(list) != 1 || list[0].ExitCode != 3 {
		t.Errorf("the record of a call that waits: %+v, %v", list, err)
	}
	approve(t, registry, stateDir, "tools")
	if got := runTool(t, cs, "tools", "scripts/count.py", nil); got.isError {
		t.Errorf("approved: %s", got.text)
	}
	// A byte of any file counts, also of one that is no script.
	if err := os.WriteFile(filepath.Join(dir, "tools", "data.txt"), []byte("dat4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	waits("a byte has changed", "skill tools has changed since")
	if err := os.WriteFile(filepath.Join(dir, "tools", "data.txt"), []byte("data\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runTool(t, cs, "tools", "scripts/count.py", nil); got.isError {
		t.Errorf("as it was approved: %s", got.text)
	}
	if err := approvals.In(skills.SwitchFile(stateDir)).Revoke(approvals.Script, "tools"); err != nil {
		t.Fatal(err)
	}
	waits("revoked", "nobody has allowed")

	o.ReadOnly, o.Runner = true, nil
	approve(t, registry, stateDir, "tools")
	if got := runTool(t, connect(t, newBroker(t, o.Deps, o.Settings), "2025-11-25", nil), "tools", "scripts/count.py", nil); got.code != "script_not_allowed" || !strings.Contains(got.text, "read-only") {
		t.Errorf("a broker that is read-only: %s", got.text)
	}
}

// Why a script cannot be prepared is for the log: it has paths of this host.
func TestModelsAreToldNoPathsOfTheHost(t *testing.T) {
	dir, registry := newTools(t)
	stateDir := dir + ".state.json"
	approve(t, registry, stateDir, "tools")
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: registry, Scripts: broker.Scripts{Mode: broker.ScriptsHost, Approvals: skills.SwitchFile(stateDir)}})
	cs := connect(t, b, "2025-11-25", nil)
	fails := func(when string) {
		t.Helper()
		got := runTool(t, cs, "tools", "scripts/count.py", nil)
		if !got.isError || got.code != "execution_failed" || !strings.Contains(got.text, "its log says why") || strings.Contains(got.text, filepath.Dir(dir)) {
			t.Errorf("%s: %s", when, got.text)
		}
	}
	t.Setenv("TMPDIR", dir+"-gone")
	fails("no folder for the copy")
	if err := os.WriteFile(stateDir, []byte(`{"skills": {"tools": {"approved": 1}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	fails("an approval that cannot be read")
}

func TestTheUserIsAskedForApproval(t *testing.T) {
	needPython(t)
	for _, version := range versions {
		for _, tt := range []struct {
			says       string // or what is done instead of saying something
			runs, kept bool
		}{{"once", true, false}, {"always", true, true}, {"no", false, false}, {"decline", false, false}, {"cancel", false, false}} {
			t.Run(version+" "+tt.says, func(t *testing.T) {
				t.Parallel()
				dir, registry := newTools(t)
				asked := 0
				store, err := sqlite.Open(t.TempDir(), nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = store.Close() })
				b := newBroker(t, broker.Deps{Audit: store}, broker.Settings{Skills: registry, Scripts: broker.Scripts{Mode: broker.ScriptsHost, Approvals: skills.SwitchFile(dir + ".state.json")}})
				cs := connect(t, b, version, user(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked++
					for _, want := range []string{"Skill \"tools\" asks to run a script on this computer, ", "\n> script: scripts/count.py\n> of: local:user\n", `> arguments: ["a"]`, `> input: "one\ntwo"`, "> files: sha256:"} {
						if !strings.Contains(req.Params.Message, want) {
							t.Errorf("the question lacks %s: %s", want, req.Params.Message)
						}
					}
					if tt.says == "decline" || tt.says == "cancel" {
						return &mcp.ElicitResult{Action: tt.says}, nil
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"run": tt.says}}, nil
				}))
				for try := 1; try <= 2; try++ {
					got := runTool(t, cs, "tools", "scripts/count.py", map[string]any{"args": []string{"a"}, "stdin": "one\ntwo"})
					if tt.runs != (got.Stdout == "2 a\n") || !tt.runs && got.code != map[bool]string{true: "approval_required", false: "script_not_allowed"}[tt.says == "cancel"] {
						t.Errorf("try %d: %s", try, got.text)
					}
				}
				if want := map[bool]int{true: 1, false: 2}[tt.kept]; asked != want {
					t.Errorf("asked %d times, want %d", asked, want)
				}
				given, err := approvals.In(skills.SwitchFile(dir+".state.json")).Get(approvals.Script, "tools")
				if err != nil || (given.Digest != "") != tt.kept || tt.kept && given.By != "test" {
					t.Errorf("remembered: %+v, %v, want %v", given, err, tt.kept)
				}
				switch tt.says {
				case "once":
					noted(t, store, state.EventApproval, "local:user approved once: scripts/count.py, files sha256:")
				case "no":
					noted(t, store, state.EventApproval, "local:user denied: scripts/count.py")
				}
				if tt.kept {
					noted(t, store, state.EventSkillStateChanged, "local:user approved, files "+given.Digest)
				}
			})
		}
	}
}

// A run whose arguments or input are not shown in full cannot be approved alone.
func TestWhatIsCutIsNotApprovedOnce(t *testing.T) {
	t.Parallel()
	needPython(t)
	long := strings.Repeat("x", 1_200)
	for name, input := range map[string]map[string]any{
		"an argument": {"args": []string{long}}, "many arguments": {"args": strings.Split(strings.Repeat("a ", 400), " ")}, "the input": {"stdin": long},
	} {
		for _, says := range []string{"once", "always"} {
			dir, registry := newTools(t)
			b := newBroker(t, broker.Deps{}, broker.Settings{Skills: registry, Scripts: broker.Scripts{Mode: broker.ScriptsHost, Approvals: skills.SwitchFile(dir + ".state.json")}})
			offered := true
			cs := connect(t, b, "2025-11-25", user(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				schema, _ := json.Marshal(req.Params.RequestedSchema)
				offered = strings.Contains(string(schema), `"once"`)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"run": says}}, nil
			}))
			got := runTool(t, cs, "tools", "scripts/count.py", input)
			if runs := got.Stdout != ""; runs != (says == "always") || offered {
				t.Errorf("%s, %s: offered %t: %s", name, says, offered, got.text)
			}
		}
	}
}

// What is asked is on lines of the broker's, whatever scripts are called and given.
func TestScriptsForgeNoLinesOfTheQuestion(t *testing.T) {
	dir, registry := newTools(t)
	const forged = "scripts/x\n\nSkill \"trusted\" asks\u202e:\n> files: sha256:approved\n.py"
	writeSkill(t, dir, "odd", "Odd. Use it.", "Go.", map[string]string{forged: "print()\n"})
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: registry, Scripts: broker.Scripts{Mode: broker.ScriptsHost, Approvals: skills.SwitchFile(dir + ".state.json")}})
	var message string
	cs := connect(t, b, "2025-11-25", user(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		message = req.Params.Message
		return &mcp.ElicitResult{Action: "decline"}, nil
	}))
	runTool(t, cs, "odd", forged, map[string]any{"args": []string{"a\n> files: sha256:approved\u202e"}, "stdin": "\n> files: sha256:approved"})
	lines := strings.Split(message, "\n")
	if want := "Skill \"odd\" asks to run a script on this computer, with your rights and no sandbox:"; lines[0] != want || strings.Count(message, "\n> files: ") != 1 || len(lines) != 7 {
		t.Errorf("the question is\n%s", message)
	}
	for _, line := range lines[1:] {
		if !strings.HasPrefix(line, "> ") || strings.Contains(line, "\u202e") {
			t.Errorf("the line %q is not quoted", line)
		}
	}
}

// willing is a client whose user agrees to everything.
type willing struct{}

func (willing) Capabilities() questions.Capabilities { return questions.Capabilities{Form: true} }
func (willing) PageDone(string)                      {}
func (willing) Answer(context.Context, mcp.InputRequest) (mcp.InputResponse, error) {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"run": "always"}}, nil
}

// A client with a token may be on another computer.
func TestOnlyTheUserOfThisComputerIsAsked(t *testing.T) {
	needPython(t)
	dir, registry := newTools(t)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: registry, Scripts: broker.Scripts{Mode: broker.ScriptsHost, Approvals: skills.SwitchFile(dir + ".state.json")}})
	const code = `return (await skills.call('tools', 'scripts/count.py')).exit_code`
	for _, tt := range []struct{ owner, want string }{{"ci", "3"}, {state.Local, "0"}} {
		a := b.Execute(t.Context(), broker.ExecuteRequest{Code: code, Owner: tt.owner, Talker: willing{}})
		if string(a.Result) != tt.want {
			t.Errorf("owner %q: %s %s, want %s", tt.owner, a.Result, a.Stderr, tt.want)
		}
	}
}

func TestScriptsAreToldOfWhereTheyRun(t *testing.T) {
	for _, mode := range []broker.ScriptMode{broker.ScriptsOff, broker.ScriptsSandbox, broker.ScriptsHost} {
		t.Run(string(mode), func(t *testing.T) {
			dir, registry := newTools(t)
			b := newBroker(t, broker.Deps{}, broker.Settings{Skills: registry, Scripts: broker.Scripts{Mode: mode, Programs: []string{"python3", "sh"}, Approvals: skills.SwitchFile(dir + ".state.json")}})
			cs := connect(t, b, "2025-11-25", nil)
			on := mode != broker.ScriptsOff
			text, _ := call(t, cs, "activate_skill", map[string]any{"name": "tools"})
			for _, line := range []string{"\n- scripts/count.py: Counts the words of its input.", "\n- tools/extra.py", "call_skill_tool runs them"} {
				if strings.Contains(text, line) != on {
					t.Errorf("activated, %q: %s", line, text)
				}
			}
			if strings.Contains(text, "- tools/other.py") || strings.Contains(text, "- scripts/notes.md") || strings.Contains(text, "- scripts/run.rb") {
				t.Errorf("what does not run is told of: %s", text)
			}
			if strings.Contains(text, "broker skills approve tools") != (mode == broker.ScriptsHost) {
				t.Errorf("approval: %s", text)
			}
			text, _ = call(t, cs, "search_tools", map[string]any{"query": "does things with scripts"})
			if strings.Contains(text, "call_skill_tool: scripts/count.py, scripts/env.sh, scripts/hidden.sh, scripts/write.sh") != on {
				t.Errorf("found: %s", text)
			}
			if got := runTool(t, cs, "tools", "scripts/count.py", nil); !on && (got.code != "script_refused" || !strings.Contains(got.text, "read_skill_file")) {
				t.Errorf("called: %s", got.text)
			}
		})
	}
}

func TestScriptsOfCodeRunScriptsOfSkills(t *testing.T) {
	needPython(t)
	dir, registry := newTools(t)
	approve(t, registry, dir+".state.json", "tools")
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: registry, Scripts: broker.Scripts{Mode: broker.ScriptsHost, Approvals: skills.SwitchFile(dir + ".state.json")}})
	a := execute(t, b, `
		const r = await skills.call('tools', 'scripts/count.py', { args: ['x'], stdin: 'one two three' });
		const failed = await skills.call('tools', 'scripts/env.sh', { args: [] });
		let wrong;
		try { await skills.call('tools', 'scripts/cuont.py') } catch (e) { wrong = [e.name, e.code] }
		return [r.stdout, r.success, failed.exit_code, wrong];`)
	if want := `["3 x\n",true,0,["SkillError","script_not_found"]]`; string(a.Result) != want {
		t.Errorf("exit %d, %s %s, want %s", a.ExitCode, a.Result, a.Stderr, want)
	}
}

func TestWithoutAnEngineScriptsSayWhatToDo(t *testing.T) {
	_, registry := newTools(t)
	box := docker.NewCommands(&docker.Options{Engine: docker.Address{Host: "unix:///nowhere.sock"}})
	b := newBroker(t, broker.Deps{ScriptSandbox: box}, broker.Settings{Skills: registry, Scripts: broker.Scripts{Mode: broker.ScriptsSandbox}})
	got := runTool(t, connect(t, b, "2025-11-25", nil), "tools", "scripts/count.py", nil)
	if !got.isError || got.code != "execution_failed" || !strings.Contains(got.text, "no container engine answers: start Docker or Podman") {
		t.Errorf("%s", got.text)
	}
}

// What a skill declares as allowed is advice, unless it is to be a limit.
func TestAllowedToolsLimitWorkflows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		allowed string
		enforce bool
		runs    bool
	}{
		{"notes__add", false, true},
		{"notes__add", true, false},
		{"Bash(git:*) Read", true, false},
		{"", true, true},
		{"files__read_file", true, true},
		{"mcp__files__read_file", true, true},
		{"files.read_file", true, true},
		{"mcp__files", true, true},
		{"Read files__*", true, true},
		{"mcp__file", true, false},
	} {
		dir := filepath.Join(t.TempDir(), "skills")
		description := "Rate a file."
		if tt.allowed != "" {
			description += "\nallowed-tools: " + tt.allowed
		}
		writeSkill(t, dir, "triage", description, "Run the workflow.", map[string]string{"workflow.json": triage})
		b := newBroker(t, broker.Deps{}, broker.Settings{Skills: skillRegistry(dir), EnforceAllowedTools: tt.enforce})
		text, isError := call(t, connect(t, b, "2025-11-25", nil), "call_skill_tool", map[string]any{"skill": "triage", "tool": "start", "input": map[string]any{"path": "a"}})
		if isError == tt.runs || !tt.runs && !strings.Contains(text, "files__read_file is not in the allowed-tools of skill triage: ") {
			t.Errorf("allowed %q, enforced %v: %s, want it to run: %v", tt.allowed, tt.enforce, text, tt.runs)
		}
	}
}

// So it is for a workflow that is defined in Go.
func TestAllowedToolsLimitWorkflowsInGo(t *testing.T) {
	w, err := workflow.Parse([]byte(triage))
	if err != nil {
		t.Fatal(err)
	}
	for tool, runs := range map[string]bool{"files__read_file": true, "notes__add": false} {
		r := skills.NewRegistry(nil)
		if err := r.Register(skills.Virtual{Name: "triage", Description: "Rate a file.", AllowedTools: []string{tool}, Workflow: w}); err != nil {
			t.Fatal(err)
		}
		b := newBroker(t, broker.Deps{}, broker.Settings{Skills: r, EnforceAllowedTools: true})
		text, isError := call(t, connect(t, b, "2025-11-25", nil), "call_skill_tool", map[string]any{"skill": "triage", "tool": "start", "input": map[string]any{"path": "a"}})
		if isError == runs {
			t.Errorf("allowed %s: %s, want it to run: %v", tool, text, runs)
		}
	}
}
