package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/records"
	"github.com/mcpbroker/mcpbroker/state"
)

func runsCommand(e *env) *cobra.Command {
	return cli.Group("runs", "Show and resume runs that a crash or a question interrupted",
		runsListCommand(e), runsShowCommand(e), runsResumeCommand(e), runsSettleCommand(e))
}

// findRun finds a run by the beginning of its id.
func findRun(ctx context.Context, runs state.RunStore, tokens api.Tokens, id string) (api.Run, error) {
	run, err := (&api.Reader{Runs: runs, Tokens: tokens}).Run(ctx, id, false)
	return run, unknownRun(err, id)
}

// unknownRun adds a hint to the error of a run that is not there.
func unknownRun(err error, id string) error {
	if errors.Is(err, state.ErrNotFound) {
		return cli.Errorf("no run %q, or several that begin so\nhint: broker runs list", id)
	}
	return err
}

// runsListOptions are the options of broker runs list.
type runsListOptions struct {
	limit int
}

func runsListCommand(e *env) *cobra.Command {
	o := &runsListOptions{}
	c := &cobra.Command{
		Use: "list", Short: "List runs that made calls, newest first", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	c.Flags().IntVar(&o.limit, "limit", 50, "at most this many runs, the newest; -1 shows all")
	return c
}

func (o *runsListOptions) run(ctx context.Context, e *env) error {
	return e.withRuns(ctx, func(runs state.RunStore, tokens api.Tokens) error {
		list, err := runs.Runs(ctx, o.limit)
		if err != nil {
			return err
		}
		return records.PrintRuns(&e.IO, list, "no run is kept")
	})
}

func runsShowCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", Short: "Show a run with its script and its calls", Args: cli.OneArg("the id of a run, or how it begins"),
		RunE: func(cmd *cobra.Command, args []string) error { return runRunsShow(cmd.Context(), e, args) },
	}
}

func runRunsShow(ctx context.Context, e *env, args []string) error {
	return e.withRuns(ctx, func(runs state.RunStore, tokens api.Tokens) error {
		run, err := findRun(ctx, runs, tokens, args[0])
		if err != nil {
			return err
		}
		return records.PrintRun(&e.IO, run)
	})
}

// runsResumeOptions are the options of broker runs resume.
type runsResumeOptions struct {
	file string
}

func runsResumeCommand(e *env) *cobra.Command {
	o := &runsResumeOptions{}
	c := &cobra.Command{
		Use:   "resume RUN",
		Short: "Resume a run without repeating the calls that it has made",
		Long: "Resume a run after a crash, or after a call that needed approval. Calls that have a result are answered from the\n" +
			"journal. With --code another script takes over; calls that the run has already made are not made again.\n" +
			"The exit code is the script's.\n\nExit codes:\n" + execCodesHelp,
		Args: cli.OneArg("the id of a run, or how it begins"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().StringVar(&o.file, "code", "", "a file with another script, or - for stdin")
	return c
}

func (o *runsResumeOptions) run(ctx context.Context, e *env, args []string) error {
	code := ""
	if o.file != "" {
		var err error
		if code, err = readScript(e, o.file); err != nil {
			return cli.Usagef("%w", err)
		}
	}
	var run api.Run
	err := e.withRuns(ctx, func(runs state.RunStore, tokens api.Tokens) (err error) {
		run, err = findRun(ctx, runs, tokens, args[0])
		return err
	})
	if err != nil {
		return err
	}
	req := broker.ExecuteRequest{Resume: run.Run.ID, Code: code, Owner: run.Run.Principal, Language: run.Run.Language, Client: "exec", Profile: run.Run.Profile, Narrowed: run.Run.Narrowed}
	if in := e.Interactive(); in != nil && o.file != "-" {
		req.Talker = talker(e, in)
	}
	return executeScript(ctx, e, false, req)
}

// runsSettleOptions are the options of broker runs settle.
type runsSettleOptions struct {
	done  bool
	retry bool
}

func runsSettleCommand(e *env) *cobra.Command {
	o := &runsSettleOptions{}
	c := &cobra.Command{
		Use:   "settle RUN CALL",
		Short: "Record what became of a call whose answer was lost",
		Long: "Record what became of a call that was sent before a crash and whose answer was lost. The broker never sends such a\n" +
			"call again by itself. First check whether it was done. Afterwards: broker runs resume RUN",
		Args: cli.SomeArgs(2, 2, "the id of a run, and the number of a call"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().BoolVar(&o.done, "done", false, "the call was done: the script gets null for it")
	c.Flags().BoolVar(&o.retry, "retry", false, "the call was not done: send it again")
	return c
}

func (o *runsSettleOptions) run(ctx context.Context, e *env, args []string) error {
	return e.withRuns(ctx, func(runs state.RunStore, tokens api.Tokens) error {
		n, err := strconv.Atoi(args[1])
		if err != nil || o.done == o.retry {
			return cli.Usagef("runs settle takes a run, the number of a call, and --done or --retry\nhint: broker runs show %s", args[0])
		}
		found, err := findRun(ctx, runs, tokens, args[0])
		if err != nil {
			return err
		}
		run := found.Run
		err = runs.Change(ctx, run.ID, func(r *state.Run, calls []state.RunCall) error { return state.Settle(r, calls, n, o.done) })
		if err != nil {
			return err
		}
		if e.JSON {
			return e.PrintJSON(map[string]any{"run_id": run.ID, "n": n, "done": o.done})
		}
		cli.Fprintf(e.Out, "call %d is %s; to go on: broker runs resume %s\n", n, map[bool]string{true: "done", false: "to be sent again"}[o.done], run.ID)
		return nil
	})
}
