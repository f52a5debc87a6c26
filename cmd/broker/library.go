package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/pack"
)

// recorded returns the library for a command, which records changes.
func (a *app) recorded(h *application.Home) *library.Library {
	return h.Library(func(c library.Change) { a.record(h.Config, application.ChangeEvent(c, application.ClientCLI)) }).For(application.ClientCLI)
}

// withLibrary is a command's RunE that does f with the library of the config.
func (a *app) withLibrary(f func(ctx context.Context, l *library.Library, h *application.Home, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.withHome(func(h *application.Home, args []string) error {
			return f(cmd.Context(), a.recorded(h), h, args)
		})(cmd, args)
	}
}

// sourceError makes what is wrong with a source, a name or a repository one line
// and a code, and for --json an object with the diagnostics.
func (a *app) sourceError(err error) error {
	e := library.Cause(err)
	if e == nil {
		return err
	}
	if a.JSON {
		if err := a.PrintJSON(map[string]any{"error": map[string]any{"code": e.Code, "message": e.Message, "diagnostics": append([]skills.Diagnostic{}, e.Diagnostics...)}}); err != nil {
			return err
		}
		return cli.Exit(exitOf(e), nil)
	}
	return cli.Exit(exitOf(e), &pack.Error{Code: e.Code, Message: e.Message + " [" + e.Code + "]"})
}

// exitOf is the exit code of an error about a source; a name that is not known
// is wrong usage.
func exitOf(e *pack.Error) int {
	if strings.HasSuffix(e.Code, "_not_found") || e.Code == "not_installed" || e.Code == "bad_repository" {
		return cli.ExitUsage
	}
	return cli.ExitFailed
}
