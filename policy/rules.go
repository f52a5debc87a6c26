package policy

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// Rules are a parsed policy: presets, rules, profiles, budgets and flows of the configuration, and
// of a managed file above it. It is a Policy, and is never changed or copied. Decide keeps the
// order of precedence of docs/policy.md: of two equally strict stages, the earlier one determines
// code and reason.
type Rules struct {
	file, managed *layer
	profiles      map[string]*stack
	defaults      stack    // for callers without a profile
	combined      sync.Map // the stacks of combined profiles, by their names
}

// A layer is the rules of one source: a file, or a profile in it.
type layer struct {
	profile        string // its name; empty for a file
	at             Position
	preset         *preset // nil if none is named
	checks         []check
	rules          []*Rule
	runLimits      limits
	tools          []toolBudget
	flows          []flow
	labels         []label
	trifecta       Effect
	trifectaReason string // the reason of its decision

	// Only in profiles.
	readOnly       bool
	servers, allow []toolPattern // nil means all
	deny           []toolPattern

	profiles []*layer // only in files
}

// A stack is a list of layers that decide together.
type stack struct {
	layers []*layer
	preset []*preset // the strictest counts
}

// A Rule is one of the rules of a policy.
type Rule struct {
	Position
	// Index is its index among the rules of its file or profile.
	Index int
	// Profile is the profile that contains the rule; empty for the rules of a file.
	Profile string
	Effect  Effect
	// Reason is its author's reason, as one line; it may be empty.
	Reason string

	tools, except []toolPattern
	classes       classSet
	args          []argument
	decision      Decision // its decision about a matching call
}

// A classSet has a bit for each class, and one for deletes; 0 means all.
type classSet uint8

// has reports whether the set contains a tool of class c.
func (s classSet) has(c Class, t *discovery.Tool) bool {
	return s == 0 || s&(1<<c) != 0 || s&deletes != 0 && c == Destructive && Deletes(t)
}

// A preset decides by class about calls that no rule matches.
type preset struct {
	name    string
	effects [claimed + 1]Decision
}

// claimed is the class, in presets, of tools that are destructive only because their server says
// so.
const claimed = Destructive + 1

// presets are in the order read, unknown, write, destructive.
var presets = map[string]*preset{
	"open":     newPreset("open", Allow, Allow, Allow, Allow),
	"balanced": newPreset("balanced", Allow, Allow, Allow, Ask),
	"careful":  newPreset("careful", Allow, Ask, Ask, Ask),
	"readonly": newPreset("readonly", Allow, Deny, Deny, Deny),
}

// DefaultPreset is the preset of a policy that names none.
const DefaultPreset = "balanced"

func newPreset(name string, read, unknown, write, destructive Effect) *preset {
	p := &preset{name: name}
	what := map[Class]string{Unknown: "may change something", Write: "changes something", Destructive: "is destructive"}
	for c, e := range map[Class]Effect{Read: read, Unknown: unknown, Write: write, Destructive: destructive} {
		d := Decision{Effect: e, Code: CodePreset}
		switch e {
		case Ask:
			d.Reason = what[c] + ", and the policy (preset " + name + ") asks before such calls"
		case Deny:
			d.Reason, d.Hint = what[c]+", and the policy (preset "+name+") denies such calls", searchHint
		}
		p.effects[c] = d
	}
	d := p.effects[Destructive]
	switch destructive {
	case Ask:
		d.Reason = "asks first, because its server says that it may destroy something (preset " + name + ")"
	case Deny:
		d.Reason = "may destroy something, as its server says, and the policy (preset " + name + ") denies such calls"
	}
	p.effects[claimed] = d
	return p
}

// A check sets whether the annotations of servers are trusted.
type check struct {
	servers toolPattern
	trust   bool
}

// limits bound the calls of one run; a negative limit is unlimited.
type limits struct{ calls, writes, destructive limit }

type limit struct {
	n     int
	spent Decision
}

// A toolBudget limits the calls of some tools in one run.
type toolBudget struct {
	tools toolPattern
	limit
}

// A flow restricts calls that may carry data that the run has read elsewhere.
type flow struct {
	Position
	from, to []toolPattern
	values   bool
	decision Decision
}

// A labelSet has a bit for each label.
type labelSet uint8

const (
	private labelSet = 1 << iota
	untrusted
	egress
	trifecta = private | untrusted | egress
)

var labelNames = []string{"private", "untrusted", "egress"}

type label struct {
	tools toolPattern
	set   labelSet
}

// A Scope is the selection of a profile of a policy, as patterns. Nil Servers and Allow
// mean all.
type Scope struct {
	Servers, Allow, Deny []string
	ReadOnly             bool
}

// Profiles returns the profiles of the policy itself, by name.
func (r *Rules) Profiles() map[string]Scope {
	all := make(map[string]Scope)
	for _, p := range r.file.profiles {
		all[p.profile] = Scope{texts(p.servers), texts(p.allow), texts(p.deny), p.readOnly}
	}
	return all
}

func texts(patterns []toolPattern) (list []string) {
	for _, p := range patterns {
		list = append(list, p.text)
	}
	return list
}

