package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/accounts"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/internal/tokens"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
	"github.com/mcpbroker/mcpbroker/state"
)

// An App is a broker with all that it is made of.
type App struct {
	Config    *config.Config
	Project   *Project // of the working folder; may be nil
	Dir       string
	State     *application.State
	Root      *broker.Broker // of all that is configured
	Bound     *broker.Broker // of what this process may ever see
	Broker    *broker.Broker // of what it sees
	Audit     state.AuditStore
	Runs      state.RunStore
	Pins      *pins.Store
	learned   *learned.Store
	Folder    *atomic.Pointer[string] // what ${workspaceFolder} stands for where no client says it
	Placement *Placement
	Places    *sandbox.Places // what the broker's runner runs in
	Runner    sandbox.Runner  // the queue before them

	quotas   *quota.Limiter
	Accounts *accounts.Service             // nil without people
	live     atomic.Pointer[config.Config] // the config in force

	Telemetry *telemetry.Telemetry // may be nil
	// deps returns the parts of a broker for a config.
	deps func(*config.Config, config.Sources) broker.Deps
}

// Close ends the servers and the sandbox, then what they write to.
func (s *App) Close() error {
	return errors.Join(s.Root.Close(), s.quotas.Close(), s.Telemetry.Close(), s.learned.Close(), s.Runs.Close(), s.Audit.Close(), s.State.Close())
}

// SetNotice tells models what is missing.
func (s *App) SetNotice() {
	var notices []string
	if n := s.Project.Notice(s.Config); n != "" {
		notices = append(notices, cli.OneLine(n, 500))
	}
	if len(notices) > 0 {
		s.Root.SetNotice(strings.Join(notices, "; "))
	}
}

// load reads the config file and prints its notes. It connects to nothing, and leaves out
// the servers of plugins: see loadServers.
func (a *app) load() (*config.Config, error) {
	if err := a.checkSkillsPath(false); err != nil {
		return nil, err
	}
	path, err := config.Find(a.configPath)
	if err != nil {
		return nil, err
	}
	cfg, err := loadConfig(path)
	if err != nil {
		return nil, err
	}
	a.overrule(cfg)
	for _, n := range cfg.Notes {
		cli.Fprintln(a.Err, n)
	}
	return cfg, nil
}

// managedPath is where the policy of who manages this computer is.
var managedPath = config.ManagedPath()

// loadConfig reads a config file, and the managed policy above it.
func loadConfig(path string) (*config.Config, error) {
	cfg, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	cfg.Managed, err = config.LoadPolicy(managedPath)
	return cfg, err
}

// rules are the policy that a broker is to follow; none for commands that look at
// it from outside.
func (a *app) rules(cfg *config.Config) *policy.Rules {
	if a.unruled {
		return nil
	}
	return cfg.Rules()
}

// loadWithState reads the config file and names its state directory.
func (a *app) loadWithState() (*config.Config, string, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, "", err
	}
	dir, err := a.stateOf(cfg.Path)
	return cfg, dir, err
}

