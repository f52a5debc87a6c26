package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/state"
)

func (a *app) callCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "call SERVER.TOOL ['{\"json\"}' | KEY=VALUE... | -]",
		Short: "Call one tool",
		Long: "Call one tool, as a script would: its arguments are checked and the call is recorded. Only its server is started.\n" +
			"Arguments are one JSON object, from stdin with -, or KEY=VALUE: JSON where the tool's schema has numbers, booleans,\n" +
			"arrays or objects, else text. The answer of the tool is printed as JSON, a single text as it is; with --json, all that\n" +
			"the server sent is printed.\n\nExit codes:\n  0   done\n  1   the tool failed\n  2   wrong usage, arguments or config; no such tool\n  3   its server cannot be reached",
		Example: "  broker call github.list_issues owner=o repo=r state=OPEN limit=5\n  broker call files.read_file '{\"path\": \"a.txt\"}'",
		Args:    someArgs(1, -1, "the name of a tool, and perhaps its arguments\nhint: broker search WORDS finds tools by what they do"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.open(-1)
			if err != nil {
				return err
			}
			s.broker.StartLazily(cmd.Context())
			value, raw, err := a.call(cmd, s, args[0], args[1:])
			closed := s.close()
			if a.json && raw != nil {
				if e := a.printJSON(raw); e != nil {
					return e
				}
			}
			if err != nil {
				return err
			}
			if !a.json {
				if err := a.printValue(value); err != nil {
					return err
				}
			}
			return closed
		},
	}
	c.Flags().BoolVar(&a.readOnly, "read-only", false, "refuse a tool that is not marked read-only")
	return c
}

// call calls a tool with what was typed after its name.
func (a *app) call(cmd *cobra.Command, s *session, tool string, words []string) (value, raw json.RawMessage, err error) {
	input, err := a.callInput(cmd, s, tool, words)
	if err != nil {
		return nil, nil, callError(err)
	}
	req := broker.CallRequest{Tool: tool, Arguments: input, Client: clientCLI, Owner: state.Local}
	if in, ok := a.stdin.(*os.File); ok && !slices.Contains(words, "-") && onTerminal(in) && onTerminal(a.stderr) {
		req.Talker = newTerminal(in, a.stderr)
	}
	value, raw, err = s.broker.Call(cmd.Context(), req)
	return value, raw, callError(err)
}

// callInput returns the arguments of a call as JSON, or nil.
func (a *app) callInput(cmd *cobra.Command, s *session, tool string, words []string) (json.RawMessage, error) {
	return a.typedInput("call", tool, words, func() schema {
		d, _ := s.broker.Describe(cmd.Context(), tool) // the call says what is wrong, and is recorded
		return readSchema(d.InputSchema)
	})
}

// typedInput is what was typed after the name of something, as one JSON object;
// nil for nothing.
func (a *app) typedInput(command, name string, words []string, of func() schema) (json.RawMessage, error) {
	if len(words) == 0 {
		return nil, nil
	}
	if first := strings.TrimSpace(words[0]); first == "-" || strings.HasPrefix(first, "{") {
		if len(words) > 1 {
			return nil, usage("%s takes one JSON object or KEY=VALUE..., got %q too", command, words[1])
		}
		return a.skillInput(first)
	}
	for _, w := range words {
		if strings.Index(w, "=") < 1 {
			return nil, usage("%q is not KEY=VALUE\nhint: broker %s %s KEY=VALUE..., or one JSON object: '{\"key\": \"value\"}'", w, command, name)
		}
	}
	return typedArguments(of(), words)
}

// typedArguments makes an object of words, which are KEY=VALUE. A key that is
// given again, or with something that is not JSON, adds to an array.
func typedArguments(s schema, words []string) (json.RawMessage, error) {
	args := make(map[string]any)
	for _, w := range words {
		key, text, _ := strings.Cut(w, "=")
		p := s.property(key)
		v := p.typed(text)
		types := p.types()
		old, again := args[key]
		list, adds := old.([]any)
		if _, whole := v.(json.RawMessage); !whole && slices.Contains(types, "array") && !slices.Contains(types, "string") && (adds || !again) {
			args[key] = append(list, p.resolved().sub("items").typed(text))
			continue
		}
		if again {
			return nil, usage("%s is given twice", key)
		}
		args[key] = v
	}
	return json.Marshal(args)
}

// callError is why a call failed, for a person: what to type next is a command.
func callError(err error) error {
	e, ok := errors.AsType[*bridge.Error](err)
	if !ok {
		return err
	}
	e = e.ForShell()
	code, hint, tool := exitFailed, e.Hint, e.Server+"."+e.Tool
	switch e.Code {
	case bridge.CodeUnknownTool:
		code, hint = exitUsage, "broker search WORDS finds tools by what they do"
	case bridge.CodeArguments:
		code, hint = exitUsage, "broker tools show "+tool
	case bridge.CodeUnavailable:
		code = exitServers
		if hint == "" {
			hint = "broker servers test " + e.Server
		}
	case bridge.CodeDenied:
		hint = ""
	case bridge.CodeRateLimited:
		hint = "try again later"
		if e.RetryAfterMS > 0 {
			hint = fmt.Sprintf("try again in %d s", (e.RetryAfterMS+999)/1000)
		}
	}
	text := e.Message
	if e.Code.OfServer() { // the message is the server's text
		text = tool + ": " + text
	}
	said := indentedAfter("  ", text)
	if hint != "" {
		said += "\nhint: " + indentedAfter("  ", hint)
	}
	return &codeError{code, ownLines{errors.New(string(said))}}
}
