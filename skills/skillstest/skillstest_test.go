package skillstest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/skillstest"
)

const triage = `{
  "start": "fetch",
  "steps": {
    "fetch": {"action": {"tool": "github__list_issues", "input": {"repo": "{{params.repo}}"}}, "next": "rate"},
    "rate": {"prompt": "Rate {{steps.fetch.0}}.", "answer": {"type": "object", "properties": {"level": {"type": "integer"}}, "required": ["level"]}, "maxVisits": 3, "onMaxVisits": "show",
      "next": [{"when": {"path": "answer.level", "equals": 0}, "to": "self"}, {"when": {"path": "answer.level", "above": 5}, "to": "skill:fix"}, {"to": "show"}]},
    "show": {"prompt": "Show it.", "next": "sure"},
    "sure": {"prompt": [{"confirm": {"message": "Sure?"}}], "next": "note"},
    "note": {"prompt": "Note it."}
  }
}`

// write makes the skill triage, with a description.
func write(t *testing.T, description string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "triage")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"SKILL.md": "---\nname: triage\ndescription: " + description + "\n---\n\nStart.\n", "workflow.json": triage} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const described = "Rates issues by how bad they are. Use when new ones come in."

func script() skillstest.Script {
	return skillstest.Script{
		Params: map[string]string{"repo": "o/r"},
		Tools:  map[string]skillstest.Tool{"github__list_issues": skillstest.Gives([]string{"crash"})},
		Answers: map[string]any{
			"rate": skillstest.Each{map[string]int{"level": 0}, map[string]int{"level": 2}},
			"note": func(prompt string) any { return "about: " + prompt },
		},
		Forms: map[string]any{"Sure?": map[string]bool{"approved": true}},
	}
}

func TestPlay(t *testing.T) {
	k := skillstest.Load(t, write(t, described))
	p := skillstest.Play(t, skillstest.Workflow(t, k), script())
	p.WantPath("rate", "rate", "show", "note")
	p.WantCalls("github__list_issues")
	p.WantResult("about: Note it.")
	if string(p.Calls[0].Input) != `{"repo":"o/r"}` || p.Prompts[0] != "Rate crash." || len(p.Answered) != 1 || p.Answered[0] != "sure" {
		t.Errorf("played: %+v", p)
	}
	s := script()
	s.Answers = map[string]any{"rate": map[string]int{"level": 9}}
	skillstest.Play(t, skillstest.Workflow(t, k), s).WantRedirect("fix")
}

// A recorder is a test that fails without failing this one.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatal(args ...any) {
	r.errors = append(r.errors, fmt.Sprint(args...))
	runtime.Goexit()
}

func TestWhatGoesWrongFailsTheTest(t *testing.T) {
	w := skillstest.Workflow(t, skillstest.Load(t, write(t, described)))
	for _, c := range []struct {
		name, want string
		change     func(*skillstest.Script)
		check      func(*skillstest.Played)
	}{
		{"no answer", `step "rate" asks, and the script has no answer: Rate crash.`, func(s *skillstest.Script) { delete(s.Answers, "rate") }, nil},
		{"too few", `step "rate" asks, and the script has no answer`, func(s *skillstest.Script) { s.Answers["rate"] = skillstest.Each{map[string]int{"level": 0}} }, nil},
		{"a wrong answer", `step "rate": "level": takes an integer`, func(s *skillstest.Script) { s.Answers["rate"] = map[string]string{"level": "x"} }, nil},
		{"an answer too many", "nobody asked for (all of) the answers of other", func(s *skillstest.Script) { s.Answers["other"] = 1 }, nil},
		{"another path", "the path is [rate rate show note], want [rate]", func(*skillstest.Script) {}, func(p *skillstest.Played) { p.WantPath("rate") }},
		{"other calls", "the actions called [github__list_issues], want []", func(*skillstest.Script) {}, func(p *skillstest.Played) { p.WantCalls() }},
		{"another result", `the result is "about: Note it.", want 1`, func(*skillstest.Script) {}, func(p *skillstest.Played) { p.WantResult(1) }},
		{"no redirect", "want a redirect to fix", func(*skillstest.Script) {}, func(p *skillstest.Played) { p.WantRedirect("fix") }},
		{"a missing tool", "the script has no tool github__list_issues", func(s *skillstest.Script) { s.Tools = nil }, func(p *skillstest.Played) { p.WantResult(1) }},
		{"no JSON", "have no JSON form", func(s *skillstest.Script) { s.Answers["rate"] = make(chan int) }, nil},
	} {
		r := &recorder{TB: t}
		s := script()
		c.change(&s)
		p := skillstest.Play(r, w, s)
		if c.check != nil {
			c.check(p)
		}
		if !strings.Contains(strings.Join(r.errors, "\n"), c.want) {
			t.Errorf("%s: the test says %q, want %q in it", c.name, r.errors, c.want)
		}
	}
}

func TestToolsInGo(t *testing.T) {
	k := skillstest.Register(t, skills.Virtual{
		Name: "dice", Description: "Throws dice. Use when chance decides.",
		Tools: []skills.Tool{{Name: "roll", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
			Handler: func(_ context.Context, in json.RawMessage) (any, error) { return in, nil }}},
	})
	var got struct{ N int }
	if err := skillstest.Call(t, k, "roll", map[string]int{"n": 3}, &got); err != nil || got.N != 3 {
		t.Errorf("roll: %v, %v", got, err)
	}
	err := skillstest.Call(t, k, "roll", nil, nil)
	if e, ok := errors.AsType[*skills.FileError](err); !ok || e.Code != "invalid_input" || !strings.Contains(e.Message, `"n"`) {
		t.Errorf("roll without n: %v, want an error that names it", err)
	}
}

func TestLoadIsStrict(t *testing.T) {
	dir := write(t, "")
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		skillstest.Load(r, dir)
	}()
	<-done
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "description") {
		t.Errorf("a skill without a description: the test says %q", r.errors)
	}
}
