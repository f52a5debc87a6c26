//go:build unix

package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	typei "github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/skillcases"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// commandImage is this process's own: another one that ends removes its own.
var commandImage = fmt.Sprintf("mcpbroker/sandbox-python:broker-test-%d", os.Getpid())

// commands is the sandbox of scripts, with an image of this machine's own
// programs that is there until the last test has ended.
func commands(t *testing.T) sandbox.Commander {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the image is made of this machine's own binaries, which are not for Linux")
	}
	switch err := madeImage(); {
	case errors.Is(err, docker.ErrNoEngine) && os.Getenv("BROKER_CI") == "", errors.Is(err, os.ErrNotExist):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	return docker.NewCommands(&docker.Options{Image: commandImage})
}

var madeImage = sync.OnceValue(func() error {
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		return err
	}
	ctx := context.Background()
	m, err := docker.NewManager(ctx, docker.Address{})
	if err != nil {
		return err
	}
	defer m.Close()
	rootfs := exec.Command("../images/python/rootfs.sh")
	rootfs.Stderr = os.Stderr
	out, err := rootfs.StdoutPipe()
	if err == nil {
		err = rootfs.Start()
	}
	if err != nil {
		return err
	}
	_, err = m.Import(ctx, docker.KindPython, commandImage, out)
	if err = errors.Join(err, rootfs.Wait()); err == nil {
		atEnd = append(atEnd, func() { removeImage(m.Address()) })
	}
	return err
})

func removeImage(engine string) {
	api, err := client.NewClientWithOpts(client.WithHost(engine), client.WithAPIVersionNegotiation())
	if err != nil {
		return
	}
	defer api.Close()
	_, _ = api.ImageRemove(context.Background(), commandImage, typei.RemoveOptions{PruneChildren: true})
}

