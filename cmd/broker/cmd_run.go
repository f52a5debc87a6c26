package main

import (
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

func runCommand(e *env) *cobra.Command {
	var readOnly bool
	var timeout float64
	c := &cobra.Command{
		Use:   "run NAME[@VERSION] ['{\"json\"}' | KEY=VALUE... | -]",
		Short: "Run a saved script",
		Long: "Run a script that scripts save has saved, as exec runs a file. Its input is one JSON object, from stdin with -, or\n" +
			"KEY=VALUE: numbers, booleans, arrays and objects in JSON where the type of its main has them, else text. The input is\n" +
			"checked before anything runs. With --json, exactly what a model would get is printed.\n\nExit codes:\n" + execCodesHelp,
		Example: "  broker run stale owner=golang limit=10\n  broker run stale@2 '{\"owner\": \"golang\"}'",
		Args:    cli.SomeArgs(1, -1, "the name of a saved script, and perhaps its input\nhint: broker scripts list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(timeout >= 0 && timeout <= maxTimeoutSeconds) {
				return cli.Usagef("--timeout is %g: use seconds, above 0 and at most %d", timeout, maxTimeoutSeconds)
			}
			var s *script.Script
			err := e.withScripts(cmd.Context(), func(store script.Store) (err error) {
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
				Timeout: time.Duration(timeout * float64(time.Second))}
			if in := e.Interactive(); in != nil && !slices.Contains(args, "-") {
				req.Talker = talker(e, in)
			}
			return executeScript(cmd.Context(), e, readOnly, req)
		},
	}
	c.Flags().Float64Var(&timeout, "timeout", 0, "seconds (default and maximum as configured: 30 and 120)")
	c.Flags().BoolVar(&readOnly, "read-only", false, "leave out every tool that is not marked read-only")
	return c
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
