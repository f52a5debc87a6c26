package approve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Pending is a call that waits for a person to approve it or, if its outcome is unknown, to
// settle it.
type Pending struct {
	N     int             `json:"n"`
	Tool  string          `json:"tool"`
	Args  json.RawMessage `json:"args,omitempty"`
	Why   string          `json:"why"`
	State string          `json:"state,omitempty"`
	// DependsOn is the last call of a plan with a result that is part of Args.
	DependsOn int `json:"depends_on,omitempty"`
	// Bytes is the size of the arguments if Args has only their beginning: such a call
	// cannot be approved. It is 0 if Args is complete.
	Bytes int `json:"bytes,omitempty"`
}

const (
	maxPendingArgs = 2_000
	maxPendingWhy  = 300
)

// Asked returns a call for the person who decides about it: in full, with invisible
// characters escaped, and without tokens of known services. Nothing else is hidden,
// since the author of the arguments could have chosen it.
func Asked(c state.RunCall) Pending {
	p := PendingOf(c)
	if len(c.Args) > 0 {
		p.Args = spellMixed(gate.Spell(redact.Shown(c.Args)))
	}
	return p
}

// Cut returns p for a list, with long arguments cut to a string.
func (p Pending) Cut() Pending {
	if text := string(p.Args); len(text) > maxPendingArgs {
		p.Bytes = len(text)
		p.Args = gate.Compact(gate.Cut(text, maxPendingArgs/2) + fmt.Sprintf(" [cut: %d bytes in all]", len(text)))
	}
	return p
}

// PendingOf returns a call for models: cut and redacted, with invisible characters
// escaped.
func PendingOf(c state.RunCall) Pending {
	p := Pending{N: c.Ordinal, Tool: gate.Cut(gate.Line(c.Tool), 200), Why: sentence(c.Why), DependsOn: c.DependsOn}
	if len(c.Args) > 0 {
		p.Args = gate.Spell(redact.JSON(c.Args, maxPendingArgs)) // also in approved arguments
	}
	if c.Lost() {
		p.State, p.Why = state.RunUnknown, "it was sent, and its answer was lost: nobody knows whether it was done"
	}
	return p
}

// sentence returns a reason of the policy as a sentence about the call.
func sentence(why string) string {
	if why == "" {
		return ""
	}
	return "it " + gate.Quote(why, maxPendingWhy)
}

// String formats the call as two lines for a terminal; the second has the full
// arguments.
func (p Pending) String() string {
	after := ""
	if p.DependsOn > 0 {
		after = fmt.Sprintf(", with the result of call %d", p.DependsOn)
	}
	return fmt.Sprintf("%3d  %s: %s%s\n     %s", p.N, p.Tool, p.Why, after, exactLine(p.Args))
}

// Summary lists the writes of a run that were made, and those that were not.
func Summary(calls []state.RunCall) string {
	var done, not []string
	for _, c := range calls {
		name := fmt.Sprintf("%d %s", c.Ordinal, gate.Cut(gate.Line(c.Tool), 100))
		switch {
		case c.State == state.RunAsked || c.State == state.RunApproved || c.State == state.RunFailed && c.By != "":
			not = append(not, name)
		case c.Class == "" || c.Class == "read":
		case c.Lost():
			done = append(done, name+" (not known)")
		case c.State == state.RunDone:
			done = append(done, name)
		}
	}
	return "written: " + cmp.Or(strings.Join(done, ", "), "nothing") + "; not written: " + cmp.Or(strings.Join(not, ", "), "nothing")
}

// Denied returns, as JSON, the error that a script gets for a call that a person denied. The
// reason may be empty.
func Denied(c state.RunCall, reason string) json.RawMessage {
	server, tool, _ := strings.Cut(c.Tool, "__")
	e := &bridge.Error{Server: server, Tool: tool, Code: bridge.CodeDenied, Message: c.Tool + " was denied by the user",
		Hint: "go on without it, or ask the user what to do instead"}
	if reason != "" {
		e.Message += ": " + reason
	}
	b, _ := json.Marshal(&sandbox.CallError{Name: "ToolError", Message: e.Message, Fields: e.Fields()}) // its fields are JSON
	return b
}

// Lasting returns an error if a rule that allows these calls would not keep the policy from
// asking: rules that ask, and flows, take precedence over it.
func Lasting(calls []state.RunCall) error {
	for _, c := range calls {
		if c.Code != policy.CodePreset || strings.ContainsAny(c.Tool, "*?[]\\") {
			return fmt.Errorf("%s cannot be approved always: it %s, and that wins over a rule that allows", c.Tool, gate.Quote(c.Why, maxPendingWhy))
		}
	}
	return nil
}

// ToolsOf returns the ids of the tools of calls, each once.
func ToolsOf(calls []state.RunCall) (tools []string) {
	for _, c := range calls {
		if !slices.Contains(tools, c.Tool) {
			tools = append(tools, c.Tool)
		}
	}
	return tools
}
