package main

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/skills/repo"
)

// libraryOf returns the library for a command, which records changes.
func libraryOf(e *env, h *application.Home) *library.Library {
	return h.Library(func(c library.Change) { e.record(h.Config, application.ChangeEvent(c, application.ClientCLI)) }).For(application.ClientCLI)
}

// withLibrary is a command's RunE that does f with the library of the config.
func withLibrary(e *env, f func(ctx context.Context, l *library.Library, h *application.Home, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return withHome(e, func(h *application.Home, args []string) error {
			return f(cmd.Context(), libraryOf(e, h), h, args)
		})(cmd, args)
	}
}

// sourceError makes what is wrong with a source, a name or a repository one line
// and a code, and for --json an object with the diagnostics.
func sourceError(e *env, err error) error {
	cause := library.Cause(err)
	if cause == nil {
		return err
	}
	if e.JSON {
		if err := e.PrintJSON(map[string]any{"error": map[string]any{"code": cause.Code, "message": cause.Message, "diagnostics": append([]skills.Diagnostic{}, cause.Diagnostics...)}}); err != nil {
			return err
		}
		return cli.Exit(exitOf(cause), nil)
	}
	return cli.Exit(exitOf(cause), &pack.Error{Code: cause.Code, Message: cause.Message + " [" + cause.Code + "]"})
}

// exitOf is the exit code of an error about a source; a name that is not known
// is wrong usage.
func exitOf(cause *pack.Error) int {
	if strings.HasSuffix(cause.Code, "_not_found") || cause.Code == "not_installed" || cause.Code == "bad_repository" {
		return cli.ExitUsage
	}
	return cli.ExitFailed
}

// withHome is a command's RunE that does f with the home of skills.
func withHome(e *env, f func(h *application.Home, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		h, err := e.skillHome(cmd.Name() == "install")
		if err != nil {
			return err
		}
		err = f(h, args)
		if closed := h.Close(); err == nil {
			err = closed
		}
		return err
	}
}

// A skillRow is a skill in the answers of the commands.
type skillRow struct {
	Name        string              `json:"name"`
	Description string              `json:"description"`
	Origin      string              `json:"origin"`
	State       skills.State        `json:"state"`
	Path        string              `json:"path,omitempty"`
	Version     string              `json:"version,omitempty"`
	Model       bool                `json:"model_invocable"`
	User        bool                `json:"user_invocable"`
	Diagnostics []skills.Diagnostic `json:"diagnostics"`

	Found *broker.SkillPassage `json:"found,omitempty"` // what a search found in its files
}

func rowOf(s *skills.Skill) skillRow {
	return skillRow{s.Ref, s.Description, s.Origin(), s.State, s.Dir(), s.Version, s.ModelInvocable, s.UserInvocable, append([]skills.Diagnostic{}, s.Diagnostics...), nil}
}

// printProblems reports what does not load, and with all the warnings about
// the others.
func printProblems(e *env, rows []skillRow, problems []skills.Problem, all bool) {
	warnings := 0
	for _, r := range rows {
		warnings += len(r.Diagnostics)
		for _, d := range r.Diagnostics {
			if all {
				cli.Fprintf(e.Err, "%s: %s\n", r.Path, d)
			}
		}
	}
	for _, p := range problems {
		cli.Fprintf(e.Err, "%s: %s\n", p.Path, p.Diagnostic)
	}
	if warnings > 0 && !all {
		cli.Fprintf(e.Err, "%d warnings: --diagnostics shows them\n", warnings)
	}
}

// noteState says why a skill is not in use.
func noteState(e *env, k *skills.Skill) {
	switch k.State {
	case skills.Excluded:
		cli.Fprintf(e.Err, "note: %s is not in use: \"include\" or \"exclude\" of \"skills\" in the config leaves it out\n", k.Ref)
	case skills.Disabled:
		cli.Fprintf(e.Err, "note: %s is switched off: broker skills enable %s\n", k.Ref, k.Ref)
	}
}

// printChange says what a command has done.
func printChange(e *env, path, action, name string) error {
	if e.JSON {
		return e.PrintJSON(map[string]string{"path": path, "action": action, "name": name})
	}
	_, err := cli.Fprintf(e.Out, "%s: %s %s\n", path, action, name)
	return err
}

// isPath reports whether a text can only be that of a file or folder, and no name.
func isPath(text string) bool {
	if strings.ContainsAny(text, `/\`) || strings.HasPrefix(text, ".") {
		return true
	}
	return slices.ContainsFunc([]string{".zip", ".tar.gz", ".tgz"}, func(end string) bool { return strings.HasSuffix(text, end) })
}

// gitFlags are how a repository is meant.
type gitFlags struct{ ref, folder string }

func (g *gitFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&g.ref, "ref", "", "the branch, tag or commit of a repository (default its default branch)")
	c.Flags().StringVar(&g.folder, "folder", "", "the folder of the repository to use (default all of it)")
}

// source returns a repository with the flags, or nil if text is not an address, which
// takes no flags.
func (g gitFlags) source(text string) (*repo.Source, error) {
	s, ok := repo.Of(text)
	if _, err := os.Stat(text); err == nil || !ok {
		if g != (gitFlags{}) {
			return nil, cli.Usagef("--ref and --folder are for the address of a repository, and %q is not one\nhint: https://host/path", text)
		}
		return nil, nil
	}
	s.Ref, s.Folder = cmp.Or(g.ref, s.Ref), cmp.Or(g.folder, s.Folder)
	if err := s.Check(); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return &s, nil
}
