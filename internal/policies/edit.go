package policies

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/approver"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/policy"
)

// Options are the flags of policy allow, ask and deny.
type Options struct {
	Class, Reason string
	Remove        bool
}

// A Change is the result of policy allow, ask or deny.
type Change struct {
	Config string `json:"config"`
	// Action is "added", "removed" or "unchanged".
	Action string `json:"action"`
	Effect string `json:"effect"`
	Tools  string `json:"tools"`
	Class  string `json:"class,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Matched is the number of known tools that the rule matches, and Others are those
	// of them that other rules decide about.
	Matched int `json:"matched"`
	// Decided are the matched tools that the rule decides about.
	Decided []string    `json:"decided,omitempty"`
	Others  []otherwise `json:"others,omitempty"`
	rule    config.ToolRule
	// unlisted are servers with unknown tools.
	unlisted []string
}

// An otherwise is a tool for which the policy decides differently than the new rule.
type otherwise struct {
	Tool   string `json:"tool"`
	Effect string `json:"effect"`
	Reason string `json:"reason,omitempty"`
	At     string `json:"at,omitempty"` // of the rule
}

// Rule returns the rule that a command describes. A pattern that matches no known tool
// is an error, unless the rule is to be removed.
func (o Options) Rule(ctx context.Context, b *broker.Broker, cfg *config.Config, effect policy.Effect, name string) (r config.ToolRule, err error) {
	switch o.Class {
	case "", "read", "unknown", "write", "destructive", policy.ClassDeletes:
	default:
		return r, cli.Usagef("unknown class %q\nhint: read, unknown, write, destructive or deletes", o.Class)
	}
	if strings.ContainsAny(o.Reason, "\r\n") {
		return r, cli.Usagef("the reason must be one line")
	}
	r = config.ToolRule{Effect: effect, Tools: name, Class: o.Class, Reason: o.Reason}
	if o.Remove || name == "*" || cfg.Server(name) != nil && plainName(name) {
		return r, nil
	}
	catalog := b.Catalog()
	if server, ok := catalog.FindServer(name); ok {
		r.Tools = server.Prefix
		return r, nil
	}
	if strings.ContainsAny(name, `*?[`) {
		return r, matchesTool(name, catalog.Tools())
	}
	if _, ok := catalog.ServerOf(name); !ok {
		server, _, found := strings.Cut(name, ".")
		if cfg.Server(server) == nil || !found {
			return r, cli.UnknownServer(cfg, name, "policy "+effect.String())
		}
	}
	b.StartLazily(ctx)
	d, err := b.Describe(ctx, name)
	if err != nil {
		return r, cli.CallError(err)
	}
	t, ok := b.Catalog().Tool(d.Name)
	if !ok {
		return r, cli.CallError(&bridge.Error{Code: bridge.CodeUnknownTool, Message: "unknown tool " + d.Name})
	}
	if r.Tools = t.ID; plainName(t.Server) && plainName(t.Name) {
		r.Tools = t.Server + "." + t.Name
	}
	return r, nil
}

// plainName reports whether a name matches only itself in a pattern, whatever follows
// it.
func plainName(name string) bool {
	for _, c := range name {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return name != "" && !strings.Contains(name, "__")
}

// matchesTool returns nil if a pattern matches a known tool.
func matchesTool(pattern string, tools []*discovery.Tool) error {
	rules, mistakes := policy.ReadRules(policy.Source{Text: []byte(`{"rules": [` + config.ToolRule{Effect: policy.Deny, Tools: pattern}.String() + `]}`)})
	if len(mistakes) > 0 {
		return cli.Usagef("%s", mistakes[0].Text)
	}
	found := rules.Check(tools)
	if len(found) == 0 {
		return nil
	}
	hint := "broker tools list"
	if near := found[0].Near; len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return cli.Usagef("%q matches no known tool\nhint: %s", pattern, hint)
}

// Edit writes a rule into the config at path, or removes it. What loosens the policy
// needs a person; secret reads the secret that stands for one.
func Edit(ctx context.Context, t *cli.IO, secret func(name string) (string, error), path string, r config.ToolRule, remove bool) (e Change, err error) {
	e = Change{Config: path, Action: "unchanged", Effect: r.Effect.String(), Tools: r.Tools, Class: r.Class, Reason: r.Reason, rule: r}
	err = config.Edit(path, func(data []byte) ([]byte, error) {
		if remove {
			after, removed, err := config.RemoveRule(data, r)
			if err == nil && !removed {
				err = cli.Usagef("the policy has no rule %s\nhint: broker policy explain TOOL names the rule that decides", r)
			}
			if err == nil && r.Effect != policy.Allow {
				err = mayLoosen(ctx, t, secret)
			}
			e.Action = "removed"
			return after, err
		}
		after, replaced, err := config.SetRule(data, r)
		if err != nil {
			return nil, err
		}
		if string(after) != string(data) {
			e.Action = "added"
			loosens := r.Effect == policy.Allow
			for _, was := range replaced {
				loosens = loosens || was > r.Effect
			}
			if loosens {
				err = mayLoosen(ctx, t, secret)
			}
		}
		return after, err
	})
	return e, err
}

// mayLoosen returns nil unless a program that uses the broker runs this command without
// the approver's secret.
func mayLoosen(ctx context.Context, t *cli.IO, secret func(name string) (string, error)) error {
	if os.Getenv("BROKER_APPROVER_TOKEN") == "" && approver.ClientAbove() == "" {
		return nil
	}
	return approver.Ask(ctx, t, secret, approver.LoosenQuestion(), func() error { return nil })
}

// inClass reports whether a call is of a class of rules; empty is any.
func inClass(class string, c policy.Call) bool {
	if class == policy.ClassDeletes {
		return c.Class == policy.Destructive && policy.Deletes(c.Tool)
	}
	return class == "" || class == c.Class.String()
}

// Effects finds the decisions of the changed policy about the tools that the rule
// matches.
func (e *Change) Effects(rules *policy.Rules, b *broker.Broker) error {
	e.unlisted = b.Unlisted()
	only, mistakes := policy.ReadRules(policy.Source{Text: []byte(`{"preset": "open", "rules": [` + config.ToolRule{Effect: policy.Deny, Tools: e.rule.Tools}.String() + `]}`)})
	if len(mistakes) > 0 {
		return fmt.Errorf("%s", mistakes[0].Text)
	}
	for _, t := range b.Catalog().Tools() {
		call := policy.Call{Tool: t, Class: rules.ClassOf(t)}
		if only.Decide(call).Effect != policy.Deny || !inClass(e.Class, call) {
			continue
		}
		e.Matched++
		d := rules.Decide(call)
		if d.Effect == e.rule.Effect && e.Action != "removed" {
			e.Decided = append(e.Decided, t.ID)
			continue
		}
		o := otherwise{Tool: t.ID, Effect: d.Effect.String(), Reason: d.Reason}
		if d.Rule != nil {
			o.At = d.Rule.Position.String()
		}
		e.Others = append(e.Others, o)
	}
	return nil
}

// maxOthers bounds the printed tools that other rules decide about.
const maxOthers = 8

// Print prints what a command has changed.
func (e Change) Print(t *cli.IO) error {
	if t.JSON {
		return t.PrintJSON(e)
	}
	done := map[string]string{"added": "wrote", "removed": "removed", "unchanged": "has already"}[e.Action]
	cli.Fprintf(t.Out, "%s: %s %s\n", e.Config, done, e.rule)
	switch {
	case e.Matched == 0 && e.Class != "":
		more := ""
		if len(e.unlisted) > 0 {
			more = "; the tools of " + strings.Join(e.unlisted, ", ") + " are not known yet: broker index lists them"
		}
		cli.Fprintf(t.Out, "no known tool of that class%s\n", more)
	case e.Matched == 0 && e.Action != "removed":
		cli.Fprintln(t.Out, cli.Hint("its tools are not known yet: broker index lists them"))
	case e.Action != "removed":
		names := ""
		if len(e.Decided) > 0 {
			names = ": " + cli.Few(e.Decided)
		}
		cli.Fprintf(t.Out, "%s now: %s%s\n", cli.Count(e.Matched-len(e.Others), "tool"),
			map[string]string{"allow": "allowed", "ask": "a person is asked first", "deny": "denied"}[e.Effect], names)
	}
	for i, o := range e.Others {
		if i == maxOthers {
			cli.Fprintf(t.Out, "  and %d more (--json has all)\n", len(e.Others)-i)
			break
		}
		word, at := "still ", ""
		if e.Action == "removed" {
			word = ""
		}
		if o.At != "" {
			at = " (" + o.At + ")"
		}
		cli.Fprintf(t.Out, "  %s: %s%s%s\n", o.Tool, word, o.Effect, at)
	}
	return nil
}
