package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// Bounds of a policy.
const (
	maxRules  = 1000
	maxReason = 300
)

// Default returns the policy of a configuration without one.
func Default() *Rules {
	r, _ := ReadRules(Source{File: "default", Text: []byte(`{}`)})
	return r
}

// ReadRules reads a policy. It returns nil if there is any mistake: half a policy may allow what
// the other half denies.
func ReadRules(src Source) (*Rules, []Mistake) {
	own, mistakes := readLayer(src)
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return join(own, nil), nil
}

// Under returns the policy below a managed one: the rules of both apply, the stricter of two
// presets counts, and "annotations" of the managed one come first.
func (r *Rules) Under(managed *Rules) *Rules { return join(r.file, managed.file) }

func readLayer(src Source) (*layer, []Mistake) {
	r := newReader(src)
	l := r.layer(node{kind: '{'}, "the policy", true)
	if src.Start >= 0 {
		if n, ok := r.read(src.Start); ok {
			l = r.layer(n, "the policy", true)
			l.at = r.position(n.off)
		}
	}
	if src.Profiles > 0 {
		if n, ok := r.read(src.Profiles); ok {
			r.checked = true
			r.profiles(n, l)
		}
	}
	slices.SortStableFunc(r.mistakes, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return l, r.mistakes
}

// join builds the stacks of all profiles.
func join(own, managed *layer) *Rules {
	r := &Rules{file: own, managed: managed, profiles: make(map[string]*stack)}
	files := []*layer{own}
	if managed != nil {
		files = []*layer{managed, own}
	}
	for _, file := range files {
		for _, p := range file.profiles {
			if s := r.profiles[p.profile]; s != nil {
				s.layers = append(s.layers, p)
			} else {
				r.profiles[p.profile] = &stack{layers: []*layer{p}}
			}
		}
	}
	r.defaults.layers = files
	for _, s := range r.profiles {
		s.layers = slices.Concat(files[:len(files)-1], s.layers, []*layer{own})
	}
	r.defaults.presets()
	for _, s := range r.profiles {
		s.presets()
	}
	return r
}

// presets sets the presets that count: that of a profile replaces that of the configuration, and
// that of the managed file always counts.
func (s *stack) presets() {
	last := len(s.layers) - 1
	for i, l := range s.layers {
		if l.preset != nil && (i < last || !slices.ContainsFunc(s.layers, func(l *layer) bool { return l.profile != "" && l.preset != nil })) {
			s.preset = append(s.preset, l.preset)
		}
	}
	if s.preset == nil {
		s.preset = []*preset{presets[DefaultPreset]}
	}
}

func presetNames() []string { return []string{"open", "balanced", "careful", "readonly"} }

// layer reads a policy, or a profile of a policy.
func (r *reader) layer(n node, where string, whole bool) *layer {
	l := &layer{runLimits: limits{calls: limit{n: -1}, writes: limit{n: -1}, destructive: limit{n: -1}}}
	read := map[string]func(node){
		"preset": func(v node) { l.preset = presets[r.choice(v, "preset of "+where, presetNames()...)] },
		"rules":  func(v node) { r.rules(v, where, l) },
		"budgets": func(v node) {
			r.fields(v, `"budgets" of `+where, map[string]func(node){
				"run":   func(v node) { r.runBudget(v, where, &l.runLimits) },
				"tools": func(v node) { r.toolBudgets(v, where, l) },
			})
		},
		"flows":       func(v node) { r.flows(v, l) },
		"labels":      func(v node) { r.labels(v, l) },
		"trifecta":    func(v node) { l.trifecta = effects[r.choice(v, "trifecta", "ask", "deny", "allow")] },
		"description": func(v node) { r.isKind(v, '"', `"description" of `+where, "a string") },
	}
	if whole {
		read["annotations"] = func(v node) { r.annotations(v, l) }
		read["profiles"] = func(v node) { r.profiles(v, l) }
	} else {
		read["servers"] = r.unlessChecked(func(v node) { l.servers = r.patterns(v, `"servers" of `+where) })
		read["tools"] = r.unlessChecked(func(v node) { r.scope(v, where, l) })
		read["readOnly"] = r.unlessChecked(func(v node) { l.readOnly = r.boolean(v, `"readOnly" of `+where) })
		if r.checked { // and read there
			read["quotas"] = func(node) {}
		}
	}
	seen := r.fields(n, where, read)
	if _, ok := seen["trifecta"]; !ok && len(l.labels) > 0 {
		l.trifecta = Ask
	}
	l.trifectaReason = "is a way out, or leads to one, where both private and untrusted data were read within half an hour" + map[Effect]string{Ask: ", and the policy asks before that", Deny: ", and the policy denies that"}[l.trifecta]
	return l
}

// unlessChecked returns read without its mistakes, if they are reported already.
func (r *reader) unlessChecked(read func(node)) func(node) {
	return func(v node) {
		known := len(r.mistakes)
		if read(v); r.checked {
			r.mistakes = r.mistakes[:known]
		}
	}
}

var effects = map[string]Effect{"allow": Allow, "ask": Ask, "deny": Deny}

func (r *reader) profiles(n node, l *layer) {
	r.members(n, `"profiles"`, func(key, v node) {
		where := "profile " + shown(key.text)
		switch {
		case r.checked && v.kind != '{':
		case strings.TrimSpace(key.text) == "":
			r.fail(key, "a profile needs a name")
		case slices.ContainsFunc(l.profiles, func(p *layer) bool { return p.profile == key.text }):
			r.fail(key, "%s is there twice", where)
		default:
			p := r.layer(v, where, false)
			p.profile, p.at = key.text, r.position(key.off)
			for _, rule := range p.rules {
				rule.Profile = key.text
			}
			l.profiles = append(l.profiles, p)
		}
	})
}

// scope reads the tools of a profile: a list, or an object with allow and deny.
func (r *reader) scope(n node, where string, l *layer) {
	if n.kind != '{' {
		l.allow = r.patterns(n, `"tools" of `+where)
		return
	}
	r.fields(n, `"tools" of `+where, map[string]func(node){
		"allow": func(v node) { l.allow = r.patterns(v, `"tools.allow" of `+where) },
		"deny": func(v node) {
			l.deny = r.patterns(v, `"tools.deny" of `+where)
			widen(l.deny)
		},
	})
}

func (r *reader) patterns(n node, where string) []toolPattern {
	list := []toolPattern{}
	for _, v := range r.list(n, where) {
		list = append(list, r.pattern(v, where))
	}
	return list
}

func (r *reader) pattern(n node, where string) toolPattern {
	p, err := newToolPattern(n.text)
	if err != nil {
		r.fail(n, "%s: %v", where, err)
	}
	return p
}

func (r *reader) rules(n node, where string, l *layer) {
	if !r.isKind(n, '[', `"rules" of `+where, "a list of rules") {
		return
	}
	if len(n.values) > maxRules {
		r.fail(n, "%d rules; at most %d", len(n.values), maxRules)
		return
	}
	for i, v := range n.values {
		l.rules = append(l.rules, r.rule(v, i))
	}
}

func (r *reader) rule(n node, index int) *Rule {
	rule := &Rule{Position: r.position(n.off), Index: index}
	where := fmt.Sprintf("rule %d", index)
	seen := r.fields(n, where, map[string]func(node){
		"effect": func(v node) { rule.Effect = effects[r.choice(v, "effect", "allow", "ask", "deny")] },
		"tools":  func(v node) { rule.tools = r.patterns(v, `"tools" of `+where) },
		"except": func(v node) {
			if v.kind != '[' || len(v.values) > 0 {
				rule.except = r.patterns(v, `"except" of `+where)
			}
		},
		"class": func(v node) { rule.classes = r.classes(v, where) },
		"args":  func(v node) { rule.args = r.arguments(v, where) },
		"reason": func(v node) {
			if r.isKind(v, '"', `"reason" of `+where, "a string") {
				rule.Reason = gate.Cut(gate.Line(v.text), maxReason)
			}
		},
	})
	if _, ok := seen["effect"]; !ok && n.kind == '{' && !hasKey(n, "effect") {
		r.fail(n, `%s has no "effect": write "deny", "ask" or "allow"`, where)
	}
	if rule.Effect == Allow {
		widen(rule.except)
	} else {
		widen(rule.tools)
	}
	rule.decision = Decision{Effect: rule.Effect, Code: CodeRule, Rule: rule}
	because := ""
	if rule.Reason != "" {
		because = ": " + rule.Reason
	}
	switch rule.Effect {
	case Ask:
		rule.decision.Reason = "is a call that the policy asks about" + because
	case Deny:
		rule.decision.Reason = "is denied by the policy" + because
	}
	return rule
}

func hasKey(n node, key string) bool {
	return slices.ContainsFunc(n.keys, func(k node) bool { return k.text == key })
}

var classes = map[string]classSet{"read": 1 << Read, "unknown": 1 << Unknown, "write": 1 << Write, "destructive": 1 << Destructive, ClassDeletes: deletes}

func (r *reader) classes(n node, where string) (set classSet) {
	for _, v := range r.list(n, `"class" of `+where) {
		set |= classes[r.choice(v, "class", "read", "unknown", "write", "destructive", ClassDeletes)]
	}
	return set
}

// annotations reads one word for all servers, or one for each.
func (r *reader) annotations(n node, l *layer) {
	word := func(v node) bool { return r.choice(v, `"annotations"`, "check", "trust") == "trust" }
	if n.kind == '"' {
		l.checks = append(l.checks, check{toolPattern{text: "*", all: true}, word(n)})
		return
	}
	// Of several that match a server, one without * counts first, then "check".
	r.members(n, `"annotations"`, func(key, v node) {
		l.checks = append(l.checks, check{r.pattern(key, `"annotations"`), word(v)})
	})
	rank := func(c check) int {
		n := 0
		if strings.ContainsAny(c.servers.text, `*?[`) {
			n = 2
		}
		if c.trust {
			n++
		}
		return n
	}
	slices.SortStableFunc(l.checks, func(a, b check) int { return rank(a) - rank(b) })
}

func (r *reader) number(n node, where string) int {
	if !r.isKind(n, '0', where, "a whole number") {
		return -1
	}
	i, err := strconv.Atoi(n.text)
	if err != nil || i < 0 || i > math.MaxInt32 {
		r.fail(n, "%s is %s: write a whole number, 0 or above", where, gate.Cut(n.text, 20))
		return -1
	}
	return i
}

func spentBudget(n int, what string) limit {
	return limit{n, Decision{Effect: Deny, Code: CodeBudget, Reason: fmt.Sprintf("is one call too many: the policy has a budget of %d %s per run", n, what),
		Hint: "do less in one run, or go on in another"}}
}

func (r *reader) runBudget(n node, where string, to *limits) {
	read := func(key, what string, l *limit) func(node) {
		return func(v node) {
			if n := r.number(v, fmt.Sprintf("%q of the budgets of %s", key, where)); n >= 0 {
				*l = spentBudget(n, what)
			}
		}
	}
	r.fields(n, `"budgets.run" of `+where, map[string]func(node){
		"calls": read("calls", "calls", &to.calls), "writes": read("writes", "writes", &to.writes),
		"destructive": read("destructive", "destructive calls", &to.destructive),
	})
}

func (r *reader) toolBudgets(n node, where string, l *layer) {
	r.members(n, `"budgets.tools" of `+where, func(key, v node) {
		b := toolBudget{tools: r.pattern(key, `"budgets.tools"`), limit: limit{n: -1}}
		b.tools.restricts = true
		r.fields(v, "the budget of "+shown(key.text), map[string]func(node){
			"run": func(v node) {
				if n := r.number(v, `"run" of the budget of `+shown(key.text)); n >= 0 {
					b.limit = spentBudget(n, "calls of "+gate.Cut(gate.Line(key.text), 100))
				}
			},
		})
		l.tools = append(l.tools, b)
	})
}

func (r *reader) flows(n node, l *layer) {
	if !r.isKind(n, '[', `"flows"`, "a list") {
		return
	}
	for i, v := range n.values {
		f := flow{Position: r.position(v.off), decision: Decision{Effect: Ask, Code: CodeFlow, Hint: flowHint}}
		where := fmt.Sprintf("flow %d", i)
		seen := r.fields(v, where, map[string]func(node){
			"from":   func(v node) { f.from = r.patterns(v, `"from" of `+where); widen(f.from) },
			"to":     func(v node) { f.to = r.patterns(v, `"to" of `+where); widen(f.to) },
			"effect": func(v node) { f.decision.Effect = effects[r.choice(v, "effect of "+where, "ask", "deny")] },
			"mode":   func(v node) { f.values = r.choice(v, "mode of "+where, "run", "values") == "values" },
			"reason": func(v node) {
				if r.isKind(v, '"', `"reason" of `+where, "a string") {
					f.decision.Reason = gate.Cut(gate.Line(v.text), maxReason)
				}
			},
		})
		for _, key := range []string{"from", "to"} {
			if _, ok := seen[key]; !ok && v.kind == '{' && !hasKey(v, key) {
				r.fail(v, "%s has no %q: write the tools, such as [%q]", where, key, "crm.*")
			}
		}
		f.decision.Reason = flowReason(f)
		l.flows = append(l.flows, f)
	}
}

func flowReason(f flow) string {
	reason := "may carry data of other tools that was read within half an hour"
	if f.values {
		reason = "has data in its arguments that was read from other tools within half an hour"
	}
	if f.decision.Effect == Deny {
		reason += ", and the policy denies that"
	} else {
		reason += ", and the policy asks before that"
	}
	if f.decision.Reason != "" {
		reason += ": " + f.decision.Reason
	}
	return reason
}

func (r *reader) labels(n node, l *layer) {
	r.members(n, `"labels"`, func(key, v node) {
		one := label{tools: r.pattern(key, `"labels"`)}
		one.tools.restricts = true
		for _, w := range r.list(v, "the labels of "+shown(key.text)) {
			if i := slices.Index(labelNames, r.choice(w, "label", labelNames...)); i >= 0 {
				one.set |= 1 << i
			}
		}
		l.labels = append(l.labels, one)
	})
}
