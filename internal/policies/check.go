package policies

import (
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A Check is what policy check finds.
type Check struct {
	Findings []policy.Finding `json:"findings"`
	// Guesses are tools with a class from their name alone.
	Guesses []classGuess `json:"guesses"`
	// Unlisted are servers with unknown tools.
	Unlisted []string `json:"unlisted,omitempty"`

	tools int
}

// A classGuess is a tool with a class from its name alone.
type classGuess struct {
	Tool  string `json:"tool"`
	Class string `json:"class"`
	Why   string `json:"why"`
}

// maxGuesses is how many guessed classes are printed.
const maxGuesses = 20

// CheckRules compares a policy with the tools of all servers.
func CheckRules(rules *policy.Rules, tools []*discovery.Tool, unlisted []string) Check {
	out := Check{Findings: cli.OrEmpty(rules.Check(tools)), Guesses: []classGuess{}, Unlisted: unlisted, tools: len(tools)}
	for _, t := range tools {
		if policy.IsGuess(t) {
			out.Guesses = append(out.Guesses, classGuess{t.ID, rules.ClassOf(t).String(), rules.WhyClass(t)})
		}
	}
	return out
}

// Print prints a check, and returns the error of a command that has found something.
func (out Check) Print(t *cli.IO) error {
	if err := out.write(t); err != nil {
		return err
	}
	switch {
	case len(out.Unlisted) > 0:
		return cli.Exit(cli.ExitServers, cli.Errorf("the tools of %s are not known\nhint: broker index", strings.Join(out.Unlisted, ", ")))
	case len(out.Findings) > 0:
		return cli.Exit(cli.ExitFailed, nil)
	}
	return nil
}

func (out Check) write(t *cli.IO) error {
	if t.JSON {
		return t.PrintJSON(out)
	}
	for _, f := range out.Findings {
		cli.Fprintf(t.Out, "%s: %s\n", f.At, f.Text)
		if len(f.Near) > 0 {
			cli.Fprintf(t.Out, "  did you mean %s?\n", strings.Join(f.Near, ", "))
		}
	}
	if len(out.Findings) == 0 {
		cli.Fprintln(t.Out, "every pattern matches a tool, and every rule can decide")
	}
	cli.Fprintf(t.Out, "\nthe class of %d of %s is a guess from the name\n", len(out.Guesses), cli.Count(out.tools, "tool"))
	for i, g := range out.Guesses {
		if i == maxGuesses {
			cli.Fprintf(t.Out, "  and %d more (--json has all)\n", len(out.Guesses)-i)
			break
		}
		cli.Fprintf(t.Out, "  %s: %s, %s\n", g.Tool, g.Class, g.Why)
	}
	return nil
}

// toolFor is the tool of a recorded call: as it is known now, or by its name alone.
func toolFor(catalog *discovery.Catalog, server, name, id string) *discovery.Tool {
	if t, ok := catalog.Tool(id); ok && t.Server == server {
		return t
	}
	return policy.NewTool(discovery.Listing{Server: server}, name)
}
