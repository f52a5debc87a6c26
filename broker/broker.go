// Package broker joins the parts into what an agent sees: one MCP server with
// list_servers, search_tools and execute_code in front of many upstream
// servers. The same operations are plain Go methods, on which the command line
// is built.
//
// A Broker answers from the catalogue that it knows. Two things wait for an
// upstream server that was never listed: a call or an import that names it, and,
// for some seconds, a search.
package broker

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/learned"
	"github.com/mcpbroker/mcpbroker/internal/typecheck"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
	"github.com/mcpbroker/mcpbroker/state"
)

// Options says what a Broker is made of. Servers and Runner are required.
type Options struct {
	// Servers are the upstream servers, in config order; disabled ones are
	// left out.
	Servers []upstream.Config
	// Runner executes the scripts. The broker closes it.
	Runner sandbox.Runner
	// Audit keeps the record of executions; nil keeps none. The broker does
	// not close it.
	Audit state.Journal
	// Results keeps what is too big for an answer; nil keeps nothing.
	Results state.Results
	// Values keeps the values that scripts store; nil keeps nothing.
	Values state.Values
	// Learned learns what tools that declare no output schema answer; nil
	// learns nothing. The broker does not close it.
	Learned *learned.Store
	// Unlearned are the servers whose results nothing is learned from.
	Unlearned map[string]bool
	// UnnotedReads turns off that reads of properties are noted which no type
	// of a result has.
	UnnotedReads bool
	// Fixed are tools that no server stands behind: they can be searched but
	// not called. It is for measuring the search.
	Fixed []discovery.Listing
	// Vectors improves the search, see index.Options; may be nil.
	Vectors *index.Vectors
	// CacheDir holds the cached tool lists; "" keeps none.
	CacheDir string
	// IndexDir keeps search indexes, see index.Options; "" keeps them in memory.
	IndexDir string
	// Expand resolves ${VAR} in server configurations; nil leaves text as is.
	Expand func(string) (string, error)
	// OAuth signs requests to remote servers, as upstream.Options says; nil
	// signs none.
	OAuth func(server upstream.Config, url string) (auth.OAuthHandler, error)
	// Guard is that of upstream.Options: a process that outlives a killed broker
	// for a moment. The program's main must let it in.
	Guard bool
	// Logger receives what happens; nil discards it.
	Logger *slog.Logger
	// Version is the broker's own version, as it tells it to both sides.
	Version string

	// Skills are the skills that models may activate, to which the broker adds
	// those that the servers serve; nil means none at all.
	Skills *skills.Registry
	// SkillCacheDir keeps files of skills that servers serve; "" keeps them in
	// memory. It must not be a folder in which skills are looked for.
	SkillCacheDir string
	// SkillsDir is the folder in which programs in containers find the files of
	// skills: absolute, with slashes; empty means /mnt/skills.
	SkillsDir string
	// Commands are prompts of plugins that users may pick.
	Commands []plugin.Command
	// SkillBudget is how many tokens the catalogue of skills may cost; zero means
	// skills.DefaultBudget.
	SkillBudget int
	// Scripts say how scripts of skills run; the zero value runs none.
	Scripts Scripts
	// ScriptSandbox runs scripts of skills in ScriptsSandbox; nil runs none there.
	// The broker closes it.
	ScriptSandbox sandbox.Commander
	// EnforceAllowedTools makes the tools that a skill declares as allowed, if it
	// does, the only ones that actions of its workflow can call.
	EnforceAllowedTools bool
	// WorkflowDir keeps the sessions of workflows; "" keeps them until the broker
	// is closed.
	WorkflowDir string
	// NoForms leaves the questions of workflows to the model, also where a client
	// could put them to its user.
	NoForms bool

	// Mode is what clients are shown; empty means ModeCode.
	Mode Mode
	// AutoThreshold is up to how many upstream tools ModeAuto lists; zero means
	// 20.
	AutoThreshold int

	// Typecheck checks the types of scripts before they run; nil checks none.
	Typecheck *typecheck.Checker
	// TypecheckStrict refuses scripts in TypeScript that could not be checked.
	// Otherwise the absence or the failure of a compiler stops nothing.
	TypecheckStrict bool

	// SearchWait is how long a search waits for servers that were never listed;
	// zero means 10 s, less that it waits for none.
	SearchWait time.Duration

	// ReadOnly takes every tool that is not marked read-only out of search
	// and scope, see policy.ReadOnly.
	ReadOnly bool
	// Tools allow and deny tools of servers; nil allows all.
	Tools policy.ToolLists
	// Languages are those that Runner runs; empty means TypeScript and
	// JavaScript. Others are refused, and not shown to clients.
	Languages []sandbox.Language
	// NotHere says of languages why they are not among Languages, and what to do
	// about it, for who asks for one.
	NotHere map[sandbox.Language]string
	// Isolations are those that a script may ask for; fewer than two mean that it
	// has no choice, and is shown none.
	Isolations []sandbox.Isolation
	// Language of code that names none; empty means TypeScript.
	Language sandbox.Language
	// Timeout of an execution that asks for none; zero means 30 s.
	Timeout time.Duration
	// MaxTimeout that an execution may ask for; zero means 120 s.
	MaxTimeout time.Duration
	// MaxOutputChars of stdout and result together; zero means 10,000.
	MaxOutputChars int
	// Limits of an execution; the timeout in it is not used.
	Limits sandbox.Limits
	// AnswerTimeout is how long a question that a server asks the client waits
	// for its answer; zero means 10 minutes. It does not count as time of the
	// execution.
	AnswerTimeout time.Duration
}

