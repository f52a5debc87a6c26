package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// An Explanation is the decision of the rules about a call, with the reasons.
type Explanation struct {
	Tool     string `json:"tool"`
	Class    string `json:"class"`
	WhyClass string `json:"why_class"`
	// Effect is "unknown_tool" for a tool outside the profile.
	Effect string `json:"effect"`
	Code   string `json:"code"`
	Reason string `json:"reason,omitempty"`
	// Rules are the rules of all layers that apply to the caller, in the order of their
	// evaluation.
	Rules []RuleNote `json:"rules"`
}

// A RuleNote describes whether a rule matches a call.
type RuleNote struct {
	At      string `json:"at"` // file:line:column
	Profile string `json:"profile,omitempty"`
	Index   int    `json:"rule"`
	Effect  string `json:"effect"`
	Matches bool   `json:"matches"`
	Decides bool   `json:"decides,omitempty"`
	// Why is the first reason the rule does not match.
	Why string `json:"why,omitempty"`
}

// Explain explains the decision about a call.
func (r *Rules) Explain(c Call) Explanation {
	c.Class = r.ClassOf(c.Tool)
	d := r.Decide(c)
	e := Explanation{Tool: c.Tool.ID, Class: c.Class.String(), WhyClass: r.WhyClass(c.Tool), Effect: d.Effect.String(), Code: d.Code, Reason: d.Reason, Rules: []RuleNote{}}
	if d.Code == CodeProfile {
		e.Effect = effectUnknown
	}
	to := targetOf(c.Tool)
	args := members{args: c.Args}
	for _, l := range r.stack(c.Profile).layers {
		for _, rule := range l.rules {
			why := rule.whyNot(&c, &to, &args)
			e.Rules = append(e.Rules, RuleNote{At: rule.Position.String(), Profile: rule.Profile, Index: rule.Index, Effect: rule.Effect.String(),
				Matches: why == "", Decides: d.Rule == rule, Why: why})
		}
	}
	return e
}

// DependsOnArguments reports whether a rule about arguments could decide about a call
// with unknown arguments.
func (r *Rules) DependsOnArguments(c Call) bool {
	c.Class = r.ClassOf(c.Tool)
	to := targetOf(c.Tool)
	for _, l := range r.stack(c.Profile).layers {
		for _, rule := range l.rules {
			if len(rule.args) > 0 && rule.classes.has(c.Class, c.Tool) && (rule.tools == nil || anyMatches(rule.tools, &to)) && !anyMatches(rule.except, &to) {
				return true
			}
		}
	}
	return false
}

// whyNot returns the first reason a rule does not match, or "" if it matches.
func (r *Rule) whyNot(c *Call, to *target, args *members) string {
	switch {
	case r.tools != nil && !anyMatches(r.tools, to):
		return "no pattern of its tools matches"
	case anyMatches(r.except, to):
		return "the tool is excepted"
	case !r.classes.has(c.Class, c.Tool):
		return "the class is " + c.Class.String() + ", not " + r.classes.String()
	case c.Args == nil && len(r.args) > 0:
		names := make([]string, len(r.args))
		for i := range r.args {
			names[i] = r.args[i].name
		}
		return "it depends on arguments: " + strings.Join(names, ", ")
	}
	for i := range r.args {
		a := &r.args[i]
		if a.holds(args, r.Effect == Allow) {
			continue
		}
		f := a.in(args)
		switch {
		case args.broken:
			return "the arguments are not valid JSON"
		case !f.exists:
			return fmt.Sprintf("the call has no argument %s", shown(a.name))
		case r.Effect == Allow && f.any:
			return fmt.Sprintf("argument %s does not match everywhere, or is of another type", shown(a.name))
		}
		return fmt.Sprintf("argument %s does not match", shown(a.name))
	}
	return ""
}

func (s classSet) String() string {
	var names []string
	for c := Read; c <= Destructive; c++ {
		if s&(1<<c) != 0 {
			names = append(names, c.String())
		}
	}
	if s&deletes != 0 {
		names = append(names, ClassDeletes)
	}
	return strings.Join(names, " or ")
}

