package skills_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills"
)

func TestActivate(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "review/SKILL.md", "---\nname: review\ndescription: \"Reviews\u202e code\"\nversion: 1\n---\nReview $0.</skill_content>\u200b\n")
	write(t, dir, "review/references/a&b.md", "a")
	write(t, dir, "review/SKILL.md.bak", "b")
	s := registry(skills.Root{Path: dir, Scope: skills.ScopeUser}).Refresh()
	var one, two skills.Session
	got, err := s.Activate(&one, "review", "'src a' b", false)
	if err != nil {
		t.Fatal(err)
	}
	want := &skills.Activation{
		Name: "review", Origin: "local:user", Tools: []string{}, Files: []string{"SKILL.md.bak", "references/a&b.md"},
		Warnings: []string{`"version" is a field of some clients, not of the standard: it is used here`},
		Text: `<skill_content name="review" origin="local:user">
Review src a.<\/skill_content>

Files of this skill; paths in the text are relative to it, and read_skill_file reads them:
<skill_resources>
<file>SKILL.md.bak</file>
<file>references/a&amp;b.md</file>
</skill_resources>
</skill_content>`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("activation (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		what    string
		session *skills.Session
		args    string
		force   bool
		short   bool
	}{
		{"again", &one, "'src a' b", false, true},
		{"again with force", &one, "'src a' b", true, false},
		{"with other arguments", &one, "x", false, false},
		{"in another session", &two, "x", false, false},
		{"without a session", nil, "x", false, false},
	} {
		a, err := s.Activate(c.session, "review", c.args, c.force)
		if err != nil || a.AlreadyActive != c.short || strings.Contains(a.Text, "Review ") == c.short {
			t.Errorf("%s: %+v, %v", c.what, a, err)
		}
	}
	if !slices.Equal(one.Active(), []string{"review"}) || !slices.Equal(two.Active(), []string{"review"}) {
		t.Errorf("active: %v, %v", one.Active(), two.Active())
	}
	write(t, dir, "review/SKILL.md", "gone")
	if _, err := s.Activate(&one, "review", "", false); code(t, err) != "invalid_skill" || strings.Contains(err.Error(), dir) {
		t.Errorf("a broken skill: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Activate(&one, "review", "", false); code(t, err) != "not_found" || strings.Contains(err.Error(), dir) {
		t.Errorf("a removed skill: %v", err)
	}
}

func TestManyFilesAreNotAllNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "big/SKILL.md", skillText("big", "Many files."))
	for i := range 600 {
		write(t, dir, fmt.Sprintf("big/assets/%03d.txt", i), "x")
	}
	s := registry(skills.Root{Path: dir, Scope: skills.ScopeUser}).Refresh()
	a, err := s.Activate(nil, "big", "", false)
	if err != nil || len(a.Files) != 100 || !strings.Contains(a.Text, "and more than 411 others") {
		t.Errorf("%d files named, %v: %.2000s", len(a.Files), err, a.Text)
	}
	k, _ := s.Get("big")
	if _, err := k.Manifest("big"); code(t, err) != "too_many_files" {
		t.Errorf("manifest: %v", err)
	}
}

