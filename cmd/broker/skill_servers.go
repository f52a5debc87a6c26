package main

import (
	"context"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/skill"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/skills"
)

// A skillView is the skills of a config, those of its servers among them.
type skillView struct {
	app      *app
	registry *skills.Registry
	pool     *upstream.Pool // nil without servers
	pins     *pins.Store
	store    *application.State
	cache    *skills.Cache
}

// openSkills reads what is known of the skills. It starts no server.
func (a *app) openSkills(h *application.Home) (*skillView, error) {
	v := &skillView{app: a, registry: h.Registry()}
	servers := application.Upstreams(application.WithPluginsOrNote(h))
	if set := h.Config.Broker.Skills.Enabled; len(servers) == 0 || (set != nil && !*set) {
		return v, nil
	}
	state, err := a.stateOf(h.Config.Path)
	if err != nil {
		return nil, err
	}
	h.Found = v.registry
	v.cache = skills.NewCache(application.SkillCacheDir(state))
	if v.store, err = a.openPrepared(h.Config, state); err != nil {
		return nil, err
	}
	v.pool = a.pool(servers, v.store)
	v.pins = v.store.PinStore(h.Config, a.overrides(), nil)
	v.take()
	return v, nil
}

// take tells the registry what the servers list.
func (v *skillView) take() {
	v.registry.SetSources(skill.Sources(v.pool, func() []discovery.Listing { return v.pins.Peek(v.pool.Listings()) }, v.cache))
}

func (v *skillView) close() {
	if v.pool != nil {
		v.pool.Close()
		v.store.Close()
	}
}

// learn connects to the servers that were never listed, waits for them for a limited
// time, and prints those that do not answer. It reports whether there were any. It
// skips servers that failed recently.
func (v *skillView) learn(ctx context.Context) bool {
	if v.pool == nil {
		return false
	}
	unlisted := func(st upstream.Status) bool {
		return !slices.ContainsFunc(v.pool.Listings(), func(l discovery.Listing) bool { return l.Server == st.Name })
	}
	if !slices.ContainsFunc(v.pool.Status(), unlisted) {
		return false
	}
	if due := v.pool.Due(); len(due) > 0 {
		waiting, cancel := context.WithTimeout(ctx, await.LearnTime)
		v.pool.Refresh(waiting, due...)
		cancel()
	}
	for _, st := range v.pool.Status() {
		if unlisted(st) {
			cli.Fprintf(v.app.Err, "the skills of server %s are not known: %s\n", st.Name, cli.Standing(st, time.Now()))
		}
	}
	v.take()
	return true
}

// withView calls f with what is known of the skills of the config.
func (a *app) withView(f func(*application.Home, *skillView) error) (err error) {
	h, err := a.skillHome(false)
	if err != nil {
		return err
	}
	defer func() {
		if e := h.Close(); err == nil {
			err = e
		}
	}()
	v, err := a.openSkills(h)
	if err != nil {
		return err
	}
	defer v.close()
	return f(h, v)
}

// withSkills calls f with all skills of the config.
func (a *app) withSkills(ctx context.Context, f func(*application.Home, *skills.Snapshot) error) error {
	return a.withView(func(h *application.Home, v *skillView) error {
		v.learn(ctx)
		return f(h, v.registry.Refresh())
	})
}

// withSkill calls f with the skill of that name, whatever its state. It asks servers
// that were never asked only if the skill is not found otherwise.
func (a *app) withSkill(ctx context.Context, name string, f func(*application.Home, *skills.Skill) error) error {
	return a.withView(func(h *application.Home, v *skillView) error {
		k, err := v.registry.Refresh().Find(name)
		if err != nil && v.learn(ctx) {
			k, err = v.registry.Refresh().Find(name)
		}
		if err != nil {
			return cli.Usagef("%w", err)
		}
		return f(h, k.With(ctx))
	})
}
