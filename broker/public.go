package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/find"
	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/broker/run/approve"
	"github.com/mcpbroker/mcpbroker/broker/skill"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

// What embedders need of the parts.
type (
	// A Mode selects the tools that clients are shown.
	Mode = surface.Mode
	// A Surface is all that a client loads of the broker before the first call.
	Surface = surface.Description
	// HTTPOptions configure the HTTP endpoint and its access.
	HTTPOptions = surface.HTTPOptions
	// SignIn configures the access tokens that the endpoint accepts.
	SignIn = surface.SignIn
	// Bearer is whom an access token names.
	Bearer = surface.Bearer
	// TokenLimits say what a token is good for.
	TokenLimits = surface.TokenLimits

	// An ExecuteRequest is one script to run.
	ExecuteRequest = run.Request
	// An ExecuteAnswer is what the model gets.
	ExecuteAnswer = run.Answer
	// A PendingCall is a call that waits for a person.
	PendingCall = approve.Pending
	// A CallRequest is one tool call without a script around it.
	CallRequest = run.CallRequest
	// A ToolDescription is all that is known of one tool.
	ToolDescription = catalog.Description

	// A SearchRequest is one search.
	SearchRequest = find.SearchRequest
	// A SearchAnswer is what search_tools answers.
	SearchAnswer = find.SearchAnswer
	// An Explained describes the rank of one hit.
	Explained = find.Explained
	// A SearchHit is one thing of a SearchAnswer.
	SearchHit = find.SearchHit
	// A SkillPassage is a part of a skill's file that matches a query.
	SkillPassage = find.Passage
	// A BrowsedServer is one row of what there is to browse.
	BrowsedServer = find.BrowsedServer
	// A Detail is the level of detail of search_tools.
	Detail = find.Detail
	// An UnlistedError means that the tools of a server are not known.
	UnlistedError = catalog.UnlistedError
	// A ServersAnswer is what list_servers answers.
	ServersAnswer = find.ServersAnswer
	// A ServerInfo is one row of it.
	ServerInfo = find.ServerInfo

	// Scripts say how scripts of skills run.
	Scripts = skill.Scripts
	// A ScriptMode is where they run.
	ScriptMode = skill.ScriptMode
)

// The modes, details, and modes of scripts.
const (
	ModeCode  = surface.ModeCode
	ModeTools = surface.ModeTools
	ModeAuto  = surface.ModeAuto

	DetailName = find.DetailName
	DetailDesc = find.DetailDesc
	DetailFull = find.DetailFull

	// Kinds of hits that are not tools.
	KindSkill     = find.KindSkill
	KindSkillTool = find.KindSkillTool
	KindScript    = find.KindScript

	ScriptsOff     = skill.ScriptsOff
	ScriptsSandbox = skill.ScriptsSandbox
	ScriptsHost    = skill.ScriptsHost
)

// AnswerDeny is the answer of a form that denies calls.
const AnswerDeny = approve.AnswerDeny

// PendingOf returns a call of a journal for models: cut and redacted.
func PendingOf(c state.RunCall) PendingCall { return approve.PendingOf(c) }

// Asked returns a call of a journal in full, for the person who decides about it.
func Asked(c state.RunCall) PendingCall { return approve.Asked(c) }

// Lasting returns nil if a rule that allows these calls would keep the policy from
// asking about them.
func Lasting(calls []state.RunCall) error { return approve.Lasting(calls) }

// ToolsOf are the ids of the tools of calls, each once.
func ToolsOf(calls []state.RunCall) []string { return approve.ToolsOf(calls) }

// Denied is the error that a script gets for a call that a person has denied, as
// JSON. The reason may be empty.
func Denied(c state.RunCall, reason string) json.RawMessage { return approve.Denied(c, reason) }

// Surface returns what tools/list and initialize cost a client.
func (b *Broker) Surface() Surface { return b.surface.Describe() }

// Server returns an MCP server with the broker's tools, for any number of sessions of
// one client. The record contains the client's name.
func (b *Broker) Server(client string) *mcp.Server { return b.surface.Server(client) }

