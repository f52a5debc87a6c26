package discovery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/schema"
)

// An Override is how the configuration changes one tool of a server. What is
// empty stays as the server listed it.
type Override struct {
	Name, Description string
	// Defaults are arguments that a call is sent with if it does not have them.
	Defaults map[string]json.RawMessage
	// Hide are parameters that callers neither see nor can give.
	Hide []string
}

// Overrides are those of one server, by the tool's own name there.
type Overrides map[string]Override

// An Original is what its server knows of a tool that was changed.
type Original struct {
	Name     string
	Hidden   []string
	Defaults map[string]json.RawMessage
}

// OwnName is the name by which its server knows the tool.
func (t *ListedTool) OwnName() string {
	if t.Original != nil {
		return t.Original.Name
	}
	return t.Name
}

// Apply returns l with the overrides applied to its tools. It does not rename a tool if
// another tool of the server has, or would get, the new name.
func (o Overrides) Apply(l Listing) Listing {
	if len(o) == 0 {
		return l
	}
	l.Tools = slices.Clone(l.Tools)
	taken := o.names(l)
	for i := range l.Tools {
		t := &l.Tools[i]
		over, ok := o[t.Name]
		if !ok {
			continue
		}
		t.Original = &Original{t.Name, over.Hide, over.Defaults}
		if over.Name != "" && taken[over.Name] < 2 {
			t.Name, t.Title = over.Name, ""
		}
		if over.Description != "" {
			t.Description = over.Description
		}
		t.InputSchema = over.shown(t.InputSchema)
	}
	return l
}

// names counts the tools of a listing that would have each name.
func (o Overrides) names(l Listing) map[string]int {
	names := make(map[string]int)
	for _, t := range l.Tools {
		names[t.Name]++
		if to := o[t.Name].Name; to != "" && to != t.Name {
			names[to]++
		}
	}
	return names
}

// Problems returns the parts of o that have no effect on a server's listing, and the
// parameters that its calls will lack.
func (o Overrides) Problems(l Listing) []string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	byName := make(map[string]*ListedTool)
	for i := range l.Tools {
		byName[l.Tools[i].Name] = &l.Tools[i]
	}
	known, taken := slices.Sorted(maps.Keys(byName)), o.names(l)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		over, t := o[name], byName[name]
		if t == nil {
			say("server %s has no tool %q to override%s", l.Server, name, near(name, known))
			continue
		}
		if over.Name != "" && over.Name != name && taken[over.Name] > 1 {
			say("tool %s of server %s keeps its name: another tool has the name %q", name, l.Server, over.Name)
		}
		properties, required := parameters(t.InputSchema)
		for _, p := range slices.Sorted(maps.Keys(over.Defaults)) {
			if !slices.Contains(properties, p) {
				say("tool %s of server %s has no parameter %q for a default%s", name, l.Server, p, near(p, properties))
			}
		}
		for _, p := range over.Hide {
			switch {
			case !slices.Contains(properties, p):
				say("tool %s of server %s has no parameter %q to hide%s", name, l.Server, p, near(p, properties))
			case slices.Contains(required, p) && over.Defaults[p] == nil:
				say("tool %s of server %s needs the parameter %q, which is hidden: give it a default", name, l.Server, p)
			}
		}
	}
	return list
}

func near(name string, known []string) string {
	if n := nearest.Names(name, known, 1); len(n) > 0 {
		return fmt.Sprintf("; did you mean %q?", n[0])
	}
	return ""
}

// parameters are the names of the properties of a schema, sorted, and of those
// that it requires.
func parameters(raw json.RawMessage) (properties, required []string) {
	o := schema.Read(raw).Object()
	if p := o.Properties(); p != nil {
		properties = slices.Sorted(slices.Values(p.Keys))
	}
	return properties, o.Required()
}

// shown returns an input schema without hidden parameters, in which parameters with a
// default are optional. The order of its keys stays.
func (o Override) shown(schema json.RawMessage) json.RawMessage {
	if len(o.Hide)+len(o.Defaults) == 0 {
		return schema
	}
	out, err := o.rewrite(schema)
	if err != nil {
		return schema // it is not JSON, and says nothing
	}
	return out
}

func (o Override) rewrite(schema json.RawMessage) (json.RawMessage, error) {
	return eachMember(schema, func(key string, value json.RawMessage) (json.RawMessage, error) {
		switch key {
		case "properties":
			return eachMember(value, func(name string, p json.RawMessage) (json.RawMessage, error) {
				if slices.Contains(o.Hide, name) {
					return nil, nil
				}
				return p, nil
			})
		case "required":
			return o.needed(value), nil
		case "allOf", "anyOf", "oneOf": // forms of the same arguments
			var forms []json.RawMessage
			if json.Unmarshal(value, &forms) != nil {
				return value, nil
			}
			for i := range forms {
				if form, err := o.rewrite(forms[i]); err == nil {
					forms[i] = form
				}
			}
			return json.Marshal(forms)
		}
		return value, nil
	})
}

// needed is a list of required parameters without those that callers need not
// give.
func (o Override) needed(value json.RawMessage) json.RawMessage {
	var names []string
	if json.Unmarshal(value, &names) != nil {
		return value
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains(o.Hide, name) || o.Defaults[name] != nil
	})
	if len(names) == 0 {
		return nil
	}
	out, _ := json.Marshal(names) // strings always marshal
	return out
}

// eachMember returns an object with each value replaced by the result of f, in order
// and without nil values. Other JSON is returned unchanged.
func eachMember(object json.RawMessage, f func(key string, value json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return object, err
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if value, err = f(key, value); err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(key) // a string always marshals
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Send returns the arguments that the server gets for those of a call, which are
// an object: with the defaults that the configuration has. It fails if a hidden
// parameter is among them, which for the caller is one that there is not.
func (t *ListedTool) Send(args json.RawMessage) (json.RawMessage, error) {
	if t.Original == nil || len(t.Original.Hidden)+len(t.Original.Defaults) == 0 {
		return args, nil
	}
	given := make(map[string]json.RawMessage)
	if err := json.Unmarshal(args, &given); err != nil {
		return nil, err
	}
	var unknown []string
	for _, name := range t.Original.Hidden {
		if _, ok := given[name]; ok {
			unknown = append(unknown, fmt.Sprintf("%q", name))
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("unknown parameter %s", strings.Join(unknown, ", "))
	}
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(bytes.TrimSpace(args), []byte("}")))
	first := len(given) == 0
	for _, name := range slices.Sorted(maps.Keys(t.Original.Defaults)) {
		if _, ok := given[name]; ok {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		key, _ := json.Marshal(name) // a string always marshals
		b.Write(key)
		b.WriteByte(':')
		b.Write(t.Original.Defaults[name])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
