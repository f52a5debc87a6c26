package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/script"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/schema"
)

// runOptions are the options of broker run.
type runOptions struct {
	readOnly bool
	timeout  float64
}

func runCommand(e *env) *cobra.Command {
	o := &runOptions{}
	c := &cobra.Command{
		Use:   "run NAME[@VERSION] ['{\"json\"}' | KEY=VALUE... | -]",
		Short: "Run a saved script",
		Long: "Run a script that scripts save has saved, as exec runs a file. Its input is one JSON object, from stdin with -, or\n" +
			"KEY=VALUE: numbers, booleans, arrays and objects in JSON where the type of its main has them, else text. The input is\n" +
			"checked before anything runs. With --json, exactly what a model would get is printed.\n\nExit codes:\n" + execCodesHelp,
		Example: "  broker run stale owner=golang limit=10\n  broker run stale@2 '{\"owner\": \"golang\"}'",
		Args:    cli.SomeArgs(1, -1, "the name of a saved script, and perhaps its input\nhint: broker scripts list"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().Float64Var(&o.timeout, "timeout", 0, "seconds (default and maximum as configured: 30 and 120)")
	c.Flags().BoolVar(&o.readOnly, "read-only", false, "leave out every tool that is not marked read-only")
	return c
}

func (o *runOptions) run(ctx context.Context, e *env, args []string) error {
	if !(o.timeout >= 0 && o.timeout <= maxTimeoutSeconds) {
		return cli.Usagef("--timeout is %g: use seconds, above 0 and at most %d", o.timeout, maxTimeoutSeconds)
	}
	var s *script.Script
	err := e.withScripts(ctx, func(store script.Store) (err error) {
		s, err = store.Load(args[0])
		return unknownScript(err)
	})
	if err != nil {
		return err
	}
	input, err := scriptInput(e, s, args[0], args[1:])
	if err != nil {
		return err
	}
	req := broker.ExecuteRequest{Code: script.Driver(s, args[0], input), Language: "typescript", AnyIsolation: true, Client: "run", ClientInfo: gate.Line(args[0]),
		Timeout: time.Duration(o.timeout * float64(time.Second))}
	if in := e.Interactive(); in != nil && !slices.Contains(args, "-") {
		req.Talker = talker(e, in)
	}
	return executeScript(ctx, e, o.readOnly, req)
}

// scriptInput is the input of a script, which fits its type.
func scriptInput(e *env, s *script.Script, ref string, words []string) (json.RawMessage, error) {
	var of json.RawMessage
	if s.Input != nil {
		of = s.Input.Schema
	}
	input, err := typedInput(e, "run", ref, words, func() cli.Schema { return cli.ReadSchema(of) })
	switch {
	case err != nil:
		return nil, err
	case s.Input == nil && input != nil:
		return nil, cli.Usagef("%s takes no input\nhint: broker scripts show %s", ref, ref)
	case s.Input == nil || input == nil && s.Input.Optional:
		return nil, nil
	case input == nil:
		input = json.RawMessage("{}")
	}
	check, err := schema.Compile(of)
	if err == nil {
		err = check.Check(input)
	}
	if err != nil {
		return nil, cli.Usagef("the input of %s: %w\nhint: its type is %s", ref, err, s.Input.Type)
	}
	return input, nil
}
