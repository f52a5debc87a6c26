package main

import (
	"context"
	"time"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/skills"
)

// learnSkills connects to the servers that were never listed, waits for them for a limited
// time, and prints those that do not answer. It reports whether there were any.
func (a *app) learnSkills(ctx context.Context, v *application.SkillView) bool {
	missing, asked := v.Learn(ctx, await.LearnTime)
	for _, st := range missing {
		cli.Fprintf(a.Err, "the skills of server %s are not known: %s\n", st.Name, cli.Standing(st, time.Now()))
	}
	return asked
}

// withView calls f with what is known of the skills of the config.
func (a *app) withView(f func(*application.Home, *application.SkillView) error) (err error) {
	h, err := a.skillHome(false)
	if err != nil {
		return err
	}
	defer func() {
		if e := h.Close(); err == nil {
			err = e
		}
	}()
	l := a.setup()
	v, err := l.OpenSkills(context.Background(), h, a.overrides())
	if err != nil {
		return ownError(err)
	}
	defer v.Close()
	return f(h, v)
}

// withSkills calls f with all skills of the config.
func (a *app) withSkills(ctx context.Context, f func(*application.Home, *skills.Snapshot) error) error {
	return a.withView(func(h *application.Home, v *application.SkillView) error {
		a.learnSkills(ctx, v)
		return f(h, v.Registry.Refresh())
	})
}

// withSkill calls f with the skill of that name, whatever its state. It asks servers
// that were never asked only if the skill is not found otherwise.
func (a *app) withSkill(ctx context.Context, name string, f func(*application.Home, *skills.Skill) error) error {
	return a.withView(func(h *application.Home, v *application.SkillView) error {
		k, err := v.Registry.Refresh().Find(name)
		if err != nil && a.learnSkills(ctx, v) {
			k, err = v.Registry.Refresh().Find(name)
		}
		if err != nil {
			return cli.Usagef("%w", err)
		}
		return f(h, k.With(ctx))
	})
}