// open reads the config and makes a broker of it. spares is the number of
// sandboxes kept ready; negative means none.
func (a *app) open(spares int) (_ *App, err error) {
	// If an error occurs, everything that was opened is closed here.
	var opened []func() error
	defer func() {
		for _, closes := range slices.Backward(opened) {
			if err == nil {
				return
			}
			if e := closes(); e != nil {
				err = errors.Join(err, e)
			}
		}
	}()
	cfg, kept, err := a.loadState()
	if err != nil {
		return nil, err
	}
	opened = append(opened, kept.Close)
	dir := kept.Dir
	if err := a.checkProfile(cfg); err != nil {
		return nil, err
	}
	project, err := a.readProject(dir)
	if err != nil {
		return nil, err
	}
	cfg = project.Join(cfg)
	for _, n := range project.Warnings(cfg) {
		cli.Fprintln(a.Err, n)
	}
	where := NewPlacement(cfg.SandboxSettings(), "")
	if err := runnable(cfg, where); err != nil {
		return nil, err
	}
	log := a.logger()
	store, err := openAudit(kept, cfg)
	if err != nil {
		return nil, err
	}
	opened = append(opened, store.Close)
	places := where.Runners(spares, log)
	runner := sandbox.NewQueue(places, where.Settings.MaxExecutions)
	commands := docker.NewCommands(&docker.Options{Engine: EngineAddress(cfg.SandboxSettings()), MemoryBytes: cfg.Broker.Sandbox.Memory, Logger: log})
	opened = append(opened, runner.Close, commands.Close)
	folder := &atomic.Pointer[string]{}
	folder.Store(new(""))
	if dir, err := os.Getwd(); err == nil && !a.nowhere {
		folder.Store(new(ProjectFolder(dir)))
	}
	s := new(App) // measured from when it is complete
	seen, err := a.observed(cfg, s)
	if err != nil {
		return nil, err
	}
	opened = append(opened, seen.Close)
	types, runs := learned.New(store, log), kept.Runs(state.RunOptions{Full: cfg.Broker.Durability == "full"})
	limiter := quota.New(quotaRules(cfg), kept.Buckets(), log)
	opened = append(opened, types.Close, runs.Close, limiter.Close)
	vault := kept.Vault()
	if seen != nil {
		vault.Count = seen.Redacted
	}
	deps := func(cfg *config.Config, from config.Sources) broker.Deps {
		d := broker.Deps{
			CountTokens: tokens.Count,
			Runner:      runner, ScriptSandbox: commands, SavedScripts: SavedScripts(cfg),
			Audit: store, CacheDir: CatalogueDir(dir), Expand: from.Expand, Logger: log, Version: version,
			Folder: func() string { return *folder.Load() },
			Guard:  true, PackageDir: dir, Warn: a.warn,
			Isolations:    where.Isolations(),
			Pins:          a.pinStore(cfg, kept, NoteChanges(store)),
			SkillCacheDir: SkillCacheDir(dir), IndexDir: IndexDir(dir),
			Workflows: kept.Workflows(NewHome(cfg, kept.Switchboard(SwitchFile(cfg))).Resolve(cmp.Or(cfg.Broker.Skills.SessionDir, filepath.Join(dir, "workflows")))),
			Documents: kept.Shared, Requests: kept.Requests(),
			OAuth:   identity.Signer(kept.SignIns(), from.Expand),
			Learned: types, Results: kept.Results(), Values: kept.Values(), Runs: runs,
			Always: func(tools []string) error { return AllowAlways(cfg.Path, tools) },
			Vault:  vault, Quota: limiter, Refuse: kept.Refuse(store, cfg.Broker.StateFailure == "refuse"),
		}
		d.Listings, d.Lists = kept.ServerListings(), kept.Lists
		d.Languages, d.UnavailableLanguages = where.Languages()
		if seen != nil {
			d.Observer, d.Observe = seen, seen.Middleware
		}
		return d
	}
	d := deps(cfg, a.variables.sources())
	people, err := a.openAccounts(cfg, s, kept, d.OAuth, store.Note)
	if err != nil {
		return nil, err
	}
	if people != nil {
		d.People, d.PersonalProcesses = people, cfg.Broker.PersonalProcesses
	}
	pinned := a.pinStore(cfg, kept, NoteChanges(store))
	d.Pins = pinned
	b, err := broker.New(d, a.brokerSettings(NewHome(cfg, kept.Switchboard(SwitchFile(cfg)))))
	if err != nil {
		return nil, err
	}
	s.Telemetry, s.Config, s.Project, s.Dir, s.State = seen, cfg, project, dir, kept
	s.Root, s.Audit, s.Runs, s.Pins, s.learned = b, store, runs, pinned, types
	s.Folder, s.deps, s.Placement, s.Places = folder, deps, where, places
	s.Accounts, s.quotas, s.Runner = people, limiter, runner
	s.live.Store(cfg)
	s.see(a)
	store.Note(configEvent(cfg))
	return s, nil
}