// ServeStdio answers one client over stdin and stdout until stdin ends or ctx
// is done.
func (b *Broker) ServeStdio(ctx context.Context, client string) error {
	return b.surface.ServeStdio(ctx, client)
}

// Handler returns the Streamable HTTP endpoint at /mcp, and at /mcp/NAME for the
// clients of a profile. /healthz answers 200 always, and /readyz once the tools of
// each server are known, or it has failed, and o.Ready agrees.
func (b *Broker) Handler(o HTTPOptions) (http.Handler, error) {
	more := o.Ready
	o.Ready = func() bool { return b.catalog.Ready() && (more == nil || more()) }
	o.Profile = func(name string) (*surface.Surface, bool) {
		// A broker that is bound to a profile has no others.
		if !b.HasProfile(name) || b.parent != nil && !slices.Contains(b.narrow.names, name) {
			return nil, false
		}
		return b.View(name).surface, true
	}
	return b.surface.Handler(o)
}

// Execute runs one script. Whatever happens is in the answer: an execution
// never fails without one. When ctx is cancelled, the script and its calls are
// killed.
func (b *Broker) Execute(ctx context.Context, req ExecuteRequest) ExecuteAnswer {
	return b.viewOf(req.Profile, req.Narrowed).run.Execute(ctx, req)
}

// viewOf returns the view of a run's client.
func (b *Broker) viewOf(profile string, narrowed json.RawMessage) *Broker {
	for name := range strings.SplitSeq(profile, "+") { // names are joined by views
		b = b.View(name)
	}
	if len(narrowed) > 0 {
		b = b.narrowedBy(narrowed)
	}
	return b
}

// Cancel ends an execution by its id. It reports whether that runs here.
func (b *Broker) Cancel(id string) bool { return b.run.Cancel(id) }

// CallTool calls one tool as a model does, with the checks, errors and record that
// the call of a script has. With the context of a handler of a skill it is a call
// of the execution that the handler runs in.
func (b *Broker) CallTool(ctx context.Context, req CallRequest) *mcp.CallToolResult {
	return b.run.CallTool(ctx, req)
}

// Call makes one call for a user. It returns the whole value that a script would
// get, and what the server answered, if it did. An error is a *bridge.Error.
func (b *Broker) Call(ctx context.Context, req CallRequest) (value, raw json.RawMessage, err error) {
	return b.run.Call(ctx, req)
}

// Search finds tools, and whatever else there is to find. After Start it waits,
// for up to Settings.SearchWait, for servers that were never listed. An error is a
// mistake in the request, in words for the one who made it.
func (b *Broker) Search(ctx context.Context, req SearchRequest) (SearchAnswer, error) {
	return b.find.Search(ctx, req)
}

// Explain returns the scores of the best hits of Search.
func (b *Broker) Explain(ctx context.Context, req SearchRequest) ([]Explained, error) {
	return b.find.Explain(ctx, req)
}

// Describe returns all that is known of the tool that name names. It waits, until
// ctx is done, for a server that is still starting. An error is a *bridge.Error,
// with the nearest names if the tool is unknown.
func (b *Broker) Describe(ctx context.Context, name string) (ToolDescription, error) {
	return b.catalog.Describe(ctx, name)
}

// Known is Describe without waiting for servers. The error for a tool of a server that
// was never listed is an *UnlistedError.
func (b *Broker) Known(name string) (ToolDescription, error) { return b.catalog.Known(name) }

// ListServers returns the states of the configured servers. With a server's name it
// returns only that one, with the ids of its tools; for an unknown name it returns all,
// with a note of the nearest name.
func (b *Broker) ListServers(server string) ServersAnswer { return b.find.ListServers(server) }

// Prompt returns a section for a system prompt: how to use the broker in a mode, and
// what its servers say about their own tools.
func (b *Broker) Prompt(m Mode) string { return find.PromptFor(m, b.Catalog()) }

// SetNotice makes text a note in the answers of list_servers, such as that the
// config file is wrong; empty takes it back.
func (b *Broker) SetNotice(text string) {
	b.find.SetNotice(text)
	for _, v := range b.allViews() {
		v.find.SetNotice(text)
	}
}

