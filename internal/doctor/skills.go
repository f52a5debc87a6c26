package doctor

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/extensions"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
)

// checkSkillScripts says whether scripts of skills can run; on is false if they
// are not to.
func checkSkillScripts(ctx context.Context, h *application.Home) (c Check, on bool) {
	cfg := h.Config
	c = Check{Name: "scripts of skills", OK: true}
	switch set := cfg.Broker.Skills; broker.ScriptMode(set.Scripts) {
	case broker.ScriptsHost:
		var approved []string
		for _, k := range h.Registry().Refresh().All() {
			if row, err := extensions.ApprovalOf(k, h.Switches); err == nil && row.Approved {
				approved = append(approved, row.Name)
			}
		}
		c.Detail = "on this computer, without a sandbox, those of skills that were approved: " + cmp.Or(strings.Join(approved, ", "), "none")
		return c, true
	case broker.ScriptsSandbox:
		m, err := docker.NewManager(ctx, application.EngineAddress(cfg.SandboxSettings()))
		if err == nil {
			c.Detail, err = m.HasCommands(ctx, "python3", set.ScriptImage)
			m.Close()
		}
		c.Detail = "in containers of " + c.Detail
		if err != nil {
			c.OK, c.Detail, c.Hint = false, err.Error(), "broker sandbox build python, or name an image in skills.scriptImage"
			if errors.Is(err, docker.ErrNoEngine) {
				c.Hint = "start Docker or Podman, or take \"scripts\" out of \"skills\" in the config"
			}
		}
		return c, true
	}
	return c, false
}
