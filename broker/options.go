package broker

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/find"
	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/broker/script"
	"github.com/mcpbroker/mcpbroker/broker/skill"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	"github.com/mcpbroker/mcpbroker/broker/usage"
	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
	"github.com/mcpbroker/mcpbroker/state"
)

// Deps are the parts that a Broker is made of, and what it knows of its place. They do not
// change while it serves. Runner is required.
type Deps struct {
	// Base is a broker that shares its connections with this one: for servers with the
	// same configuration, except those that Apart reports. It also shares its Runner
	// and ScriptSandbox, which this broker then does not close. Close this broker
	// before Base. It may be nil.
	Base  *Broker
	Apart func(upstream.Config) bool
	// Runner executes the scripts. The broker closes it.
	Runner sandbox.Runner
	// CountTokens counts the tokens of a text, for AutoThreshold; nil estimates them at
	// four bytes each.
	CountTokens func(text string) (int, error)
	// Audit keeps the record of executions; nil keeps none. The broker does
	// not close it.
	Audit state.Journal
	// Runs keeps the journals of runs, so that they can be repeated and resumed, and
	// wait for a person; nil keeps none. The broker does not close it.
	Runs state.Runs
	// Results keeps what is too big for an answer; nil keeps nothing.
	Results state.Results
	// Values keeps the values that scripts store; nil keeps nothing.
	Values state.Values
	// Learned learns the results of tools that declare no output schema; nil learns
	// nothing. The broker does not close it.
	Learned *learned.Store
	// Usage learns which tools are called after which searches; nil learns nothing. The
	// broker does not close it.
	Usage *usage.Store
	// Always adds a rule to the policy that allows tools, by their ids, when a person
	// says so; nil does not offer that.
	Always func(tools []string) error
	// Pins hold back tools that are not approved in their present form; nil holds none.
	Pins catalog.Pins
	// Fixed are tools without a server: they can be searched but not called. It is for
	// measuring the search.
	Fixed []discovery.Listing
	// CacheDir holds the cached tool lists; "" keeps none.
	CacheDir string
	// Listings shares tool lists among several brokers, and Lists reports whether this
	// one connects to servers for them, as in upstream.Options; nil for a single
	// broker.
	Listings upstream.Listings
	Lists    func() bool
	// IndexDir keeps search indexes, see index.Options; "" keeps them in memory.
	IndexDir string
	// PackageDir keeps packages of servers, as upstream.Options says.
	PackageDir string
	// Expand resolves ${VAR} in server configurations; nil leaves text as is.
	Expand func(string) (string, error)
	// Environ returns the environment from which servers inherit a few variables, such
	// as PATH; nil means os.Environ.
	Environ func() []string
	// Folder returns the value of ${workspaceFolder} for clients that do not announce
	// one, as in upstream.Options.
	Folder func() string
	// OAuth signs requests to remote servers, as upstream.Options says; nil
	// signs none.
	OAuth func(server upstream.Config, url string) (auth.OAuthHandler, error)
	// People is how servers are reached on behalf of people, as upstream.Options says.
	People upstream.People
	// PersonalProcesses bounds those of people, as upstream.Options says.
	PersonalProcesses int
	// Guard is that of upstream.Options: a process that outlives a killed broker
	// for a moment. The program's main must let it in.
	Guard bool
	// Observer observes executions, and Observe wraps the requests of clients, for
	// traces and metrics; they may be nil.
	Observer run.Observer
	Observe  mcp.Middleware
	// Logger receives what happens; nil discards it.
	Logger *slog.Logger
	// Warn is called once for each thing in the configuration that turns out to have no
	// effect; nil ignores it.
	Warn func(problem string)
	// Version is the broker's own version, as it tells it to both sides.
	Version string
	// SavedScripts is the folder of scripts that people have saved, for scripts to
	// call; "" has none.
	SavedScripts string
	// Documents returns the store of a kind of data that all brokers of a fleet need
	// for conversations: saved scripts, sessions of workflows and activated skills. Nil
	// stores them in the folders that are named here, or in memory.
	Documents func(kind string) state.Documents
	// Requests keep for an hour what requests with an idempotency key were answered;
	// nil takes no notice of keys.
	Requests state.Documents
	// SkillCacheDir keeps files of skills that servers serve; "" keeps them in
	// memory. It must not be a folder in which skills are looked for.
	SkillCacheDir string
	// ScriptSandbox runs scripts of skills in ScriptsSandbox; nil runs none there.
	// The broker closes it.
	ScriptSandbox sandbox.Commander
	// Workflows keeps the sessions of workflows, such as files.Documents of a
	// directory; nil keeps them until the broker is closed. Documents comes first.
	Workflows state.Documents
	// Vault keeps what the tokens stand for that models get in place of what
	// Settings.Redact hides; nil hides nothing.
	Vault *vault.Vault
	// Quota counts calls and executions; nil counts none. It is not closed with the
	// broker.
	Quota *quota.Limiter
	// Refuse returns the reason a call of a class cannot be made now, because storage
	// cannot be reached, or, for class 0, that no execution can begin; nil refuses
	// nothing.
	Refuse func(ctx context.Context, class policy.Class) error
	// Languages are those that Runner runs; empty means TypeScript and
	// JavaScript. Others are refused, and not shown to clients.
	Languages []sandbox.Language
	// UnavailableLanguages maps languages outside Languages to the reason they cannot
	// run, with a hint.
	UnavailableLanguages map[sandbox.Language]string
	// Isolations are those that a script may ask for; fewer than two mean that it
	// has no choice, and is shown none.
	Isolations []sandbox.Isolation
}

