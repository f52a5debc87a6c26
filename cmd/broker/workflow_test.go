package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// workflowConfig is a config with the servers shelf and good, and with a skill
// that has this workflow.
func workflowConfig(t *testing.T, workflow string) (config, sessions string) {
	t.Helper()
	dir := t.TempDir()
	skill := filepath.Join(dir, "skills", "custom", "librarian")
	if err := os.MkdirAll(skill, 0o755); err != nil {
		t.Fatal(err)
	}
	good, err := json.Marshal(map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Good)})
	if err != nil {
		t.Fatal(err)
	}
	config, sessions = filepath.Join(dir, "servers.json"), filepath.Join(dir, "sessions")
	for path, text := range map[string]string{
		config:                                fmt.Sprintf(`{"mcpServers": {"shelf": {"command": "shelf"}, "good": %s}, "broker": {"skills": {"scan": false, "sessionDir": "sessions"}}}`, good),
		filepath.Join(skill, "SKILL.md"):      "---\nname: librarian\ndescription: Puts books on the shelf. Use when there is one.\n---\n\nStart.\n",
		filepath.Join(skill, "workflow.json"): workflow,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	return config, sessions
}

type workflowAnswer struct {
	Session, Status, Step, Prompt, Message string
	Retry                                  bool
	Result                                 json.RawMessage
}

