package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// What Pool.Call takes in place of a tool's name, unless the server has a tool
// of that name.
const (
	// ReadResource reads the resource {"uri"}. Of a single text the result is
	// that text, else each part as an embedded resource.
	ReadResource = discovery.ReadResource
	// GetPrompt fills in the prompt {"name", "arguments"}. The structured
	// content of the result is {"description"?, "messages"}.
	GetPrompt = discovery.GetPrompt
)

// SkillsExtension is the name of the protocol's extension for skills.
const SkillsExtension = link.SkillsExtension

// A Pool holds the connections to all configured servers. It is safe for
// concurrent use. Close must be called, or server processes are left behind.
type Pool struct {
	*common
	roster   atomic.Pointer[roster] // replaced by Update
	updating sync.Mutex

	announcing sync.Mutex // held while OnListing runs
	news       news       // see Changed
	sharers    sharers    // pools with this one as Base
}

// NewPool returns a pool of the configured servers, which must have different names. It
// reads their cached listings, calls o.OnListing for each, and starts nothing. Nil
// options mean the zero value.
func NewPool(configs []Config, o *Options) *Pool {
	opts := o.withDefaults()
	p := &Pool{common: &common{tasks: new(tasks), opts: opts, cache: cache.Dir(opts.CacheDir), grace: failedGrace}}
	p.common.changed, p.people = p.tell, p.crowds
	if base := p.opts.Base; base != nil {
		p.installing, p.programs = base.installing, base.programs
	} else {
		p.installing, p.programs = &turns{free: maxInstalls()}, newPrograms(opts)
	}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	p.roster.Store(&roster{})
	if p.opts.Base != nil {
		p.opts.Base.sharers.add(p)
	}
	p.follow() // first: what changes from now on is heard of
	p.Update(configs)
	return p
}

// A roster is the configured servers. It is replaced, never edited.
type roster struct {
	servers []*server
	byName  map[string]*server
}

// owns reports whether s belongs to this pool, and not to its base.
func (p *Pool) owns(s *server) bool { return s.host == p.common }

// server returns the server of that name, or nil.
func (p *Pool) server(name string) *server { return p.roster.Load().byName[name] }

// servers returns the servers in config order.
func (p *Pool) servers() []*server { return p.roster.Load().servers }

// tell wakes those who wait for something to happen here.
func (p *Pool) tell() {
	p.news.tell()
	for _, o := range p.sharers.all() {
		o.news.tell()
	}
}

// announce calls OnListing with the newest listing of s. Concurrent calls may announce
// the same listing twice, but never an older one.
func (p *Pool) announce(s *server) {
	for _, o := range p.sharers.all() {
		if o.server(s.cfg.Name) == s {
			o.announce(s)
		}
	}
	p.announcing.Lock()
	defer p.announcing.Unlock()
	if p.closing() || !p.owns(s) && p.server(s.cfg.Name) != s {
		return
	}
	l, _ := s.inventory.listing()
	p.opts.OnListing(l)
}

// Start connects, in the background and in parallel, the servers that have no
// cached listing and those that are kept alive, and returns at once. ctx does
// not end what was started; Close does.
func (p *Pool) Start(ctx context.Context) {
	if ctx.Err() != nil || p.started.Swap(true) {
		return
	}
	if p.opts.Base == nil {
		p.run(func(context.Context) { launch.KillOrphans() })
	}
	for _, s := range p.servers() {
		s.start()
	}
}

// Refresh connects to the named servers, or to all, in parallel and lists them
// anew, also those that failed a moment ago. It returns when each is done, has
// failed, or ctx is done, with their status in config order. A name that is not
// configured gets a failed status.
func (p *Pool) Refresh(ctx context.Context, names ...string) []Status {
	var wg sync.WaitGroup
	wanted := make(map[string]bool)
	for _, n := range names {
		wanted[n] = true
	}
	for _, s := range p.servers() {
		if len(names) == 0 || wanted[s.cfg.Name] {
			wg.Go(func() { s.refresh(ctx) })
		}
	}
	wg.Wait()
	var out []Status
	for _, s := range p.servers() {
		if len(names) == 0 || wanted[s.cfg.Name] {
			out = append(out, s.status())
		}
	}
	for _, n := range names {
		if p.server(n) == nil {
			out = append(out, Status{Name: n, State: StateFailed, Err: ErrUnknownServer})
		}
	}
	return out
}

