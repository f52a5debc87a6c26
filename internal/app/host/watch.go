package host

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/app"
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

// A Watcher puts changes of the config file, of the skills and of the plugins in force. A
// file that is wrong or missing changes nothing; the user is notified of it.
type Watcher struct {
	app *app.App

	manager atomic.Pointer[library.Library] // of the config in force

	mu      sync.Mutex
	seen    stamp // of the config file
	config  *config.Config
	plugins string
	unread  string // reason the last check changed nothing
}

// Watch looks for changes until stop is called.
func Watch(ctx context.Context, a *app.App) (w *Watcher, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	w = &Watcher{app: a, config: a.Config}
	w.plugins, _ = app.PluginState(a.Home(a.Config)) // on an error, the first readable state differs
	w.seen, _ = stampOf(a.Config.Path)
	w.manager.Store(a.Manager(a.Config))
	changed, unhear := a.State.Switched()
	wg.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for ticks := 1; ; ticks++ {
			select {
			case <-ctx.Done():
				return
			case <-changed:
				w.Now()
			case <-tick.C:
				w.look(ticks%skillTicks == 0)
			}
		}
	})
	return w, func() { unhear(); cancel(); wg.Wait() }
}

// Current returns the config in force.
func (w *Watcher) Current() *config.Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.config
}

// Library returns what manages the skills and plugins of the config in force.
func (w *Watcher) Library() *library.Library { return w.manager.Load() }

// Now puts in force whatever has changed, before it returns.
func (w *Watcher) Now() { w.look(true) }

// look looks for changes: of the config file, and with all of skills and plugins.
func (w *Watcher) look(all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if all {
		w.app.Root.RefreshSkills()
		w.app.Root.Upstream().Recheck()
	}
	now, ok := stampOf(w.app.Config.Path)
	if !ok {
		return // an editor may be about to put the file back
	}
	installed := w.plugins
	if all {
		var err error
		if installed, err = app.PluginState(w.app.Home(w.config)); err != nil {
			installed = w.plugins // assume no change until it can be read
		}
	}
	if now == w.seen && installed == w.plugins {
		return
	}
	cfg, err := w.app.Reload()
	if unread, ok := errors.AsType[*app.UnreadError](err); ok {
		if w.unread != unread.Error() {
			w.unread = unread.Error()
			w.app.Printf("broker: the config or a plugin has changed, but %s; the previous settings stay in force until that can be read", unread)
		}
		return // check again later
	}
	w.seen, w.plugins, w.unread = now, installed, ""
	if cfg != nil {
		w.config = cfg
		if state, err := app.PluginState(w.app.Home(cfg)); err == nil {
			w.plugins = state
		}
		w.manager.Store(w.app.Manager(cfg))
	}
}
