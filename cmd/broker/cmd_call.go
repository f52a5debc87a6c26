package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/state"
)

// callOptions are the options of broker call.
type callOptions struct {
	readOnly bool
}

func callCommand(e *env) *cobra.Command {
	o := &callOptions{}
	c := &cobra.Command{
		Use:   "call SERVER.TOOL ['{\"json\"}' | KEY=VALUE... | -]",
		Short: "Call one tool",
		Long: "Call one tool, as a script would: its arguments are checked and the call is recorded. Only its server is started.\n" +
			"Arguments are one JSON object, from stdin with -, or KEY=VALUE: JSON where the tool's schema has numbers, booleans,\n" +
			"arrays or objects, else text. The answer of the tool is printed as JSON, a single text as it is; with --json, all that\n" +
			"the server sent is printed.\n\nExit codes:\n  0   done\n  1   the tool failed\n  2   wrong usage, arguments or config; no such tool\n  3   its server cannot be reached",
		Example: "  broker call github.list_issues owner=o repo=r state=OPEN limit=5\n  broker call files.read_file '{\"path\": \"a.txt\"}'",
		Args:    cli.SomeArgs(1, -1, "the name of a tool, and perhaps its arguments\nhint: broker search WORDS finds tools by what they do"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().BoolVar(&o.readOnly, "read-only", false, "refuse a tool that is not marked read-only")
	return c
}

func (o *callOptions) run(ctx context.Context, e *env, args []string) error {
	s, err := e.open(application.Overrides{ReadOnly: o.readOnly})
	if err != nil {
		return err
	}
	s.Broker.StartLazily(ctx)
	value, raw, err := callTool(ctx, e, s, args[0], args[1:])
	closed := s.Close()
	if e.JSON && raw != nil {
		if closed := e.PrintJSON(raw); closed != nil {
			return closed
		}
	}
	if err != nil {
		return err
	}
	if !e.JSON {
		if err := printValue(e, value); err != nil {
			return err
		}
	}
	return closed
}

// callTool calls a tool with what was typed after its name.
func callTool(ctx context.Context, e *env, s *application.App, tool string, words []string) (value, raw json.RawMessage, err error) {
	input, err := callInput(ctx, e, s, tool, words)
	if err != nil {
		return nil, nil, cli.CallError(err)
	}
	req := broker.CallRequest{Tool: tool, Arguments: input, Client: application.ClientCLI, Owner: state.Local}
	if in := e.Interactive(); in != nil && !slices.Contains(words, "-") {
		req.Talker = talker(e, in)
	}
	value, raw, err = s.Broker.Call(ctx, req)
	return value, raw, cli.CallError(err)
}

// callInput returns the arguments of a call as JSON, or nil.
func callInput(ctx context.Context, e *env, s *application.App, tool string, words []string) (json.RawMessage, error) {
	return typedInput(e, "call", tool, words, func() cli.Schema {
		d, _ := s.Broker.Describe(ctx, tool) // the call says what is wrong, and is recorded
		return cli.ReadSchema(d.InputSchema)
	})
}

// typedInput is what was typed after the name of something, as one JSON object;
// nil for nothing.
func typedInput(e *env, command, name string, words []string, of func() cli.Schema) (json.RawMessage, error) {
	if len(words) == 0 {
		return nil, nil
	}
	if first := strings.TrimSpace(words[0]); first == "-" || strings.HasPrefix(first, "{") {
		if len(words) > 1 {
			return nil, cli.Usagef("%s takes one JSON object or KEY=VALUE..., got %q too", command, words[1])
		}
		return skillInput(e, first)
	}
	for _, w := range words {
		if strings.Index(w, "=") < 1 {
			return nil, cli.Usagef("%q is not KEY=VALUE\nhint: broker %s %s KEY=VALUE..., or one JSON object: '{\"key\": \"value\"}'", w, command, name)
		}
	}
	return cli.TypedArguments(of(), words)
}
