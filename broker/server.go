package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

func implementation(version string) *mcp.Implementation {
	if version == "" {
		version = "dev"
	}
	return &mcp.Implementation{Name: "broker", Title: "MCP broker", Version: version}
}

// Server returns an MCP server with the broker's tools, for any number of
// sessions of one client, whose name goes into the audit log.
func (b *Broker) Server(client string) *mcp.Server {
	// A list of tools that changes with the config, and in mode "auto" with the
	// tools of the servers.
	can := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}
	writesCode := b.options().Mode != ModeTools
	if writesCode {
		can.Resources = &mcp.ResourceCapabilities{} // what serveCode and serveResults give
	}
	if b.options().Skills != nil { // those that come later are told
		can.Prompts = &mcp.PromptCapabilities{ListChanged: true}
		can.Resources = &mcp.ResourceCapabilities{ListChanged: true}
	}
	s := mcp.NewServer(implementation(b.options().Version), &mcp.ServerOptions{
		Instructions: b.instructions(), Capabilities: can, Logger: b.log,
	})
	f := &face{server: s, shown: make(map[string]*mcp.Tool), handlers: map[string]mcp.ToolHandler{
		"list_servers": b.handleListServers,
		"search_tools": b.handleSearch,
		"execute_code": b.waiting(client, b.readExecute),
		"call_tool":    b.waiting(client, b.readCall),

		"activate_skill":  b.handleActivate(client),
		"read_skill_file": b.handleReadSkill(client),
		"call_skill_tool": b.waiting(client, b.readSkillCall),
	}, prompt: b.prompter(client), direct: func(id string) mcp.ToolHandler { return b.waiting(client, b.readDirect(id)) }}
	if b.options().Skills != nil {
		if err := b.serveSkills(s); err == nil {
			f.skillFile = b.skillResource(client)
		} else {
			b.log.Error("serve skills", "err", err)
		}
	}
	b.addFace(f)
	if writesCode { // who does not can use neither
		b.serveCode(s)
		b.serveResults(s)
	}
	return b.gated(s)
}

// ServeStdio answers one client over stdin and stdout until stdin ends or ctx
// is done.
func (b *Broker) ServeStdio(ctx context.Context, client string) error {
	return b.Server(client).Run(ctx, &lineTransport{in: os.Stdin, out: os.Stdout})
}

func (b *Broker) handleListServers(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	a, err := parseArguments(req.Params.Arguments, "server")
	if err != nil {
		return failed(err), nil
	}
	server := a.text("server")
	if _, ok := b.Catalog().FindServer(server); !ok {
		return answered(b.ListServers(server), false), nil
	}
	ctx, p, done := b.patient(ctx, req, server)
	defer done()
	b.awaitListings(ctx, server, "", p)
	starting := b.starting(server)
	list := b.ListServers(server)
	list.Note = joinNotes(list.Note, startingNote(starting))
	return answered(list, false), nil
}

func (b *Broker) handleSearch(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	a, err := parseArguments(req.Params.Arguments, searchArguments...)
	if err != nil {
		return failed(err), nil
	}
	search, err := searchRequest(a)
	if err != nil {
		return failed(err), nil
	}
	ctx, p, done := b.patient(ctx, req, search.Server)
	defer done()
	found, err := b.search(ctx, search, b.options().Mode == ModeTools, p)
	if err != nil {
		return failed(err), nil
	}
	return answered(found, false), nil
}

// patient makes ready for a request that may wait for servers: it ends with the
// client's, and the client hears what it waits for if it asked for progress. The
// function it returns must be called.
func (b *Broker) patient(ctx context.Context, req *mcp.CallToolRequest, server string) (context.Context, patience, func()) {
	p := patience{limit: b.options().SearchWait}
	if p.limit <= 0 || len(b.starting(server)) == 0 {
		return ctx, p, func() {}
	}
	ctx, leave := b.requests.join(ctx, req)
	messages := make(chan string, 8)
	p.tell = func(message string) {
		select {
		case messages <- message:
		default: // a client that does not keep up, or wants to hear nothing
		}
	}
	stop := b.progress(ctx, req, messages)
	return ctx, p, func() { stop(); leave() }
}

var searchArguments = []string{"query", "server", "detail", "limit", "offset"}

// searchRequest reads the arguments of a search. What is wrong with them is an
// error in words for the one who gave them.
func searchRequest(a arguments) (SearchRequest, error) {
	if err := a.known(searchArguments...); err != nil {
		return SearchRequest{}, err
	}
	limit, err := a.number("limit")
	if err != nil {
		return SearchRequest{}, err
	}
	if limit < 1 && a.given("limit") {
		return SearchRequest{}, fmt.Errorf("limit is %g: use 1 to %d", limit, maxHits)
	}
	offset, err := a.number("offset")
	if err != nil {
		return SearchRequest{}, err
	}
	return SearchRequest{
		Query: a.text("query"), Server: a.text("server"), Detail: Detail(strings.TrimSpace(a.text("detail"))),
		// Larger ones mean no more, and fit an int.
		Limit: int(min(limit, maxOffset)), Offset: int(max(-1, min(offset, maxOffset+1))),
	}, nil
}

