package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/skills/library"
)

// watchEvery is how often the config file is looked at. Looking works on every
// file system and whatever way an editor replaces files, and costs nothing.
const watchEvery = time.Second

// skillTicks is how many of these pass between looks at skills and plugins,
// which are more files.
const skillTicks = 2

// A stamp tells one state of a file from another.
type stamp struct {
	modified time.Time
	size     int64
}

func stampOf(path string) (stamp, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, false
	}
	return stamp{info.ModTime(), info.Size()}, true
}

// A watcher puts changes of the config file, of the skills and of the plugins in
// force. A file that is wrong, or gone, changes nothing but is said so.
type watcher struct {
	a *app
	s *App

	managed atomic.Pointer[library.Library] // of the config in force

	mu      sync.Mutex // guards what follows, and makes one look at a time
	seen    stamp      // of the config file
	config  *config.Config
	plugins string
	unread  string // reason the last check changed nothing
}

// watch looks for changes until stop is called.
func (a *app) watch(ctx context.Context, s *App) (w *watcher, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	w = &watcher{a: a, s: s, config: s.Config}
	w.plugins, _ = application.PluginState(s.Home(s.Config)) // on an error, the first readable state differs
	w.seen, _ = stampOf(s.Config.Path)
	w.manage(s.Config)
	changed, unhear := s.State.Switched()
	wg.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for ticks := 1; ; ticks++ {
			select {
			case <-ctx.Done():
				return
			case <-changed:
				w.now()
			case <-tick.C:
				w.look(ticks%skillTicks == 0)
			}
		}
	})
	return w, func() { unhear(); cancel(); wg.Wait() }
}

// current is the config in force.
func (w *watcher) current() *config.Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.config
}

// library is what manages the skills and plugins of the config in force.
func (w *watcher) library() *library.Library { return w.managed.Load() }

func (w *watcher) manage(cfg *config.Config) {
	h := w.s.Home(cfg)
	h.Found = w.s.Root.Skills()
	w.managed.Store(h.Library(func(c library.Change) { w.s.Audit.Note(application.ChangeEvent(c, application.ClientAdmin)) }))
}

// now puts in force whatever has changed, before it returns.
func (w *watcher) now() { w.look(true) }

// look looks for changes: of the config file, and with all of skills and plugins.
func (w *watcher) look(all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if all {
		w.s.Root.RefreshSkills()
		w.s.Root.Upstream().Recheck()
	}
	now, ok := stampOf(w.s.Config.Path)
	if !ok {
		return // an editor may be about to put the file back
	}
	installed := w.plugins
	if all {
		var err error
		if installed, err = application.PluginState(w.s.Home(w.config)); err != nil {
			installed = w.plugins // assume no change until it can be read
		}
	}
	if now == w.seen && installed == w.plugins {
		return
	}
	cfg, err := w.a.reload(w.s)
	if unread, ok := errors.AsType[*unreadError](err); ok {
		if w.unread != unread.Error() {
			w.unread = unread.Error()
			cli.Fprintf(w.a.Err, "broker: the config or a plugin has changed, but %s; the previous settings stay in force until that can be read\n", unread)
		}
		return // check again later
	}
	w.seen, w.plugins, w.unread = now, installed, ""
	if cfg != nil {
		w.config = cfg
		if state, err := application.PluginState(w.s.Home(cfg)); err == nil {
			w.plugins = state
		}
		w.manage(cfg)
	}
}

// An unreadError means that the servers of plugins cannot be read at the moment.
type unreadError struct{ error }

// reload reads the config file and applies it. After an *unreadError, nothing has
// changed.
func (a *app) reload(s *App) (*config.Config, error) {
	cfg, err := loadConfig(s.Config.Path)
	var written config.Broker
	if err == nil {
		written = cfg.Broker
		keepState(cfg, s.Config)
		a.overrule(cfg)
		merged, unread := application.WithPlugins(s.Home(cfg))
		if unread != nil {
			return nil, &unreadError{unread}
		}
		cfg = s.Project.Join(merged)
		err = runnable(cfg, s.Placement)
	}
	if err != nil {
		cli.Fprintf(a.Err, "%s\nbroker: the config is wrong; the one before it stays in force\n", cli.ErrorLines(err))
		s.Root.SetNotice("the config file was changed and is wrong, so the one before it is in force: " + cli.OneLine(err.Error(), 300))
		return nil, err
	}
	for _, n := range cfg.Notes {
		cli.Fprintln(a.Err, n)
	}
	s.Pins.SetMode(a.overrides().PinMode(cfg))
	s.quotas.Set(application.QuotaRules(cfg))
	s.live.Store(cfg)
	s.Root.Apply(a.overrides().Settings(s.Home(cfg), a.logger()))
	s.SetNotice()
	s.Audit.Note(application.ConfigEvent(cfg, managedPath))
	cli.Fprintln(a.Err, "broker: the config, or a plugin, has changed and is in force"+notInForce(s.Config.Broker, written))
	return cfg, nil
}

// keepState replaces the state of cfg by that of started: a reload cannot change the
// database.
func keepState(cfg, started *config.Config) {
	cfg.Broker.State, cfg.Broker.StateKey, cfg.Broker.Objects = started.Broker.State, started.Broker.StateKey, started.Broker.Objects
}

// notInForce says which settings differ from those that the broker was started with and
// are in force only when it is started again.
func notInForce(started, now config.Broker) string {
	keys := started.NeedRestart(now)
	if len(keys) == 0 {
		return ""
	}
	return ", but for " + strings.Join(keys, ", ") + ": start the broker again for them"
}
