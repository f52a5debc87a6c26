package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/config"
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

// watch puts changes of the config file, and of the skills, in force until the function it returns
// is called. A file that is wrong, or gone, changes nothing but is said so.
func (a *app) watch(ctx context.Context, s *session) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	seen, _ := stampOf(s.config.Path)
	plugins := pluginState(s.config)
	wg.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for ticks := 0; ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			ticks++
			if ticks%skillTicks == 0 {
				s.broker.RefreshSkills()
			}
			now, ok := stampOf(s.config.Path)
			if !ok {
				continue // an editor may be about to put the file back
			}
			installed := plugins
			if ticks%skillTicks == 0 {
				installed = pluginState(s.config)
			}
			if now == seen && installed == plugins {
				continue
			}
			seen, plugins = now, installed
			a.reload(s)
		}
	})
	return func() { cancel(); wg.Wait() }
}

// reload puts the config file in force, or says why not.
func (a *app) reload(s *session) {
	cfg, err := config.Load(s.config.Path)
	if err == nil {
		a.overrule(cfg)
		cfg = withPlugins(cfg)
		err = runnable(cfg, s.noPython)
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "%v\nbroker: the config is wrong; the one before it stays in force\n", err)
		s.broker.SetNotice("the config file was changed and is wrong, so the one before it is in force: " + oneLine(err.Error(), 300))
		return
	}
	s.broker.Reconfigure(a.options(cfg))
	s.notice()
	fmt.Fprintln(a.stderr, "broker: the config, or a plugin, has changed and is in force"+notInForce(s.config.Broker.Sandbox, cfg.Broker.Sandbox))
}

// notInForce says which settings of the sandbox differ from those that the
// broker was started with: they are the runner's, which is not replaced.
func notInForce(started, now config.Sandbox) string {
	var names []string
	if started.Isolation != now.Isolation {
		names = append(names, "isolation")
	}
	if !slices.Equal(started.Require, now.Require) {
		names = append(names, "require")
	}
	if started.MaxExecutions != now.MaxExecutions {
		names = append(names, "maxExecutions")
	}
	if len(names) == 0 {
		return ""
	}
	return ", but for " + strings.Join(names, ", ") + " of \"sandbox\": start the broker again for them"
}
