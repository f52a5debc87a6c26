// Package catalog is what the broker knows of its servers at the moment: which
// tools there are, which of them are in scope, what is known of their types, and
// which tool a name means.
//
// A Catalog answers from what it knows. What names a server that was never listed
// waits for that server alone.
package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/policy"
)

// Options are the settings of a Catalog.
type Options struct {
	// Servers are the upstream servers, in config order.
	Servers []upstream.Config
	// Disabled are the names of configured servers that are not used. They still count
	// when names of servers are made distinct.
	Disabled []string
	// DisabledServers are the configurations of those in Disabled that a search may name
	// because of their tools; none of them is started.
	DisabledServers []upstream.Config
	// Fixed are tools without a server: they can be searched but not called.
	Fixed []discovery.Listing
	// Tools allow and deny tools: what they deny is not there.
	Tools policy.ToolLists
	// Overrides change tools, by server.
	Overrides map[string]discovery.Overrides
	// Instructions are the settings of what models read of the servers' instructions,
	// by server.
	Instructions map[string]discovery.InstructionsSetting
	// Rules deny tools whatever the call: those are not there either. Nil denies
	// none.
	Rules *policy.Rules
	// Scope denies, whatever the call, the tools that are not in scope; nil denies
	// none.
	Scope policy.List
	// Pins hold back tools that are not approved in their present form; nil holds none.
	Pins Pins
	// Learned knows the types of results that tools do not declare, but those of
	// the servers in SkipLearning; it may be nil.
	Learned      *learned.Store
	SkipLearning map[string]bool
}

// Pins hold back offers that are not approved in their present form.
type Pins interface {
	// Filter returns listings without what is held, which they name.
	Filter([]discovery.Listing) []discovery.Listing
	// Peek is like Filter but pins nothing.
	Peek([]discovery.Listing) []discovery.Listing
	// Version is another text once somebody has approved or blocked something.
	Version() string
}

// A Catalog is safe for concurrent use.
type Catalog struct {
	// Pool has the connections to the servers.
	Pool *upstream.Pool

	opts   atomic.Pointer[Options] // see options
	offers atomic.Pointer[offerTools]

	parent          *Catalog // nil unless this is a view
	profiles        atomic.Pointer[[]policy.Profile]
	ofFull, ofScope *discovery.Catalog // those that full and scope were made of

	mu     sync.Mutex
	dirty  bool
	learnt uint64 // of the pool, when the catalogues were made
	pins   string // their version, then
	notify func() // called when listings have changed
	full   *discovery.Catalog
	scope  *discovery.Catalog
	// What servers list, without what is held.
	approved []discovery.Listing

	started    atomic.Bool // Start was called, or is about to be
	learning   atomic.Bool // Learn was called
	lazy       atomic.Bool // StartLazily was called, and all servers were not needed yet
	cancelSoon context.CancelFunc
	startNow   func()         // ends the wait of StartSoon
	starting   sync.WaitGroup // what goes on in the background
	beginning  sync.Mutex
	ended      bool // nothing begins any more; guarded by beginning
}

// New returns a catalogue of the servers of o, which the pool connects to. changed is
// called when a listing has changed, but not before New returns. New starts no server.
func New(o Options, pool *upstream.Options, changed func()) *Catalog {
	c := &Catalog{dirty: true, notify: changed}
	c.opts.Store(&o)
	var ready atomic.Bool // until then the pool reads its cache
	pool.OnListing = func(discovery.Listing) {
		if ready.Load() {
			c.Changed()
			changed()
		}
	}
	c.Pool = upstream.NewPool(o.Servers, pool)
	ready.Store(true)
	return c
}

// Configure replaces the settings.
func (c *Catalog) Configure(o Options) {
	c.opts.Store(&o)
	c.Pool.Update(o.Servers)
	c.Changed()
}

// Changed makes the catalogues anew when they are next asked for.
func (c *Catalog) Changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty = true
}

// startDelay is what StartSoon waits: longer than a program needs to answer the
// first questions of its client even on a busy machine, and little beside the
// seconds that servers take.
const startDelay = 200 * time.Millisecond

// Start connects, in the background, to the servers with unknown tools. It returns at
// once.
func (c *Catalog) Start(ctx context.Context) {
	c = c.root()
	c.started.Store(true)
	c.Pool.Start(ctx)
}

// StartSoon does what Start does, and then calls started, a moment later: dozens
// of starting servers take the processors that the first answers need. A server
// that is named meanwhile is connected at once. StartNow ends the wait.
func (c *Catalog) StartSoon(ctx context.Context, started func()) {
	c = c.root()
	c.started.Store(true)
	ctx, cancel := context.WithCancel(ctx)
	now := make(chan struct{})
	c.mu.Lock()
	c.cancelSoon, c.startNow = cancel, sync.OnceFunc(func() { close(now) })
	c.mu.Unlock()
	c.begin(func() {
		defer cancel()
		delay := time.NewTimer(startDelay)
		defer delay.Stop()
		select {
		case <-delay.C:
		case <-now:
		case <-ctx.Done():
			return
		}
		c.Start(ctx)
		started()
	})
}

