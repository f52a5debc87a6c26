package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/policy"
)

// ruleOptions are the flags of policy allow, ask and deny.
type ruleOptions struct {
	class, reason string
	remove        bool
}

// A ruleEdit is the result of policy allow, ask or deny.
type ruleEdit struct {
	Config string `json:"config"`
	// Action is "added", "removed" or "unchanged".
	Action string `json:"action"`
	Effect string `json:"effect"`
	Tools  string `json:"tools"`
	Class  string `json:"class,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Matched is the number of known tools that the rule matches, and Others are those
	// of them that other rules decide about.
	Matched int         `json:"matched"`
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

func (a *app) policyRuleCommand(effect policy.Effect) *cobra.Command {
	var o ruleOptions
	name := effect.String()
	done := map[policy.Effect]string{policy.Allow: "are made without a question", policy.Ask: "need a person's approval", policy.Deny: "are refused"}[effect]
	c := &cobra.Command{
		Use:   name + " SERVER[.TOOL]",
		Short: "Write a rule: calls of a server or tool " + done,
		Long: "Write a rule into \"broker.policy\" of the config: calls of all tools of a server, or of one tool, " + done + ".\n" +
			"TOOL may be a pattern, and '*' means every server. A rule about exactly the same tools is replaced; everything else in the\n" +
			"file stays as it is. A rule that denies wins over one that asks, and that over one that allows; the output lists tools for which another rule decides.\n" +
			"A program that uses the broker cannot loosen the policy: a model must not extend its own permissions.",
		Example: "  broker policy " + name + " notes\n  broker policy " + name + " github.delete_repo\n  broker policy " + name + " '*' --class destructive",
		Args:    cli.OneArg("a server or a tool: broker policy " + name + " SERVER[.TOOL]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withTools(func(s *application.App) error {
				rule, err := o.rule(cmd.Context(), s, effect, args[0])
				if err != nil {
					return err
				}
				e, err := a.editRule(cmd.Context(), rule, o.remove)
				if err != nil {
					return err
				}
				if err := a.effects(s, &e); err != nil {
					return err
				}
				return a.printRule(e)
			})
		},
	}
	c.Flags().StringVar(&o.class, "class", "", "only for tools of this class: read, unknown, write, destructive or deletes (destructive by name)")
	c.Flags().StringVar(&o.reason, "reason", "", "reason in one line, shown to people and models")
	c.Flags().BoolVar(&o.remove, "remove", false, "remove the rule instead")
	return c
}

// rule returns the rule that a command describes. A pattern that matches no known tool
// is an error, unless the rule is to be removed.
func (o ruleOptions) rule(ctx context.Context, s *application.App, effect policy.Effect, name string) (r config.ToolRule, err error) {
	switch o.class {
	case "", "read", "unknown", "write", "destructive", policy.ClassDeletes:
	default:
		return r, cli.Usagef("unknown class %q\nhint: read, unknown, write, destructive or deletes", o.class)
	}
	if strings.ContainsAny(o.reason, "\r\n") {
		return r, cli.Usagef("the reason must be one line")
	}
	r = config.ToolRule{Effect: effect, Tools: name, Class: o.class, Reason: o.reason}
	if o.remove || name == "*" || s.Config.Server(name) != nil && plainName(name) {
		return r, nil
	}
	catalog := s.Broker.Catalog()
	if server, ok := catalog.FindServer(name); ok {
		r.Tools = server.Prefix
		return r, nil
	}
	if strings.ContainsAny(name, `*?[`) {
		return r, matchesTool(name, catalog.Tools())
	}
	if _, ok := catalog.ServerOf(name); !ok {
		server, _, found := strings.Cut(name, ".")
		if s.Config.Server(server) == nil || !found {
			return r, unknownServer(s.Config, name, "policy "+effect.String())
		}
	}
	s.Broker.StartLazily(ctx)
	d, err := s.Broker.Describe(ctx, name)
	if err != nil {
		return r, callError(err)
	}
	t, ok := s.Broker.Catalog().Tool(d.Name)
	if !ok {
		return r, callError(&bridge.Error{Code: bridge.CodeUnknownTool, Message: "unknown tool " + d.Name})
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

// editRule changes the config.
func (a *app) editRule(ctx context.Context, r config.ToolRule, remove bool) (e ruleEdit, err error) {
	path, _, err := config.Target(a.configPath)
	if err != nil {
		return e, err
	}
	e = ruleEdit{Config: path, Action: "unchanged", Effect: r.Effect.String(), Tools: r.Tools, Class: r.Class, Reason: r.Reason, rule: r}
	err = config.Edit(path, func(data []byte) ([]byte, error) {
		if remove {
			after, removed, err := config.RemoveRule(data, r)
			if err == nil && !removed {
				err = cli.Usagef("the policy has no rule %s\nhint: broker policy explain TOOL names the rule that decides", r)
			}
			if err == nil && r.Effect != policy.Allow {
				err = a.mayLoosen(ctx)
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
				err = a.mayLoosen(ctx)
			}
		}
		return after, err
	})
	return e, err
}

// mayLoosen returns nil unless a program that uses the broker runs this command without
// the approver's secret.
func (a *app) mayLoosen(ctx context.Context) error {
	if os.Getenv("BROKER_APPROVER_TOKEN") == "" && clientAbove(ancestors()) == "" {
		return nil
	}
	return a.askPerson(ctx, loosenQuestion(), func() error { return nil })
}

// inClass reports whether a call is of a class of rules; empty is any.
func inClass(class string, c policy.Call) bool {
	if class == policy.ClassDeletes {
		return c.Class == policy.Destructive && policy.Deletes(c.Tool)
	}
	return class == "" || class == c.Class.String()
}

// effects finds the decisions of the changed policy about the tools that the rule
// matches.
func (a *app) effects(s *application.App, e *ruleEdit) error {
	cfg, err := loadConfig(e.Config)
	if err != nil {
		return err
	}
	e.unlisted = s.Broker.Unlisted()
	rules := cfg.Rules()
	only, mistakes := policy.ReadRules(policy.Source{Text: []byte(`{"preset": "open", "rules": [` + config.ToolRule{Effect: policy.Deny, Tools: e.rule.Tools}.String() + `]}`)})
	if len(mistakes) > 0 {
		return fmt.Errorf("%s", mistakes[0].Text)
	}
	for _, t := range s.Broker.Catalog().Tools() {
		call := policy.Call{Tool: t, Class: rules.ClassOf(t)}
		if only.Decide(call).Effect != policy.Deny || !inClass(e.Class, call) {
			continue
		}
		e.Matched++
		d := rules.Decide(call)
		if d.Effect == e.rule.Effect && e.Action != "removed" {
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

func (a *app) printRule(e ruleEdit) error {
	if a.JSON {
		return a.PrintJSON(e)
	}
	done := map[string]string{"added": "wrote", "removed": "removed", "unchanged": "has already"}[e.Action]
	cli.Fprintf(a.Out, "%s: %s %s\n", e.Config, done, e.rule)
	switch {
	case e.Matched == 0 && e.Class != "":
		more := ""
		if len(e.unlisted) > 0 {
			more = "; the tools of " + strings.Join(e.unlisted, ", ") + " are not known yet: broker index lists them"
		}
		cli.Fprintf(a.Out, "no known tool of that class%s\n", more)
	case e.Matched == 0 && e.Action != "removed":
		cli.Fprintln(a.Out, "its tools are not known yet: broker index lists them")
	case e.Action != "removed":
		cli.Fprintf(a.Out, "%s now: %s\n", cli.Count(e.Matched-len(e.Others), "tool"),
			map[string]string{"allow": "allowed", "ask": "a person is asked first", "deny": "denied"}[e.Effect])
	}
	for i, o := range e.Others {
		if i == maxOthers {
			cli.Fprintf(a.Out, "  and %d more (--json has all)\n", len(e.Others)-i)
			break
		}
		word, at := "still ", ""
		if e.Action == "removed" {
			word = ""
		}
		if o.At != "" {
			at = " (" + o.At + ")"
		}
		cli.Fprintf(a.Out, "  %s: %s%s%s\n", o.Tool, word, o.Effect, at)
	}
	return nil
}
