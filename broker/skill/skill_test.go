package skill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/find"
	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/broker/skill"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

// notes are the skills of all tests.
func notes() *skills.Registry {
	r := skills.NewRegistry(nil)
	err := r.Register(skills.Virtual{
		Name: "release-notes", Description: "Writes release notes. Use before a release.", Body: "Group the changes by kind.",
		Files: fstest.MapFS{"references/style.md": {Data: []byte("Short sentences.")}},
		Tools: []skills.Tool{{Name: "greet", Description: "Greets.", InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(context.Context, json.RawMessage) (any, error) { return "hello", nil }}},
	})
	if err != nil {
		panic(err)
	}
	return r
}

// feature is one with what it works with; done ends all of it.
func feature(o skill.Options) (f *skill.Feature, finder *find.Finder, done func()) {
	log := slog.New(slog.DiscardHandler)
	c := catalog.New(catalog.Options{}, &upstream.Options{}, func() {})
	finder = find.New(find.Options{}, c, &index.Options{})
	f = skill.New(o, skill.Parts{Catalog: c, Runs: run.New(run.Options{MaxOutputChars: 1000}, c, log), Hits: finder, Changed: func() {}, Logger: log})
	return f, finder, func() { f.Close(); finder.Close(); c.Close() }
}

// call calls a tool of the feature as a client does.
func call(f *skill.Feature, tool, arguments string) (string, error) {
	i := slices.IndexFunc(f.Tools(), func(t surface.Tool) bool { return t.Name == tool })
	if i < 0 {
		return "", fmt.Errorf("there is no %s", tool)
	}
	res, err := f.Tools()[i].Handler(context.Background(), &surface.Call{Caller: surface.Caller{Client: "test", Session: "s"}, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

func Example() {
	f, _, done := feature(skill.Options{Registry: notes()})
	defer done()
	for _, t := range f.Tools() {
		fmt.Println(t.Name)
	}
	text, err := call(f, "call_skill_tool", `{"skill": "release-notes", "tool": "greet"}`)
	fmt.Println(text, err)
	// Output:
	// read_skill_file
	// call_skill_tool
	// activate_skill
	// hello <nil>
}

// A journal keeps the events of a test.
type journal struct {
	state.Journal // nil: nothing else is recorded
	mu            sync.Mutex
	events        []state.Event
}

func (j *journal) Note(e state.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

func TestWhatIsDoneWithSkillsIsRecorded(t *testing.T) {
	var j journal
	f, _, done := feature(skill.Options{Registry: notes(), Audit: &j})
	defer done()
	for _, tt := range []struct{ tool, arguments, says, fails string }{
		{"activate_skill", `{"name": "release-notes"}`, "Group the changes by kind.", ""},
		{"activate_skill", `{"name": "release-notes"}`, "already", ""},
		{"activate_skill", `{"name": "release-nodes"}`, "", "skill_not_found: "},
		{"activate_skill", `{}`, "", `which skill? Use {"name": "…"}`},
		{"read_skill_file", `{"skill": "release-notes", "path": "references/style.md"}`, "Short sentences.", ""},
		{"read_skill_file", `{"skill": "release-notes", "path": "../secret"}`, "", "leads out of the skill"},
		{"read_skill_file", `{"skill": "` + strings.Repeat("x", 600) + `", "path": "a"}`, "", "its name has 600 bytes"},
		{"call_skill_tool", `{"skill": "release-notes"}`, "", "which tool of the skill?"},
	} {
		text, err := call(f, tt.tool, tt.arguments)
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s %.80s: %q, %v; want an error with %q", tt.tool, tt.arguments, text, err, tt.fails)
			}
		} else if err != nil || !strings.Contains(text, tt.says) {
			t.Errorf("%s %s: %q, %v; want %q", tt.tool, tt.arguments, text, err, tt.says)
		}
	}
	var kinds []string
	for _, e := range j.events {
		kinds = append(kinds, fmt.Sprint(e.Kind, " ", e.Name, " ", e.Client, " ", e.Failed))
	}
	want := []string{"skill_activated release-notes test false", "skill_file_read release-notes test false", "skill_file_read release-notes test true"}
	if !slices.Equal(kinds, want) {
		t.Errorf("events %q, want %q", kinds, want)
	}
}

func TestSkillsAreFoundAndPicked(t *testing.T) {
	f, finder, done := feature(skill.Options{Registry: notes()})
	defer done()
	found, err := finder.Search(t.Context(), find.SearchRequest{Query: "write release notes"})
	if text := fmt.Sprintf("%+v", found); err != nil || !strings.Contains(text, "release-notes") {
		t.Errorf("found %s, %v; want the skill", text, err)
	}
	prompts := f.Prompts()
	i := slices.IndexFunc(prompts, func(p surface.Prompt) bool { return p.Name == "release-notes" })
	if i < 0 {
		t.Fatalf("%d prompts, none of them the skill", len(prompts))
	}
	text, err := prompts[i].Text(t.Context(), surface.Caller{Client: "test"}, nil)
	if err != nil || !strings.Contains(text.String(), "Group the changes by kind.") {
		t.Errorf("the prompt is %q, %v", text, err)
	}
	none, _, close := feature(skill.Options{})
	defer close()
	if len(none.Tools()) > 0 || len(none.Prompts()) > 0 {
		t.Error("without a skill there are tools or prompts")
	}
}