// StartNow ends the wait of StartSoon: something waits for servers.
func (c *Catalog) StartNow() {
	c = c.root()
	c.mu.Lock()
	now := c.startNow
	c.mu.Unlock()
	if now != nil {
		now()
	}
}

// StartLazily is Start for a program that ends after one execution: it connects to a
// server with unknown tools when a script names it, and to all of them in Hurry.
func (c *Catalog) StartLazily() { c.root().lazy.Store(true) }

// Lazy reports whether servers are left alone until somebody needs them.
func (c *Catalog) Lazy() bool { return c.root().lazy.Load() }

// Hurry connects the servers that StartLazily has left alone.
func (c *Catalog) Hurry(ctx context.Context) {
	if c = c.root(); c.lazy.Swap(false) {
		c.Start(ctx)
	}
}

// Learn is Start for a short-lived program: see upstream.Pool.Learn.
func (c *Catalog) Learn(ctx context.Context, servers ...string) {
	c = c.root()
	c.learning.Store(true)
	c.Pool.Learn(ctx, servers...)
}

// AwaitStarting waits until the tools of the named server, or of all servers if the
// name is unknown, are listed or the servers have failed. It returns when ctx is done.
func (c *Catalog) AwaitStarting(ctx context.Context, server string) {
	for {
		changed := c.Pool.Changed()
		if len(c.Starting(server)) == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Connect connects a server in the background.
func (c *Catalog) Connect(ctx context.Context, server string) {
	c.root().begin(func() { _ = c.Pool.Wait(ctx, server) }) // a call of it reports the error
}

// Serving reports whether servers are connected without anybody naming them.
func (c *Catalog) Serving() bool { return c.root().started.Load() }

// Close stops the servers.
func (c *Catalog) Close() error {
	c.mu.Lock()
	cancel := c.cancelSoon
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	err := c.Pool.Close()
	c.beginning.Lock()
	c.ended = true
	c.beginning.Unlock()
	c.starting.Wait()
	return err
}

// begin does f in the background, unless the catalogue is being closed.
func (c *Catalog) begin(f func()) {
	c.beginning.Lock()
	defer c.beginning.Unlock()
	if !c.ended {
		c.starting.Go(f)
	}
}

// Scope returns the tools that can be used: all, or in read-only mode those that
// are marked read-only.
func (c *Catalog) Scope() *discovery.Catalog {
	_, scope := c.Both()
	return scope
}

// Both returns the catalogue of everything and that of what is in scope,
// building both if a server's tools have changed. Servers that have not been
// listed yet are in it without tools, so that no name shifts when they are.
func (c *Catalog) Both() (full, scope *discovery.Catalog) {
	if c.parent != nil {
		return c.bothOfView()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	learnt := c.Pool.Learnt()
	o := c.opts.Load()
	var version string
	if o.Pins != nil {
		version = o.Pins.Version()
	}
	approved := version != c.pins
	if !c.dirty && learnt == c.learnt && !approved {
		return c.full, c.scope
	}
	if approved && c.full != nil && !c.dirty {
		c.begin(c.notify) // the index follows
	}
	c.dirty, c.learnt = false, learnt
	known := make(map[string]discovery.Listing)
	for _, l := range c.Pool.Listings() {
		known[l.Server] = l
	}
	all := make([]discovery.Listing, 0, len(o.Servers))
	for _, s := range o.Servers {
		l, ok := known[s.Name]
		if !ok {
			l = discovery.Listing{Server: s.Name, Description: s.Description, Unlisted: true}
		}
		all = append(all, l)
	}
	if o.Pins != nil {
		all = o.Pins.Filter(all)
		c.pins = o.Pins.Version() // with what was seen first
	}
	c.approved = all
	listings := make([]discovery.Listing, 0, len(all)+len(o.Fixed))
	for i, s := range o.Servers {
		l := o.Overrides[s.Name].Apply(s.Reviewed(o.Tools.Filter(all[i])))
		l = o.Instructions[s.Name].Apply(l)
		if o.Rules != nil {
			l = o.Rules.Offers(l)
		}
		listings = append(listings, l)
	}
	c.full = discovery.NewCatalog(append(listings, o.Fixed...), o.Disabled...)
	denied := func(t *discovery.Tool) bool { return o.denies(t).Effect == policy.Deny }
	if c.scope = c.full; slices.ContainsFunc(c.full.Tools(), denied) {
		c.scope = c.full.Filter(func(t *discovery.Tool) bool { return !denied(t) })
	}
	return c.full, c.scope
}

// denies returns the decision that applies to every call of a tool, whatever its
// arguments.
func (o *Options) denies(t *discovery.Tool) policy.Decision {
	call := policy.CallOf(t)
	if o.Rules != nil {
		if d := o.Rules.Decide(call); d.Effect == policy.Deny {
			return d
		}
	}
	return o.Scope.Decide(call)
}

// Approved is what the servers list, in config order, without what is held.
func (c *Catalog) Approved() []discovery.Listing {
	c = c.root()
	c.Both()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.approved
}

// Asks reports whether each call of a tool needs the approval of a person.
func (c *Catalog) Asks(t *discovery.Tool) bool {
	rules := c.options().Rules
	return rules != nil && rules.Decide(policy.CallOf(t)).Effect == policy.Ask
}

// Writes reports whether a tool may change something.
func (c *Catalog) Writes(t *discovery.Tool) bool {
	if rules := c.options().Rules; rules != nil {
		return rules.ClassOf(t) != policy.Read
	}
	return policy.ClassOf(t) != policy.Read
}

// Problems returns the overrides that have no effect on the known tools.
func (c *Catalog) Problems() []string {
	var list []string
	for _, l := range c.Pool.Listings() {
		list = append(list, c.options().Overrides[l.Server].Problems(l)...)
	}
	return list
}

// ServerNames are the names of the configured servers, in config order.
func (c *Catalog) ServerNames() []string {
	var names []string
	for _, s := range c.options().Servers {
		if c.Has(s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// UnlistedNames returns the servers with unknown tools, in config order.
func (c *Catalog) UnlistedNames() []string {
	return slices.DeleteFunc(c.ServerNames(), func(name string) bool { return !c.Unlisted(name) })
}

// Ready reports whether the catalogue is loaded: the tools of each server are
// known, or it has failed.
func (c *Catalog) Ready() bool {
	for _, st := range c.Pool.Status() {
		waiting := st.Err == nil && (st.State == upstream.StateIdle || st.State == upstream.StateStarting)
		if waiting && c.Unlisted(st.Name) {
			return false
		}
	}
	return true
}

// Starting are the servers that may have more to find any moment: the named
// one, or all if none is called so. It costs next to nothing when all are listed.
func (c *Catalog) Starting(server string) []upstream.Starting {
	serving := c.Serving()
	if !serving && !c.root().learning.Load() {
		return nil
	}
	list := slices.DeleteFunc(c.Pool.Starting(), func(l upstream.Starting) bool { return !c.Has(l.Name) || l.Idle && !serving })
	if len(list) == 0 {
		return nil
	}
	if s, ok := c.Scope().FindServer(strings.TrimSpace(server)); ok {
		list = slices.DeleteFunc(list, func(l upstream.Starting) bool { return l.Name != s.Listing.Server })
	}
	return list
}

// Denied is the failure of a call to a tool that is not in scope.
func (c *Catalog) Denied(t *discovery.Tool) *bridge.Error {
	return bridge.Refused(t, c.options().denies(t))
}

// Hidden returns a tool of that name that is hidden because every call of it would be
// denied. It returns false if a tool of that name can be called.
func (c *Catalog) Hidden(name string) (t *discovery.Tool, hidden bool) {
	full, scope := c.Both()
	if full == scope {
		return nil, false
	}
	if _, usable := scope.Tool(name); usable || len(SameName(scope, name)) > 0 {
		return nil, false
	}
	if t, ok := full.Tool(name); ok {
		return t, true
	}
	if ids := SameName(full, name); len(ids) > 0 {
		return full.Tool(ids[0])
	}
	return nil, false
}

// Learns reports whether types are learned from the results of t: its schema describes
// them insufficiently, and learning is enabled for its server.
func (c *Catalog) Learns(t *discovery.Tool) bool {
	o := c.options()
	return o.Learned != nil && !o.SkipLearning[t.Server] && offerKinds[t.OwnName()] == "" && !learned.HasUse(t.OutputSchema)
}

// Types writes the types of tools: those that they declare, else those that
// were learned.
func (c *Catalog) Types() *codegen.Generator {
	return &codegen.Generator{Output: func(t *discovery.Tool) *codegen.Output {
		if !c.Learns(t) {
			return nil
		}
		typ, known := c.options().Learned.Type(t.Server, t.OwnName())
		held, has := c.options().Learned.Held(t.Server, t.OwnName())
		if !known && !has {
			return nil
		}
		o := &codegen.Output{Schema: typ.Schema, Note: fmt.Sprintf("learned from %d calls", typ.Calls)}
		if !known {
			o.Schema, o.Note = []byte("{}"), "learned from one call"
		}
		if has {
			o.Note += "; a text with data, see tools.describe"
			o.Held = &codegen.Held{Schema: held.Schema, Parse: held.Parse}
		}
		return o
	}}
}
