package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/internal/accounts"
	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/app/observe"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/internal/tokens"
	"github.com/mcpbroker/mcpbroker/internal/words"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
	"github.com/mcpbroker/mcpbroker/state"
)

// OpenOptions say what an App is made from and what it is for.
type OpenOptions struct {
	Setup
	Overrides
	// Servers resolve the references of servers; by default they are those of Process.
	Servers config.Sources
	// Profile binds the App to a profile of the config; it may be empty.
	Profile string
	// Spares is the number of sandboxes kept ready; if it is negative, scripts may run
	// in every place, each of which starts when it is used.
	Spares int
	// HTTPAddr is where it serves over HTTP; empty for other Apps.
	HTTPAddr string
	// Metrics is the address of the page for Prometheus instead of the config's, or empty.
	Metrics string
	// IgnoreProject is set if the working folder is not that of a client.
	IgnoreProject bool
	// AllProfiles is set for what is about everything that is configured, whatever the
	// project and the profile.
	AllProfiles bool
	// Warn reports what in the config has no effect; it may be nil.
	Warn func(problem string)
}

// An App is a broker with all that a config describes. It must be closed.
type App struct {
	Config  *config.Config // that it was opened with
	Project *Project       // of the working folder; may be nil
	State   *State
	Root    *broker.Broker // of all that is configured
	Bound   *broker.Broker // of what this process may ever see
	Broker  *broker.Broker // of what it sees
	Audit   state.AuditStore
	Runs    state.RunStore
	Pins    *pins.Store
	// Folder is what ${workspaceFolder} means where no client says it; it may be empty.
	Folder    *atomic.Pointer[string]
	Placement *Placement
	Places    *sandbox.Places      // where the broker's runner runs scripts
	Accounts  *accounts.Service    // nil without people
	Telemetry *telemetry.Telemetry // may be nil

	options OpenOptions
	learned learning
	runner  sandbox.Runner // the queue before Places
	quotas  *quota.Limiter
	live    atomic.Pointer[config.Config] // the config in force
	// deps returns the parts of a broker for a config.
	deps func(*config.Config, config.Sources) broker.Deps
}

// Open reads the config and makes an App of it. If an error occurs, it closes everything
// that it has opened.
func Open(ctx context.Context, o OpenOptions) (_ *App, err error) {
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
	if o.Servers.Env == nil {
		o.Servers = o.Sources
	}
	s := &App{options: o} // measured from when it is complete
	cfg, st, err := o.LoadState(ctx)
	if err != nil {
		return nil, err
	}
	opened = append(opened, st.Close)
	s.State = st
	if cfg, err = s.readProject(cfg); err != nil {
		return nil, err
	}
	s.Config = cfg
	s.Placement = NewPlacement(cfg.SandboxSettings(), "")
	if err := runnable(cfg, s.Placement); err != nil {
		return nil, err
	}
	if s.Audit, err = st.OpenAudit(ctx, cfg); err != nil {
		return nil, err
	}
	opened = append(opened, s.Audit.Close)
	commands := s.openSandboxes()
	opened = append(opened, s.runner.Close, commands.Close)
	s.Folder = workingFolder(o.IgnoreProject)
	if err := s.openTelemetry(); err != nil {
		return nil, err
	}
	opened = append(opened, s.Telemetry.Close)
	s.learned, s.Runs = newLearning(s.Audit, cfg, o.Logger), st.Runs(state.RunOptions{Full: cfg.Broker.Durability == "full"})
	s.quotas = quota.New(quotaRules(cfg), st.Buckets(), o.Logger)
	opened = append(opened, s.learned.close, s.Runs.Close, s.quotas.Close)
	s.deps = s.dependencies(commands)
	d := s.deps(cfg, o.Servers)
	if s.Accounts, err = s.openAccounts(d.OAuth); err != nil {
		return nil, err
	}
	if s.Accounts != nil {
		d.People, d.PersonalProcesses = s.Accounts, cfg.Broker.PersonalProcesses
	}
	s.Pins = st.PinStore(cfg, o.Overrides, NoteChanges(s.Audit))
	d.Pins = s.Pins
	if s.Root, err = broker.New(d, o.Settings(s.Home(cfg), o.Logger)); err != nil {
		return nil, err
	}
	s.live.Store(cfg)
	s.see()
	s.Audit.Note(configEvent(cfg, o.ManagedPath))
	return s, nil
}

