package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Process is what an application draws on of the process that it runs in.
type Process struct {
	// Version is that of the program.
	Version string
	// Sources resolve the references of a config.
	Sources config.Sources
	// LookupEnv reads the environment, and Environ returns all of it.
	LookupEnv func(name string) (string, bool)
	Environ   func() []string
	// Keyring keeps secrets.
	Keyring func() oauth.Keyring
	// Print prints one line for the user. What could steer a terminal is replaced.
	Print func(line string)
	// Logger must not be nil.
	Logger *slog.Logger
}

// Getenv returns a variable of the environment, or "".
func (p *Process) Getenv(name string) string {
	value, _ := p.LookupEnv(name)
	return value
}

// printLines prints a text of the broker that may have several lines.
func (p *Process) printLines(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		p.Print(line)
	}
}

// Build identifies the program of this process.
func (p *Process) Build() (daemon.Build, error) {
	path, err := os.Executable()
	if err != nil {
		return daemon.Build{}, err
	}
	return daemon.BuildOf(path, p.Version)
}

// A Setup is where a config, its state and its skills are, for one process.
type Setup struct {
	Process
	// ConfigPath and StateDir are empty for the default ones.
	ConfigPath, StateDir string
	// ManagedPath is the policy above that of the config.
	ManagedPath string
	// SkillsPath is the folder of skills instead of the config's, or empty.
	SkillsPath string
	// Serve is set if the process serves, and so hears of other brokers on its database.
	Serve bool
}

// Load reads the config and prints its notes. It connects to nothing, and leaves out the
// servers of plugins: see LoadServers.
func (s *Setup) Load() (*config.Config, error) {
	if err := s.checkSkillsPath(false); err != nil {
		return nil, err
	}
	path, err := config.Find(s.ConfigPath)
	if err != nil {
		return nil, err
	}
	cfg, err := s.LoadFile(path)
	if err != nil {
		return nil, err
	}
	s.overrule(cfg)
	for _, n := range cfg.Notes {
		s.Print(n)
	}
	return cfg, nil
}

// LoadFile reads a config file, and the managed policy above it.
func (s *Setup) LoadFile(path string) (*config.Config, error) {
	return LoadConfig(path, s.ManagedPath)
}

// LoadConfig reads a config file, and the managed policy above it.
func LoadConfig(path, managed string) (*config.Config, error) {
	cfg, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	cfg.Managed, err = config.LoadPolicy(managed)
	return cfg, err
}

// checkSkillsPath returns an error if SkillsPath is not a folder. install allows it not to
// exist yet.
func (s *Setup) checkSkillsPath(install bool) error {
	if s.SkillsPath == "" {
		return nil
	}
	info, err := os.Stat(s.SkillsPath)
	if err == nil && info.IsDir() || install && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return Usagef("", "--skills: %s is not a directory", s.SkillsPath)
}

// overrule replaces the folder of skills of a config by SkillsPath.
func (s *Setup) overrule(cfg *config.Config) {
	if s.SkillsPath != "" {
		if abs, err := filepath.Abs(s.SkillsPath); err == nil {
			cfg.Broker.Skills.Path = abs
		}
	}
}

// StateOf returns the state directory of a config, and prints a note if the config has
// moved.
func (s *Setup) StateOf(configPath string) (string, error) {
	dir, note, err := config.OpenState(s.StateDir, configPath, s.daemonRuns)
	if note != "" {
		s.printLines("broker: " + note)
	}
	return dir, err
}