// callSkill sends call_skill_tool with the librarian.
func (c *stdioClient) callSkill(t *testing.T, id int, tool, input string) {
	t.Helper()
	c.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"call_skill_tool","arguments":{"skill":"librarian","tool":%q,"input":%s}}}`, id, tool, input))
}

func (c *stdioClient) skillAnswer(t *testing.T, id int) (a workflowAnswer) {
	t.Helper()
	if err := json.Unmarshal([]byte(textOf(t, c.answer(t, id))), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// textOf is the text of a tool's answer.
func textOf(t *testing.T, line string) string {
	t.Helper()
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Result.Content) != 1 {
		t.Fatalf("no answer of a tool: %s", line)
	}
	return m.Result.Content[0].Text
}

// A broker is killed while a session waits for an answer. The next one goes on
// with it, and the action that was done is not done again.
func TestASessionOutlivesAKilledBroker(t *testing.T) {
	config, sessions := workflowConfig(t, `{"start": "put", "steps": {
		"put": {"action": {"tool": "shelf__add_book", "input": {"title": "{{params.title}}"}}, "next": "rate"},
		"rate": {"prompt": "Rate the last of {{steps.put.books}}.", "answer": {"type": "integer"}}}}`)
	first := startStdio(t, config)
	first.callSkill(t, 1, "start", `{"title": "Emma"}`)
	begun := first.skillAnswer(t, 1)
	if begun.Status != "prompt" || begun.Step != "rate" || !strings.Contains(begun.Prompt, "Emma") {
		t.Fatalf("start: %+v", begun)
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()
	second := startStdio(t, config)
	second.callSkill(t, 1, "advance", fmt.Sprintf(`{"session": %q}`, begun.Session))
	if a := second.skillAnswer(t, 1); a.Prompt != begun.Prompt {
		t.Errorf("the next broker says %+v, want the same prompt", a)
	}
	second.callSkill(t, 2, "advance", fmt.Sprintf(`{"session": %q, "answer": 5}`, begun.Session))
	if a := second.skillAnswer(t, 2); a.Status != "done" || string(a.Result) != "5" {
		t.Errorf("the end: %+v", a)
	}
	calls := 0
	for _, e := range auditList(t, config) {
		calls += e.Calls
	}
	if calls != 1 {
		t.Errorf("the book was put on the shelf %d times, want once", calls)
	}
	info, err := os.Stat(sessions)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the sessions: %v, %v, want it to be the user's alone", info, err)
	}
	files, err := filepath.Glob(filepath.Join(sessions, "*."+begun.Session+".*.json"))
	if err != nil || len(files) != 1 {
		t.Errorf("the session is in %v, %v, want one file", files, err)
	}
}

// A broker is killed in the middle of an action. Nobody knows whether that was
// done, so the next broker does not do it again before it is told to.
func TestAKilledActionIsNotRepeated(t *testing.T) {
	config, sessions := workflowConfig(t, `{"start": "pay", "steps": {"pay": {"action": {"tool": "good__wait", "input": {"Ms": "{{params.ms}}"}}}}}`)
	first := startStdio(t, config)
	first.callSkill(t, 1, "start", `{"ms": 60000}`)
	var id string
	waitFor(t, "the action has begun", func() bool {
		files, err := filepath.Glob(filepath.Join(sessions, "*.json"))
		if err != nil || len(files) != 1 {
			return false
		}
		data, err := os.ReadFile(files[0])
		id = strings.Split(filepath.Base(files[0]), ".")[1]
		return err == nil && strings.Contains(string(data), `"kind":"acting"`)
	})
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()
	second := startStdio(t, config)
	second.callSkill(t, 1, "advance", fmt.Sprintf(`{"session": %q}`, id))
	a := second.skillAnswer(t, 1)
	if a.Status != "error" || !a.Retry || !strings.Contains(a.Message, `it may have been done. Find out, or do it again with advance and "again": true`) {
		t.Errorf("the next broker says %+v", a)
	}
	calls := 0
	for _, e := range auditList(t, config) {
		calls += e.Calls
	}
	if calls > 1 {
		t.Errorf("the action was done %d times, want once", calls)
	}
}

// A built skill that speaks MCP is a server by one line of the config.
func TestABuiltSkillIsAServer(t *testing.T) {
	dir := t.TempDir()
	run, err := fakeupstream.WriteSkillKit(filepath.Join(dir, "skills", "custom"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	config := filepath.Join(dir, "servers.json")
	if err := os.WriteFile(config, fmt.Appendf(nil, `{"mcpServers": {"greeter": {"command": %q, "args": ["mcp"]}}, "broker": {"skills": {"scan": false}}}`, run), 0o600); err != nil {
		t.Fatal(err)
	}

	c := startStdio(t, config)
	// The whole skill from a script: a mistake is a result, a redirect is not seen.
	c.execute(t, 1, `
		const begun = await greeter.start({ params: { greeting: 'Hello.' } });
		const wrong = await greeter.advance({ session: begun.session, step: begun.step, output: {} });
		const led = await greeter.advance({ session: begun.session, step: 'greet', output: { name: 'help' } });
		const done = await greeter.advance({ session: begun.session, step: led.step, output: { issues: ['links'] } });
		const over = await greeter.advance({ session: begun.session, step: led.step, output: {} });
		const topic = await greeter.topic({ name: 'rate-limits' });
		let unknown = '';
		try { await greeter.topic({ name: 'x' }); } catch (e) { unknown = e.message; }
		return [/^[0-9a-f]{8}$/.test(begun.session), begun.status, begun.prompt, 'preamble' in begun, begun.schema.required, wrong.status, wrong.retry, wrong.message,
			led.step, done.status, done.finalOutput, over.retry, topic.content, unknown].map(x => JSON.stringify(x)).join('\n');`)
	var res struct {
		Result, Stderr string
		ExitCode       int `json:"exit_code"`
	}
	if err := json.Unmarshal([]byte(textOf(t, c.answer(t, 1))), &res); err != nil || res.ExitCode != 0 {
		t.Fatalf("the script: %v %+v", err, res)
	}
	const want = `true
"prompt"
"<prompt>Hello. Ask for the name.</prompt>"
true
["name"]
"error"
true
"name: name must be a string (was missing)"
"doctor/diagnose"
"done"
{"mended":["links"]}
false
"Seven requests a second."
`
	if !strings.HasPrefix(res.Result, want) || !strings.Contains(res.Result, "Unknown topic") {
		t.Errorf("the script returns\n%s\nwant\n%s", res.Result, want)
	}
}
