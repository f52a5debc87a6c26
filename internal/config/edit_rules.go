package config

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/policy"
)

// rulesPath is the path of the rules of the policy in a configuration.
var rulesPath = []string{"broker", "policy", "rules"}

// A ToolRule is a rule of a policy about one pattern of tools, without conditions on
// arguments and without exceptions.
type ToolRule struct {
	Effect policy.Effect
	Tools  string
	Class  string // empty for all
	Reason string
}

// String returns the rule in the format of configurations.
func (r ToolRule) String() string {
	text := `{"effect": "` + r.Effect.String() + `", "tools": [` + quoteJSON(r.Tools) + `]`
	if r.Class != "" {
		text += `, "class": [` + quoteJSON(r.Class) + `]`
	}
	if r.Reason != "" {
		text += `, "reason": ` + quoteJSON(r.Reason)
	}
	return text + "}"
}

// AllowTools returns the configuration data with another rule, which allows tools.
func AllowTools(data []byte, tools []string) ([]byte, error) {
	quoted, err := json.Marshal(tools)
	if err != nil {
		return nil, err
	}
	return appendRule(data, Object{{"effect", "allow"}, {"tools", tools}}, `{"effect": "allow", "tools": `+string(quoted)+`}`)
}

// SetRule returns the configuration data with rule r in place of the other plain rules
// about the same pattern and class, of which the strictest would win. It also returns
// their effects. If the rule exists already, the data does not change.
func SetRule(data []byte, r ToolRule) (after []byte, replaced []policy.Effect, err error) {
	there := false
	after, err = editRules(data, r, func(found policy.Effect) bool {
		if found == r.Effect && !there {
			there = true
			return false
		}
		replaced = append(replaced, found)
		return true
	})
	if err != nil || there {
		return after, replaced, err
	}
	object := Object{{"effect", r.Effect.String()}, {"tools", []string{r.Tools}}}
	if r.Class != "" {
		object = append(object, Field{"class", []string{r.Class}})
	}
	if r.Reason != "" {
		object = append(object, Field{"reason", r.Reason})
	}
	after, err = appendRule(after, object, r.String())
	return after, replaced, err
}

// RemoveRule returns the configuration data without the plain rules with the pattern,
// class and effect of r, and reports whether there was one.
func RemoveRule(data []byte, r ToolRule) (after []byte, removed bool, err error) {
	after, err = editRules(data, r, func(found policy.Effect) bool {
		removed = removed || found == r.Effect
		return found == r.Effect
	})
	return after, removed, err
}

// appendRule adds a rule. text is its form in a non-empty list.
func appendRule(data []byte, rule Object, text string) ([]byte, error) {
	v, _, err := LookupKey(data, rulesPath)
	if err != nil {
		return nil, err
	}
	list, ok := v.Value.(*hujson.Array)
	if !ok || len(list.Elements) == 0 {
		return SetKey(data, rulesPath, []any{rule})
	}
	bom, body := cutBOM(data)
	first, last := list.Elements[0], list.Elements[len(list.Elements)-1]
	line := body[bytes.LastIndexByte(body[:first.StartOffset], '\n')+1 : first.StartOffset]
	space := " "
	if len(bytes.TrimSpace(line)) == 0 { // rules begin on their own line
		space = "\n" + string(line)
	}
	return slices.Concat(bom, body[:last.EndOffset], []byte(","+space+text), body[last.EndOffset:]), nil
}

// editRules removes the pattern of r from the plain rules of its class for which drop
// returns true, and removes rules without a pattern left. It calls drop once for each
// rule.
func editRules(data []byte, r ToolRule, drop func(policy.Effect) bool) ([]byte, error) {
	bom, data := cutBOM(data)
	kept := 0 // plain rules about the pattern that drop keeps
	for {
		v, _, err := LookupKey(data, rulesPath)
		if err != nil {
			return nil, err
		}
		list, ok := v.Value.(*hujson.Array)
		if !ok {
			return slices.Concat(bom, data), nil
		}
		rule, at, effect := plainRule(list, r, kept)
		if rule < 0 {
			return slices.Concat(bom, data), nil
		}
		if !drop(effect) {
			kept++
			continue
		}
		tools := member(list.Elements[rule].Value.(*hujson.Object), "tools").Value
		if names, ok := tools.Value.(*hujson.Array); ok && len(names.Elements) > 1 {
			data = deleteElement(data, tools, at)
			continue
		}
		data = deleteElement(data, v, rule)
	}
}

// plainRule finds the rule after n others that has the pattern and the class of r and
// no conditions. It returns its index, the index of the pattern in it, and its effect.
// Without such a rule, the index is negative.
func plainRule(list *hujson.Array, r ToolRule, n int) (rule, at int, effect policy.Effect) {
	for i, e := range list.Elements {
		obj, ok := e.Value.(*hujson.Object)
		if !ok || slices.ContainsFunc(obj.Members, func(m hujson.ObjectMember) bool {
			return !slices.Contains([]string{"effect", "tools", "class", "reason"}, m.Name.Value.(hujson.Literal).String())
		}) {
			continue
		}
		at := slices.Index(textsOf(member(obj, "tools")), r.Tools)
		class := textsOf(member(obj, "class"))
		if at < 0 || r.Class == "" && len(class) > 0 || r.Class != "" && !slices.Equal(class, []string{r.Class}) {
			continue
		}
		effect, ok := map[string]policy.Effect{"allow": policy.Allow, "ask": policy.Ask, "deny": policy.Deny}[first(textsOf(member(obj, "effect")))]
		if !ok {
			continue
		}
		if n == 0 {
			return i, at, effect
		}
		n--
	}
	return -1, 0, 0
}

// textsOf returns the strings of a list, or of a single value.
func textsOf(m *hujson.ObjectMember) (texts []string) {
	if m == nil {
		return nil
	}
	elements := []hujson.Value{m.Value}
	if list, ok := m.Value.Value.(*hujson.Array); ok {
		elements = list.Elements
	}
	for _, e := range elements {
		text := ""
		if l, ok := e.Value.(hujson.Literal); ok && l.Kind() == '"' {
			text = l.String()
		}
		texts = append(texts, text)
	}
	return texts
}

func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}

// deleteElement removes an element of the list at holder as deleteMember does.
func deleteElement(data []byte, holder hujson.Value, i int) []byte {
	var members []hujson.ObjectMember
	for _, e := range holder.Value.(*hujson.Array).Elements {
		members = append(members, hujson.ObjectMember{Name: e, Value: e})
	}
	holder.Value = &hujson.Object{Members: members}
	return deleteMember(data, holder, i)
}