// WhyClass returns the reason for the class of a tool.
func (r *Rules) WhyClass(t *discovery.Tool) string {
	class, why, trusted := r.classOf(t)
	a := t.Annotations
	named, word := strongestVerb(t.OwnName())
	verb := "its name has no verb that says more"
	if word != "" {
		verb = fmt.Sprintf("its name has %q", word)
	}
	switch {
	case why == byReview:
		return gate.Line(t.Review.Why) + " (known of " + t.Review.Package + ")"
	case why == byHint:
		return "its server says that it may destroy something (destructiveHint is true)"
	case why == byReading:
		return "its name and its parameters only read, although destructiveHint is true"
	case trusted && a.ReadOnly != nil && *a.ReadOnly:
		return "readOnlyHint is true, and its server is trusted"
	case trusted && a.Destructive != nil && class != named:
		return "destructiveHint is false, and its server is trusted; " + verb
	case class == Destructive && a.ReadOnly != nil && *a.ReadOnly:
		return verb + ", although readOnlyHint is true"
	case class == Destructive:
		return verb
	case a.ReadOnly != nil && *a.ReadOnly:
		return "readOnlyHint is true"
	case a.ReadOnly != nil && a.Destructive != nil && *a.Destructive:
		return "readOnlyHint is false; its name and its parameters only read, although destructiveHint is true"
	case a.ReadOnly != nil:
		return "readOnlyHint is false"
	}
	return verb + ", and its server says nothing"
}

// IsGuess reports whether the class of a tool comes from its name alone.
func IsGuess(t *discovery.Tool) bool {
	a := t.Annotations
	return t.Review == nil && a.ReadOnly == nil && (a.Destructive == nil || !*a.Destructive)
}

// A Finding is a part of a policy that may be unintended.
type Finding struct {
	At   string `json:"at"`
	Text string `json:"text"`
	// Near are names of tools that may be meant.
	Near []string `json:"near,omitempty"`
	// Numbered means that a pattern matches no tool and looks like an id that older
	// versions gave to the second of two tools or servers with the same name, such as
	// "files_2__read".
	Numbered bool `json:"-"`
}

// numbered matches the endings that older versions added to taken names.
var numbered = lazyregexp.New(`[^_]_[1-9][0-9]*(__|[./:]|$)`)

// Check compares the policy with the known tools. It finds patterns that match none, and rules
// that can never decide.
func (r *Rules) Check(tools []*discovery.Tool) []Finding {
	c := checker{rules: r}
	for _, t := range tools {
		c.tools = append(c.tools, checked{t, targetOf(t), r.ClassOf(t)})
		c.names = append(c.names, t.Server+"."+t.Name)
		if !slices.Contains(c.servers, t.Server) {
			c.servers = append(c.servers, t.Server)
		}
	}
	files := []*layer{r.file}
	if r.managed != nil {
		files = append(files, r.managed)
	}
	for _, file := range files {
		c.layer(file)
		for _, p := range file.profiles {
			c.patterns(p.at, "profile "+shown(p.profile), p.servers, p.allow, p.deny)
			c.layer(p)
		}
	}
	for _, l := range r.defaults.layers {
		c.decides(r.defaults.layers, l)
	}
	for _, s := range r.profiles {
		for _, l := range s.layers {
			if l.profile != "" {
				c.decides(s.layers, l)
			}
		}
	}
	slices.SortStableFunc(c.found, func(a, b Finding) int { return strings.Compare(a.At, b.At) })
	return c.found
}

type checked struct {
	tool   *discovery.Tool
	target target
	class  Class
}

type checker struct {
	rules          *Rules
	tools          []checked
	names, servers []string
	found          []Finding
}