// HasProfile reports whether the policy has a profile of that name.
func (r *Rules) HasProfile(name string) bool { return r.profiles[name] != nil }

// ClassOf returns the class of a tool, with its server's annotations trusted as the policy says.
func (r *Rules) ClassOf(t *discovery.Tool) Class {
	class, _, _ := r.classOf(t)
	return class
}

func (r *Rules) classOf(t *discovery.Tool) (_ Class, _ basis, trusted bool) {
	to := targetOf(t)
	for _, l := range r.defaults.layers { // the managed file first
		for i := range l.checks {
			if c := &l.checks[i]; c.servers.matches(&to) {
				if c.trust {
					class, why := trustedClass(t)
					return class, why, true
				}
				class, why := classify(t)
				return class, why, false
			}
		}
	}
	class, why := classify(t)
	return class, why, false
}

// Careful reports whether a preset that applies to all callers asks for writes or denies them.
func (r *Rules) Careful() bool {
	return slices.ContainsFunc(r.defaults.preset, func(p *preset) bool { return p.effects[Write].Effect != Allow })
}

// Offers removes the prompts and resources of a listing if the policy denies the tools that read
// them, discovery.GetPrompt and discovery.ReadResource.
func (r *Rules) Offers(l discovery.Listing) discovery.Listing {
	denied := func(method string) bool {
		t := discovery.Tool{Server: l.Server, ListedTool: discovery.ListedTool{Name: method, Annotations: discovery.Annotations{ReadOnly: new(true)}}}
		return r.Decide(CallOf(&t)).Effect == Deny
	}
	if len(l.Prompts) > 0 && denied(discovery.GetPrompt) {
		l.Prompts = nil
	}
	if len(l.Resources) > 0 && denied(discovery.ReadResource) {
		l.Resources = nil
	}
	return l
}

var (
	pinDecision = map[Pin]Decision{
		PinNew:     {Effect: Deny, Code: CodePin, Reason: "is new since its server was approved, and nobody has approved it yet", Hint: pinHint},
		PinChanged: {Effect: Deny, Code: CodePin, Reason: "has changed since it was approved", Hint: pinHint},
		PinBlocked: {Effect: Deny, Code: CodePin, Reason: "is blocked", Hint: pinHint},
	}
	outside = Decision{Effect: Deny, Code: CodeProfile, Reason: "is not in the profile", Hint: searchHint}
	unread  = Decision{Effect: Deny, Code: CodeReadOnly, Reason: "is not marked read-only, and only tools that are may be used here", Hint: searchHint}
)

const pinHint = "a person has to look at it: broker pins"

// Decide implements Policy. It uses the class of Rules.ClassOf instead of the call's.
func (r *Rules) Decide(c Call) Decision {
	var why basis
	c.Class, why, _ = r.classOf(c.Tool)
	to := targetOf(c.Tool)
	if c.Pin != PinApproved {
		return pinDecision[c.Pin]
	}
	s := r.stack(c.Profile)
	if c.ReadOnly || s.readOnly() {
		if !c.Tool.ReadOnly() || c.Class != Read {
			return unread
		}
	}
	for _, l := range s.layers {
		if !l.has(&to) {
			return outside
		}
	}
	d, ruled := s.rule(&c, &to)
	if d.Effect < Deny {
		d = stricter(d, s.flow(&c, &to))
	}
	if d.Effect < Deny {
		d = stricter(d, s.spent(&c, &to))
	}
	if !ruled {
		if p := s.presetFor(c.Class, why); p.Effect > d.Effect || d.Code == "" {
			d = p
		}
	}
	return d
}

// stricter returns the stricter of two decisions, or the first of equal ones.
func stricter(a, b Decision) Decision {
	if b.Effect > a.Effect {
		return b
	}
	return a
}

// stack returns the layers for a profile, or for several joined by "+". An unknown
// profile has no layers of its own.
func (r *Rules) stack(profile string) *stack {
	if s := r.profiles[profile]; s != nil {
		return s
	}
	if !strings.Contains(profile, "+") {
		return &r.defaults
	}
	if s, ok := r.combined.Load(profile); ok {
		return s.(*stack)
	}
	s := &stack{layers: r.defaults.layers[: len(r.defaults.layers)-1 : len(r.defaults.layers)-1]}
	for name := range strings.SplitSeq(profile, "+") {
		if one := r.profiles[name]; one != nil {
			s.layers = append(s.layers, one.profileLayers()...)
		}
	}
	s.layers = append(s.layers, r.file)
	s.presets()
	r.combined.Store(profile, s)
	return s
}

// profileLayers returns the layers of the profile itself.
func (s *stack) profileLayers() []*layer {
	return slices.DeleteFunc(slices.Clone(s.layers), func(l *layer) bool { return l.profile == "" })
}

func (s *stack) readOnly() bool {
	for _, l := range s.layers {
		if l.readOnly {
			return true
		}
	}
	return false
}

// has reports whether a tool is in a profile.
func (l *layer) has(t *target) bool {
	return (l.servers == nil || anyMatches(l.servers, t)) && (l.allow == nil || anyMatchesName(l.allow, t)) && !anyMatchesName(l.deny, t)
}

