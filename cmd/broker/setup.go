package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/internal/accounts"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/internal/tokens"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
	"github.com/mcpbroker/mcpbroker/state"
)

// An App is a broker with all that it is made of.
type App struct {
	Config    *config.Config
	Project   *application.Project // of the working folder; may be nil
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
	Placement *application.Placement
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

// overrides returns what the flags of this process overrule.
func (a *app) overrides() application.Overrides {
	return application.Overrides{Mode: a.mode, ReadOnly: a.readOnly, IgnorePolicy: a.unruled}
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
	where := application.NewPlacement(cfg.SandboxSettings(), "")
	if err := runnable(cfg, where); err != nil {
		return nil, err
	}
	log := a.logger()
	store, err := openAudit(kept, cfg)
	if err != nil {
		return nil, err
	}
	opened = append(opened, store.Close)
	places := where.Runners(version, spares, log)
	runner := sandbox.NewQueue(places, where.Settings.MaxExecutions)
	commands := docker.NewCommands(&docker.Options{Engine: application.EngineAddress(cfg.SandboxSettings()), MemoryBytes: cfg.Broker.Sandbox.Memory, Logger: log})
	opened = append(opened, runner.Close, commands.Close)
	folder := &atomic.Pointer[string]{}
	folder.Store(new(""))
	if dir, err := os.Getwd(); err == nil && !a.nowhere {
		folder.Store(new(application.ProjectFolder(dir)))
	}
	s := new(App) // measured from when it is complete
	seen, err := a.observed(cfg, s)
	if err != nil {
		return nil, err
	}
	opened = append(opened, seen.Close)
	types, runs := learned.New(store, log), kept.Runs(state.RunOptions{Full: cfg.Broker.Durability == "full"})
	limiter := quota.New(application.QuotaRules(cfg), kept.Buckets(), log)
	opened = append(opened, types.Close, runs.Close, limiter.Close)
	vault := kept.Vault()
	if seen != nil {
		vault.Count = seen.Redacted
	}
	deps := func(cfg *config.Config, from config.Sources) broker.Deps {
		d := broker.Deps{
			CountTokens: tokens.Count,
			Runner:      runner, ScriptSandbox: commands, SavedScripts: application.SavedScripts(cfg),
			Audit: store, CacheDir: application.CatalogueDir(dir), Expand: from.Expand, Logger: log, Version: version,
			Folder: func() string { return *folder.Load() },
			Guard:  true, PackageDir: dir, Warn: a.warn,
			Isolations:    where.Isolations(),
			Pins:          kept.PinStore(cfg, a.overrides(), application.NoteChanges(store)),
			SkillCacheDir: application.SkillCacheDir(dir), IndexDir: application.IndexDir(dir),
			Workflows: kept.Workflows(application.NewHome(cfg, kept.Switchboard(application.SwitchFile(cfg))).Resolve(cmp.Or(cfg.Broker.Skills.SessionDir, filepath.Join(dir, "workflows")))),
			Documents: kept.Shared, Requests: kept.Requests(),
			OAuth:   identity.Signer(kept.SignIns(), from.Expand),
			Learned: types, Results: kept.Results(), Values: kept.Values(), Runs: runs,
			Always: func(tools []string) error { return application.AllowAlways(cfg.Path, tools) },
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
	pinned := kept.PinStore(cfg, a.overrides(), application.NoteChanges(store))
	d.Pins = pinned
	b, err := broker.New(d, a.overrides().Settings(application.NewHome(cfg, kept.Switchboard(application.SwitchFile(cfg))), log))
	if err != nil {
		return nil, err
	}
	s.Telemetry, s.Config, s.Project, s.Dir, s.State = seen, cfg, project, dir, kept
	s.Root, s.Audit, s.Runs, s.Pins, s.learned = b, store, runs, pinned, types
	s.Folder, s.deps, s.Placement, s.Places = folder, deps, where, places
	s.Accounts, s.quotas, s.Runner = people, limiter, runner
	s.live.Store(cfg)
	s.see(a)
	store.Note(application.ConfigEvent(cfg, managedPath))
	return s, nil
}

// runnable refuses settings that this program cannot follow: a default language
// that never runs would only show at the first script.
func runnable(cfg *config.Config, where *application.Placement) error {
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

func openAudit(in *application.State, cfg *config.Config) (state.AuditStore, error) {
	set := cfg.Broker.WithDefaults()
	store, err := in.Audit(context.Background(), state.AuditOptions{Keep: state.Keep{Code: *set.Audit.Code, Payloads: set.Audit.Payloads},
		Days: set.Audit.Days, MaxBytes: set.Audit.MaxSize, Anchor: cfg.Resolve(set.Audit.Anchor)})
	if err != nil {
		return nil, cli.Errorf("%w\nhint: --state-dir names another directory", err)
	}
	return store, nil
}

// logger writes to stderr: everything with --verbose, else what went wrong.
func (a *app) logger() *slog.Logger {
	level := slog.LevelError
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: level}))
}
