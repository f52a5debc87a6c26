package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/term"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/audit"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/learned"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/internal/results"
	"github.com/mcpbroker/mcpbroker/internal/typecheck"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// A session is a broker with what it stands on.
type session struct {
	config  *config.Config
	state   string
	broker  *broker.Broker
	audit   *audit.Store
	learned *learned.Store
	runner  sandbox.Runner // the broker's

	unvectored error // why the search goes without the table of the config
	// noPython is why Python does not run; nil if it does.
	noPython error
}

// close ends the servers and the sandbox, then what they write to.
func (s *session) close() error {
	return errors.Join(s.broker.Close(), s.learned.Close(), s.audit.Close())
}

// notice tells models what is missing.
func (s *session) notice() {
	if s.unvectored != nil {
		s.broker.SetNotice("the search goes without its table of word vectors: " + oneLine(s.unvectored.Error(), 300))
	}
}

// load reads the config file, takes the servers of plugins in and says what is odd in it.
func (a *app) load() (*config.Config, error) {
	path, err := config.Find(a.configPath)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	a.overrule(cfg)
	cfg = withPlugins(cfg)
	for _, n := range cfg.Notes {
		fmt.Fprintln(a.stderr, n)
	}
	return cfg, nil
}

// open reads the config and makes a broker of it. spares is the number of
// sandboxes kept ready; negative means none.
func (a *app) open(spares int) (*session, error) {
	s, err := a.openAnyway(spares)
	if err == nil && s.unvectored != nil {
		err = s.unvectored
		_ = s.close() // nothing has run
		return nil, err
	}
	return s, err
}

// openAnyway is open for commands that do not need the table of word vectors,
// and go on without it.
func (a *app) openAnyway(spares int) (*session, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	noPython := python()
	if err := runnable(cfg, noPython); err != nil {
		return nil, err
	}
	state, err := config.StateDir(a.stateDir, cfg.Path)
	if err != nil {
		return nil, err
	}
	vectors, unvectored := loadVectors(cmp.Or(a.vectors, cfg.Resolve(cfg.Broker.Search.Vectors)))
	log := a.logger()
	store, err := openAudit(state, cfg, log)
	if err != nil {
		return nil, err
	}
	o := a.options(cfg)
	o.Vectors = vectors
	o.Runner = runner(cfg.Broker.WithDefaults().Sandbox, spares, log)
	o.ScriptSandbox = docker.NewCommands(&docker.Options{MemoryBytes: cfg.Broker.Sandbox.Memory, Logger: log})
	o.Audit, o.CacheDir, o.Expand, o.Logger, o.Version = store, filepath.Join(state, "catalogue"), expand, log, version
	o.Guard = true
	o.Languages = []sandbox.Language{sandbox.TypeScript, sandbox.JavaScript}
	if noPython == nil {
		o.Languages = append(o.Languages, sandbox.Python)
	} else {
		o.NoPython = noPython.Error()
	}
	o.WorkflowDir = filepath.Join(state, "workflows")
	o.SkillCacheDir = skillCacheDir(state)
	if dir := cfg.Broker.Skills.SessionDir; dir != "" {
		o.WorkflowDir = homeOf(cfg).resolve(dir)
	}
	o.OAuth = signer(oauth.New(state, &oauth.Options{Keyring: keyring(), Logger: log}))
	types := learned.Open(state, log)
	o.Learned, o.Results = types, results.Open(filepath.Join(state, "results"), nil)
	b, err := broker.New(o)
	if err != nil {
		return nil, err
	}
	return &session{cfg, state, b, store, types, o.Runner, unvectored, noPython}, nil
}

// runnable refuses settings that this program cannot follow: a default language
// that never runs would only show at the first script. noPython is as in session.
func runnable(cfg *config.Config, noPython error) error {
	if cfg.Broker.Language == string(sandbox.Python) && noPython != nil {
		return usage(`%s: "language" is "python", which does not run here: %w`, cfg.Path, noPython)
	}
	return nil
}

// lookForEngine is how long the start waits for a container engine to say
// whether Python can run.
const lookForEngine = time.Second

// python says why Python does not run, and what to do about it; nil if it does.
// It is asked at every start, because what clients are shown depends on it, and
// takes a few milliseconds where an engine answers.
func python() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), lookForEngine, fmt.Errorf("no answer within %v", lookForEngine))
	defer cancel()
	m, err := docker.NewManager(ctx, "")
	if err == nil {
		err = m.HasPython(ctx, "")
		m.Close()
	}
	switch {
	case errors.Is(err, docker.ErrNoEngine):
		return errors.New("it needs a container engine, and none answers: start Docker or Podman, then run: broker sandbox build python")
	case errors.Is(err, docker.ErrNoImage):
		return errors.New("its image is missing, run: broker sandbox build python")
	case err != nil:
		return fmt.Errorf("the container engine does not work: %w", err)
	}
	return nil
}

