package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/approvals"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/approver"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

func projectsCommand(e *env) *cobra.Command {
	upToOne := cli.SomeArgs(0, 1, "a folder or a .broker.json")
	return cli.Group("projects", "Show projects, and say whose servers may start",
		&cobra.Command{
			Use: "list", Short: "List the projects whose servers you have trusted, and that of the working directory", Args: cli.NoArgs,
			RunE: func(*cobra.Command, []string) error { return listProjects(e) },
		},
		&cobra.Command{
			Use: "show [PATH]", Short: "Show the settings of a project, and what its servers would run", Args: upToOne,
			RunE: withProject(e, func(_ context.Context, p *application.Project, _ string) error {
				if e.JSON {
					return e.PrintJSON(rowOfProject(p))
				}
				return printProject(e, p)
			}),
		},
		&cobra.Command{
			Use: "trust [PATH]", Short: "Allow the servers of a project to start",
			Long: "Show what the servers of a project run or connect to, and ask whether they may start. It needs a terminal, where you type a\n" +
				"code that it shows, and it does not work below a program that uses the broker: a model must not decide for you.\n" +
				"Without a terminal, set BROKER_APPROVER_TOKEN to the secret " + approver.SecretName + " of the keyring.\n" +
				"Trust applies to the servers and the profile as shown. If the file changes one of them, the servers do not start, and the profile\n" +
				"can only narrow the default profile, until you trust the project again. A changed program needs no new trust, even if\n" +
				"it is in the project.",
			Args: upToOne,
			RunE: withProject(e, func(ctx context.Context, p *application.Project, state string) error {
				return letStart(ctx, e, p, state)
			}),
		},
		&cobra.Command{
			Use: "revoke [PATH]", Short: "Stop trusting the servers of a project", Args: upToOne,
			RunE: func(_ *cobra.Command, args []string) error { return revokeProject(e, args) },
		},
	)
}

// A projectRow is a project as "projects list" prints it.
type projectRow struct {
	Path    string   `json:"path"`
	State   string   `json:"state"`
	Servers []string `json:"servers"`
	// Runs are what the servers run or connect to, in the same order.
	Runs  []string   `json:"runs,omitempty"`
	Since *time.Time `json:"trusted_at,omitempty"`
}

// rowOfProject returns a project as its files are now.
func rowOfProject(p *application.Project) projectRow {
	r := projectRow{Path: p.RealPath(), State: p.Status(), Servers: []string{}}
	for _, s := range p.Enabled() {
		r.Servers = append(r.Servers, s.Name)
		r.Runs = append(r.Runs, application.CommandLine(s))
	}
	return r
}

func listProjects(e *env) error {
	_, state, err := e.loadWithState()
	if err != nil {
		return err
	}
	trusts, err := approvals.In(approvals.InDir(state)).List(approvals.Project)
	if err != nil {
		return err
	}
	var rows []projectRow
	for _, t := range trusts {
		r := projectRow{Path: t.Subject, Servers: t.Servers, Since: &t.At}
		if p, err := application.OpenProject(t.Subject, state); err != nil {
			r.State = "cannot be read: " + cli.OneLine(err.Error(), 100)
		} else {
			r.State = p.Status()
		}
		rows = append(rows, r)
	}
	if p, err := e.readProject(state); err != nil {
		return err
	} else if p != nil && !slices.ContainsFunc(rows, func(r projectRow) bool { return r.Path == p.RealPath() }) {
		rows = append(rows, rowOfProject(p))
	}
	return cli.PrintList(&e.IO, rows, "no project is trusted, and the working directory is in none", cli.NewTable("PROJECT\tSTATE\tSERVERS", func(r projectRow) []any { return []any{r.Path, r.State, strings.Join(r.Servers, " ")} }))
}

// withProject is a command's RunE that does f with the project of a path, or of
// the working directory, and the state directory.
func withProject(e *env, f func(ctx context.Context, p *application.Project, state string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		_, state, err := e.loadWithState()
		if err != nil {
			return err
		}
		dir := cmp.Or(strings.Join(args, ""), ".")
		path, err := projectAt(dir)
		if err != nil {
			return err
		}
		p, err := application.OpenProject(path, state)
		if err != nil {
			return err
		}
		for _, n := range p.Notes {
			cli.Fprintln(e.Err, n)
		}
		if p.Ignored != nil {
			return p.Ignored
		}
		return f(cmd.Context(), p, state)
	}
}

