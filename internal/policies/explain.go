package policies

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/policy"
)

// ReadArguments are arguments as JSON, in a file or as they were typed.
func ReadArguments(stdin io.Reader, words []string) (json.RawMessage, error) {
	if len(words) == 0 {
		return nil, nil
	}
	text := words[0]
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		data, err := readScenarioFile(stdin, text)
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

// PrintExplanation prints a decision of the policy, rule by rule.
func PrintExplanation(w io.Writer, e policy.Explanation) {
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
