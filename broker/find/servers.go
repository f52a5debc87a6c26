package find

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// A ServerInfo is one row of list_servers.
type ServerInfo struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Transport   string `json:"transport"`
	Status      string `json:"status"`
	ToolCount   int    `json:"tool_count"`
	Error       string `json:"error,omitempty"`
	// Held is the number of tools that are held back, with the command that shows why.
	Held string `json:"held,omitempty"`
	// Instructions are there if the answer is about this server alone.
	Instructions *discovery.Instructions `json:"instructions,omitempty"`
	Tools        []string                `json:"tools,omitempty"`
	// Skills is how many it serves that models may activate.
	Skills int `json:"skills,omitempty"`
}

// A ServersAnswer is what list_servers answers.
type ServersAnswer struct {
	Servers    []ServerInfo `json:"servers"`
	TotalTools int          `json:"total_tools"`
	// Disabled are the names of the disabled servers of the config.
	Disabled []string `json:"disabled,omitempty"`
	// Skills are how many skills there are, by origin, but for those of servers.
	Skills map[string]int `json:"skills,omitempty"`
	Note   string         `json:"note,omitempty"`
}

// slowStart is how long a server may be starting before that is worth a word.
const slowStart = 2 * time.Second

// ListServers returns the states of the configured servers. With a server's name it
// returns only that one, with the ids of its tools; for an unknown name it returns all,
// with a note of the nearest name.
func (f *Finder) ListServers(server string) ServersAnswer {
	scope := f.catalog.Scope()
	status := make(map[string]upstream.Status)
	for _, s := range f.catalog.Status() {
		status[s.Name] = s
	}
	a := ServersAnswer{Servers: []ServerInfo{}}
	if n := f.notice.Load(); n != nil {
		a.Note = *n
	}
	var ofServer, others map[string]int
	if f.library != nil {
		ofServer, others = f.library.Count()
	}
	only, found := scope.FindServer(server)
	if !found || server == "" {
		a.Skills, a.Disabled = others, f.catalog.Disabled()
	}
	if server != "" && !found {
		var names []string
		for _, s := range scope.Servers() {
			names = append(names, s.Listing.Server)
		}
		if slices.Contains(a.Disabled, server) {
			a.Note = joinNotes(a.Note, fmt.Sprintf("server %s is disabled: broker servers enable %s", gate.Name(server), gate.Name(server)))
		} else {
			a.Note = joinNotes(a.Note, fmt.Sprintf("no server is called %q", gate.Cut(server, 60)))
		}
		if near := nearest.Names(server, names, 3); len(near) > 0 {
			a.Note += "; did you mean " + strings.Join(near, ", ") + "?"
		}
	}
	for _, s := range scope.Servers() {
		if found && server != "" && s != only {
			continue
		}
		st := status[s.Listing.Server]
		if st.State == upstream.StateIdle && f.catalog.Serving() {
			st.State = upstream.StateStarting // it is about to: see StartSoon
		}
		description := clause(s.Description, clauseMax)
		if found && server != "" {
			description = codegen.FirstSentence(s.Description, firstSentence)
		}
		info := ServerInfo{
			Name: s.Listing.Server, Description: description,
			Transport: st.Transport, Status: string(st.State), ToolCount: len(s.Tools), Error: statusError(st),
			Skills: ofServer[s.Listing.Server],
		}
		if n := len(s.Held); n > 0 {
			info.Held = fmt.Sprintf("%d held back until a person approves: broker pins diff %s", n, gate.Name(s.Listing.Server))
		}
		if found && server != "" {
			info.Instructions = s.ShownInstructions()
			if info.Instructions != nil && info.Instructions.Says != "" {
				a.Note = joinNotes(a.Note, saysNote)
			}
			a.Note = joinNotes(a.Note, info.nameTools(s.Tools))
		}
		a.TotalTools += len(s.Tools)
		a.Servers = append(a.Servers, info)
	}
	return a
}

// maxNamedTools is about how many bytes of ids one server's row has.
const maxNamedTools = 8_000

// nameTools adds the names of a server's tools as far as there is room, and a note
// about how to find the others.
func (i *ServerInfo) nameTools(tools []*discovery.Tool) (note string) {
	size := 0
	for n, t := range tools {
		if size += len(t.ID) + len(`"",`); size > maxNamedTools {
			return fmt.Sprintf(`the first %d of %d tools; search_tools {"query": "", "server": %s, "offset": %d} shows more, words find one`,
				n, len(tools), gate.Compact(i.Name), n)
		}
		i.Tools = append(i.Tools, t.ID)
	}
	return ""
}

// maxStatusError is how many characters say why a server does not work.
const maxStatusError = 300

// statusError is why a server does not work, and what to do, on one line.
func statusError(st upstream.Status) string {
	var text string
	switch {
	case st.Err != nil && st.State == upstream.StateStarting:
		text = "being tried again; before: " + gate.Line(st.Err.Error())
	case st.Err != nil:
		text = gate.Line(st.Err.Error())
	case st.State == upstream.StateStarting && (st.Doing == upstream.ActivityInstalling || st.Doing == upstream.ActivityQueued):
		return fmt.Sprintf("%s for %d s", st.Doing, int(time.Since(st.Since).Seconds()))
	case st.State == upstream.StateStarting && time.Since(st.Since) > slowStart:
		return fmt.Sprintf("no answer to initialize for %d s", int(time.Since(st.Since).Seconds()))
	default:
		return ""
	}
	text = gate.Cut(text, maxStatusError)
	if st.Hint != "" {
		text += "; " + st.Hint
	}
	return text
}