// rule returns the decision of the rules of all layers, and whether any matches: deny before ask
// before allow.
func (s *stack) rule(c *Call, to *target) (d Decision, ruled bool) {
	args := members{args: c.Args}
	for _, l := range s.layers {
		for _, rule := range l.rules {
			if ruled && rule.Effect <= d.Effect || !rule.matches(c, to, &args) {
				continue
			}
			if d, ruled = rule.decision, true; d.Effect == Deny {
				return d, true
			}
		}
	}
	return d, ruled
}

func (r *Rule) matches(c *Call, to *target, args *members) bool {
	if !r.classes.has(c.Class, c.Tool) || r.tools != nil && !anyMatches(r.tools, to) || anyMatches(r.except, to) {
		return false
	}
	if c.Args == nil { // does it hold for every call?
		return len(r.args) == 0 || r.Effect == Allow
	}
	for i := range r.args {
		if !r.args[i].holds(args, r.Effect == Allow) {
			return false
		}
	}
	return true
}

func (s *stack) presetFor(c Class, why basis) Decision {
	if why == byHint {
		c = claimed
	}
	d := s.preset[0].effects[c]
	for _, p := range s.preset[1:] {
		d = stricter(d, p.effects[c])
	}
	return d
}

// flow returns the decision of the flows and the labels.
func (s *stack) flow(c *Call, to *target) (d Decision) {
	if len(c.Run.Read) == 0 && len(c.Run.Made) == 0 {
		return d
	}
	for _, l := range s.layers {
		for i := range l.flows {
			f := &l.flows[i]
			if f.decision.Effect > d.Effect && anyMatches(f.to, to) && f.carries(c) {
				d = f.decision
			}
		}
	}
	var trifectas *layer
	for _, l := range s.layers {
		if l.trifecta > Allow && (trifectas == nil || l.trifecta > trifectas.trifecta) {
			trifectas = l
		}
	}
	if trifectas != nil && trifectas.trifecta > d.Effect && s.joins(c, to) {
		d = Decision{Effect: trifectas.trifecta, Code: CodeFlow, Reason: trifectas.trifectaReason, Hint: flowHint}
	}
	return d
}

const flowHint = "go on without it, or leave it to the user: what was read counts for half an hour, in later runs too"

// carries reports whether the run has read data that must not get into the call.
func (f *flow) carries(c *Call) bool {
	for i := range c.Run.Read {
		read := &c.Run.Read[i]
		from := targetOf(read.Tool)
		if anyMatches(f.from, &from) && (!f.values || read.Values.in(c.Args)) {
			return true
		}
	}
	return false
}

// joins reports whether a call combines, within its run, private data, untrusted data,
// and a way out.
func (s *stack) joins(c *Call, to *target) bool {
	own := s.labelsOf(to)
	if own == 0 {
		return false
	}
	for i := range c.Run.Read {
		t := targetOf(c.Run.Read[i].Tool)
		labels := s.labelsOf(&t)
		if c.Run.Read[i].Earlier {
			labels &^= egress
		}
		own |= labels
	}
	for i := range c.Run.Made {
		t := targetOf(c.Run.Made[i].Tool)
		own |= s.labelsOf(&t)
	}
	return own == trifecta
}

func (s *stack) labelsOf(t *target) (set labelSet) {
	for _, l := range s.layers {
		for i := range l.labels {
			if l.labels[i].tools.matches(t) {
				set |= l.labels[i].set
			}
		}
	}
	return set
}

// TracksData reports whether any flow or label depends on what a run has read.
func (r *Rules) TracksData(profile string) bool {
	return slices.ContainsFunc(r.stack(profile).layers, func(l *layer) bool { return len(l.flows)+len(l.labels) > 0 })
}

// WatchesValues reports whether any flow compares the results of a tool with the
// arguments of later calls.
func (r *Rules) WatchesValues(t *discovery.Tool, profile string) bool {
	to := targetOf(t)
	for _, l := range r.stack(profile).layers {
		for i := range l.flows {
			if l.flows[i].values && anyMatches(l.flows[i].from, &to) {
				return true
			}
		}
	}
	return false
}

// spent returns the decision of the budgets.
func (s *stack) spent(c *Call, to *target) Decision {
	for _, l := range s.layers {
		switch {
		case l.runLimits.calls.reached(c.Run.Calls):
			return l.runLimits.calls.spent
		case c.Class >= Write && l.runLimits.writes.reached(c.Run.Writes):
			return l.runLimits.writes.spent
		case c.Class == Destructive && l.runLimits.destructive.reached(c.Run.Destructive):
			return l.runLimits.destructive.spent
		}
		for i := range l.tools {
			b := &l.tools[i]
			if !b.tools.matches(to) {
				continue
			}
			n := 0
			for j := range c.Run.Made {
				if t := targetOf(c.Run.Made[j].Tool); b.tools.matches(&t) {
					n += c.Run.Made[j].Calls
				}
			}
			if b.reached(n) {
				return b.spent
			}
		}
	}
	return Decision{}
}

func (l *limit) reached(n int) bool { return l.n >= 0 && n >= l.n }
