package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

const callDescription = "Call a tool that search_tools found, e.g. {\"tool\": \"github__list_issues\", \"arguments\": {\"owner\": \"o\", \"repo\": \"r\"}}. " +
	"The answer is what the tool sends; a long one is cut, so ask for little. A failure says what to do."

const executeDescription = "Run a TypeScript script that calls tools, e.g. `const r = await github.listIssues({ owner, repo }); return r.length`. " +
	"Each server is a camelCase global and a module (`import { listIssues } from './servers/github'`); " +
	"`callMCPTool('github__list_issues', { owner, repo })` calls by id. A call takes one object and gives the parsed result, " +
	"or throws ToolError {server, tool, code, message, hint}. Top-level await and return work; Promise.all runs calls in parallel. " +
	"Do a whole task in one script: loop, filter and join there; only what it returns or prints enters your context. " +
	"Also there: tools.search(query), tools.describe(id), store.get/set (kept), results.get(ref), retry(() => call). " +
	"No packages, files or network."

const callSchema = `{"type":"object","properties":{` +
	`"tool":{"type":"string","description":"the id"},` +
	`"arguments":{"type":"object","description":"what the tool takes"}},"required":["tool"]}`

// executeSchema returns the schema of execute_code, with only the languages that run here.
func (e *Executor) executeSchema() string {
	o := e.opts.Load()
	languages, _ := json.Marshal(o.Languages) // strings cannot fail
	python := ""
	if slices.Contains(o.Languages, sandbox.Python) {
		python = "; python: `from servers import github`, `await github.list_issues(owner=o)`, `await call_mcp_tool(id, {})`, asyncio.gather"
	}
	isolation := ""
	if len(o.Isolations) > 1 {
		isolations, _ := json.Marshal(o.Isolations) // strings cannot fail
		isolation = fmt.Sprintf(`"isolation":{"type":"string","enum":%s,"description":"where it runs"},`, isolations)
	}
	resume, required := "", `,"required":["code"]`
	if o.Runs != nil {
		resume, required = `"resume":{"type":"string","description":"run_id to go on with; code is optional then"},"plan":{"type":"boolean","description":"list writes for approval first"},`, ""
	}
	return fmt.Sprintf(`{"type":"object","properties":{`+
		`"code":{"type":"string","description":"the script"},`+resume+
		`"language":{"type":"string","enum":%s,"description":"default %s%s"},%s`+
		`"timeout":{"type":"number","description":"seconds, default %g, at most %g"}}`+required+`}`,
		languages, o.Language, python, isolation, o.Timeout.Seconds(), o.MaxTimeout.Seconds())
}

// Tools implements surface.Feature.
func (e *Executor) Tools() []surface.Tool {
	no, yes := false, true
	runs := &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}
	if e.opts.Load().ReadOnly {
		runs = &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, OpenWorldHint: &yes}
	}
	advice := "ONE execute_code script that calls the tools found, works on the data there and returns only what you need. "
	if e.opts.Load().Mode == surface.ModeAuto {
		advice += "Tools that are listed by id can be called directly. "
	}
	return append([]surface.Tool{{
		Tool:    surface.Define("execute_code", executeDescription, e.executeSchema(), runs),
		Handler: e.handleExecute, Modes: []surface.Mode{surface.ModeCode, surface.ModeAuto}, Advice: advice,
	}, {
		Tool:    surface.Define("call_tool", callDescription, callSchema, runs),
		Handler: e.handleCall, Modes: []surface.Mode{surface.ModeTools},
		Advice: "call_tool with the id and the arguments of the tool found. ",
	}}, e.directTools()...)
}

func (e *Executor) handleExecute(ctx context.Context, c *surface.Call) (*mcp.CallToolResult, error) {
	a, err := surface.ParseArguments(c.Arguments, "code", "language", "timeout", "isolation", "resume", "plan")
	if err != nil {
		return nil, err
	}
	timeout, err := a.Number("timeout")
	if err != nil {
		return nil, err
	}
	if timeout < 0 {
		return nil, fmt.Errorf("timeout is %g: use seconds above 0", timeout)
	}
	plan := a.Text("plan")
	if plan != "" && plan != "true" && plan != "false" {
		return nil, fmt.Errorf("plan is %s: use true or false", gate.Compact(gate.Cut(plan, 40)))
	}
	if !a.Has("code") && !a.Has("resume") && len(a) > 0 {
		return nil, fmt.Errorf(`put the script into "code"; got %s`, strings.Join(slices.Sorted(maps.Keys(a)), ", "))
	}
	return e.Execute(ctx, Request{
		ID: c.Execution, Code: a.Text("code"), Resume: a.Text("resume"), Plan: plan == "true", Language: a.Text("language"), Isolation: a.Text("isolation"),
		Client: c.Client, ClientInfo: c.ClientInfo, Owner: c.Owner, Team: c.Team, Session: c.Session, Talker: c.Talker, Progress: c.Progress,
		// More than a day is clamped, like everything above the maximum.
		Timeout: time.Duration(min(timeout, 86400) * float64(time.Second)),
	}).result(), nil
}

