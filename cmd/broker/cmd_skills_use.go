package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

func skillsCallCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "call NAME TOOL [INPUT|-]",
		Short: "Call a tool of a skill: a script, a workflow's start or advance, or a tool that the skill defines",
		Long: "Call a tool of a skill as call_skill_tool does. INPUT is JSON; with -, it is read from stdin. What the tool answers is printed as JSON; the exit code\n" +
			"is 1 if it failed, also when a workflow does not take an answer.",
		Example: "  broker skills call triage start '{\"repo\": \"o/r\"}'\n  broker skills call triage advance '{\"session\": \"…\", \"answer\": {\"level\": 2}}'",
		Args:    cli.SomeArgs(2, 3, "the names of a skill and of a tool, and perhaps an input"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runSkillsCall(cmd.Context(), e, args) },
	}
}

func runSkillsCall(ctx context.Context, e *env, args []string) error {
	input, err := skillInput(e, append(args, "")[2])
	if err != nil {
		return err
	}
	s, err := e.open(application.Overrides{})
	if err != nil {
		return err
	}
	s.Broker.StartLazily(ctx)
	value, failed, err := s.Broker.CallSkillTool(ctx, args[0], args[1], input, broker.ExecuteRequest{Client: application.ClientCLI, Owner: state.Local, Shell: true})
	closed := s.Close()
	if wrong, ok := errors.AsType[*skills.FileError](err); ok {
		hint := "broker skills show " + args[0]
		if wrong.Code == "skill_not_found" {
			hint = "broker skills list"
		}
		return cli.Usagef("%w [%s]\nhint: %s", wrong, wrong.Code, hint)
	}
	if err != nil {
		return err
	}
	if err := printValue(e, value); err != nil {
		return err
	}
	if failed {
		return cli.Exit(cli.ExitFailed, nil)
	}
	return closed
}

// skillInput reads the input of a tool; nil is none.
func skillInput(e *env, text string) (json.RawMessage, error) {
	if text == "-" {
		data, err := io.ReadAll(e.In)
		if err != nil {
			return nil, fmt.Errorf("read the input: %w", err)
		}
		text = string(data)
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, cli.Usagef("the input is invalid JSON: %s\nhint: quote it for the shell, as in '{\"name\": \"…\"}', or give it on stdin with -", cli.OneLine(text, 80))
	}
	return json.RawMessage(text), nil
}

// printValue prints a JSON value; text is printed as it is, unless --json asks
// for JSON.
func printValue(e *env, value json.RawMessage) error {
	var text string
	if !e.JSON && json.Unmarshal(value, &text) == nil && !bytes.Equal(value, []byte("null")) {
		_, err := cli.Fprintln(e.Out, cli.Lines(text))
		return err
	}
	return e.PrintJSON(value)
}
