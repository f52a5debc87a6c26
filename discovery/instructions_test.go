package discovery_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// Instructions of any kind are shown in few characters, cut where a line or a sentence
// ends.
func TestInstructionsAreShort(t *testing.T) {
	long := strings.Repeat("Call list_projects before any other tool. ", 40)
	list := "# Notes server\n\n## Workflow\n\n1. Call `find_note` first.\n2. Then read it.\n\n---\n\n```json\n  {\"a\": 1}\n```\n" + strings.Repeat("- another rule of the house\n", 40)
	for _, c := range []struct {
		name    string
		setting discovery.InstructionsSetting
		text    string
		begins  string
		ends    string
		most    int
	}{
		{"none", discovery.InstructionsSetting{}, "", "", "", 0},
		{"blanks", discovery.InstructionsSetting{}, " \n\t\r\n", "", "", 0},
		{"rules alone", discovery.InstructionsSetting{}, "---\n===\n", "", "", 0},
		{"short", discovery.InstructionsSetting{}, "  Search first.\n\n\n   Then buy. ", "Search first.\nThen buy.", "Then buy.", 23},
		{"long", discovery.InstructionsSetting{}, long, "Call list_projects", "any other tool.…", 400},
		{"markdown", discovery.InstructionsSetting{}, list, "# Notes server\n## Workflow\n1. Call `find_note` first.\n2. Then read it.\n{\"a\": 1}\n- another", "- another rule of the house…", 400},
		{"no sentence", discovery.InstructionsSetting{}, strings.Repeat("word ", 500), "word word", "word…", 400},
		{"one word", discovery.InstructionsSetting{}, strings.Repeat("x", 5000), "xxx", "x…", 400},
		{"Chinese", discovery.InstructionsSetting{}, strings.Repeat("先搜索，然后读取文档。", 100), "先搜索", "文档。…", 400},
		{"control characters", discovery.InstructionsSetting{}, "Be \x1b[31mnice\x1b[0m \u202eand\u200b \U000e0041short.\r\nBye\x07.", "Be nice and short.\nBye.", "Bye.", 23},
		{"invalid UTF-8", discovery.InstructionsSetting{}, "caf\xe9 first", "caf\ufffd first", "first", 10},
		{"a larger bound", discovery.InstructionsSetting{MaxChars: 1000}, long, "Call", "any other tool.…", 1000},
		{"a smaller bound", discovery.InstructionsSetting{MaxChars: 30}, long, "Call list_projects before", "…", 30},
		{"off", discovery.InstructionsSetting{Off: true, Text: "x"}, long, "", "", 0},
	} {
		l := c.setting.Apply(discovery.Listing{Instructions: c.text})
		got := ""
		if l.Shown != nil {
			got = l.Shown.Says
		}
		if n := utf8.RuneCountInString(got); n > c.most || c.most >= 400 && n < c.most/2 {
			t.Errorf("%s: %d characters, want at most %d", c.name, n, c.most)
		}
		if !strings.HasPrefix(got, c.begins) || !strings.HasSuffix(got, c.ends) || c.begins == "" && got != "" {
			t.Errorf("%s: %q, want %q … %q", c.name, got, c.begins, c.ends)
		}
		if l.Instructions != c.text {
			t.Errorf("%s: the listing itself was changed", c.name)
		}
	}
}

// The text of the configuration takes the place of the server's, and is not called the
// server's words.
func TestConfiguredInstructions(t *testing.T) {
	s := discovery.InstructionsSetting{Text: " Ask\u200b before you write.\n"}
	for _, own := range []string{"", "The server's own."} {
		l := s.Apply(discovery.Listing{Instructions: own})
		if l.Shown == nil || *l.Shown != (discovery.Instructions{Configured: "Ask before you write."}) {
			t.Errorf("beside %q it is %+v", own, l.Shown)
		}
	}
}

// A server of which nothing can be used says nothing.
func TestServersWithoutOffersSayNothing(t *testing.T) {
	tool := discovery.ListedTool{Name: "buy"}
	for _, c := range []struct {
		name string
		l    discovery.Listing
		keep bool
		want bool
	}{
		{"nothing", discovery.Listing{}, true, false},
		{"a tool", discovery.Listing{Tools: []discovery.ListedTool{tool}}, true, true},
		{"a tool that is denied", discovery.Listing{Tools: []discovery.ListedTool{tool}}, false, false},
		{"a prompt", discovery.Listing{Prompts: []discovery.ListedPrompt{{Name: "p"}}}, true, true},
		{"a resource", discovery.Listing{Resources: []discovery.ListedResource{{URI: "a:b"}}}, true, true},
		{"a skill", discovery.Listing{Skills: []discovery.ListedSkill{{URI: "skill://s"}}}, true, true},
	} {
		c.l.Server, c.l.Instructions = "shop", "Search first."
		catalog := discovery.NewCatalog([]discovery.Listing{discovery.InstructionsSetting{}.Apply(c.l)}).Filter(func(*discovery.Tool) bool { return c.keep })
		s, _ := catalog.Server("shop")
		if got := s.ShownInstructions() != nil; got != c.want {
			t.Errorf("%s: shown %t, want %t", c.name, got, c.want)
		}
	}
}
