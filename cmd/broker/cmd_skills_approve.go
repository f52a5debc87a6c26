package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/broker"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/extensions"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

// skillsApproveOptions are the options of broker skills approve.
type skillsApproveOptions struct {
	revoke bool
	dry    bool
}

func skillsApproveCommand(e *env) *cobra.Command {
	o := &skillsApproveOptions{}
	c := &cobra.Command{
		Use:   "approve NAME",
		Short: "Allow the scripts of a skill to run on this computer",
		Long: "Allow the scripts of a skill to run on this computer, with your rights and no sandbox, when \"scripts\" of \"skills\"\n" +
			"in the config is \"host\". It holds for the files as they are now: when one of them changes, you are asked again.",
		Args: cli.OneArg("the name of a skill"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().BoolVar(&o.revoke, "revoke", false, "take the approval back")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "report what would be allowed and write nothing")
	return c
}

func (o *skillsApproveOptions) run(ctx context.Context, e *env, args []string) error {
	if o.revoke && o.dry {
		return cli.Usagef("skills approve takes --revoke or --dry-run, not both")
	}
	return withSkill(ctx, e, args[0], func(h *application.Home, k *skills.Skill) error { return approveScripts(e, h, k, o.revoke, o.dry) })
}

func approveScripts(e *env, h *application.Home, k *skills.Skill, revoke, dry bool) error {
	if k.Scope == skills.ScopeServer {
		return cli.Usagef("skill %s is from a server: it never runs on this computer, so there is nothing to allow", k.Ref)
	}
	row, err := extensions.ApprovalOf(k, h.Switches)
	if err != nil {
		return err
	}
	if !dry {
		if err := setApproval(e, h, k, &row, !revoke); err != nil {
			return err
		}
	}
	if e.JSON {
		return e.PrintJSON(row)
	}
	printApproval(e, row, revoke)
	if row.Approved && h.Config.Broker.Skills.Scripts != string(broker.ScriptsHost) {
		cli.Fprintln(e.Err, `note: scripts run on this computer only with "skills": {"scripts": "host"} in the config`)
	}
	return nil
}

// setApproval allows the scripts of a skill, or takes that back, and records it.
func setApproval(e *env, h *application.Home, k *skills.Skill, row *extensions.Approval, on bool) error {
	detail := "approved, files " + row.Digest
	if !on {
		detail = "revoked, files " + cmp.Or(row.Before, row.Digest)
	}
	store, err := approvals.In(h.Switches), error(nil)
	if on {
		err = store.Approve(approvals.Approval{Kind: approvals.Script, Subject: k.ID(), Digest: row.Digest, By: application.ClientCLI})
	} else {
		err = store.Revoke(approvals.Script, k.ID())
	}
	e.record(h.Config, application.SkillEvent(state.EventSkillStateChanged, k, detail, err))
	row.Approved = on
	return err
}

func printApproval(e *env, row extensions.Approval, revoked bool) {
	for _, f := range [][2]string{{"skill", row.Name}, {"origin", row.Origin}, {"path", row.Path}, {"digest", row.Digest}, {"before", row.Before}} {
		if f[1] != "" {
			cli.Fprintf(e.Out, "%-8s %s\n", f[0], cli.OneLine(f[1], 400))
		}
	}
	for _, s := range row.Scripts {
		cli.Fprintf(e.Out, "%-8s %s\n", "script", cli.OneLine(s, 400))
	}
	switch {
	case revoked:
		cli.Fprintln(e.Out, "not allowed any more")
	case len(row.Scripts) == 0 && row.Approved:
		cli.Fprintln(e.Out, "allowed, but it has no scripts")
	case row.Approved:
		cli.Fprintln(e.Out, "allowed to run on this computer until one of its files changes")
	default:
		cli.Fprintln(e.Out, "not allowed to run on this computer")
	}
}