// configEvent says which config, and which managed policy, are in force.
func configEvent(cfg *config.Config) state.Event {
	h := sha256.New()
	for _, path := range []string{cfg.Path, managedPath} {
		text, _ := os.ReadFile(path) // what cannot be read has an empty digest
		sum := sha256.Sum256(text)
		h.Write(sum[:])
	}
	return state.Event{Kind: state.EventConfig, Name: cfg.Path, Digest: hex.EncodeToString(h.Sum(nil)), Detail: cli.Count(len(cfg.Servers), "server") + ", the config or the managed policy has changed"}
}

// CatalogueDir returns the folder of a state directory with the listings and failures
// of servers.
func CatalogueDir(state string) string { return filepath.Join(state, "catalogue") }

// IndexDir is where search indexes are kept in a state directory.
func IndexDir(state string) string { return filepath.Join(state, "index") }

// runnable refuses settings that this program cannot follow: a default language
// that never runs would only show at the first script.
func runnable(cfg *config.Config, where *Placement) error {
	if err := where.Unavailable(sandbox.Python); err != nil && cfg.Broker.Language == string(sandbox.Python) {
		return cli.Usagef(`%s: "language" is "python", which does not run here: %w`, cfg.Path, err)
	}
	return nil
}

// requireLanguage refuses to go on when no script could run that names no language.
func (s *App) requireLanguage() error {
	language := s.Config.Broker.WithDefaults().Language
	if err := s.Placement.Unavailable(sandbox.Language(language)); err != nil {
		return cli.Usagef("%s: %s does not run here: %w", s.Config.Path, language, err)
	}
	return nil
}

// brokerSettings returns the settings in the config file, and the flags that overrule them.
func (a *app) brokerSettings(home *Home) broker.Settings {
	cfg := home.Config
	set := cfg.Broker.WithDefaults()
	var wait time.Duration // the default
	if w := set.Search.Wait; w != nil {
		wait = cmp.Or(*w, -1)
	}
	return broker.Settings{
		Typecheck:           Typechecker(cfg, a.logger()),
		TypecheckStrict:     set.Typecheck == "strict",
		Skills:              home.Registry(),
		Commands:            pluginCommands(home),
		SkillBudget:         cfg.Broker.Skills.CatalogBudget,
		SkillsDir:           cfg.Broker.Skills.ContainerPath,
		Scripts:             SkillScripts(home),
		Redact:              vault.Settings{Secrets: *set.Redact.Secrets, Personal: set.Redact.Personal, Reveal: set.Redact.Patterns()},
		EnforceAllowedTools: cfg.Broker.Skills.EnforceAllowedTools,
		WorkflowHost:        workflow.Host{Name: cfg.Broker.Skills.Host, Tools: cfg.Broker.Skills.HostTools, Subagent: cfg.Broker.Skills.Subagent},
		DisableForms:        set.Skills.Forms != nil && !*set.Skills.Forms,
		Servers:             Upstreams(cfg),
		Disabled:            Disabled(cfg),
		DisabledServers:     upstreamsWhere(cfg, true),
		SkipLearning:        unlearned(cfg),
		DisableReadHints:    !*set.NotedReads,
		Mode:                broker.Mode(cmp.Or(a.mode, set.Mode)),
		AutoThreshold:       set.AutoThreshold,
		SearchWait:          wait,
		ReadOnly:            set.ReadOnly || a.readOnly,
		Tools:               ToolLists(cfg),
		Policy:              a.rules(cfg),
		Overrides:           ToolOverrides(cfg),
		Profiles:            policyProfiles(cfg),
		Language:            sandbox.Language(set.Language),
		Timeout:             set.Timeout,
		MaxTimeout:          set.MaxTimeout,
		MaxOutputChars:      set.MaxOutputChars,
		Limits:              scriptLimits(set.Sandbox),
	}
}

// Typechecker is the compiler that scripts are checked with, or nil.
func Typechecker(cfg *config.Config, log *slog.Logger) *typecheck.Checker {
	o := typecheck.Options{Dirs: []string{filepath.Dir(cfg.Path)}, Logger: log}
	switch set := cfg.Broker.WithDefaults().Typecheck; set {
	case "off":
		return nil
	case "auto", "strict":
	default:
		o.Compiler = cfg.Resolve(set)
	}
	return typecheck.New(o)
}

