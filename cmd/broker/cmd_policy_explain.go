package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/policy"
)

// withTools is for commands that look at the policy from outside: the broker that
// f gets knows the tools that it denies too.
func (a *app) withTools(f func(*application.App) error) error {
	a.unruled = true
	s, err := a.open(-1)
	if err != nil {
		return err
	}
	err = f(s)
	if closed := s.Close(); err == nil {
		err = closed
	}
	return err
}

func (a *app) policyExplainCommand() *cobra.Command {
	var profile string
	c := &cobra.Command{
		Use:   "explain TOOL [ARGS.json | '{\"json\"}' | -]",
		Short: "Explain the policy's decision about a call, rule by rule",
		Long: "Explain the policy's decision about a call: the class of the tool and why, the decision, and for each rule whether it\n" +
			"matches, or the first reason why it does not. Without arguments, rules about arguments do not match. Earlier calls of a\n" +
			"script (budgets, flows) are not taken into account.",
		Example: "  broker policy explain github.delete_repo\n  broker policy explain mail.send '{\"to\": \"ann@acme.com\"}' --profile ci",
		Args:    cli.SomeArgs(1, 2, "the name of a tool, and perhaps its arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			input, err := a.explainInput(args[1:])
			if err != nil {
				return err
			}
			return a.withTools(func(s *application.App) error {
				s.Broker.StartLazily(cmd.Context())
				d, err := s.Broker.Describe(cmd.Context(), args[0])
				if err != nil {
					return callError(err)
				}
				tool, ok := s.Broker.Catalog().Tool(d.Name)
				if !ok {
					return callError(&bridge.Error{Code: bridge.CodeUnknownTool, Message: "unknown tool " + d.Name})
				}
				rules := s.Config.Rules()
				if profile != "" && !rules.HasProfile(profile) {
					return cli.Usagef("the policy has no profile %q", profile)
				}
				call := policy.Call{Tool: tool, Args: input, Profile: profile, ReadOnly: s.Config.Broker.ReadOnly || a.readOnly}
				e := rules.Explain(call)
				if a.JSON {
					return a.PrintJSON(e)
				}
				printExplanation(a.Out, e)
				return nil
			})
		},
	}
	c.Flags().StringVar(&profile, "profile", "", "for a caller with this profile")
	c.Flags().BoolVar(&a.readOnly, "read-only", false, "as if the broker ran read-only")
	return c
}

// explainInput are arguments as JSON, in a file or as they were typed.
func (a *app) explainInput(words []string) (json.RawMessage, error) {
	if len(words) == 0 {
		return nil, nil
	}
	text := words[0]
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		data, err := a.readScenarioFile(text)
		if err != nil {
			return nil, cli.Usagef("%w", err)
		}
		text = string(data)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, cli.Usagef("the arguments are not a JSON object: %w", err)
	}
	return json.RawMessage(text), nil
}

func printExplanation(w io.Writer, e policy.Explanation) {
	cli.Fprintf(w, "%s: %s (%s)\n", e.Tool, e.Effect, e.Code)
	if e.Reason != "" {
		cli.Fprintf(w, "  it %s\n", e.Reason)
	}
	cli.Fprintf(w, "  class %s: %s\n", e.Class, e.WhyClass)
	for _, r := range e.Rules {
		what, profile := "matches", ""
		switch {
		case r.Decides:
			what = "decides"
		case !r.Matches:
			what = "does not match: " + r.Why
		}
		if r.Profile != "" {
			profile = " of profile " + r.Profile
		}
		cli.Fprintf(w, "  %s: rule %d%s (%s) %s\n", r.At, r.Index, profile, r.Effect, what)
	}
}

// A policyCheck is what policy check finds.
type policyCheck struct {
	Findings []policy.Finding `json:"findings"`
	// Guesses are tools with a class from their name alone.
	Guesses []classGuess `json:"guesses"`
	// Unlisted are servers with unknown tools.
	Unlisted []string `json:"unlisted,omitempty"`
}

type classGuess struct {
	Tool  string `json:"tool"`
	Class string `json:"class"`
	Why   string `json:"why"`
}

func (a *app) policyCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Find patterns that match no tool, and rules that never apply",
		Long: "Compare the policy with the tools of all servers: patterns that match no known tool, rules that never apply, and\n" +
			"tools whose class is a guess because their servers do not say.\n\nExit codes:\n  0   nothing was found\n  1   patterns or rules were found\n  3   the tools of some servers are not known",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withTools(func(s *application.App) error {
				a.learnMissing(cmd, s, "")
				rules, tools := s.Config.Rules(), s.Broker.Catalog().Tools()
				out := policyCheck{Findings: cli.OrEmpty(rules.Check(tools)), Guesses: []classGuess{}, Unlisted: s.Broker.Unlisted()}
				for _, t := range tools {
					if policy.IsGuess(t) {
						out.Guesses = append(out.Guesses, classGuess{t.ID, rules.ClassOf(t).String(), rules.WhyClass(t)})
					}
				}
				if err := a.printCheck(out, len(tools)); err != nil {
					return err
				}
				switch {
				case len(out.Unlisted) > 0:
					return cli.Exit(cli.ExitServers, cli.Errorf("the tools of %s are not known\nhint: broker index", strings.Join(out.Unlisted, ", ")))
				case len(out.Findings) > 0:
					return cli.Exit(cli.ExitFailed, nil)
				}
				return nil
			})
		},
	}
}

// maxGuesses is how many guessed classes are printed.
const maxGuesses = 20

func (a *app) printCheck(out policyCheck, tools int) error {
	if a.JSON {
		return a.PrintJSON(out)
	}
	for _, f := range out.Findings {
		cli.Fprintf(a.Out, "%s: %s\n", f.At, f.Text)
		if len(f.Near) > 0 {
			cli.Fprintf(a.Out, "  did you mean %s?\n", strings.Join(f.Near, ", "))
		}
	}
	if len(out.Findings) == 0 {
		cli.Fprintln(a.Out, "every pattern matches a tool, and every rule can decide")
	}
	cli.Fprintf(a.Out, "\nthe class of %d of %s is a guess from the name\n", len(out.Guesses), cli.Count(tools, "tool"))
	for i, g := range out.Guesses {
		if i == maxGuesses {
			cli.Fprintf(a.Out, "  and %d more (--json has all)\n", len(out.Guesses)-i)
			break
		}
		cli.Fprintf(a.Out, "  %s: %s, %s\n", g.Tool, g.Class, g.Why)
	}
	return nil
}

// toolFor is the tool of a recorded call: as it is known now, or by its name alone.
func toolFor(s *application.App, server, name, id string) *discovery.Tool {
	if t, ok := s.Broker.Catalog().Tool(id); ok && t.Server == server {
		return t
	}
	return policy.NewTool(discovery.Listing{Server: server}, name)
}