// Catalog returns the tools that scripts can use: all, or in read-only mode those
// that are marked read-only.
func (b *Broker) Catalog() *discovery.Catalog { return b.catalog.Scope() }

// CodeFiles yields the typed wrappers of every tool that scripts can use, and
// what an editor needs beside them, in path order.
func (b *Broker) CodeFiles() iter.Seq[codegen.File] { return b.catalog.Types().Files(b.Catalog()) }

// Problems returns the parts of the configuration that have no effect on the known
// tools, one line each, with the nearest name.
func (b *Broker) Problems() []string {
	r := b.root()
	return slices.Concat(r.catalog.Problems(), r.profileProblems(), r.policyProblems())
}

// Listings are what the servers list, tools that are held back included.
func (b *Broker) Listings() []discovery.Listing { return b.catalog.Pool.Listings() }

// Unlisted returns the servers with unknown tools, in config order.
func (b *Broker) Unlisted() []string { return b.catalog.UnlistedNames() }

// Refresh connects to the named servers, or to all of them, in parallel, lists their
// tools anew and returns their states.
func (b *Broker) Refresh(ctx context.Context, names ...string) []upstream.Status {
	if b.parent != nil {
		return b.refreshView(ctx, names)
	}
	return b.catalog.Pool.Refresh(ctx, names...)
}

// Learn is Start for a short-lived program. It connects, in the background, the servers
// with unknown tools, or the named ones of them, except those that failed recently.
// Search waits for them.
func (b *Broker) Learn(ctx context.Context, servers ...string) { b.catalog.Learn(ctx, servers...) }

// AwaitStarting waits until the servers that Learn connects are listed or have failed:
// the named one, or all if the name is unknown. It returns when ctx is done.
func (b *Broker) AwaitStarting(ctx context.Context, server string) {
	b.catalog.AwaitStarting(ctx, server)
}

// Upstream returns the connections to the servers, including those that a view does not
// show.
func (b *Broker) Upstream() *upstream.Pool { return b.catalog.Pool }

// Status returns the states of the servers, in config order.
func (b *Broker) Status() []upstream.Status { return b.catalog.Status() }

// Package is the package that runs for a server in place of its command, see
// upstream.Pool.Package.
func (b *Broker) Package(ctx context.Context, server string) string {
	return b.catalog.Pool.Package(ctx, server)
}

// HeldUpdate returns the reason a newer version of a server's package is not used, with
// the command that accepts it, or "".
func (b *Broker) HeldUpdate(server string) string {
	held := b.catalog.Pool.Held(server)
	switch {
	case held == nil:
		return ""
	case held.Unfit:
		return fmt.Sprintf("version %s is not used: it %s", held.Version, held.Why)
	}
	return fmt.Sprintf("version %s is held back (broker servers update %s uses it): %s", held.Version, gate.Name(server), held.Why)
}

// Skills is the registry that is in force, with the skills that servers serve;
// nil without skills.
func (b *Broker) Skills() *skills.Registry { return b.opts.Load().Skills }

// Forget ends the instances of a server that a person has.
func (b *Broker) Forget(server string, p *upstream.Person) { b.catalog.Pool.Forget(server, p) }

// RefreshSkills looks for changes of the skills and the saved scripts and shows
// them to the clients. Without a change it costs a few microseconds for each.
func (b *Broker) RefreshSkills() {
	b.skill.Refresh()
	if b.script.Renew() {
		b.changed()
	}
}

// SkillTools are the tools of a skill that call_skill_tool calls now.
func (b *Broker) SkillTools(k *skills.Skill) []skills.Tool { return b.skill.ToolsOf(k) }

// CallSkillTool calls a tool of a skill for a user, see skill.Feature.Call.
func (b *Broker) CallSkillTool(ctx context.Context, name, tool string, input json.RawMessage, req ExecuteRequest) (value json.RawMessage, failed bool, err error) {
	return b.skill.Call(ctx, name, tool, input, req)
}