// unlearned returns the servers that are excluded from learning.
func unlearned(cfg *config.Config) map[string]bool {
	names := map[string]bool{}
	for _, s := range cfg.Servers {
		learn := cfg.Broker.WithDefaults().Learn
		if s.Learn != nil {
			learn = s.Learn
		}
		if !*learn {
			names[s.Name] = true
		}
	}
	return names
}

func openAudit(in *application.State, cfg *config.Config) (state.AuditStore, error) {
	set := cfg.Broker.WithDefaults()
	store, err := in.Audit(context.Background(), state.AuditOptions{Keep: state.Keep{Code: *set.Audit.Code, Payloads: set.Audit.Payloads},
		Days: set.Audit.Days, MaxBytes: set.Audit.MaxSize, Anchor: cfg.Resolve(set.Audit.Anchor)})
	if err != nil {
		return nil, cli.Errorf("%w\nhint: --state-dir names another directory", err)
	}
	return store, nil
}

// scriptLimits are those of every script; its time is the broker's to set.
func scriptLimits(s config.Sandbox) sandbox.Limits {
	return sandbox.Limits{
		MemoryBytes: s.Memory, CodeBytes: int(s.MaxCode), ResultBytes: int(s.MaxResult), OutputBytes: s.MaxOutput,
		Calls: s.MaxCalls, InFlight: s.InFlight,
	}
}

// Upstreams are the enabled servers of a config as the upstream layer knows
// them.
func Upstreams(cfg *config.Config) []upstream.Config { return upstreamsWhere(cfg, false) }

// upstreamsWhere returns the enabled servers, or the disabled ones.
func upstreamsWhere(cfg *config.Config, disabled bool) []upstream.Config {
	var list []upstream.Config
	for _, s := range cfg.Servers {
		if s.Disabled != disabled {
			continue
		}
		list = append(list, upstream.Config{
			Name: s.Name, Scope: s.File, Description: s.Description,
			Command: s.Command, Args: s.Args, Env: s.Env, Dir: cfg.Resolve(s.Dir),
			AsWritten: s.Direct != nil && !*s.Direct, Permit: s.Permit,
			URL: s.URL, Headers: s.Headers, Type: s.Type,
			Credentials: upstream.Credentials(s.Credentials),
			OAuth:       identity.Upstream(s.OAuth),
			KeepAlive:   s.KeepAlive, IdleTimeout: s.IdleTimeout, StartTimeout: s.StartTimeout, CallTimeout: s.CallTimeout, MaxInFlight: s.InFlight,
			Instances: sharing.Kind(s.Instances),
		})
	}
	return list
}

// Disabled returns the names of the disabled servers of a config.
func Disabled(cfg *config.Config) (names []string) {
	for _, s := range cfg.Servers {
		if s.Disabled {
			names = append(names, s.Name)
		}
	}
	return names
}

// ToolLists are the "tools" of the servers of a config.
func ToolLists(cfg *config.Config) policy.ToolLists {
	lists := make(policy.ToolLists)
	for _, s := range cfg.Servers {
		if len(s.Allow)+len(s.Deny) > 0 {
			lists[s.Name] = policy.ToolList{Allow: s.Allow, Deny: s.Deny}
		}
	}
	return lists
}

// ToolOverrides are how a config changes the tools of its servers.
func ToolOverrides(cfg *config.Config) map[string]discovery.Overrides {
	all := make(map[string]discovery.Overrides)
	for _, s := range cfg.Servers {
		for name, o := range s.Overrides {
			if all[s.Name] == nil {
				all[s.Name] = make(discovery.Overrides)
			}
			all[s.Name][name] = discovery.Override(o)
		}
	}
	return all
}

// logger writes to stderr: everything with --verbose, else what went wrong.
func (a *app) logger() *slog.Logger {
	level := slog.LevelError
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: level}))
}