// Learnt counts how often the tools of a server have become known or changed. A
// change is in it no later than in Listings, and before OnListing is called.
func (p *Pool) Learnt() uint64 {
	n := p.learnt.Load()
	if p.opts.Base != nil {
		n += p.opts.Base.Learnt()
	}
	return n
}

// Listings returns what is known of the servers' tools, in config order; servers
// that were never listed are missing.
func (p *Pool) Listings() []discovery.Listing {
	var out []discovery.Listing
	for _, s := range p.servers() {
		if l, known := s.inventory.listing(); known {
			out = append(out, l)
		}
	}
	return out
}

// Status returns the state of every server, in config order.
func (p *Pool) Status() []Status {
	servers := p.servers()
	out := make([]Status, len(servers))
	for i, s := range servers {
		out[i] = s.status()
	}
	return out
}

// Wait waits until the tools of the named server are known or it has failed, connecting
// to it if necessary. It returns nil at once if they are known from the cache.
func (p *Pool) Wait(ctx context.Context, name string) error {
	s := p.server(name)
	if s == nil {
		return fmt.Errorf("wait for %s: %w", name, ErrUnknownServer)
	}
	if s.inventory.isKnown() {
		return nil
	}
	p.installing.first(name)
	return s.awaitListing(ctx, false)
}

// Call calls a tool, starting its server if need be, and returns the result object
// exactly as the server sent it. For ReadResource and GetPrompt, the broker builds the
// result from the server's answer. args must be a JSON object or empty.
//
// When ctx is done, Call returns at once and cancels the call at the server. The error
// is an *InputError if the server asked for input that no client gave, an *RPCError for
// a protocol error, an *HTTPError for an HTTP status without a message, a *ReplyError
// for an unreadable answer, a *ConnectError if the server could not be reached or was
// lost, a *TimeoutError if it did not answer within its call timeout, and an
// *UnansweredError if the call was given up after it had been sent. A failure of the
// tool is a result. Call repeats a call only if the server did not know the session, so
// that nothing has run.
func (p *Pool) Call(ctx context.Context, server, tool string, args json.RawMessage, o *CallOptions) (json.RawMessage, error) {
	s := p.server(server)
	if s == nil {
		return nil, fmt.Errorf("call %s/%s: %w", server, tool, ErrUnknownServer)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if !bytes.HasPrefix(bytes.TrimLeft(args, " \t\r\n"), []byte("{")) || !json.Valid(args) {
		return nil, &RPCError{Server: server, Tool: tool, Code: jsonrpc.CodeInvalidParams, Message: "the arguments are not a JSON object"}
	}
	c := &call{server: s, tool: tool, args: args, o: o}
	if s.cfg.Credentials == OfUser {
		return c.sendConnected(ctx)
	}
	return c.send(ctx)
}

// Close ends all connections, in parallel, and returns when every server
// process and what it started is gone: their stdin is closed, they get SIGTERM
// after a second and SIGKILL after another one. Calls in flight fail with
// ErrClosed. It may be called more than once and never fails.
func (p *Pool) Close() error {
	p.tasks.close()
	p.tell()
	var wg sync.WaitGroup
	for _, s := range p.servers() {
		if p.owns(s) {
			wg.Go(s.close)
		}
	}
	wg.Wait()
	p.tasks.wg.Wait()
	if p.opts.Base != nil {
		p.opts.Base.sharers.remove(p)
		p.announcing.Lock() // what the base was about to announce
		defer p.announcing.Unlock()
		return nil
	}
	if p.programs.Packages != nil {
		p.programs.Packages.Close()
	}
	p.programs.Runners.Close()
	p.programs.Guard.Close()
	return nil
}

// sharers are the pools that have one in common as their base.
type sharers struct {
	mu   sync.Mutex
	with map[*Pool]bool
}

// add begins the notification of p about servers.
func (s *sharers) add(p *Pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.with == nil {
		s.with = make(map[*Pool]bool)
	}
	s.with[p] = true
}

// remove ends it.
func (s *sharers) remove(p *Pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.with, p)
}

func (s *sharers) all() []*Pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.with))
}