// projectAt is the file of the project that a path names.
func projectAt(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(abs); err != nil {
		return "", cli.Usagef("%w", err)
	} else if !info.IsDir() {
		return abs, nil
	}
	if found := application.ProjectPath(abs); found != "" {
		return found, nil
	}
	return "", cli.Usagef("%s is in no project: it has no .broker.json, nor has a folder above it", abs)
}

// printProject prints what a project says.
func printProject(e *env, p *application.Project) error {
	cli.Fprintf(e.Out, "%s: %s\n", p.Path, p.Status())
	for _, row := range []struct{ name, value string }{
		{"profile", p.Profile}, {"servers", strings.Join(p.Narrow.Servers, " ")},
		{"tools", strings.Join(p.Narrow.Allow, " ")}, {"not", strings.Join(p.Narrow.Deny, " ")},
	} {
		if row.value != "" && row.value != "*" {
			cli.Fprintf(e.Out, "  %-8s %s\n", row.name, row.value)
		}
	}
	if p.Narrow.ReadOnly {
		cli.Fprintf(e.Out, "  read-only\n")
	}
	_, err := cli.Fprintf(e.Out, "%s", serverLines(p))
	return err
}

// serverLines show all that a user has to know before the servers may start.
func serverLines(p *application.Project) cli.Lines {
	var text strings.Builder
	for _, s := range p.Enabled() {
		fmt.Fprintf(&text, "  %s, of %s\n    runs   %s\n", gate.Terminal(s.Name), gate.Terminal(s.File), gate.Terminal(application.CommandLine(s)))
		variables, _ := s.Reads()
		for _, v := range variables {
			fmt.Fprintf(&text, "    reads  the variable %s\n", v)
		}
	}
	return cli.Lines(text.String())
}

// profileLine returns a line with the profile that replaces the default one once the
// project is trusted.
func profileLine(p *application.Project) cli.Lines {
	if p.Profile == "" {
		return ""
	}
	return cli.Lines("  profile " + gate.Terminal(p.Profile) + ", instead of the default one\n")
}

func letStart(ctx context.Context, e *env, p *application.Project, state string) error {
	digest := p.Digest()
	if digest == "" {
		return cli.Usagef("%s has neither servers to start nor a profile: its other settings need no trust", p.Path)
	}
	if !p.Trusted {
		err := approver.Ask(ctx, &e.IO, keyringSecret, approver.TrustQuestion(), func() error {
			_, err := cli.Fprintf(e.Err, "%s: %s that broker would use, %s:\n%s%s", p.Path, cli.Count(len(p.Enabled()), "server"), p.Status(), profileLine(p), serverLines(p))
			return err
		})
		if err != nil {
			return err
		}
		yes := approvals.Approval{Kind: approvals.Project, Subject: p.RealPath(), Digest: digest, Servers: rowOfProject(p).Servers, By: application.ClientCLI}
		if err := approvals.In(approvals.InDir(state)).Approve(yes); err != nil {
			return err
		}
		p.Trusted = true
	}
	if e.JSON {
		return e.PrintJSON(rowOfProject(p))
	}
	_, err := cli.Fprintf(e.Out, "%s of %s may start\n%s", cli.Count(len(p.Enabled()), "server"), p.Path, profileLine(p))
	return err
}

// revokeProject asks for no confirmation, since it only revokes. The project may be
// gone.
func revokeProject(e *env, args []string) error {
	_, state, err := e.loadWithState()
	if err != nil {
		return err
	}
	trusts, err := approvals.In(approvals.InDir(state)).List(approvals.Project)
	if err != nil {
		return err
	}
	at, err := filepath.Abs(cmp.Or(strings.Join(args, ""), "."))
	if err != nil {
		return err
	}
	if path, err := projectAt(at); err == nil {
		at = (&config.Project{Path: path}).RealPath()
	}
	i := slices.IndexFunc(trusts, func(t approvals.Approval) bool { return t.Subject == at || filepath.Dir(t.Subject) == at })
	if i < 0 {
		return cli.Usagef("no project at %s is trusted\nhint: broker projects list", at)
	}
	if err := approvals.In(approvals.InDir(state)).Revoke(approvals.Project, trusts[i].Subject); err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(projectRow{Path: trusts[i].Subject, State: "not trusted", Servers: trusts[i].Servers})
	}
	_, err = cli.Fprintf(e.Out, "the servers of %s do not start any more\n", trusts[i].Subject)
	return err
}
