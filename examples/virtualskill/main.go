// Command virtualskill defines a skill in Go and serves it. A skill tells a
// model how something is done; one in Go can also check what the model does,
// with tools that are functions and with a workflow that goes step by step.
//
//	go run ./examples/virtualskill          shows what a model sees of the skill
//	go run ./examples/virtualskill serve    is an MCP server with the skill, on stdio
//
// The skill is in haiku.go, its workflow in workflow.go. What a program with its
// own skills has to do beside that is in this file.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
	"github.com/mcpbroker/mcpbroker/skills"
)

func main() {
	// The broker runs the scripts of models in children of this program, which
	// are this program again.
	if worker.IsChild() {
		worker.Main()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "virtualskill:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	// A registry knows skills. This one knows those of the program; with options
	// it finds those in folders too.
	registry := skills.NewRegistry(nil)
	skill, err := haiku()
	if err != nil {
		return err
	}
	if err := registry.Register(skill); err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		return show(ctx, registry.Snapshot(), out)
	case len(args) == 1 && args[0] == "serve":
		return serve(ctx, registry)
	}
	return fmt.Errorf("unknown arguments %q: give none, or serve", args)
}

// serve answers an MCP client over stdin and stdout. The broker could have
// upstream servers too, for the actions of workflows and for scripts; with
// Workflows, sessions of workflows would outlive the process.
func serve(ctx context.Context, registry *skills.Registry) error {
	b, err := broker.New(broker.Deps{Runner: worker.New(nil), Version: "example"}, broker.Settings{Skills: registry})
	if err != nil {
		return err
	}
	defer b.Close()
	b.Start(ctx)
	return b.ServeStdio(ctx, "stdio")
}

// show does what a model does with a skill, one thing after the other.
func show(ctx context.Context, now *skills.Snapshot, out io.Writer) error {
	// It has read in its list of tools that there is a skill.
	fmt.Fprintf(out, "%s\n\n", now.Catalogue(0))

	// It activates the skill: activate_skill {"name": "haiku", "arguments": "autumn"}.
	skill, err := now.Get("haiku")
	if err != nil {
		return err
	}
	var conversation skills.Session // of one model; the second time the text is not repeated
	activation, err := skill.Activate(&conversation, "autumn", false)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n\n", activation.Text)

	// It reads a file: read_skill_file {"skill": "haiku", "path": "references/rules.md"}.
	page, err := skill.ReadFile("references/rules.md", 0, 0)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, page.Text)

	// It calls a tool: call_skill_tool {"skill": "haiku", "tool": "count_words", "input": …}.
	for _, input := range []string{`{"poem": "leaves"}`, `{"text": "leaves on the cold path / a broker of wind and rain / sells them to the night"}`} {
		answer, err := skill.Call(ctx, "count_words", json.RawMessage(input))
		if err != nil {
			fmt.Fprintln(out, err) // the first input is wrong; the handler was not called
			continue
		}
		fmt.Fprintf(out, "%s\n\n", answer)
	}
	return play(ctx, skill, out)
}