// readProject checks the profile and returns the config with what the project of the
// working folder adds, whose warnings it prints.
func (s *App) readProject(cfg *config.Config) (*config.Config, error) {
	o := s.options
	if !o.AllProfiles {
		if err := CheckProfile(cfg, o.Profile); err != nil {
			return nil, err
		}
	}
	p, err := o.ReadProject(s.State.Dir)
	if err != nil {
		return nil, err
	}
	s.Project, cfg = p, p.Join(cfg)
	for _, n := range p.Warnings(cfg) {
		o.Print(n)
	}
	return cfg, nil
}

// ReadProject reads what the project of the working folder says; the Project is nil if
// there is none. state is the state directory.
func (o *OpenOptions) ReadProject(state string) (*Project, error) {
	dir, err := os.Getwd()
	if err != nil || o.AllProfiles || o.IgnoreProject {
		dir = ""
	}
	p, err := OpenProject(ProjectPath(dir), state)
	if p != nil {
		p.Bound = o.Profile
	}
	return p, err
}

// CheckProfile refuses a profile that does not exist, since its user wants no more than it
// contains. An empty name is the default profile of the config.
func CheckProfile(cfg *config.Config, name string) error {
	name = cmp.Or(name, cfg.Broker.Profile)
	if _, ok := cfg.Broker.Profiles[name]; ok || name == "" {
		return nil
	}
	return Usagef("broker profiles list", "there is no profile %q in %s%s", name, cfg.Path, cfg.Broker.NearProfile(name))
}

// runnable refuses settings that this program cannot follow: a default language
// that never runs would only show at the first script.
func runnable(cfg *config.Config, where *Placement) error {
	if err := where.Unavailable(sandbox.Python); err != nil && cfg.Broker.Language == string(sandbox.Python) {
		return Usagef("", `%s: "language" is "python", which does not run here: %w`, cfg.Path, err)
	}
	return nil
}

// openSandboxes opens what runs scripts, and returns what runs the commands of skills.
func (s *App) openSandboxes() (commands sandbox.Commander) {
	o, set := s.options, s.Config.SandboxSettings()
	s.Places = s.Placement.Runners(o.Version, o.Spares, o.Logger)
	s.runner = sandbox.NewQueue(s.Places, s.Placement.Settings.MaxExecutions)
	return docker.NewCommands(&docker.Options{Engine: EngineAddress(set), MemoryBytes: s.Config.Broker.Sandbox.Memory, Logger: o.Logger})
}

// workingFolder returns the working directory of this process. The string is empty if ignore
// is set, or if ProjectFolder excludes the directory.
func workingFolder(ignore bool) *atomic.Pointer[string] {
	folder := &atomic.Pointer[string]{}
	folder.Store(new(""))
	if dir, err := os.Getwd(); err == nil && !ignore {
		folder.Store(new(ProjectFolder(dir)))
	}
	return folder
}

// dependencies returns a function that returns the parts of a broker for a config.
func (s *App) dependencies(commands sandbox.Commander) func(*config.Config, config.Sources) broker.Deps {
	o, st, dir := s.options, s.State, s.State.Dir
	vault := st.Vault()
	if s.Telemetry != nil {
		vault.Count = s.Telemetry.Redacted
	}
	return func(cfg *config.Config, from config.Sources) broker.Deps {
		d := broker.Deps{
			CountTokens: tokens.Count,
			Runner:      s.runner, ScriptSandbox: commands, SavedScripts: SavedScripts(cfg),
			Audit: s.Audit, CacheDir: CatalogueDir(dir), Expand: from.Expand, Logger: o.Logger, Version: o.Version,
			Folder: func() string { return *s.Folder.Load() },
			Guard:  true, PackageDir: dir, Warn: o.Warn,
			Isolations:    s.Placement.Isolations(),
			Pins:          st.PinStore(cfg, o.Overrides, NoteChanges(s.Audit)),
			SkillCacheDir: SkillCacheDir(dir), IndexDir: IndexDir(dir),
			Workflows: st.Workflows(s.Home(cfg).Resolve(cmp.Or(cfg.Broker.Skills.SessionDir, filepath.Join(dir, "workflows")))),
			Documents: st.Shared, Requests: st.Requests(),
			OAuth:   identity.Signer(st.SignIns(), from.Expand),
			Learned: s.learned.types, Usage: s.learned.uses, Results: st.Results(), Values: st.Values(), Runs: s.Runs,
			Always: func(tools []string) error { return AllowAlways(cfg.Path, tools) },
			Vault:  vault, Quota: s.quotas, Refuse: st.Refuse(s.Audit, cfg.Broker.StateFailure == "refuse"),
		}
		d.Listings, d.Lists = st.ServerListings(), st.Lists
		d.Languages, d.UnavailableLanguages = s.Placement.Languages()
		if s.Telemetry != nil {
			d.Observer, d.Observe = s.Telemetry, s.Telemetry.Middleware
		}
		return d
	}
}