// A job is what a client waits for. Servers may ask talker meanwhile; progress
// is nil if the client wants to hear of none.
type job func(ctx context.Context, talker upstream.Talker, progress func(calls int, message string)) *mcp.CallToolResult

// waiting is the handler of a tool whose job may take its time, and may ask the
// client something before it is done. read makes the job of a request of this
// client, or says what is wrong with it.
func (b *Broker) waiting(client string, read func(client string, req *mcp.CallToolRequest) (job, error)) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, leave := b.requests.join(ctx, req)
		defer leave()
		if state := req.Params.RequestState; state != "" {
			v, err := b.returning(client, state, req.Params.InputResponses)
			if err != nil {
				return nil, err
			}
			return v.attend(ctx, req)
		}
		do, err := read(client, req)
		if err != nil {
			return failed(err), nil
		}
		messages := make(chan string, 64)
		var progress func(int, string)
		if req.Params.GetProgressToken() != nil {
			progress = func(_ int, message string) {
				select {
				case messages <- message:
				default: // a client that does not keep up loses remarks, not calls
				}
			}
		}
		can := upstream.CapabilitiesOf(req.ClientCapabilities())
		if can != (upstream.Capabilities{}) && req.ProtocolVersion() >= statelessSince {
			if v, ok := b.startVisit(ctx, client, can, messages, progress, do); ok {
				return v.attend(ctx, req)
			}
			return failed(errClosing), nil
		}
		stop := b.progress(ctx, req, messages)
		defer stop()
		return do(ctx, sessionTalker{req.Session, can, b.answerTime()}, progress), nil
	}
}

// readExecute reads a request for execute_code.
func (b *Broker) readExecute(client string, req *mcp.CallToolRequest) (job, error) {
	a, err := parseArguments(req.Params.Arguments, "code", "language", "timeout", "isolation")
	if err != nil {
		return nil, err
	}
	timeout, err := a.number("timeout")
	if err != nil {
		return nil, err
	}
	if timeout < 0 {
		return nil, fmt.Errorf("timeout is %g: use seconds above 0", timeout)
	}
	if !a.has("code") && len(a) > 0 {
		return nil, fmt.Errorf(`put the script into "code"; got %s`, strings.Join(slices.Sorted(maps.Keys(a)), ", "))
	}
	x := ExecuteRequest{
		Code: a.text("code"), Language: a.text("language"), Isolation: a.text("isolation"), Client: client, Owner: owner(req.Extra), Session: readerOf(req.Extra, req.Session).session,
		// More than a day is clamped like everything above the maximum.
		Timeout: time.Duration(min(timeout, 86400) * float64(time.Second)),
	}
	return func(ctx context.Context, talker upstream.Talker, progress func(int, string)) *mcp.CallToolResult {
		x.Talker, x.Progress = talker, progress
		return b.Execute(ctx, x).result()
	}, nil
}

// heartbeat is how often a client that asked for progress hears that a script
// still runs; many give up on a request that is silent for a minute.
const heartbeat = 5 * time.Second

// progress sends messages to the client, if it asked for that. The function it
// returns ends the reports when those that are there have been sent.
func (b *Broker) progress(ctx context.Context, req *mcp.CallToolRequest, messages <-chan string) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		started := time.Now()
		for n := 1.0; ; n++ {
			var message string
			select {
			case message = <-messages:
			case <-tick.C:
				message = fmt.Sprintf("running for %d s", int(time.Since(started).Seconds()))
			case <-done:
				select {
				case message = <-messages:
				default:
					return
				}
			}
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: message})
			if err != nil {
				b.log.Debug("send progress", "err", err)
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// arguments are a tool's arguments, read leniently: models send numbers as
// strings, and nest or stringify the whole object.
type arguments map[string]json.RawMessage

// parseArguments reads raw. When it holds none of the names but is one object
// or string around another object, that one is taken.
func parseArguments(raw json.RawMessage, names ...string) (arguments, error) {
	var a arguments
	if len(raw) == 0 || string(raw) == "null" {
		return arguments{}, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("arguments are one object with %s", strings.Join(names, ", "))
	}
	if slices.ContainsFunc(names, a.has) {
		return a, nil
	}
	for _, wrapper := range []string{"arguments", "args", "input", "parameters"} {
		if inner, ok := a[wrapper]; ok && len(a) == 1 {
			return parseArguments(inner, names...)
		}
	}
	return a, nil
}

func (a arguments) has(name string) bool { _, ok := a[name]; return ok }

// given reports whether there is a value under name that is not null: models
// send null for what they leave out.
func (a arguments) given(name string) bool { return a.has(name) && string(a[name]) != "null" }

// known is an error if a has something, and none of the names.
func (a arguments) known(names ...string) error {
	if len(a) == 0 || slices.ContainsFunc(names, a.has) {
		return nil
	}
	return fmt.Errorf("there is no argument %s: use %s",
		strings.Join(slices.Sorted(maps.Keys(a)), ", "), strings.Join(names, ", "))
}

// text is a string argument; null is none, and any other JSON value is its
// text.
func (a arguments) text(name string) string {
	raw := a[name]
	if string(raw) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func (a arguments) number(name string) (float64, error) {
	text := strings.TrimSpace(a.text(name))
	if text == "" || text == "null" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "s"), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%s is %s: use a number", name, compactJSON(text))
	}
	return n, nil
}
