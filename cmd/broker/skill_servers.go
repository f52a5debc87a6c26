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
func learnSkills(ctx context.Context, e *env, v *application.SkillView) bool {
	missing, asked := v.Learn(ctx, await.LearnTime)
	for _, st := range missing {
		cli.Fprintf(e.Err, "the skills of server %s are not known: %s\n", st.Name, cli.Standing(st, time.Now()))
	}
	return asked
}

// withView calls f with what is known of the skills of the config.
func withView(e *env, f func(*application.Home, *application.SkillView) error) (err error) {
	h, err := e.skillHome(false)
	if err != nil {
		return err
	}
	defer func() {
		if closed := h.Close(); err == nil {
			err = closed
		}
	}()
	l := e.setup()
	v, err := l.OpenSkills(context.Background(), h, application.Overrides{})
	if err != nil {
		return ownError(err)
	}
	defer v.Close()
	return f(h, v)
}

// withSkills calls f with all skills of the config.
func withSkills(ctx context.Context, e *env, f func(*application.Home, *skills.Snapshot) error) error {
	return withView(e, func(h *application.Home, v *application.SkillView) error {
		learnSkills(ctx, e, v)
		return f(h, v.Registry.Refresh())
	})
}

// withSkill calls f with the skill of that name, whatever its state. It asks servers
// that were never asked only if the skill is not found otherwise.
func withSkill(ctx context.Context, e *env, name string, f func(*application.Home, *skills.Skill) error) error {
	return withView(e, func(h *application.Home, v *application.SkillView) error {
		k, err := v.Registry.Refresh().Find(name)
		if err != nil && learnSkills(ctx, e, v) {
			k, err = v.Registry.Refresh().Find(name)
		}
		if err != nil {
			return cli.Usagef("%w", err)
		}
		return f(h, k.With(ctx))
	})
}
