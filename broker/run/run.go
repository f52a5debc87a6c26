// Package run runs one execution: a script, or a single call of a tool, from the request to the
// answer. It checks the script, provides the modules that it imports, runs it in a sandbox, makes
// its calls through a bridge, answers its host calls, stores what is too long, and limits the
// answer to its budget.
//
// Features that are visible to scripts register with an Executor: host functions, and modules and
// files besides those of the servers.
package run

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// Options are the settings of an Executor. Fields without a comment are documented in
// broker.Deps and broker.Settings; there are no defaults here.
type Options struct {
	Runner  sandbox.Runner
	Audit   state.Journal
	Runs    state.Runs
	Results state.Results
	Values  state.Values
	Learned *learned.Store
	// Observer observes executions; it may be nil.
	Observer Observer
	// Called is called with the tools that an execution has called with success, before
	// its answer is sent. It does not block. It may be nil.
	Called func(owner, session string, tools []string)

	// Policy decides about every call; Rules are the rules in it that users have written.
	Policy policy.List
	Rules  *policy.Rules

	// Always adds a rule to the policy that allows tools, after a person has approved
	// that; if nil, tools cannot be allowed always.
	Always func(tools []string) error

	// Quota counts calls and executions; nil counts none.
	Quota *quota.Limiter
	// Refuse returns the reason a call of a class cannot be made now or, for class 0,
	// that no execution can begin; nil refuses nothing.
	Refuse func(ctx context.Context, class policy.Class) error

	// Vault has the values of the tokens that scripts pass to tools; it may be nil.
	Vault *vault.Vault
	// Redact selects the tools that may receive the values of all tokens.
	Redact vault.Settings

	// Profile is the name of the profile of all callers, or empty.
	Profile string
	// Narrowed are further, unnamed profiles of all callers, as JSON; empty if there
	// are none. Stored data belongs to Profile and these.
	Narrowed json.RawMessage

	Mode          surface.Mode
	AutoThreshold int
	// CountTokens counts the tokens of a text; nil estimates them.
	CountTokens func(text string) (int, error)
	ReadOnly    bool

	DisableReadHints bool
	Typecheck        *typecheck.Checker
	TypecheckStrict  bool

	Languages            []sandbox.Language
	UnavailableLanguages map[sandbox.Language]string
	Isolations           []sandbox.Isolation
	Language             sandbox.Language
	Timeout              time.Duration
	MaxTimeout           time.Duration
	MaxOutputChars       int
	Limits               sandbox.Limits
}

// An Observer makes traces and metrics of executions. It is safe for concurrent use, and does not
// block. If it has a method Decided(time.Duration), that is called with the time that a person at
// the client took to decide; see Skill for another.
type Observer interface {
	// Run begins an execution. The returned function ends it, with its exit code and the number of
	// calls that were repeated from its journal.
	Run(ctx context.Context, id, client string) (context.Context, func(code, replayed int))
	// Call observes a call of a server, which is sent with meta. end is called with the kind of
	// the error, or ""; unsure means that the call may have run.
	Call(ctx context.Context, server, tool string) (called context.Context, meta map[string]any, end func(result json.RawMessage, kind string, unsure bool))
	// Recorded is called when a call has ended, even if it was not sent.
	Recorded(server, class, status, decision string, took time.Duration)
}

// Skill begins a step of a skill, its activation or the run of a script, for an Observer with a
// method of this name. The returned function ends it.
func (e *Executor) Skill(ctx context.Context, step, name, script string) (context.Context, func(error)) {
	o, ok := e.opts.Load().Observer.(interface {
		Skill(ctx context.Context, step, name, script string) (context.Context, func(error))
	})
	if !ok {
		return ctx, func(error) {}
	}
	return o.Skill(ctx, step, name, script)
}

// A HostFunc answers one host function of scripts. Its answer is JSON. The script is thrown an
// error with the function's name as prefix, or a ToolError for a *bridge.Error. It ends with its
// context.
type HostFunc struct {
	Do func(ctx context.Context, x *Execution, c sandbox.Call) (json.RawMessage, error)
	// Large means that the arguments contain a value of the script, bounded by sandbox.Limits.
	// Otherwise they are options.
	Large bool
	// Disk means that it reads or writes Options.Results on disk without waiting for
	// anything else; only a few run at a time.
	Disk bool
}

// A Feature answers host functions of scripts, by sandbox.Call.Func.
type Feature interface {
	HostFuncs() map[string]HostFunc
}

// A Library is a Feature that provides modules and files for scripts.
type Library interface {
	// Modules returns the modules that the script of x imports, and the names of all that it could
	// import.
	Modules(x *Execution, lang sandbox.Language) (modules []sandbox.Module, names []string)
	// Files returns the files for a runner that gives its scripts a file system; it may
	// be nil.
	Files(x *Execution) *sandbox.Files
}

// An Executor runs scripts and calls. It is safe for concurrent use once all features are
// registered.
type Executor struct {
	opts      atomic.Pointer[Options]
	log       *slog.Logger
	catalog   *catalog.Catalog
	validator *bridge.Validator
	host      map[string]HostFunc
	libraries []Library
	pasts     pasts     // shared by all views
	toolPins  *toolPins //  shared by all views
	running   sync.Map  // context.CancelCauseFunc by execution id; only the root's is used
	parent    *Executor // nil unless this is a view
}

// New returns an Executor for the tools of c.
func New(o Options, c *catalog.Catalog, log *slog.Logger) *Executor {
	e := &Executor{log: log, catalog: c, validator: bridge.NewValidator(), toolPins: new(toolPins), host: maps.Clone(hostFuncs)}
	e.Configure(o)
	return e
}

// View returns an Executor for a view of the tools of e. Features are registered with it again.
func (e *Executor) View(o Options, c *catalog.Catalog) *Executor {
	v := New(o, c, e.log)
	v.parent, v.validator, v.toolPins = e.root(), e.validator, e.toolPins
	return v
}

func (e *Executor) root() *Executor {
	if e.parent != nil {
		return e.parent
	}
	return e
}

// Configure replaces the settings for executions that begin from now on.
func (e *Executor) Configure(o Options) { e.opts.Store(&o) }

// Register adds the parts of a feature that are visible to scripts.
func (e *Executor) Register(f Feature) {
	maps.Copy(e.host, f.HostFuncs())
	if l, ok := f.(Library); ok {
		e.libraries = append(e.libraries, l)
	}
}

// past returns what the runs of a principal have read.
func (e *Executor) past(owner string) *bridge.Past { return e.root().pasts.forOwner(owner) }