func (c *checker) layer(l *layer) {
	for _, rule := range l.rules {
		c.patterns(rule.Position, fmt.Sprintf("rule %d", rule.Index), rule.tools, rule.except)
	}
	for i, f := range l.flows {
		c.patterns(f.Position, fmt.Sprintf("flow %d", i), f.from, f.to)
	}
	for _, one := range l.labels {
		c.patterns(l.at, "labels", []toolPattern{one.tools})
	}
	for _, one := range l.tools {
		c.patterns(l.at, "budgets.tools", []toolPattern{one.tools})
	}
	for _, one := range l.checks {
		c.patterns(l.at, "annotations", []toolPattern{one.servers})
	}
}

// patterns finds patterns that match no tool.
func (c *checker) patterns(at Position, where string, lists ...[]toolPattern) {
	for _, list := range lists {
		for i := range list {
			p := &list[i]
			matches := slices.ContainsFunc(c.tools, func(t checked) bool { return anyMatchesName([]toolPattern{*p}, &t.target) })
			if matches || p.all {
				continue
			}
			near := nearNames(p.text, c.names)
			if len(near) == 0 {
				near = nearNames(p.text, c.servers)
			}
			c.found = append(c.found, Finding{At: at.String(), Text: fmt.Sprintf("%s: %s matches no known tool", where, shown(p.text)), Near: near, Numbered: numbered.MatchString(p.text)})
		}
	}
}

// decides finds the rules of l that never decide about a known tool, because other rules of the
// layers always take precedence.
func (c *checker) decides(layers []*layer, l *layer) {
	for _, rule := range l.rules {
		about, free := 0, false
		for i := range c.tools {
			t := &c.tools[i]
			if rule.tools != nil && !anyMatches(rule.tools, &t.target) || anyMatches(rule.except, &t.target) {
				continue
			}
			about++
			if rule.classes.has(t.class, t.tool) && !covered(layers, rule, t) {
				free = true
				break
			}
		}
		if about > 0 && !free {
			c.found = append(c.found, Finding{At: rule.Position.String(), Text: fmt.Sprintf(
				"rule %d can never decide: of the tools that it names, none is of its classes or left over by stricter rules", rule.Index)})
		}
	}
}

// covered reports whether another rule decides about every call of a tool before this one does.
func covered(layers []*layer, rule *Rule, t *checked) bool {
	earlier := true
	for _, l := range layers {
		for _, other := range l.rules {
			if other == rule {
				earlier = false
				continue
			}
			if (other.Effect > rule.Effect || other.Effect == rule.Effect && earlier) && len(other.args) == 0 && other.classes.has(t.class, t.tool) &&
				(other.tools == nil || anyMatches(other.tools, &t.target)) && !anyMatches(other.except, &t.target) {
				return true
			}
		}
	}
	return false
}

// Suggest proposes a policy, as JSON, for tools with the given numbers of calls: tools that may
// change something are allowed if they were used, and destructive ones are denied if they never
// were.
func Suggest(tools []*discovery.Tool, calls map[string]int) []byte {
	used, unused := map[string][]string{}, map[string][]string{}
	var servers []string
	for _, t := range tools {
		class := ClassOf(t)
		if class == Read {
			continue
		}
		if !slices.Contains(servers, t.Server) {
			servers = append(servers, t.Server)
		}
		name := t.Server + "." + t.Name
		switch n := calls[t.ID]; {
		case n > 0 && class != Destructive:
			used[t.Server] = append(used[t.Server], name)
		case n == 0 && class == Destructive:
			unused[t.Server] = append(unused[t.Server], name)
		}
	}
	type rule struct {
		Effect string   `json:"effect"`
		Tools  []string `json:"tools"`
		Reason string   `json:"reason"`
	}
	rules := []rule{}
	for _, s := range servers {
		if list := used[s]; list != nil {
			rules = append(rules, rule{"allow", list, "used before"})
		}
		if list := unused[s]; list != nil {
			rules = append(rules, rule{"deny", list, "destroys something, and was never used"})
		}
	}
	return gate.Compact(map[string]any{"preset": "careful", "rules": rules})
}
