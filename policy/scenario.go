package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A Scenario is a call under a policy, with the expected outcome.
type Scenario struct {
	ID string
	// Policy is nil if it is invalid; Mistakes have the reasons.
	Policy   *Rules
	Mistakes []Mistake
	Call     Call
	// Expected are the expected keys of the Outcome, by name.
	Expected map[string]any
}

// An Outcome is the result of the call of a Scenario.
type Outcome struct {
	ID string `json:"id"`
	// Effect is that of a Decision, "unknown_tool" outside a profile, or "error" if the policy is
	// invalid.
	Effect string `json:"effect"`
	Code   string `json:"code"`
	// Class is the class of the tool; empty if it is unknown, or nothing was decided.
	Class string `json:"class,omitempty"`
	// Rule is the index of the rule that decided, within its profile if Profile is set.
	Rule    *int   `json:"rule,omitempty"`
	Profile string `json:"profile,omitempty"`
	// Error describes the mistakes in the policy.
	Error string `json:"error,omitempty"`
}

// The effects of outcomes that no Decision has.
const (
	effectUnknown = "unknown_tool"
	effectError   = "error"
	codeConfig    = "config"
)

// ReadScenarios reads a file of scenarios, which is JSON:
//
//	{"policy": {…}, "scenarios": [{"id", "policy", "managed", "tool": {"server", "name", "annotations"}, "args", "context", "expected"}]}
//
// A scenario without a policy has the policy of the file.
func ReadScenarios(file string, text []byte) ([]Scenario, error) {
	r := newReader(Source{File: file, Text: text})
	root, ok := r.read(0)
	if !ok {
		return nil, r.err()
	}
	var list []Scenario
	var common *node
	var all []node
	r.members(root, "the file", func(key, v node) {
		switch key.text {
		case "policy":
			common = &v
		case "scenarios":
			if r.isKind(v, '[', `"scenarios"`, "a list") {
				all = v.values
			}
		}
	})
	for i, n := range all {
		list = append(list, r.scenario(n, i, common))
	}
	if len(list) == 0 {
		r.fail(root, `there are no scenarios: write {"scenarios": [{"policy": {…}, "tool": {"server": "wiki", "name": "delete_page"}, "args": {…}, "expected": {"effect": "ask"}}]}`)
	}
	return list, r.err()
}

// err returns the mistakes, one per line.
func (r *reader) err() error {
	var errs []error
	for _, m := range r.mistakes {
		errs = append(errs, m)
	}
	return errors.Join(errs...)
}

