// Package broker joins the parts into what an agent sees: one MCP server with
// list_servers, search_tools and execute_code in front of many upstream
// servers. The same operations are plain Go methods, on which the command line
// is built.
//
// A Broker answers from the catalogue that it knows. Two things wait for an
// upstream server that was never listed: a call or an import that names it, and,
// for some seconds, a search.
//
// What it joins: catalog knows the tools of the servers, surface is what clients
// see, run executes, find searches, skill has skills, script has saved scripts.
package broker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/find"
	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/broker/script"
	"github.com/mcpbroker/mcpbroker/broker/skill"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
)

// A Broker is safe for concurrent use.
type Broker struct {
	opts atomic.Pointer[options] // replaced by Apply
	log  *slog.Logger

	catalog *catalog.Catalog
	run     *run.Executor
	find    *find.Finder
	skill   *skill.Feature
	script  *script.Feature
	surface *surface.Surface

	background sync.WaitGroup
	ending     sync.Mutex // guards closed, and background against Go during Wait
	closed     bool

	parent  *Broker   // nil unless this is a view
	narrow  narrowing // of a view
	viewing sync.Mutex
	views   map[string]*Broker // by the keys of their narrowings
	used    atomic.Bool        // somebody may search it
	follows atomic.Bool        // changed is going to run

	warning sync.Mutex
	warned  map[string]bool // passed to Deps.Warn so far
}

// New returns a broker that knows what the cache knows. It starts no server;
// Start does.
func New(d Deps, s Settings) (*Broker, error) {
	o := options{Deps: d, Settings: s}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.setDefaults()
	b := &Broker{log: o.Logger}
	b.opts.Store(&o)
	var base *upstream.Pool
	if o.Base != nil {
		base = o.Base.catalog.Pool
	}
	b.catalog = catalog.New(o.catalog(), &upstream.Options{
		Base:              base,
		Apart:             o.Apart,
		Logger:            o.Logger,
		CacheDir:          o.CacheDir,
		Listings:          o.Listings,
		Lists:             o.Lists,
		PackageDir:        o.PackageDir,
		Review:            func(l discovery.Listing) []discovery.Held { return b.catalog.Review(l) },
		Expand:            o.Expand,
		Environ:           o.Environ,
		Folder:            o.Folder,
		OAuth:             o.OAuth,
		People:            o.People,
		PersonalProcesses: o.PersonalProcesses,
		Guard:             o.Guard,
		OnEnd:             o.ended(),
		Capabilities:      surface.Promises(),
		Implementation:    surface.Implementation(o.Version),
	}, b.changed)
	b.run = run.New(o.run(), b.catalog, o.Logger)
	b.find = find.New(o.find(), b.catalog, &index.Options{Dir: o.IndexDir, Logger: o.Logger})
	b.skill = skill.New(o.skill(), skill.Parts{
		Catalog: b.catalog, Runs: b.run, Hits: b.find, CacheDir: o.SkillCacheDir, IndexDir: o.IndexDir, Logger: o.Logger,
		Changed: func() { b.changed(); b.surface.Refresh() },
	})
	b.join()
	return b, nil
}

// join registers the parts of b with each other.
func (b *Broker) join() {
	b.find.Register(b.skill)
	b.run.Register(b.find)
	b.run.Register(b.skill)
	b.script = script.New(b.opts.Load().scripts(), b.catalog, b.find, b.log)
	b.run.Register(b.script)
	b.surface = surface.New(b.opts.Load().surface(), b.log, b.run, b.find, b.skill)
}

// Start connects, in the background, to the servers with unknown tools, and builds the
// search index from the known tools. It returns at once.
func (b *Broker) Start(ctx context.Context) {
	b.used.Store(true)
	b.catalog.Start(ctx)
	b.prepare(ctx)
}

// StartLazily is Start for a program that ends after one execution: it connects to a
// server with unknown tools when a script names it, and to all of them when a script
// searches.
func (b *Broker) StartLazily(ctx context.Context) {
	b.used.Store(true)
	b.catalog.StartLazily()
	b.prepare(ctx)
}

