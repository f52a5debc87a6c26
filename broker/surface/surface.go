// Package surface is the MCP edge of the broker: it decides what a client sees and how
// it is connected, and passes everything that is sent to it.
//
// Features register tools, and perhaps prompts, resources and methods. A Surface serves
// them as MCP servers over stdio and HTTP, and notifies clients of changes. It does not
// know what the tools do.
package surface

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/state"
)

// Options are the settings of a Surface.
type Options struct {
	// Version is the broker's own, as it tells clients.
	Version string
	// Mode is what clients are shown.
	Mode Mode
	// Servers are the names of the servers behind the broker.
	Servers []string
	// Changing means that prompts and resources may change.
	Changing bool
	// Hide replaces, in all that leaves for a client, what a model may not see, for
	// an owner as in Caller; nil replaces nothing. What it returns for JSON is JSON.
	Hide func(owner, text string) string
	// OwnerFor returns the name that owns a client's stored data; if nil, the client
	// owns it.
	OwnerFor func(client string) string
	// Observe is around all that a client's requests do; nil for nothing.
	Observe mcp.Middleware
	// Requests keep the answers to requests with a key for those who ask again; nil
	// does without, whatever key a request has.
	Requests state.Documents
	// AnswerTimeout is how long a question to a client waits for its answer; zero
	// means 10 minutes.
	AnswerTimeout time.Duration
}

// A Surface is safe for concurrent use, once all features are registered.
type Surface struct {
	opts     atomic.Pointer[Options]
	log      *slog.Logger
	features []Feature

	requests      httpRequests // being answered; see join
	forgotten     cleanup
	conversations conversations
	told          told
	suspended     suspendedCalls
	panics        panics
	mu            sync.Mutex                 // guards faces and their fields
	faces         []weak.Pointer[clientView] // of servers still in use
}

// New returns a surface of these features, with their tools in this order.
func New(o Options, log *slog.Logger, features ...Feature) *Surface {
	s := &Surface{log: log, features: features}
	s.Configure(o)
	return s
}

// Configure replaces the settings. Refresh shows the clients what that changes.
func (s *Surface) Configure(o Options) {
	if o.AnswerTimeout <= 0 {
		o.AnswerTimeout = 10 * time.Minute
	}
	s.opts.Store(&o)
}

// Close ends the calls that wait for their clients to come back.
func (s *Surface) Close() { s.suspended.close() }

// Server returns an MCP server with all features, for any number of sessions of one
// client. The record contains the client's name.
func (s *Surface) Server(client string) *mcp.Server { return s.server(client, nil) }

// server is Server, with what makes the ids of HTTP sessions; nil is the SDK's.
func (s *Surface) server(client string, id func() string) *mcp.Server {
	o, now := s.opts.Load(), s.offer()
	// A list of tools that changes with the config, and in mode "auto" with the
	// tools of the servers.
	can := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}
	if len(now.templates) > 0 {
		can.Resources = &mcp.ResourceCapabilities{}
	}
	if o.Changing {
		can.Prompts = &mcp.PromptCapabilities{ListChanged: true}
		can.Resources = &mcp.ResourceCapabilities{ListChanged: true}
	}
	server := mcp.NewServer(Implementation(o.Version), &mcp.ServerOptions{
		Instructions: instructions(o.Servers, now.tools), Capabilities: can, Logger: s.log, GetSessionID: id,
		//lint:ignore SA1019 roots are deprecated since 2026-07-28, and clients have them still
		RootsListChangedHandler: s.rootsChanged,
		InitializedHandler:      s.initialized,
	})
	f := &clientView{surface: s, client: client, server: server}
	for _, feature := range s.features {
		if x, ok := feature.(Extension); ok {
			if err := x.Extend(server); err != nil {
				s.log.Error("extend the server", "err", err)
			}
		}
	}
	server.AddReceivingMiddleware(f.listResources, forPerson)
	s.mu.Lock()
	defer s.mu.Unlock()
	f.update(now)
	s.faces = append(slices.DeleteFunc(s.faces, func(p weak.Pointer[clientView]) bool { return p.Value() == nil }), weak.Make(f))
	if o.Observe != nil {
		server.AddReceivingMiddleware(o.Observe)
	}
	return s.gated(server)
}

// ServeStdio answers one client over stdin and stdout until stdin ends or ctx
// is done.
func (s *Surface) ServeStdio(ctx context.Context, client string) error {
	return ServeLines(ctx, s.Server(client), Peer{}, os.Stdin, os.Stdout)
}

// Refresh shows every client what has changed.
func (s *Surface) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.offer()
	for _, p := range s.faces {
		if f := p.Value(); f != nil {
			f.update(now)
		}
	}
}

// offer collects the tools, prompts and resources of the features.
func (s *Surface) offer() (o offer) {
	mode := s.opts.Load().Mode
	for _, f := range s.features {
		for _, t := range f.Tools() {
			if len(t.Modes) == 0 || slices.Contains(t.Modes, mode) {
				o.tools = append(o.tools, t)
			}
		}
		if p, ok := f.(PromptFeature); ok {
			o.prompts = append(o.prompts, p.Prompts()...)
		}
		if r, ok := f.(ResourceFeature); ok {
			o.templates = append(o.templates, r.Templates()...)
		}
	}
	return o
}

// A Description is all that a client loads of the broker before the first call.
type Description struct {
	Instructions string      `json:"instructions"`
	Tools        []*mcp.Tool `json:"tools"`
}

// Describe returns what tools/list and initialize cost a client.
func (s *Surface) Describe() Description {
	now := s.offer()
	d := Description{Instructions: instructions(s.opts.Load().Servers, now.tools)}
	for _, t := range now.tools {
		d.Tools = append(d.Tools, t.Tool)
	}
	return d
}

// The texts that every agent pays for in every turn name no counts and no times,
// and servers in sorted order: the same bytes each time, so that prompt caches
// hold. Clients cut a description at 2,048 characters; these stay under 1,000.