// Close ends the servers and the sandboxes, and then closes what they write to.
func (s *App) Close() error {
	return errors.Join(s.Root.Close(), s.quotas.Close(), s.Telemetry.Close(), s.learned.close(), s.Runs.Close(), s.Audit.Close(), s.State.Close())
}

// Live returns the config in force.
func (s *App) Live() *config.Config { return s.live.Load() }

// Home returns where the skills and plugins are of a config that is in force, or may be.
func (s *App) Home(cfg *config.Config) *Home {
	return NewHome(cfg, s.State.Switchboard(SwitchFile(cfg)))
}

// see narrows what this App sees: to the chosen profile, or that of the project or of the
// config.
func (s *App) see() {
	if s.Bound, s.Broker = s.Root, s.Root; s.options.AllProfiles {
		return
	}
	s.Bound = s.Root.View(s.options.Profile)
	s.Broker = s.Project.View(s.Bound, s.Config, s.options.Profile)
}

// SetNotice tells models what is missing.
func (s *App) SetNotice() {
	if n := s.Project.Notice(s.Config); n != "" {
		s.Root.SetNotice(words.Line(n, 500))
	}
}

// Problems returns what the config says that has no effect.
func (s *App) Problems() []string {
	return append(s.Config.Broker.UnknownProfiles(), s.Root.Problems()...)
}

// openTelemetry sets up what reports on the App.
func (s *App) openTelemetry() error {
	o, cfg := &s.options, s.Config
	o.Metrics = cmp.Or(o.Metrics, cfg.Broker.Metrics)
	var err error
	s.Telemetry, err = observe.New(observe.Options{
		Config: cfg.Broker.Telemetry, Page: o.Metrics != "", Getenv: o.Getenv, Version: o.Version, Logger: o.Logger,
		Sources: func() *observe.Sources {
			if s.Root == nil {
				return nil
			}
			queue, _ := s.runner.(observe.Queue)
			return &observe.Sources{Broker: s.Root, Audit: s.Audit, Queue: queue, Runs: s.Runs, Pins: s.Pins,
				Spool: func() []telemetry.Gauge { return s.State.SpoolGauges(s.Audit) }}
		},
	})
	if wrong, ok := errors.AsType[*observe.EndpointError](err); ok {
		return Usagef("such as http://localhost:4318, where it speaks OTLP over HTTP", "%w", wrong)
	}
	return err
}

// ServeMetrics answers Prometheus until stop is called. If another broker uses the
// address, it does nothing.
func (s *App) ServeMetrics() (stop func()) {
	if s.options.Metrics == "" {
		return func() {}
	}
	at, stop, err := observe.Serve(s.options.Metrics, s.Telemetry)
	if err != nil {
		s.options.Print(fmt.Sprintf("broker: no metrics: %v", err))
		return func() {}
	}
	s.options.Print(fmt.Sprintf("broker: metrics at http://%s/metrics", at))
	return stop
}

// OpenServing is Open for an App that serves clients. It fails if that would not work, and
// warns of what in the config has no effect.
func OpenServing(ctx context.Context, o OpenOptions) (*App, error) {
	o.Warn = func(problem string) { o.Print("broker: " + problem) }
	o.Serve, o.Spares = true, 0
	s, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.CheckServing(ctx); err != nil {
		_ = s.Close() // nothing has run
		return nil, err
	}
	for _, problem := range s.Config.Broker.UnknownProfiles() {
		o.Warn(problem)
	}
	s.SetNotice()
	return s, nil
}

// Options returns the options that the App was opened with.
func (s *App) Options() *OpenOptions { return &s.options }

// Printf prints one line for the user.
func (s *App) Printf(format string, args ...any) { s.options.Print(fmt.Sprintf(format, args...)) }