// StartSoon does what Start does, a moment later: dozens of starting servers
// take the processors that the first answers need. A server that is named
// meanwhile is connected at once.
func (b *Broker) StartSoon(ctx context.Context) {
	b.used.Store(true)
	b.catalog.StartSoon(ctx, func() { b.prepare(ctx) })
}

// prepare builds the search index from what is known.
func (b *Broker) prepare(ctx context.Context) {
	b.root().changed()
	if u := b.opts.Load().find().Usage; u != nil {
		u.Begin()
	}
	if c := b.opts.Load().Typecheck; c != nil {
		b.inBackground(func() { _, _ = c.Compiler(ctx) }) // found by the time of the first script
	}
}

// inBackground runs f in the background, unless the broker is being closed.
func (b *Broker) inBackground(f func()) {
	b.ending.Lock()
	defer b.ending.Unlock()
	if !b.closed {
		b.background.Go(f)
	}
}

// changed makes the search, the skills and the clients follow what servers list.
func (b *Broker) changed() {
	if b.follows.Swap(true) {
		return // it begins after this change
	}
	b.inBackground(func() {
		b.follows.Store(false)
		if b.skill.Renew() {
			b.surface.Refresh()
		}
		b.script.Renew()
		if b.used.Load() {
			if err := b.find.Sync(); err != nil {
				b.log.Error("index tools", "err", err)
			}
			b.skill.ReadTexts()
		}
		b.warn()
		if b.opts.Load().Mode == ModeAuto {
			b.surface.Refresh()
		}
		for _, v := range b.allViews() {
			v.changed()
		}
	})
}

// warn logs parts of the configuration that have no effect on the known tools.
func (b *Broker) warn() {
	tell := b.opts.Load().Warn
	if tell == nil || b.parent != nil {
		return
	}
	b.warning.Lock()
	defer b.warning.Unlock()
	b.warnLocked(tell)
}

// warnOnce is warn if nothing was logged so far.
func (b *Broker) warnOnce() {
	tell := b.opts.Load().Warn
	b.warning.Lock()
	defer b.warning.Unlock()
	if tell != nil && b.warned == nil {
		b.warnLocked(tell)
	}
}

func (b *Broker) warnLocked(tell func(string)) {
	problems := make(map[string]bool)
	for _, p := range b.Problems() {
		problems[p] = true
		if !b.warned[p] {
			tell(p)
		}
	}
	b.warned = problems
}

// Apply replaces the settings while clients are connected. Servers that are configured as
// before go on undisturbed, and executions under way keep the settings that they began
// with.
func (b *Broker) Apply(s Settings) {
	next := *b.opts.Load()
	next.Settings = s
	next.setDefaults()
	b.opts.Store(&next)
	b.catalog.Configure(next.catalog())
	b.configure(&next)
	for _, v := range b.allViews() {
		v.reconfigure(&next)
	}
}

// configure puts o in force in all parts but the catalogue, and shows clients what
// is there then.
func (b *Broker) configure(o *options) {
	b.surface.Configure(o.surface())
	b.run.Configure(o.run())
	b.find.Configure(o.find())
	b.find.SetNotice("")
	b.skill.Configure(o.skill())
	b.changed()
	b.surface.Refresh()
}

// Close stops the upstream servers and the runner. It returns when no process
// of theirs is left. A view is closed with the broker that it is a view of.
func (b *Broker) Close() error {
	if b.parent != nil {
		return nil
	}
	if b.used.Load() {
		b.warnOnce() // a client that left at once
	}
	errs := []error{b.catalog.Close()}
	if o := b.opts.Load(); o.Base == nil {
		errs = append(errs, o.Runner.Close())
		if o.ScriptSandbox != nil {
			errs = append(errs, o.ScriptSandbox.Close())
		}
	}
	all := append(b.allViews(), b)
	for _, one := range all {
		one.surface.Close()
		one.ending.Lock()
		one.closed = true
		one.ending.Unlock()
	}
	b.background.Wait() // first: it makes views follow
	for _, one := range all {
		one.background.Wait()
		errs = append(errs, one.skill.Close(), one.find.Close())
	}
	return errors.Join(errs...)
}
