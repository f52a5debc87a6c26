package policies

import (
	"fmt"
	"io"
	"os"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/policy"
)

// ReadScenarios reads a file of scenarios, which may have comments.
func ReadScenarios(stdin io.Reader, name string) ([]policy.Scenario, error) {
	text, err := readScenarioFile(stdin, name)
	if err != nil {
		return nil, err
	}
	plain, err := hujson.Standardize(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return policy.ReadScenarios(name, plain)
}

// maxScenarios is how many bytes a file of scenarios may have.
const maxScenarios = 64 << 20

func readScenarioFile(stdin io.Reader, name string) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxScenarios+1))
	if err == nil && len(text) > maxScenarios {
		err = fmt.Errorf("%s has more than %d MiB", name, maxScenarios>>20)
	}
	return text, err
}

// TestScenarios prints where a policy decides otherwise than scenarios expect, which is an
// error with exit code 1.
func TestScenarios(t *cli.IO, scenarios []policy.Scenario) error {
	results, differences := []policy.Outcome{}, 0
	for _, s := range scenarios {
		o := s.Outcome()
		results = append(results, o)
		lines := s.Differences(o)
		if len(lines) > 0 {
			differences++
		}
		if t.JSON {
			continue
		}
		for _, line := range lines {
			cli.Fprintf(t.Out, "%s: %s\n", s.ID, line)
		}
		if len(lines) > 0 && o.Error != "" {
			cli.Fprintf(t.Out, "  %s\n", cli.IndentAfter("  ", o.Error))
		}
	}
	if t.JSON {
		if err := t.PrintJSON(map[string]any{"results": results}); err != nil {
			return err
		}
	} else {
		cli.Fprintf(t.Out, "%d of %s as expected\n", len(results)-differences, cli.Count(len(results), "scenario"))
	}
	if differences > 0 {
		return cli.Exit(cli.ExitFailed, nil)
	}
	return nil
}