// daemonRuns reports whether a daemon is known to use a state directory.
func (s *Setup) daemonRuns(dir string) bool {
	build, err := s.Build()
	if err == nil {
		_, err = daemon.Ask(dir, daemon.OpStatus, build)
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// AnyStateDir returns the state directory for commands that need no more of the config.
// With StateDir, no config is needed.
func (s *Setup) AnyStateDir(ctx context.Context) (string, error) {
	if s.StateDir != "" && s.ConfigPath == "" {
		return s.StateOf("")
	}
	path, err := config.Find(s.ConfigPath)
	if errors.Is(err, config.ErrNoConfig) {
		// Skills are managed without a config too, and leave a record.
		if dir, e := s.stateWithoutConfig(ctx); e == nil {
			return dir, nil
		}
	}
	if err != nil {
		return "", err
	}
	return s.StateOf(path)
}

// stateWithoutConfig returns the state directory of a config that does not exist yet, if
// something is recorded there.
func (s *Setup) stateWithoutConfig(ctx context.Context) (string, error) {
	path, _, err := config.Target(s.ConfigPath)
	if err != nil {
		return "", err
	}
	dir, err := s.StateOf(path)
	if err != nil {
		return "", err
	}
	store, err := OpenDirectory(dir, state.Limits{}, s.Logger).Audit(ctx, state.AuditOptions{ReadOnly: true})
	if err != nil {
		return "", err
	}
	return dir, store.Close()
}

// LoadWithState reads the config and names its state directory.
func (s *Setup) LoadWithState() (*config.Config, string, error) {
	cfg, err := s.Load()
	if err != nil {
		return nil, "", err
	}
	dir, err := s.StateOf(cfg.Path)
	return cfg, dir, err
}

// openState opens the state of a config, whose state directory is dir. It connects on
// first use.
func (s *Setup) openState(cfg *config.Config, dir string) (*State, error) {
	st, err := OpenState(StateOptions{
		Dir: dir, Config: cfg.Broker, Expand: s.Sources.Expand, Lookup: s.LookupEnv, Keyring: s.Keyring(), Serve: s.Serve, Logger: s.Logger,
	})
	if err != nil {
		return nil, Usagef("", "%w", err)
	}
	return st, nil
}

// OpenPrepared opens the state of a config and creates the tables of a database.
func (s *Setup) OpenPrepared(ctx context.Context, cfg *config.Config, dir string) (*State, error) {
	st, err := s.openState(cfg, dir)
	if err != nil {
		return nil, err
	}
	if err := st.Prepare(ctx); err != nil {
		return nil, Errorf(`"state" of the config names the database`, "%w", errors.Join(err, st.Close()))
	}
	return st, nil
}

// OpenAnyState opens the state for commands that need no more of the config. If the config
// has mistakes, it names no database.
func (s *Setup) OpenAnyState(ctx context.Context) (*State, error) {
	dir, err := s.AnyStateDir(ctx)
	if err != nil {
		return nil, err
	}
	cfg := &config.Config{}
	if path, err := config.Find(s.ConfigPath); err == nil {
		if read, err := config.Load(path); err == nil {
			cfg = read
		}
	}
	return s.OpenPrepared(ctx, cfg, dir)
}

// LoadState reads the config, with the servers of plugins, and opens its state.
func (s *Setup) LoadState(ctx context.Context) (*config.Config, *State, error) {
	cfg, dir, err := s.LoadWithState()
	if err != nil {
		return nil, nil, err
	}
	st, err := s.OpenPrepared(ctx, cfg, dir)
	if err != nil {
		return nil, nil, err
	}
	return s.joinPlugins(cfg, st.Switchboard(SwitchFile(cfg))), st, nil
}

// LoadServers reads the config, with the servers of plugins.
func (s *Setup) LoadServers() (*config.Config, error) {
	cfg, err := s.Load()
	if err != nil {
		return nil, err
	}
	switches, closes, err := s.OpenSwitches(cfg)
	if err != nil {
		return nil, err
	}
	cfg = s.joinPlugins(cfg, switches)
	return cfg, closes()
}

// joinPlugins is WithPluginsOrNote, and prints what it notes.
func (s *Setup) joinPlugins(cfg *config.Config, switches skills.Switchboard) *config.Config {
	merged := WithPluginsOrNote(NewHome(cfg, switches))
	for _, n := range merged.Notes[len(cfg.Notes):] {
		s.Print(n)
	}
	return merged
}

// OpenSwitches returns the switches of a config for a command that needs no other state,
// and what closes them.
func (s *Setup) OpenSwitches(cfg *config.Config) (_ skills.Switchboard, closes func() error, err error) {
	if cfg.Broker.State == "" { // no state directory need exist
		return SwitchFile(cfg), func() error { return nil }, nil
	}
	dir, err := s.StateOf(cfg.Path)
	if err != nil {
		return nil, nil, err
	}
	st, err := s.openState(cfg, dir)
	if err != nil {
		return nil, nil, err
	}
	return st.Switchboard(SwitchFile(cfg)), st.Close, nil
}

// OpenHome reads the config, if it exists, and opens its switches. install allows the
// folder of skills not to exist yet.
func (s *Setup) OpenHome(install bool) (*Home, error) {
	if err := s.checkSkillsPath(install); err != nil {
		return nil, err
	}
	path, exists, err := config.Target(s.ConfigPath)
	if err != nil {
		return nil, err
	}
	cfg := &config.Config{Path: path}
	if exists {
		if cfg, err = config.Load(path); err != nil {
			return nil, err
		}
	}
	s.overrule(cfg)
	switches, closes, err := s.OpenSwitches(cfg)
	if err != nil {
		return nil, err
	}
	h := NewHome(cfg, switches)
	h.Close = closes
	return h, nil
}

// Record adds an event to the record of a config. If the record cannot be written, it logs
// that.
func (s *Setup) Record(ctx context.Context, cfg *config.Config, e state.Event) {
	dir, err := s.StateOf(cfg.Path)
	if err == nil {
		err = note(ctx, e, func() (*State, error) { return s.OpenPrepared(ctx, cfg, dir) })
	}
	s.noted(e, err)
}

// Note is Record for commands that read no config.
func (s *Setup) Note(ctx context.Context, e state.Event) {
	s.noted(e, note(ctx, e, func() (*State, error) { return s.OpenAnyState(ctx) }))
}

func (s *Setup) noted(e state.Event, err error) {
	if err != nil {
		s.Logger.Warn("record", "kind", e.Kind, "err", err)
	}
}

func note(ctx context.Context, e state.Event, open func() (*State, error)) error {
	st, err := open()
	if err != nil {
		return err
	}
	defer st.Close()
	store, err := st.Audit(ctx, Unpruned)
	if err != nil {
		return err
	}
	store.Note(e)
	return store.Close()
}

// Unpruned opens a record without removing anything old.
var Unpruned = state.AuditOptions{Days: -1, MaxBytes: -1, Keep: state.Keep{Code: true}}

// OpenAudit opens the record of a config.
func (st *State) OpenAudit(ctx context.Context, cfg *config.Config) (state.AuditStore, error) {
	set := cfg.Broker.WithDefaults()
	store, err := st.Audit(ctx, state.AuditOptions{Keep: state.Keep{Code: *set.Audit.Code, Payloads: set.Audit.Payloads},
		Days: set.Audit.Days, MaxBytes: set.Audit.MaxSize, Anchor: cfg.Resolve(set.Audit.Anchor)})
	if err != nil {
		return nil, Errorf("--state-dir names another directory", "%w", err)
	}
	return store, nil
}
