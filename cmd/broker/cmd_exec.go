package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// maxTimeoutSeconds is a day: whatever the config allows is less.
const maxTimeoutSeconds = 86400

// execOptions are the options of broker exec.
type execOptions struct {
	readOnly  bool
	language  string
	isolation string
	timeout   float64
	plan      bool
}

func execCommand(e *env) *cobra.Command {
	o := &execOptions{}
	c := &cobra.Command{
		Use:   "exec FILE|-",
		Short: "Run a script that calls tools",
		Long: "Run a script as execute_code does. What it prints goes to stdout and stderr, then its result:\n" +
			"a text as it is, everything else as JSON, and nothing if it returns undefined. With --json, exactly what a model would get. The exit code is the script's.\n" +
			"On a terminal, simple forms that servers ask for are filled in there, and the progress that servers report on long calls is shown.\n\nExit codes:\n" + execCodesHelp,
		Args: cli.OneArg("one script file, or - for stdin"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	c.Flags().StringVar(&o.language, "language", "", "typescript, javascript or python (default by the file's ending)")
	c.Flags().StringVar(&o.isolation, "isolation", "", "worker or container (default as configured)")
	c.Flags().Float64Var(&o.timeout, "timeout", 0, "seconds (default and maximum as configured: 30 and 120)")
	c.Flags().BoolVar(&o.plan, "plan", false, "list the calls with which the script would write, without making them; after approval, the run makes exactly these")
	c.Flags().BoolVar(&o.readOnly, "read-only", false, "leave out every tool that is not marked read-only")
	return c
}

func (o *execOptions) run(ctx context.Context, e *env, args []string) error {
	code, err := readScript(e, args[0])
	if err != nil {
		return cli.Usagef("%w", err)
	}
	if !(o.timeout >= 0 && o.timeout <= maxTimeoutSeconds) {
		return cli.Usagef("--timeout is %g: use seconds, above 0 and at most %d", o.timeout, maxTimeoutSeconds)
	}
	if o.language != "" && !slices.Contains([]string{"typescript", "ts", "javascript", "js", "python", "py"}, strings.ToLower(o.language)) {
		return cli.Usagef("--language is %q: use typescript, javascript or python", o.language)
	}
	if o.language == "" {
		o.language = languageOf(args[0])
	}
	if o.isolation != "" && !slices.Contains([]string{"worker", "container"}, o.isolation) {
		return cli.Usagef("--isolation is %q: use worker or container", o.isolation)
	}
	req := broker.ExecuteRequest{Code: code, Plan: o.plan, Language: o.language, Isolation: o.isolation, AnyIsolation: true, Client: "exec", Timeout: time.Duration(o.timeout * float64(time.Second))}
	if args[0] != "-" {
		req.File, req.ClientInfo = args[0], gate.Line(filepath.Base(args[0]))
	}
	// A file on stdin may be data, and a log on stderr has no reader now.
	if in := e.Interactive(); in != nil && args[0] != "-" {
		req.Talker = talker(e, in)
	}
	return executeScript(ctx, e, o.readOnly, req)
}

// executeScript runs a script, prints what it answers, and ends with its exit code.
func executeScript(ctx context.Context, e *env, readOnly bool, req broker.ExecuteRequest) error {
	s, err := e.open(application.Overrides{ReadOnly: readOnly})
	if err != nil {
		return err
	}
	if err := s.RequirePlace(ctx, req.Language, req.Isolation); err != nil {
		_ = s.Close() // nothing has run
		return err
	}
	s.Broker.StartLazily(ctx)
	if req.Shell = true; !e.JSON {
		req.Stdout, req.Stderr, req.Uncut = cli.Exact(e.Out), cli.Exact(e.Err), true
	}
	if !e.JSON && cli.IsTerminal(e.Err) {
		req.Progress = cli.CallProgress(e.Err, time.Now)
	}
	b := s.Broker
	if req.Resume != "" { // the profiles of the run apply, and not those of this folder
		b = s.Bound
	}
	ans := b.Execute(ctx, req)
	closed := s.Close()
	if err := printAnswer(e, ans); err != nil {
		return err
	}
	if ans.ExitCode != 0 {
		return cli.ExitScript(ans.ExitCode)
	}
	return closed
}

func readScript(e *env, name string) (string, error) {
	if name == "-" {
		b, err := io.ReadAll(e.In)
		return string(b), err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read script: %w", err)
	}
	return string(b), nil
}

// languageOf goes by the ending; anything else is the configured default.
func languageOf(name string) string {
	switch filepath.Ext(name) {
	case ".ts", ".mts":
		return "typescript"
	case ".js", ".mjs":
		return "javascript"
	case ".py":
		return "python"
	}
	return ""
}

// printAnswer prints what a person has not seen yet: the script's own output
// went to the terminal while it ran.
func printAnswer(e *env, ans broker.ExecuteAnswer) error {
	if e.JSON {
		return e.PrintJSON(ans)
	}
	if len(ans.Result) > 0 {
		var text *string
		if json.Unmarshal(ans.Result, &text) == nil && text != nil {
			fmt.Fprintln(cli.Exact(e.Out), *text)
		} else {
			fmt.Fprintln(cli.Exact(e.Out), string(ans.Result))
		}
	}
	if ans.Diagnostics != "" {
		cli.Fprintln(e.Err, cli.Lines(ans.Diagnostics))
	}
	if ans.Hint != "" {
		cli.Fprintln(e.Err, cli.Hint(ans.Hint))
	}
	return nil
}

// talker returns a talker that asks the user at a terminal.
func talker(e *env, in io.Reader) upstream.Talker {
	t := cli.NewPerson(in, e.Err)
	t.Deny = broker.AnswerDeny
	return t
}