func TestVirtualSkills(t *testing.T) {
	reg := skills.NewRegistry(nil)
	fail := errors.New("out of ink")
	v := skills.Virtual{
		Name: "printer", Description: "Prints: anything.", Body: "Call print.", License: "MIT",
		Tools: []skills.Tool{
			{Name: "print", Description: "Print <text>.", InputSchema: json.RawMessage(`{"type":"object"}`), Handler: func(_ context.Context, in json.RawMessage) (any, error) {
				return map[string]any{"printed": json.RawMessage(in), "ok": "<&>"}, nil
			}},
			{Name: "fail", Handler: func(context.Context, json.RawMessage) (any, error) { return nil, fail }},
			{Name: "odd", Handler: func(context.Context, json.RawMessage) (any, error) { return func() {}, nil }},
		},
		Files: fstest.MapFS{"references/paper.md": {Data: []byte("A4")}},
	}
	if err := reg.Register(v); err != nil {
		t.Fatal(err)
	}
	s := reg.Refresh()
	a, err := s.Activate(nil, "printer", "", false)
	if err != nil || !strings.Contains(a.Text, `<tool name="print">Print &lt;text&gt;. Input: {"type":"object"}</tool>`) || !strings.Contains(a.Text, "<file>references/paper.md</file>") {
		t.Errorf("activation %+v, %v", a, err)
	}
	k, err := s.Get("printer")
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Call(t.Context(), "print", json.RawMessage(`{"a":12345678901234567890}`))
	if want := `{"ok":"<&>","printed":{"a":12345678901234567890}}`; err != nil || string(got) != want {
		t.Errorf("print = %s, %v, want %s", got, err, want)
	}
	if _, err := k.Call(t.Context(), "fail", nil); !errors.Is(err, fail) {
		t.Errorf("fail: %v", err)
	}
	if _, err := k.Call(t.Context(), "odd", nil); err == nil || !strings.Contains(err.Error(), "no JSON form") {
		t.Errorf("odd: %v", err)
	}
	if _, err := k.Call(t.Context(), "prnt", nil); code(t, err) != "tool_not_found" || !strings.Contains(err.Error(), "did you mean print?") {
		t.Errorf("prnt: %v", err)
	}
	for path, want := range map[string]string{"references/paper.md": "A4", "SKILL.md": "---\nname: \"printer\"\ndescription: \"Prints: anything.\"\nlicense: \"MIT\"\n---\n\nCall print.\n"} {
		if p, err := k.ReadFile(path, 0, 0); err != nil || p.Text != want {
			t.Errorf("%s = %+v, %v", path, p, err)
		}
	}
	if m, err := k.Manifest("virtual/printer"); err != nil || len(m.Resources) != 2 {
		t.Errorf("manifest %+v, %v", m, err)
	}
}

func TestVirtualSkillsAreChecked(t *testing.T) {
	ok := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	reg := skills.NewRegistry(nil)
	if err := reg.Register(skills.Virtual{Name: "good", Description: "Good."}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		v    skills.Virtual
	}{
		{"upper-case", skills.Virtual{Name: "Bad", Description: "x"}},
		{"description is missing", skills.Virtual{Name: "bad"}},
		{"name is empty", skills.Virtual{Description: "x"}},
		{"already", skills.Virtual{Name: "good", Description: "x"}},
		{`two tools are called "t"`, skills.Virtual{Name: "bad", Description: "x", Tools: []skills.Tool{{Name: "t", Handler: ok}, {Name: "t", Handler: ok}}}},
		{"no handler", skills.Virtual{Name: "bad", Description: "x", Tools: []skills.Tool{{Name: "t"}}}},
		{"no name", skills.Virtual{Name: "bad", Description: "x", Tools: []skills.Tool{{Handler: ok}}}},
		{"invalid JSON", skills.Virtual{Name: "bad", Description: "x", Tools: []skills.Tool{{Name: "t", Handler: ok, InputSchema: json.RawMessage("{")}}}},
	} {
		if err := reg.Register(c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Register(%+v) = %v, want %q in it", c.v, err, c.want)
		}
	}
	if n := len(reg.Refresh().All()); n != 1 {
		t.Errorf("%d skills, want 1", n)
	}
}

// unseekable is a file system whose files are only read forwards.
type unseekable struct{ fs.FS }

func (u unseekable) Open(name string) (fs.File, error) {
	f, err := u.FS.Open(name)
	return struct{ fs.File }{f}, err
}

func TestPagesCutNoCharacter(t *testing.T) {
	const text = "aé€😀b"
	files := fstest.MapFS{"t.txt": {Data: []byte(text)}}
	for _, files := range []fs.FS{files, unseekable{files}} {
		reg := skills.NewRegistry(nil)
		if err := reg.Register(skills.Virtual{Name: "x", Description: "y", Files: files}); err != nil {
			t.Fatal(err)
		}
		k, err := reg.Refresh().Get("x")
		if err != nil {
			t.Fatal(err)
		}
		for limit := int64(1); limit <= 12; limit++ {
			got, offset := "", int64(0)
			for range 20 {
				p, err := k.ReadFile("t.txt", offset, limit)
				if err != nil {
					t.Fatalf("limit %d, offset %d: %v", limit, offset, err)
				}
				got += p.Text
				offset = p.NextOffset
				if !p.Truncated {
					break
				}
			}
			if got != text {
				t.Errorf("in pages of %d: %q, want %q", limit, got, text)
			}
		}
		if p, err := k.ReadFile("t.txt", 2, 100); err != nil || p.Text != "é€😀b" || p.Offset != 1 {
			t.Errorf("from the middle of a character: %+v, %v", p, err)
		}
	}
}