func (o *Options) setDefaults() {
	if o.SkillsDir == "" {
		o.SkillsDir = "/mnt/skills"
	}
	if o.Mode == "" {
		o.Mode = ModeCode
	}
	if o.AutoThreshold == 0 {
		o.AutoThreshold = 20
	}
	if len(o.Languages) == 0 {
		o.Languages = []sandbox.Language{sandbox.TypeScript, sandbox.JavaScript}
	}
	if o.Language == "" {
		o.Language = sandbox.TypeScript
	}
	if o.SearchWait == 0 {
		o.SearchWait = 10 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.MaxTimeout == 0 {
		o.MaxTimeout = 120 * time.Second
	}
	if o.MaxOutputChars == 0 {
		o.MaxOutputChars = 10_000
	}
}

// A Broker is safe for concurrent use.
type Broker struct {
	opts      atomic.Pointer[Options] // replaced by Reconfigure
	log       *slog.Logger
	pool      *upstream.Pool
	index     *index.Index
	validator *bridge.Validator
	started   time.Time

	mu       sync.Mutex
	dirty    bool
	learnt   uint64 // of the pool, when the catalogues were made
	full     *discovery.Catalog
	scope    *discovery.Catalog
	reindex  sync.Mutex
	indexed  *discovery.Catalog
	entered  uint64 // the version of entries that is indexed
	indexing sync.WaitGroup

	cancelStart context.CancelFunc // of StartSoon; nil before it

	offers  atomic.Pointer[offerTools]
	entries entries // what search finds beside tools
	skills  skillState
	texts   *SkillTexts

	serving atomic.Bool // Start was called, or is about to be
	lazy    atomic.Bool // StartLazily was called, and nobody needed more
	paused  paused

	requests httpRequests           // being answered; see join
	notice   atomic.Pointer[string] // for list_servers; see SetNotice
	facesMu  sync.Mutex             // guards faces and what is in them
	faces    []*face
}

// New returns a broker that knows what the cache knows. It starts no server;
// Start does.
func New(o Options) (*Broker, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.setDefaults()
	b := &Broker{log: o.Logger, index: index.New(&index.Options{Dir: o.IndexDir, Vectors: o.Vectors, Logger: o.Logger}), texts: NewSkillTexts(o.IndexDir, o.Logger), validator: bridge.NewValidator(), dirty: true, started: time.Now()}
	b.opts.Store(&o)
	pool := upstream.NewPool(o.Servers, &upstream.Options{
		Logger:         o.Logger,
		CacheDir:       o.CacheDir,
		Expand:         o.Expand,
		OAuth:          o.OAuth,
		Guard:          o.Guard,
		OnListing:      func(discovery.Listing) { b.changed() },
		OnChange:       b.noteChanges,
		Capabilities:   Promises(),
		Implementation: implementation(o.Version),
	})
	b.mu.Lock()
	b.pool = pool
	b.mu.Unlock()
	b.skills.cache = skills.NewCache(o.SkillCacheDir)
	b.takeServerSkills()
	b.lookAtSkills()
	return b, nil
}

// options are the settings as they are now. Whoever needs two of them that
// belong together asks once.
func (b *Broker) options() *Options { return b.opts.Load() }

// Start connects, in the background, to the servers whose tools are not known
// yet, and builds the search index from those that are. It returns at once.
func (b *Broker) Start(ctx context.Context) {
	b.serving.Store(true)
	b.pool.Start(ctx)
	b.prepare(ctx)
}

// StartLazily is Start for a program that ends after one execution: a server
// whose tools are not known is connected when a script names it, and all of them
// when one searches.
func (b *Broker) StartLazily(ctx context.Context) {
	b.lazy.Store(true)
	b.prepare(ctx)
}

// hurry connects the servers that StartLazily has left alone.
func (b *Broker) hurry(ctx context.Context) {
	if b.lazy.Swap(false) {
		b.serving.Store(true)
		b.pool.Start(ctx)
	}
}

// prepare builds the search index from what is known.
func (b *Broker) prepare(ctx context.Context) {
	b.changed()
	if c := b.options().Typecheck; c != nil {
		b.indexing.Go(func() { _, _ = c.Compiler(ctx) }) // found by the time of the first script
	}
}

// startDelay is what StartSoon waits: longer than a program needs to answer the
// first questions of its client even on a busy machine, and little beside the
// seconds that servers take.
const startDelay = 200 * time.Millisecond

// StartSoon does what Start does, a moment later: dozens of starting servers
// take the processors that the first answers need. A server that is named
// meanwhile is connected at once.
func (b *Broker) StartSoon(ctx context.Context) {
	b.serving.Store(true)
	ctx, cancel := context.WithCancel(ctx)
	b.mu.Lock()
	b.cancelStart = cancel
	b.mu.Unlock()
	b.indexing.Go(func() {
		defer cancel()
		delay := time.NewTimer(startDelay)
		defer delay.Stop()
		select {
		case <-delay.C:
			b.Start(ctx)
		case <-ctx.Done():
		}
	})
}

// Refresh connects to the named servers, or to all of them, in parallel, lists
// their tools anew and says how each went.
func (b *Broker) Refresh(ctx context.Context, names ...string) []upstream.Status {
	return b.pool.Refresh(ctx, names...)
}

// Status says how each server is, in config order.
func (b *Broker) Status() []upstream.Status { return b.pool.Status() }

// Close stops the upstream servers and the runner. It returns when no process
// of theirs is left.
func (b *Broker) Close() error {
	b.mu.Lock()
	cancel := b.cancelStart
	b.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	err := b.pool.Close()
	if e := b.options().Runner.Close(); err == nil {
		err = e
	}
	if c := b.options().ScriptSandbox; c != nil {
		if e := c.Close(); err == nil {
			err = e
		}
	}
	b.paused.close()
	b.indexing.Wait()
	for _, stop := range []func() error{b.closeWorkflows, b.index.Close, b.texts.Close} {
		if e := stop(); err == nil {
			err = e
		}
	}
	return err
}

// changed notes that a server's tools are new, and indexes them.
func (b *Broker) changed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dirty = true
	if b.pool == nil {
		return // still reading the cache: the first user builds it all at once
	}
	b.indexing.Go(func() {
		b.takeServerSkills()
		if b.lookAtSkills() {
			b.showAll()
		}
		if err := b.sync(); err != nil {
			b.log.Error("index tools", "err", err)
		}
		b.readTexts()
		if b.options().Mode == ModeAuto {
			b.showAll()
		}
	})
}