// A ran is the answer of a script.
type ran struct {
	Success    *bool  `json:"success"`
	ExitCode   int    `json:"exit_code"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	Error      string `json:"error"`
	DurationMS *int64 `json:"duration_ms"`
	code       string // the one that the answer begins with, or its error does
	text       string // the answer itself
	isError    bool
}

// runTool calls call_skill_tool.
func runTool(t *testing.T, cs *mcp.ClientSession, skill, tool string, input any) ran {
	t.Helper()
	text, isError := call(t, cs, "call_skill_tool", map[string]any{"skill": skill, "tool": tool, "input": input})
	r := ran{text: text, isError: isError}
	if json.Unmarshal([]byte(text), &r) == nil {
		text = r.Error
	}
	r.code, _, _ = strings.Cut(text, ":")
	return r
}

// needPython skips a test whose script needs it where it is not installed, and
// fails it where it must be.
func needPython(t *testing.T) {
	t.Helper()
	switch _, err := exec.LookPath("python3"); {
	case err != nil && os.Getenv("BROKER_CI") == "":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

// modes calls f with each place in which scripts run.
func modes(t *testing.T, f func(t *testing.T, mode broker.ScriptMode, box sandbox.Commander)) {
	t.Run("host", func(t *testing.T) {
		needPython(t)
		f(t, broker.ScriptsHost, nil)
	})
	t.Run("sandbox", func(t *testing.T) { f(t, broker.ScriptsSandbox, commands(t)) })
}

func approve(t *testing.T, r *skills.Registry, path, name string) {
	t.Helper()
	k, err := r.Refresh().Find(name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := k.Bundle()
	if err != nil {
		t.Fatal(err)
	}
	if err := approvals.In(skills.SwitchFile(path)).Approve(approvals.Approval{Kind: approvals.Script, Subject: name, Digest: b.Digest}); err != nil {
		t.Fatal(err)
	}
}

func TestScriptCasesThroughMCP(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, mode broker.ScriptMode, box sandbox.Commander) {
		if box != nil {
			defer box.Close()
		}
		scriptCases(t, mode, box)
	})
}

func scriptCases(t *testing.T, mode broker.ScriptMode, box sandbox.Commander) {
	skillcases.Run(t, "script", func(t *testing.T, dir string, in skillcases.ScriptCase, want skillcases.ScriptWant) {
		registry := skillRegistry(dir)
		approve(t, registry, dir+".state.json", in.Skill)
		for i, w := range want.Results {
			r := in.Requests[i]
			b := newBroker(t, broker.Deps{ScriptSandbox: lent{box}}, broker.Settings{
				Skills: registry,
				Scripts: broker.Scripts{
					Mode: mode, Timeout: r.Timeout(), MaxOutput: r.MaxOutput, Approvals: skills.SwitchFile(dir + ".state.json"),
				},
			})
			got := runTool(t, connect(t, b, "2025-11-25", nil), in.Skill, r.Script, map[string]any{"args": r.Args})
			if got.Success != nil && (*got.Success == got.isError || got.DurationMS == nil) {
				t.Errorf("%s: error %v: %s", r.Script, got.isError, got.text)
			}
			if p := w.Problem(skillcases.ScriptGot{OK: !got.isError, ExitCode: got.ExitCode, Code: got.code, Stdout: got.Stdout, Stderr: got.Stderr}); p != "" {
				t.Errorf("%s: %s; %s", r.Script, p, got.text)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*", "PWNED*")); len(left) > 0 {
			t.Errorf("a shell has run: %v", left)
		}
	})
}

// lent is a sandbox that brokers do not close.
type lent struct{ sandbox.Commander }

func (lent) Close() error { return nil }

// newTools is a folder with a skill that has scripts.
func newTools(t *testing.T) (dir string, r *skills.Registry) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "skills")
	writeSkill(t, dir, "tools", "Does things with scripts. Use for tests.", "Run scripts/count.py, or tools/extra.py.", map[string]string{
		"scripts/count.py":  "#!/usr/bin/env python3\n# Counts the words of its input.\nimport sys\nprint(len(sys.stdin.read().split()), *sys.argv[1:])\n",
		"scripts/env.sh":    "echo \"$SKILL_DIR|$GIVEN|$SECRET\"; cat \"$SKILL_DIR/data.txt\"\n",
		"scripts/write.sh":  "echo x >\"${TMPDIR:-/tmp}/left-$1\" && echo written; echo y >\"$SKILL_DIR/left\" && echo changed; pwd; true\n",
		"scripts/notes.md":  "no script\n",
		"tools/extra.py":    "print('extra')\n",
		"tools/other.py":    "print('other')\n",
		"scripts/run.rb":    "puts 1\n",
		"data.txt":          "data\n",
		"scripts/hidden.sh": "printf 'a\\342\\200\\256b'\n",
	})
	return dir, skillRegistry(dir)
}

func TestScriptsOfSkillsRun(t *testing.T) {
	t.Setenv("GIVEN", "yes")
	t.Setenv("SECRET", "swordfish")
	modes(t, func(t *testing.T, mode broker.ScriptMode, box sandbox.Commander) {
		dir, registry := newTools(t)
		approve(t, registry, dir+".state.json", "tools")
		store, err := sqlite.Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		b := newBroker(t, broker.Deps{ScriptSandbox: box, Audit: store}, broker.Settings{
			Skills:  registry,
			Scripts: broker.Scripts{Mode: mode, Env: []string{"GIVEN", "UNSET"}, Approvals: skills.SwitchFile(dir + ".state.json")},
		})
		cs := connect(t, b, "2025-11-25", nil)
		for _, c := range []struct {
			name, tool string
			input      any
			isError    bool
			want       []string
		}{
			{"input and arguments", "scripts/count.py", map[string]any{"args": []any{"a b", 3, true}, "stdin": "one two"}, false, []string{`"success":true,"exit_code":0,"stdout":"2 a b 3 true\n","stderr":"","duration_ms":`}},
			{"no input", "scripts/count.py", nil, false, []string{`"stdout":"0\n"`}},
			{"the folder and the variables", "scripts/env.sh", nil, false, []string{`|yes|\ndata\n`}},
			{"named by the text", "tools/extra.py", nil, false, []string{`"stdout":"extra\n"`}},
			{"what nobody sees", "scripts/hidden.sh", nil, false, []string{`"stdout":"ab"`}},
			{"not named", "tools/other.py", nil, true, []string{"script_not_allowed: tools/other.py is neither in scripts/ nor executable"}},
			{"no script", "scripts/notes.md", nil, true, []string{"script_not_allowed: ", "no known interpreter"}},
			{"misspelt", "scripts/cuont.py", nil, true, []string{"script_not_found: ", "did you mean scripts/count.py"}},
			{"no such thing", "zzz", nil, true, []string{"script_not_found: ", "scripts/count.py, scripts/env.sh"}},
			{"arguments in a text", "scripts/count.py", map[string]any{"args": "a b"}, true, []string{`"args" must be a list`}},
			{"an argument that is none", "scripts/count.py", map[string]any{"args": []any{map[string]any{}}}, true, []string{`entry 0 of "args" is no text`}},
			{"an unknown key", "scripts/count.py", map[string]any{"arg": []any{}}, true, []string{`did you mean args?`}},
			{"a NUL", "scripts/count.py", map[string]any{"args": []any{"a\x00b"}}, true, []string{"script_not_allowed: an argument has a NUL"}},
		} {
			got := runTool(t, cs, "tools", c.tool, c.input)
			if got.isError != c.isError {
				t.Errorf("%s: error %v: %s", c.name, got.isError, got.text)
			}
			for _, w := range c.want {
				if !strings.Contains(got.text, w) {
					t.Errorf("%s: the answer lacks %s:\n%s", c.name, w, got.text)
				}
			}
		}
		if got := runTool(t, cs, "toolz", "scripts/count.py", nil); got.code != "skill_not_found" {
			t.Errorf("unknown skill: %s", got.text)
		}
		noted(t, store, state.EventSkillToolCalled, "scripts/count.py, "+string(mode)+", files sha256:")
	})
}

// noted looks for a recorded event about the skill tools.
func noted(t *testing.T, store *sqlite.Store, kind, detail string) {
	t.Helper()
	events, err := store.Events(t.Context(), time.Time{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(events, func(e state.Event) bool {
		return e.Kind == kind && e.Name == "tools" && strings.Contains(e.Detail, detail) && !e.Failed && e.Digest != ""
	}) {
		t.Errorf("no event with %q: %+v", detail, events)
	}
}

func TestAFolderToStartInThatIsNotThere(t *testing.T) {
	dir, registry := newTools(t)
	state := dir + ".state.json"
	approve(t, registry, state, "tools")
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: registry, Scripts: broker.Scripts{Mode: broker.ScriptsHost, Cwd: filepath.Join(dir, "gone"), Approvals: skills.SwitchFile(state)}})
	got := runTool(t, connect(t, b, "2025-11-25", nil), "tools", "scripts/count.py", nil)
	if got.code != "execution_failed" || !strings.Contains(got.text, "skills.scriptCwd") || strings.Contains(got.text, dir) {
		t.Errorf("%s", got.text)
	}
}

func TestWhatScriptsWroteIsGone(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, mode broker.ScriptMode, box sandbox.Commander) {
		dir, registry := newTools(t)
		approve(t, registry, dir+".state.json", "tools")
		for _, cwd := range []string{"", "tmp"} {
			o := options{Deps: broker.Deps{ScriptSandbox: lent{box}}, Settings: broker.Settings{Skills: registry, Scripts: broker.Scripts{Mode: mode, Cwd: cwd, Approvals: skills.SwitchFile(dir + ".state.json")}}}
			cs := connect(t, newBroker(t, o.Deps, o.Settings), "2025-11-25", nil)
			mark := fmt.Sprintf("%s-%d", mode, os.Getpid())
			got := runTool(t, cs, "tools", "scripts/write.sh", map[string]any{"args": []string{mark}})
			if !strings.HasPrefix(got.Stdout, "written\n") {
				t.Errorf("%s", got.text)
			}
			if mode == broker.ScriptsSandbox && (strings.Contains(got.Stdout, "changed") || cwd == "tmp" && !strings.HasSuffix(got.Stdout, "\n/tmp\n")) {
				t.Errorf("cwd %q: %s", cwd, got.text)
			}
			if mode == broker.ScriptsSandbox {
				if _, err := os.Stat(filepath.Join(os.TempDir(), "left-"+mark)); err == nil {
					t.Error("a script in the sandbox wrote to this host")
				}
			} else {
				os.Remove(filepath.Join(os.TempDir(), "left-"+mark))
			}
			if _, err := os.Stat(filepath.Join(dir, "tools", "left")); err == nil {
				t.Error("the script changed the skill")
			}
			if got := runTool(t, cs, "tools", "scripts/count.py", nil); !strings.Contains(got.text, `"success":true`) {
				t.Errorf("after it: %s", got.text)
			}
		}
		if box != nil {
			if err := box.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
