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
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/records"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/state"
)

func scriptsCommand(e *env) *cobra.Command {
	return cli.Group("scripts", "Save scripts, for people and scripts to run again", scriptsSaveCommand(e), scriptsListCommand(e), scriptsShowCommand(e), scriptsRemoveCommand(e))
}

// scriptsSaveOptions are the options of broker scripts save.
type scriptsSaveOptions struct {
	script script.Script
}

func scriptsSaveCommand(e *env) *cobra.Command {
	o := &scriptsSaveOptions{}
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
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().StringVar(&o.script.Execution, "execution", "", "save the script of this execution; the id may be cut")
	c.Flags().StringVar(&o.script.Description, "description", "", "what it does, in one line, for search")
	c.Flags().StringVar(&o.script.Profile, "profile", "", "the profile that the script needs, recorded with it")
	return c
}

func (o *scriptsSaveOptions) run(ctx context.Context, e *env, args []string) error {
	o.script.Name = args[0]
	return e.withScripts(ctx, func(store script.Store) (err error) {
		if err := script.CheckName(o.script.Name); err != nil {
			return cli.Usagef("%w", err)
		}
		switch {
		case len(args) == 2 && o.script.Execution == "":
			if o.script.Code, err = readScript(e, args[1]); err != nil {
				return cli.Usagef("%w", err)
			}
		case len(args) == 1 && o.script.Execution != "":
			if err := ofExecution(ctx, e, &o.script); err != nil {
				return err
			}
		default:
			return cli.Usagef("scripts save needs a file or --execution ID, and not both\nhint: broker audit list")
		}
		return saveScript(e, store, o.script)
	})
}

// ofExecution fills in the script of an execution as it ran.
func ofExecution(ctx context.Context, e *env, s *script.Script) error {
	return e.withRecord(ctx, func(store state.AuditStore) error {
		x, _, err := store.Show(ctx, s.Execution)
		switch {
		case err != nil:
			return cli.Errorf("%w\nhint: broker audit list", err)
		case x.Language != "typescript" && x.Language != "javascript":
			return cli.Errorf("%s is not a TypeScript or JavaScript script: it is %q", x.ID, x.Language)
		case !x.Whole():
			return records.NotRecorded(x)
		}
		s.Execution, s.Code = x.ID, x.Code
		return nil
	})
}

func saveScript(e *env, store script.Store, s script.Script) error {
	if strings.TrimSpace(s.Code) == "" {
		return cli.Usagef("the script is empty")
	}
	saved, err := store.Save(s)
	if err != nil {
		return err
	}
	if redact.Text(saved.Code) != saved.Code {
		cli.Fprintf(e.Err, "warning: %s holds what looks like a secret\n", saved.Name)
	}
	if e.JSON {
		return e.PrintJSON(saved)
	}
	at := store.String()
	if store.Shared == nil {
		at = filepath.Join(store.Dir, saved.Name+".ts")
	}
	cli.Fprintf(e.Out, "saved %s, version %d: %s\n", saved.Name, saved.Version, at)
	cli.Fprintf(e.Out, "in scripts: await %s\nhere: broker run %s\n", saved.Signature(), saved.Name)
	return nil
}

func scriptsListCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the saved scripts", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runScriptsList(cmd.Context(), e) },
	}
}

func runScriptsList(ctx context.Context, e *env) error {
	return e.withScripts(ctx, func(store script.Store) error {
		list, err := store.List()
		if err != nil {
			return err
		}
		return cli.PrintList(&e.IO, cli.OrEmpty(list), "no scripts are saved\nhint: broker scripts save NAME FILE",
			cli.NewTable("SCRIPT\tVERSION\tINPUT\t", func(s script.Script) []any {
				input := ""
				if s.Input != nil {
					input = cli.OneLine(s.Input.Type, 40)
				}
				return []any{s.Name, s.Version, input, cli.OneLine(s.Description, 80)}
			}))
	})
}

func scriptsShowCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME[@VERSION]", Short: "Print a saved script", Args: cli.OneArg("the name of a saved script"),
		RunE: func(cmd *cobra.Command, args []string) error { return runScriptsShow(cmd.Context(), e, args) },
	}
}

func runScriptsShow(ctx context.Context, e *env, args []string) error {
	return e.withScripts(ctx, func(store script.Store) error {
		s, err := store.Load(args[0])
		if err != nil {
			return unknownScript(err)
		}
		if e.JSON {
			return e.PrintJSON(s)
		}
		_, err = io.WriteString(cli.Exact(e.Out), s.Code)
		return err
	})
}

func scriptsRemoveCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a saved script with all its versions", Args: cli.OneArg("the name of a saved script"),
		RunE: func(cmd *cobra.Command, args []string) error { return runScriptsRemove(cmd.Context(), e, args) },
	}
}

func runScriptsRemove(ctx context.Context, e *env, args []string) error {
	err := e.withScripts(ctx, func(store script.Store) error { return unknownScript(store.Remove(args[0])) })
	if err == nil && e.JSON {
		return e.PrintJSON(map[string]any{"removed": args[0]})
	}
	return err
}

// unknownScript adds a hint to the error of a script that is not there, which is
// a mistake in the command.
func unknownScript(err error) error {
	missing, ok := errors.AsType[*script.NotFoundError](err)
	if !ok {
		return err
	}
	hint := "broker scripts list"
	if len(missing.Near) > 0 {
		hint = fmt.Sprintf("did you mean %q?", missing.Near[0])
	}
	return cli.Usagef("no saved script is named %q\nhint: %s", missing.Name, hint)
}