// result returns the answer as a result of MCP: one text block, then the media that it refers to.
func (a Answer) result() *mcp.CallToolResult {
	r := surface.JSONResult(a, a.IsError())
	for _, m := range a.Media {
		r.Content = append(r.Content, surface.MediaBlock(strings.HasPrefix(m.MIMEType, "image/"), m.MIMEType, m.Data))
	}
	return r
}

// toolKeys are the keys under which models send the name of a tool.
var toolKeys = []string{"tool", "name", "tool_name", "toolName", "id"}

func (e *Executor) handleCall(ctx context.Context, c *surface.Call) (*mcp.CallToolResult, error) {
	a, err := surface.ParseArguments(c.Arguments, toolKeys...)
	if err != nil {
		return nil, err
	}
	tool, args := e.readTarget(a)
	if tool == "" {
		return nil, errors.New(`which tool? Use {"tool": "github__list_issues", "arguments": {…}}; search_tools finds the names`)
	}
	return e.callFor(ctx, c, tool, args), nil
}

func (e *Executor) callFor(ctx context.Context, c *surface.Call, tool string, args json.RawMessage) *mcp.CallToolResult {
	return e.CallTool(ctx, CallRequest{Tool: tool, Arguments: args, Client: c.Client, ClientInfo: c.ClientInfo, Owner: c.Owner, Team: c.Team, Session: c.Session, Talker: c.Talker, Progress: c.Progress})
}

// readTarget returns the tool and the arguments that a model sent. A server beside the tool is the
// first half of its name; arguments beside the tool instead of in "arguments" are accepted.
func (e *Executor) readTarget(a surface.Arguments) (tool string, args json.RawMessage) {
	rest := maps.Clone(a)
	take := func(keys []string) (json.RawMessage, bool) {
		for _, k := range keys {
			if a.Has(k) {
				delete(rest, k)
				return a[k], true
			}
		}
		return nil, false
	}
	if _, ok := take(toolKeys); !ok {
		return "", nil
	}
	for _, k := range toolKeys {
		if a.Has(k) {
			tool = strings.TrimSpace(a.Text(k))
			break
		}
	}
	full, _ := e.catalog.Both()
	if server := strings.TrimSpace(a.Text("server")); tool != "" && server != "" {
		joined := discovery.JoinName(server, tool)
		_, known := full.Tool(joined)
		if !known {
			if _, other := full.Tool(tool); !other {
				_, other = full.ServerOf(tool)
				known = !other
			}
		}
		if known {
			tool = joined
			delete(rest, "server")
		}
	}
	if args, ok := take(surface.ArgumentKeys); ok {
		return tool, args
	}
	if len(rest) == 0 {
		return tool, nil
	}
	return tool, gate.Compact(rest)
}

// listable matches the names that every model's API accepts. Another name would make some refuse
// the whole list; scripts can still call such a tool.
var listable = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

const (
	// maxListedSchema is the longest schema, in bytes, that is listed and paid for in every turn.
	// A tool with a longer one can still be searched and called.
	maxListedSchema = 16 << 10
)

// directTool returns an upstream tool as the broker lists it. The output schema is left out: it
// would oblige the broker to send every result twice.
func directTool(t *discovery.Tool) *mcp.Tool {
	return &mcp.Tool{
		Name: t.ID, Title: gate.Cut(t.Title, surface.MaxTitle), Description: gate.Cut(t.Description, surface.MaxDescription),
		InputSchema: gate.Spell(objectSchema(t.InputSchema)),
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: t.ReadOnly(), DestructiveHint: t.Annotations.Destructive, OpenWorldHint: t.Annotations.OpenWorld,
			IdempotentHint: t.Annotations.Idempotent != nil && *t.Annotations.Idempotent,
		},
	}
}

// objectSchema returns schema if it describes an object, otherwise one that accepts any object.
func objectSchema(schema json.RawMessage) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(schema, &o) != nil || o == nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	if string(o["type"]) == `"object"` {
		return schema
	}
	o["type"] = json.RawMessage(`"object"`)
	return gate.Compact(o)
}