// options are the settings that the config file holds, and the flags that
// overrule them.
func (a *app) options(cfg *config.Config) broker.Options {
	set := cfg.Broker.WithDefaults()
	return broker.Options{
		Typecheck:       typechecker(cfg, a.logger()),
		TypecheckStrict: set.Typecheck == "strict",

		Skills:      homeOf(cfg).registry(),
		Commands:    pluginCommands(cfg),
		SkillBudget: cfg.Broker.Skills.CatalogBudget,
		Scripts:     scriptsOf(cfg),

		EnforceAllowedTools: cfg.Broker.Skills.EnforceAllowedTools,
		NoForms:             set.Skills.Forms != nil && !*set.Skills.Forms,
		WorkflowHost: workflow.Host{
			Name: set.Skills.Host, Tools: set.Skills.HostTools, Subagent: set.Skills.Subagent,
		},

		Servers:        upstreams(cfg),
		Unlearned:      unlearned(cfg),
		UnnotedReads:   !*set.NotedReads,
		Mode:           broker.Mode(cmp.Or(a.mode, set.Mode)),
		AutoThreshold:  set.AutoThreshold,
		ReadOnly:       set.ReadOnly || a.readOnly,
		Language:       sandbox.Language(set.Language),
		Timeout:        set.Timeout,
		MaxTimeout:     set.MaxTimeout,
		MaxOutputChars: set.MaxOutputChars,
		Limits:         limits(set.Sandbox),
	}
}

// typechecker is the compiler that scripts are checked with, or nil.
func typechecker(cfg *config.Config, log *slog.Logger) *typecheck.Checker {
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

// unlearned are the servers of whose results nothing shall be learned.
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

func openAudit(state string, cfg *config.Config, log *slog.Logger) (*audit.Store, error) {
	set := cfg.Broker.WithDefaults()
	store, err := audit.Open(state, &audit.Options{Payloads: set.Audit.Payloads, Days: set.Audit.Days, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("%w\nhint: --state-dir names another directory", err)
	}
	return store, nil
}

// limits are those of every script; its time is the broker's to set.
func limits(s config.Sandbox) sandbox.Limits {
	return sandbox.Limits{
		MemoryBytes: s.Memory, CodeBytes: int(s.MaxCode), ResultBytes: int(s.MaxResult), OutputBytes: s.MaxOutput,
		Calls: s.MaxCalls, InFlight: s.InFlight,
	}
}

// runner is where scripts run, so many at one time: in a process of their own, unless the config
// says that they are trusted, or asks for containers. Python always runs in a container.
func runner(s config.Sandbox, spares int, log *slog.Logger) sandbox.Runner {
	containers := docker.Options{Spares: spares, MemoryBytes: s.Memory, Require: s.Require, Logger: log}
	var r sandbox.Runner
	switch s.Isolation {
	case "inprocess":
		r = inproc.New()
	case "container":
		r = docker.New(&containers)
	default:
		r = worker.New(&worker.Options{Spares: spares, MemoryBytes: s.Memory, Require: s.Require, Logger: log})
	}
	r = sandbox.ByLanguage(r, map[sandbox.Language]sandbox.Runner{sandbox.Python: docker.NewPython(&containers)})
	return sandbox.NewQueue(r, s.MaxExecutions)
}

// upstreams are the enabled servers of a config as the upstream layer knows
// them.
func upstreams(cfg *config.Config) []upstream.Config {
	var list []upstream.Config
	for _, s := range cfg.Servers {
		if s.Disabled {
			continue
		}
		list = append(list, upstream.Config{
			Name: s.Name, Description: s.Description,
			Command: s.Command, Args: s.Args, Env: s.Env, Dir: cfg.Resolve(s.Dir),
			URL: s.URL, Headers: s.Headers, Type: s.Type,
			OAuth: upstreamOAuth(s.OAuth), Allow: s.Allow, Deny: s.Deny,
			KeepAlive: s.KeepAlive, IdleTimeout: s.IdleTimeout, StartTimeout: s.StartTimeout, CallTimeout: s.CallTimeout, MaxInFlight: s.InFlight,
		})
	}
	return list
}

// logger writes to stderr: everything with --verbose, else what went wrong.
func (a *app) logger() *slog.Logger {
	level := slog.LevelError
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
}

// printJSON prints v as indented JSON, without the escapes of HTML.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// onTerminal reports whether w is a terminal, where progress may be shown.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