// A scenarioFile is a scenario as written, without its policies.
type scenarioFile struct {
	ID      string          `json:"id"`
	Tool    scenarioTool    `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Context struct {
		ReadOnly bool   `json:"read_only"`
		Profile  string `json:"profile"`
		Pin      string `json:"pin"`
		Run      struct {
			Calls       int             `json:"calls"`
			Writes      int             `json:"writes"`
			Destructive int             `json:"destructive"`
			Tools       toolCounts      `json:"tools"`
			ReadFrom    []string        `json:"read_from"`
			Values      json.RawMessage `json:"values"`
		} `json:"run"`
	} `json:"context"`
	Expected map[string]any `json:"expected"`
}

// A scenarioTool is a tool with annotations as loose as those of servers.
type scenarioTool struct {
	Server      string                     `json:"server"`
	Name        string                     `json:"name"`
	Annotations map[string]json.RawMessage `json:"annotations"`
}

func (t *scenarioTool) UnmarshalJSON(b []byte) error {
	var name string
	if json.Unmarshal(b, &name) == nil {
		found := toolOf(name)
		t.Server, t.Name = found.Server, found.Name
		return nil
	}
	type plain scenarioTool
	return json.Unmarshal(b, (*plain)(t))
}

func (t *scenarioTool) tool() *discovery.Tool {
	lt := discovery.ListedTool{Name: t.Name}
	for key, to := range map[string]**bool{"readOnlyHint": &lt.Annotations.ReadOnly, "destructiveHint": &lt.Annotations.Destructive} {
		var b bool
		if v, ok := t.Annotations[key]; ok && string(v) != "null" && json.Unmarshal(v, &b) == nil {
			*to = &b
		}
	}
	return NewTool(discovery.Listing{Server: t.Server, Tools: []discovery.ListedTool{lt}}, t.Name)
}

// toolCounts counts calls by tool; a list of tools counts each once.
type toolCounts map[string]int

func (c *toolCounts) UnmarshalJSON(b []byte) error {
	var names []string
	if json.Unmarshal(b, &names) != nil {
		return json.Unmarshal(b, (*map[string]int)(c))
	}
	*c = make(toolCounts)
	for _, n := range names {
		(*c)[n]++
	}
	return nil
}

func (r *reader) scenario(n node, index int, common *node) Scenario {
	s := Scenario{ID: fmt.Sprint(index)}
	var f scenarioFile
	if err := json.Unmarshal(r.src.Text[n.off:r.end(n)], &f); err != nil {
		r.fail(n, "scenario %d: %v", index, err)
		return s
	}
	if f.ID != "" {
		s.ID = f.ID
	}
	if f.Tool.Server == "" || f.Tool.Name == "" {
		r.fail(n, "scenario %s: a tool needs \"server\" and \"name\"", shown(s.ID))
		return s
	}
	var own, managed *node
	for i, k := range n.keys {
		switch v := &n.values[i]; k.text {
		case "policy":
			own = v
		case "managed":
			managed = v
		}
	}
	if own == nil {
		own = common
	}
	s.Policy, s.Mistakes = r.policy(own)
	if managed != nil && s.Policy != nil {
		var above *Rules
		if above, s.Mistakes = r.policy(managed); above == nil {
			s.Policy = nil
		} else {
			s.Policy = s.Policy.Under(above)
		}
	}
	if p := f.Context.Profile; p != "" && s.Policy != nil && !s.Policy.HasProfile(p) {
		s.Policy, s.Mistakes = nil, []Mistake{{r.position(n.off), fmt.Sprintf("unknown profile %s", shown(p))}}
	}
	s.Call, s.Expected = f.call(), f.Expected
	return s
}

// policy reads a policy within the text; a missing one, or null, is the default.
func (r *reader) policy(n *node) (*Rules, []Mistake) {
	if n == nil || n.kind == 'n' {
		return Default(), nil
	}
	return ReadRules(Source{File: r.src.File, Text: r.src.Text, Start: n.off})
}

func (f *scenarioFile) call() Call {
	c := Call{Tool: f.Tool.tool(), Args: f.Args, Profile: f.Context.Profile, ReadOnly: f.Context.ReadOnly, Pin: Pin(f.Context.Pin)}
	switch c.Pin {
	case PinNew, PinChanged, PinBlocked:
	case "", "approved":
		c.Pin = PinApproved
	default:
		c.Pin = PinBlocked
	}
	if len(c.Args) == 0 || string(c.Args) == "null" {
		c.Args = json.RawMessage(`{}`)
	}
	run := f.Context.Run
	c.Run = Run{Calls: run.Calls, Writes: run.Writes, Destructive: run.Destructive}
	for name, n := range run.Tools {
		c.Run.Made = append(c.Run.Made, Made{toolOf(name), n})
	}
	// The texts apply to all tools, or are keyed by tool.
	all := &Values{}
	var byTool map[string]json.RawMessage
	if json.Unmarshal(run.Values, &byTool) != nil {
		all.AddJSON(run.Values)
	}
	for _, name := range run.ReadFrom {
		values := all
		if byTool != nil {
			values = &Values{}
			values.AddJSON(byTool[name])
		}
		c.Run.Read = append(c.Run.Read, Reading{Tool: toolOf(name), Values: values})
	}
	return c
}

// Outcome decides about the call of a scenario.
func (s *Scenario) Outcome() Outcome {
	if s.Policy == nil {
		var texts []string
		for _, m := range s.Mistakes {
			texts = append(texts, m.Error())
		}
		return Outcome{ID: s.ID, Effect: effectError, Code: codeConfig, Error: strings.Join(texts, "\n")}
	}
	s.Call.Class = s.Policy.ClassOf(s.Call.Tool)
	d := s.Policy.Decide(s.Call)
	o := Outcome{ID: s.ID, Effect: d.Effect.String(), Code: d.Code, Class: s.Call.Class.String()}
	if d.Code == CodeProfile {
		o.Effect, o.Class = effectUnknown, ""
	}
	if d.Rule != nil {
		o.Rule, o.Profile = &d.Rule.Index, d.Rule.Profile
	}
	return o
}

// Differences returns lines that describe where an outcome differs from the expected one.
func (s *Scenario) Differences(o Outcome) []string {
	var lines []string
	got := map[string]any{"effect": o.Effect, "code": o.Code, "class": o.Class}
	if o.Rule != nil {
		got["rule"] = float64(*o.Rule)
	}
	for _, key := range []string{"effect", "code", "class", "rule"} {
		if want, ok := s.Expected[key]; ok && want != nil && want != got[key] {
			is := "none"
			if got[key] != nil && got[key] != "" {
				is = fmt.Sprint(got[key])
			}
			lines = append(lines, fmt.Sprintf("%s is %s, expected %v", key, is, want))
		}
	}
	return lines
}