// Settings may change while a Broker serves; see Apply.
type Settings struct {
	// Servers are the upstream servers, in config order; disabled ones are
	// left out.
	Servers []upstream.Config
	// Disabled are the names of configured servers that are not used. They still count
	// when ids, folders and namespaces are made distinct.
	Disabled []string
	// DisabledServers are the configurations of servers in Disabled: a search says which
	// of them has a tool that matches. None of them is started.
	DisabledServers []upstream.Config
	// SkipLearning are the servers that are excluded from learning.
	SkipLearning map[string]bool
	// DisableReadHints turns off the notes about reads of properties that a result does
	// not have.
	DisableReadHints bool
	// Skills are the skills that models may activate, to which the broker adds
	// those that the servers serve; nil means none at all.
	Skills *skills.Registry
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
	// EnforceAllowedTools makes the tools that a skill declares as allowed, if it
	// does, the only ones that actions of its workflow can call.
	EnforceAllowedTools bool
	// WorkflowHost is what is known of the program that the models run in; with an
	// empty name it is the one that each client says it is.
	WorkflowHost workflow.Host
	// DisableForms leaves the questions of workflows to the model, even if a client can
	// show forms.
	DisableForms bool
	// Mode is what clients are shown; empty means ModeCode.
	Mode Mode
	// AutoThreshold is up to how many tokens of definitions ModeAuto lists the upstream
	// tools; below 100 it is up to how many tools, as it was before. Zero means
	// 20.
	AutoThreshold int
	// Typecheck checks the types of scripts before they run; nil checks none.
	Typecheck *typecheck.Checker
	// TypecheckStrict refuses scripts in TypeScript that could not be checked.
	// Otherwise the absence or the failure of a compiler stops nothing.
	TypecheckStrict bool
	// SearchWait bounds the wait of a search for servers that were never listed; zero
	// means 10 s, and a negative value no wait.
	SearchWait time.Duration
	// LearnSearches learns which tools are called after which searches: for everybody, or
	// nobody; nil learns for the user of the state, but not for clients with tokens.
	LearnSearches *bool
	// ReadOnly takes every tool that is not marked read-only out of search
	// and scope, see policy.ReadOnly.
	ReadOnly bool
	// Policy decides about calls that ReadOnly and Tools allow; nil allows all. A tool
	// that every call would be denied for is hidden. If it asks, the person at the
	// client is asked, provided that the client can show forms.
	Policy *policy.Rules
	// Tools allow and deny tools of servers; nil allows all.
	Tools policy.ToolLists
	// Overrides change tools of servers: their names, descriptions and parameters.
	Overrides map[string]discovery.Overrides
	// Instructions are the settings of what models read of the servers' own
	// instructions, by server.
	Instructions map[string]discovery.InstructionsSetting
	// Redact says what models get tokens for; Deps.Vault keeps what they stand for.
	Redact vault.Settings
	// Profiles are those that View knows, by name.
	Profiles map[string]policy.Profile
	// Language of code that names none; empty means TypeScript.
	Language sandbox.Language
	// Timeout is the default timeout of an execution; zero means 30 s.
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

// options are what a broker, or a view of one, works by.
type options struct {
	Deps
	Settings
	profile  string          // of a view
	narrowed json.RawMessage // of a view, see state.Run
	storage  string          // of a view: separates its stored data from that of others
}

func (o *options) setDefaults() {
	if o.SkillsDir == "" {
		o.SkillsDir = "/mnt/skills"
	}
	if o.Mode == "" {
		o.Mode = ModeCode
	}
	if o.AutoThreshold == 0 {
		o.AutoThreshold = 1500
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

// ended is what hears of connections to servers that have ended.
func (o *options) ended() func(server, transport string, lasted time.Duration, cause error) {
	if seen, ok := o.Observer.(interface {
		Ended(server, transport string, lasted time.Duration, cause error)
	}); ok {
		return seen.Ended
	}
	return nil
}

// The settings of each part.

func (o *options) surface() surface.Options {
	s := surface.Options{Version: o.Version, Mode: o.Mode, Changing: o.Skills != nil, AnswerTimeout: o.AnswerTimeout, Observe: o.Observe, Requests: o.Requests}
	s.OwnerFor = func(client string) string { return state.ForNarrowed(client, o.profile, o.narrowed) }
	if set, v := o.Redact, o.Vault; v != nil && set.On() {
		s.Hide = func(owner, text string) string { return v.Hide(s.OwnerFor(owner), text, set) }
	}
	for _, c := range o.Servers {
		s.Servers = append(s.Servers, c.Name)
	}
	return s
}

func (o *options) catalog() catalog.Options {
	c := catalog.Options{Servers: o.Servers, Disabled: o.Disabled, DisabledServers: o.DisabledServers, Fixed: o.Fixed, Tools: o.Tools, Rules: o.Policy, Overrides: o.Overrides, Instructions: o.Instructions, Pins: o.Pins, Learned: o.Learned, SkipLearning: o.SkipLearning}
	if o.ReadOnly { // the others deny no tool that is there, or only some calls
		c.Scope = o.policies()
	}
	return c
}

// policies decide about every call of every execution.
func (o *options) policies() policy.List {
	list := policy.List{o.Tools}
	if o.ReadOnly {
		list = append(list, policy.ReadOnly{})
	}
	if o.EnforceAllowedTools {
		list = append(list, policy.AllowedTools{})
	}
	if o.Policy != nil {
		list = append(list, o.Policy)
	}
	return list
}

func (o *options) run() run.Options {
	return run.Options{
		Runner: o.Runner, Audit: o.Audit, Runs: o.Runs, Always: o.Always, Results: o.Results, Values: o.Values, Learned: o.Learned,
		Vault: o.Vault, Redact: o.Redact, Quota: o.Quota, Refuse: o.Refuse,
		Called: o.called(), Observer: o.Observer, Policy: o.policies(), Rules: o.Policy, Profile: o.profile, Narrowed: o.narrowed, Mode: o.Mode, AutoThreshold: o.AutoThreshold, CountTokens: o.CountTokens, ReadOnly: o.ReadOnly,
		DisableReadHints: o.DisableReadHints, Typecheck: o.Typecheck, TypecheckStrict: o.TypecheckStrict,
		Languages: o.Languages, UnavailableLanguages: o.UnavailableLanguages, Isolations: o.Isolations, Language: o.Language,
		Timeout: o.Timeout, MaxTimeout: o.MaxTimeout, MaxOutputChars: o.MaxOutputChars, Limits: o.Limits,
	}
}

func (o *options) find() find.Options {
	f := find.Options{Mode: o.Mode, SearchWait: o.SearchWait, ReadOnly: o.ReadOnly}
	if on := o.LearnSearches; on == nil || *on {
		f.Usage, f.LearnAll = o.Usage, on != nil
	}
	return f
}

// called returns the function that learns which tools executions have called, or nil.
func (o *options) called() func(owner, session string, tools []string) {
	f := o.find()
	if f.Usage == nil {
		return nil
	}
	return func(owner, session string, tools []string) {
		if owner == "" || f.LearnAll {
			f.Usage.Called(usage.Who{Owner: owner, Session: session}, tools)
		}
	}
}

// scripts are the saved ones.
func (o *options) scripts() script.Store {
	st := script.Store{Dir: o.SavedScripts}
	if o.Documents != nil {
		st.Shared = script.NewShared(o.Documents(script.Kind))
	}
	return st
}

// workflows are the sessions of workflows.
func (o *options) workflows() state.Documents {
	if o.Documents != nil {
		return o.Documents(skill.KindWorkflows)
	}
	return o.Workflows
}

func (o *options) skill() skill.Options {
	scripts := o.Scripts
	if scripts.Environ == nil {
		scripts.Environ = o.Environ
	}
	return skill.Options{
		Registry: o.Skills, Commands: o.Commands, Budget: o.SkillBudget, Dir: o.SkillsDir, Python: slices.Contains(o.Languages, sandbox.Python),
		Audit: o.Audit, Mode: o.Mode, ReadOnly: o.ReadOnly,
		Scripts: scripts, ScriptSandbox: o.ScriptSandbox, MemoryBytes: o.Limits.MemoryBytes,
		Workflows: o.workflows(), Documents: o.Documents, Room: o.storage, DisableForms: o.DisableForms, Host: o.WorkflowHost,
	}
}
