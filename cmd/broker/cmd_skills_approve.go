package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/script"
	"github.com/mcpbroker/mcpbroker/state"
)

// checkSkillScripts says whether scripts of skills can run; on is false if they
// are not to.
func checkSkillScripts(ctx context.Context, h *application.Home) (c check, on bool) {
	cfg := h.Config
	c = check{Name: "scripts of skills", OK: true}
	switch set := cfg.Broker.Skills; broker.ScriptMode(set.Scripts) {
	case broker.ScriptsHost:
		var approved []string
		for _, k := range h.Registry().Refresh().All() {
			if row, err := approvalOf(k, h.Switches); err == nil && row.Approved {
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

// An approval is what "broker skills approve" has done, or would do.
type approval struct {
	Name     string   `json:"name"`
	Origin   string   `json:"origin"`
	Path     string   `json:"path"`
	Digest   string   `json:"digest"`
	Before   string   `json:"digest_before,omitempty"` // what was approved before, if that is another one
	Scripts  []string `json:"scripts"`
	Approved bool     `json:"approved"`
	Kept     string   `json:"kept_in"`
}

func (a *app) skillsApproveCommand() *cobra.Command {
	var revoke, dry bool
	c := &cobra.Command{
		Use:   "approve NAME",
		Short: "Allow the scripts of a skill to run on this computer",
		Long: "Allow the scripts of a skill to run on this computer, with your rights and no sandbox, when \"scripts\" of \"skills\"\n" +
			"in the config is \"host\". It holds for the files as they are now: when one of them changes, you are asked again.",
		Args: cli.OneArg("the name of a skill"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if revoke && dry {
				return cli.Usagef("skills approve takes --revoke or --dry-run, not both")
			}
			return a.withSkill(cmd.Context(), args[0], func(h *application.Home, k *skills.Skill) error { return a.approve(h, k, revoke, dry) })
		},
	}
	c.Flags().BoolVar(&revoke, "revoke", false, "take the approval back")
	c.Flags().BoolVar(&dry, "dry-run", false, "report what would be allowed and write nothing")
	return c
}

func (a *app) approve(h *application.Home, k *skills.Skill, revoke, dry bool) error {
	if k.Scope == skills.ScopeServer {
		return cli.Usagef("skill %s is from a server: it never runs on this computer, so there is nothing to allow", k.Ref)
	}
	row, err := approvalOf(k, h.Switches)
	if err != nil {
		return err
	}
	if !dry {
		if err := a.setApproval(h, k, &row, !revoke); err != nil {
			return err
		}
	}
	if a.JSON {
		return a.PrintJSON(row)
	}
	a.printApproval(row, revoke)
	if row.Approved && h.Config.Broker.Skills.Scripts != string(broker.ScriptsHost) {
		cli.Fprintln(a.Err, `note: scripts run on this computer only with "skills": {"scripts": "host"} in the config`)
	}
	return nil
}

// setApproval allows the scripts of a skill, or takes that back, and records it.
func (a *app) setApproval(h *application.Home, k *skills.Skill, row *approval, on bool) error {
	digest, detail := row.Digest, "approved, files "+row.Digest
	if !on {
		digest, detail = "", "revoked, files "+cmp.Or(row.Before, row.Digest)
	}
	err := skills.SetApproval(h.Switches, k.ID(), digest)
	a.record(h.Config, application.SkillEvent(state.EventSkillStateChanged, k, detail, err))
	row.Approved = on
	return err
}

// approvalOf says what is and would be allowed.
func approvalOf(k *skills.Skill, switches skills.Switchboard) (approval, error) {
	row := approval{Name: k.ID(), Origin: k.Origin(), Path: k.Dir(), Kept: switches.String(), Scripts: []string{}}
	bundle, err := k.Bundle()
	if err != nil {
		return row, err
	}
	row.Digest = bundle.Digest
	if row.Before, err = skills.Approved(switches, k.ID()); err != nil {
		return row, err
	}
	if row.Approved = row.Before == row.Digest; row.Approved {
		row.Before = ""
	}
	files, done, err := k.Open()
	if err != nil {
		return row, err
	}
	defer done()
	text := ""
	if doc, err := k.Doc(); err == nil {
		text = doc.Body
	}
	var paths []string
	for _, f := range bundle.Files {
		paths = append(paths, f.Path)
	}
	listed := script.List(files, paths, text)
	for _, s := range listed {
		row.Scripts = append(row.Scripts, s.Path)
	}
	return row, nil
}

func (a *app) printApproval(row approval, revoked bool) {
	for _, f := range [][2]string{{"skill", row.Name}, {"origin", row.Origin}, {"path", row.Path}, {"digest", row.Digest}, {"before", row.Before}} {
		if f[1] != "" {
			cli.Fprintf(a.Out, "%-8s %s\n", f[0], cli.OneLine(f[1], 400))
		}
	}
	for _, s := range row.Scripts {
		cli.Fprintf(a.Out, "%-8s %s\n", "script", cli.OneLine(s, 400))
	}
	switch {
	case revoked:
		cli.Fprintln(a.Out, "not allowed any more")
	case len(row.Scripts) == 0 && row.Approved:
		cli.Fprintln(a.Out, "allowed, but it has no scripts")
	case row.Approved:
		cli.Fprintln(a.Out, "allowed to run on this computer until one of its files changes")
	default:
		cli.Fprintln(a.Out, "not allowed to run on this computer")
	}
}
