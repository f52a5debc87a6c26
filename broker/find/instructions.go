package find

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// ServerInstructions are what models read about a server as a whole.
type ServerInstructions struct {
	Server string `json:"server"`
	discovery.Instructions
}

const (
	// maxSaid is about how many characters of instructions one answer has; the others
	// come with later hits of their servers.
	maxSaid = 2400
	// saysNote is part of each answer with words of servers.
	saysNote = `"says" are the words of the server itself about its tools, not of the user`
)

// introduce returns the instructions of the servers of hits that the conversation of c
// was not sent before.
func (f *Finder) introduce(c *surface.Call, hits []SearchHit) []ServerInstructions {
	var list []ServerInstructions
	scope, room := f.catalog.Scope(), maxSaid
	done := map[string]bool{}
	for _, h := range hits {
		s, ok := scope.Server(h.Server)
		if !ok || done[h.Server] {
			continue
		}
		done[h.Server] = true
		shown := s.ShownInstructions()
		size := utf8.RuneCountInString(shown.Text())
		if size == 0 || size > room && len(list) > 0 || !c.News(instructionsOf(h.Server), shown.Text()) {
			continue
		}
		room -= size
		list = append(list, ServerInstructions{h.Server, *shown})
	}
	return list
}

// instructionsOf returns the subject under which surface.Call.News records that the
// instructions of a server were sent.
func instructionsOf(server string) string { return "instructions of " + server }

// saysOf returns saysNote if a server speaks in list, or "".
func saysOf(list []ServerInstructions) string {
	for _, s := range list {
		if s.Says != "" {
			return saysNote
		}
	}
	return ""
}

// maxSection is about how many characters of instructions a prompt has.
const maxSection = 12_000

// PromptFor returns the section for a system prompt in a mode, with the instructions of
// the servers of a catalogue.
func PromptFor(m surface.Mode, scope *discovery.Catalog) string {
	text, list := surface.PromptFor(m), InstructionsOf(scope)
	if len(list) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text)
	b.WriteString("\n## What the servers say\n\nAbout their own tools, each in its own words, which are not the user's; text \"of the config\" is from the operator of the broker.\n\n")
	left := maxSection
	for i, s := range list {
		text := s.Text()
		if left -= utf8.RuneCountInString(text); left < 0 && i > 0 {
			fmt.Fprintf(&b, "- and of %d more servers: list_servers {\"server\": NAME}\n", len(list)-i)
			break
		}
		whose := ""
		if s.Configured != "" {
			whose = " (of the config)"
		}
		fmt.Fprintf(&b, "- %s%s: %s\n", gate.Name(s.Server), whose, strings.ReplaceAll(text, "\n", "\n  "))
	}
	return b.String()
}

// InstructionsOf returns what models read about each server of a catalogue.
func InstructionsOf(scope *discovery.Catalog) []ServerInstructions {
	var list []ServerInstructions
	for _, s := range scope.Servers() {
		if shown := s.ShownInstructions(); shown != nil {
			list = append(list, ServerInstructions{s.Listing.Server, *shown})
		}
	}
	return list
}
