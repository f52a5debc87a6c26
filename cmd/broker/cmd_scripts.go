package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/script"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/records"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/state"
)

// scriptStore is where the config's scripts are. It is open until the process ends.
func (a *app) scriptStore() (script.Store, error) {
	cfg, st, err := a.loadState()
	if err != nil {
		return script.Store{}, err
	}
	return st.Scripts(application.SavedScripts(cfg)), nil
}

func (a *app) scriptsCommand() *cobra.Command {
	return cli.Group("scripts", "Save scripts, for people and scripts to run again", a.scriptsSaveCommand(), a.scriptsListCommand(), a.scriptsShowCommand(), a.scriptsRemoveCommand())
}

func (a *app) scriptsSaveCommand() *cobra.Command {
	var s script.Script
	c := &cobra.Command{
		Use:   "save NAME (FILE | --execution ID)",
		Short: "Save a script, from a file or from an execution",
		Long: "Save a script as NAME.ts in the folder scripts beside the config, or in the database of brokers that share one,\n" +
			"from a file, stdin (-), or an execution of audit list. Search finds it; a script calls it with scripts.NAME(input),\n" +
			"a person with broker run NAME.\n" +
			"Saving again makes a new version; the ones before stay as NAME@1, NAME@2 and so on.\n\n" +
			"What it takes is the type of its function main:\n\n" +
			"  export async function main(input: { owner: string; limit?: number }) { … }",
		Example: "  broker scripts save stale stale.ts --description \"List stale issues\"\n  broker scripts save stale --execution e_01hq",
		Args:    cli.SomeArgs(1, 2, "a name, and a file or --execution"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Name = args[0]
			store, err := a.scriptStore()
			if err != nil {
				return err
			}
			if err := script.CheckName(s.Name); err != nil {
				return cli.Usagef("%w", err)
			}
			switch {
			case len(args) == 2 && s.Execution == "":
				if s.Code, err = a.readScript(args[1]); err != nil {
					return cli.Usagef("%w", err)
				}
			case len(args) == 1 && s.Execution != "":
				if err := a.ofExecution(cmd.Context(), &s); err != nil {
					return err
				}
			default:
				return cli.Usagef("scripts save needs a file or --execution ID, and not both\nhint: broker audit list")
			}
			return a.saveScript(store, s)
		},
	}
	c.Flags().StringVar(&s.Execution, "execution", "", "save the script of this execution; the id may be cut")
	c.Flags().StringVar(&s.Description, "description", "", "what it does, in one line, for search")
	c.Flags().StringVar(&s.Profile, "profile", "", "the profile that the script needs, recorded with it")
	return c
}

// ofExecution fills in the script of an execution as it ran.
func (a *app) ofExecution(ctx context.Context, s *script.Script) error {
	return a.audited(ctx, func(store state.AuditStore) error {
		e, _, err := store.Show(ctx, s.Execution)
		switch {
		case err != nil:
			return cli.Errorf("%w\nhint: broker audit list", err)
		case e.Language != "typescript" && e.Language != "javascript":
			return cli.Errorf("%s is not a TypeScript or JavaScript script: it is %q", e.ID, e.Language)
		case !e.Whole():
			return records.NotRecorded(e)
		}
		s.Execution, s.Code = e.ID, e.Code
		return nil
	})
}

// audited does f with the record of the config.
func (a *app) audited(_ context.Context, f func(state.AuditStore) error) error {
	store, err := a.readAudit()
	if err != nil {
		return err
	}
	defer store.Close()
	return f(store)
}

func (a *app) saveScript(store script.Store, s script.Script) error {
	if strings.TrimSpace(s.Code) == "" {
		return cli.Usagef("the script is empty")
	}
	saved, err := store.Save(s)
	if err != nil {
		return err
	}
	if redact.Text(saved.Code) != saved.Code {
		cli.Fprintf(a.Err, "warning: %s holds what looks like a secret\n", saved.Name)
	}
	if a.JSON {
		return a.PrintJSON(saved)
	}
	at := store.String()
	if store.Shared == nil {
		at = filepath.Join(store.Dir, saved.Name+".ts")
	}
	cli.Fprintf(a.Out, "saved %s, version %d: %s\n", saved.Name, saved.Version, at)
	cli.Fprintf(a.Out, "in scripts: await %s\nhere: broker run %s\n", saved.Signature(), saved.Name)
	return nil
}

func (a *app) scriptsListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the saved scripts", Args: cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			store, err := a.scriptStore()
			if err != nil {
				return err
			}
			list, err := store.List()
			if err != nil {
				return err
			}
			return cli.PrintList(&a.IO, cli.OrEmpty(list), "no scripts are saved\nhint: broker scripts save NAME FILE",
				cli.NewTable("SCRIPT\tVERSION\tINPUT\t", func(s script.Script) []any {
					input := ""
					if s.Input != nil {
						input = cli.OneLine(s.Input.Type, 40)
					}
					return []any{s.Name, s.Version, input, cli.OneLine(s.Description, 80)}
				}))
		},
	}
}

func (a *app) scriptsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME[@VERSION]", Short: "Print a saved script", Args: cli.OneArg("the name of a saved script"),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.scriptStore()
			if err != nil {
				return err
			}
			s, err := store.Load(args[0])
			if err != nil {
				return unknownScript(err)
			}
			if a.JSON {
				return a.PrintJSON(s)
			}
			_, err = io.WriteString(cli.Exact(a.Out), s.Code)
			return err
		},
	}
}

func (a *app) scriptsRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a saved script with all its versions", Args: cli.OneArg("the name of a saved script"),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.scriptStore()
			if err == nil {
				err = unknownScript(store.Remove(args[0]))
			}
			if err == nil && a.JSON {
				return a.PrintJSON(map[string]any{"removed": args[0]})
			}
			return err
		},
	}
}

// unknownScript adds a hint to the error of a script that is not there, which is
// a mistake in the command.
func unknownScript(err error) error {
	e, ok := errors.AsType[*script.NotFoundError](err)
	if !ok {
		return err
	}
	hint := "broker scripts list"
	if len(e.Near) > 0 {
		hint = fmt.Sprintf("did you mean %q?", e.Near[0])
	}
	return cli.Usagef("there is no saved script %q\nhint: %s", e.Name, hint)
}