// noteChanges records that tools are not what they were at first.
func (b *Broker) noteChanges(server string, changes []discovery.Change) {
	b.log.Warn("tools changed", "server", server, "tools", len(changes))
	if store := b.options().Audit; store != nil {
		store.Note(state.Event{Kind: state.EventToolsChanged, Server: server, Detail: discovery.Changes(changes, 20)})
	}
}

// Catalog returns the tools that scripts can use: all, or in read-only mode
// those that are marked read-only.
func (b *Broker) Catalog() *discovery.Catalog {
	_, scope := b.catalogs()
	return scope
}

// catalogs returns the catalogue of everything and that of what is in scope,
// building both if a server's tools have changed. Servers that have not been
// listed yet are in it without tools, so that no name shifts when they are.
func (b *Broker) catalogs() (full, scope *discovery.Catalog) {
	b.mu.Lock()
	defer b.mu.Unlock()
	learnt := b.pool.Learnt()
	if !b.dirty && learnt == b.learnt {
		return b.full, b.scope
	}
	b.dirty, b.learnt = false, learnt
	known := make(map[string]discovery.Listing)
	for _, l := range b.pool.Listings() {
		known[l.Server] = l
	}
	listings := make([]discovery.Listing, 0, len(b.options().Servers))
	for _, s := range b.options().Servers {
		l, ok := known[s.Name]
		if !ok {
			l = discovery.Listing{Server: s.Name, Description: s.Description}
		}
		listings = append(listings, b.options().Tools.Filter(l))
	}
	b.full = discovery.NewCatalog(append(listings, b.options().Fixed...))
	b.scope = b.options().scope(b.full)
	return b.full, b.scope
}

// sync brings the index up to the catalogue. Concurrent calls wait for each
// other, so when it returns, what was listed before the call is searchable.
func (b *Broker) sync() error {
	b.reindex.Lock()
	defer b.reindex.Unlock()
	_, scope := b.catalogs()
	if scope != b.indexed {
		b.enterOffers(scope)
	}
	if scope == b.indexed && b.entries.now() == b.entered {
		return nil
	}
	others, version := b.entries.all()
	if err := b.index.Sync(scope, others); err != nil {
		return err
	}
	b.indexed, b.entered = scope, version
	return nil
}
