package find

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/broker/usage"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

func (f *Finder) searchDescription() string {
	names := gate.Cut(surface.ServerNames(f.catalog.ServerNames()), 480)
	return `Find tools by what they do: verb, object, product of a step, in any language: {"query": "create issue jira"}; several steps: {"queries": [...]}. ` +
		`Servers: ` + names + `. Look here before you say that something cannot be done. ` +
		`Best first: id, parameters (x: string, x?: any), purpose; [write] may change something, [asks] asks first.`
}

const listDescription = `List the MCP servers with status and tool count, e.g. {"server": "github"} for one with its tool ids. ` +
	`Those that failed or need sign-in say why and what to do.`

const (
	listSchema = `{"type":"object","properties":{"server":{"type":"string","description":"only this server, with its tools"}}}`

	searchSchema = `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"empty lists all"},` +
		`"queries":{"type":"array","items":{"type":"string"}},` +
		`"server":{"type":"string","description":"only this server"},` +
		`"detail":{"type":"string","enum":["name","desc","full"],"description":"ids; types, what it does (default); all parameters"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"default 8"}}}`
)

// Tools implements surface.Feature.
func (f *Finder) Tools() []surface.Tool {
	return []surface.Tool{
		{Tool: surface.Define("list_servers", listDescription, listSchema, surface.Reads()), Handler: f.handleListServers},
		{Tool: surface.Define("search_tools", f.searchDescription(), searchSchema, surface.Reads()), Handler: f.handleSearch},
	}
}

func (f *Finder) handleListServers(ctx context.Context, c *surface.Call) (*mcp.CallToolResult, error) {
	a, err := surface.ParseArguments(c.Arguments, "server")
	if err != nil {
		return nil, err
	}
	server := a.Text("server")
	if _, ok := f.catalog.Scope().FindServer(server); !ok {
		return surface.JSONResult(f.ListServers(server), false), nil
	}
	f.awaitListings(ctx, server, "", f.patience(c))
	starting := f.catalog.Starting(server)
	list := f.ListServers(server)
	if one := list.Servers; len(one) == 1 && one[0].Instructions != nil {
		c.News(instructionsOf(one[0].Name), one[0].Instructions.Text()) // a hit need not repeat them
	}
	list.Note = joinNotes(list.Note, startingNote(starting))
	return surface.JSONResult(list, false), nil
}

func (f *Finder) handleSearch(ctx context.Context, c *surface.Call) (*mcp.CallToolResult, error) {
	a, err := surface.ParseArguments(c.Arguments, searchArguments...)
	if err != nil {
		return nil, err
	}
	found, err := f.answer(ctx, a, usage.Who{Owner: c.Owner, Session: c.Session}, f.opts.Load().Mode == surface.ModeTools, f.patience(c))
	if err != nil {
		return nil, err
	}
	switch found := found.(type) {
	case SearchAnswer:
		if len(found.Servers) == 0 { // else it browses all servers
			found.Instructions = f.introduce(c, found.Tools)
			found.Note = joinNotes(found.Note, saysOf(found.Instructions))
		}
		return surface.JSONResult(found, false), nil
	case SeveralAnswer:
		var hits []SearchHit
		for _, one := range found.Answers {
			hits = append(hits, one.Tools...)
		}
		found.Instructions = f.introduce(c, hits)
		found.Note = saysOf(found.Instructions)
		return surface.JSONResult(found, false), nil
	}
	return surface.JSONResult(found, false), nil
}

// patience is for how long a call waits for servers; its client hears what it
// waits for.
func (f *Finder) patience(c *surface.Call) patience {
	p := patience{limit: f.opts.Load().SearchWait}
	if c.Progress != nil {
		p.tell = func(message string) { c.Progress(0, message) }
	}
	return p
}

var searchArguments = []string{"query", "queries", "server", "detail", "limit", "offset", "expand"}

// searchRequest reads the arguments of a search. What is wrong with them is an
// error in words for the one who gave them.
func searchRequest(a surface.Arguments) (SearchRequest, error) {
	if err := a.Known(searchArguments...); err != nil {
		return SearchRequest{}, err
	}
	limit, err := a.Number("limit")
	if err != nil {
		return SearchRequest{}, err
	}
	if limit < 1 && a.Given("limit") {
		return SearchRequest{}, fmt.Errorf("limit is %g: use 1 to %d", limit, maxHits)
	}
	offset, err := a.Number("offset")
	if err != nil {
		return SearchRequest{}, err
	}
	expand := false
	if a.Given("expand") && json.Unmarshal(a["expand"], &expand) != nil {
		return SearchRequest{}, fmt.Errorf("expand is %s: use true or false", gate.Cut(string(a["expand"]), 40))
	}
	return SearchRequest{
		Query: a.Text("query"), Expand: expand, Server: a.Text("server"), Detail: Detail(strings.TrimSpace(a.Text("detail"))),
		// Larger ones mean no more, and fit an int.
		Limit: int(min(limit, maxOffset)), Offset: int(max(-1, min(offset, maxOffset+1))),
	}, nil
}

// HostFuncs implements run.Feature.
func (f *Finder) HostFuncs() map[string]run.HostFunc {
	return map[string]run.HostFunc{"tools.search": {Do: f.searchForScript}, "tools.describe": {Do: f.describeForScript}}
}

// searchForScript is tools.search(query, {server, detail, limit}): what the tool
// search_tools answers, as an object.
func (f *Finder) searchForScript(ctx context.Context, x *run.Execution, c sandbox.Call) (json.RawMessage, error) {
	a, err := run.HostArguments("query", c)
	if err != nil {
		return nil, err
	}
	if err := a.Only(searchArguments...); err != nil {
		return nil, err
	}
	f.catalog.Hurry(ctx)
	found, err := f.answer(ctx, a, usage.Who{Owner: x.Request.Owner, Session: x.Request.Session}, false, patience{limit: min(f.opts.Load().SearchWait, x.Left()/2)}) // some is for what it finds
	if err != nil {
		return nil, err
	}
	return gate.Compact(forScript(found)), nil
}

// describeForScript is tools.describe(name).
func (f *Finder) describeForScript(ctx context.Context, _ *run.Execution, c sandbox.Call) (json.RawMessage, error) {
	a, err := run.HostArguments("name", c)
	if err != nil {
		return nil, err
	}
	if a.Text("name") == "" {
		return nil, errors.New("which tool? Use it as in tools.describe('github__list_issues')")
	}
	d, err := f.catalog.Describe(ctx, a.Text("name"))
	if err != nil {
		return nil, err
	}
	return gate.Compact(d), nil
}
