package scan

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A walker visits every string and key of a tool.
type walker struct {
	server string // folded
	others *Others
	report Report
	path   []string

	name, description string
	params            map[string]bool // names of the properties, folded
	all               class           // of all texts read
	chatty            bool            // the tool is about conversations
	readOnly          bool            // it says so
	harmless, harmful bool            // it says so
}

const maxDepth = 100

// fields are the scanned parts of a tool, in this order.
var fields = [...]string{"name", "title", "description", "annotations", "inputSchema", "outputSchema"}

// tool scans the fields of a tool.
func (w *walker) tool(definition string) {
	var raw [len(fields)]string
	if !members(definition, func(key, value string) {
		if i := slices.Index(fields[:], key); i >= 0 {
			raw[i] = value // the last one counts, as for a decoder
		}
	}) {
		w.report.add("name", Review, "unreadable")
		return
	}
	w.params = map[string]bool{}
	members(raw[4], func(key, value string) {
		if key == "properties" {
			members(value, func(name, _ string) { w.params[fold(name)] = true })
		}
	})
	members(raw[3], func(key, value string) {
		w.readOnly = w.readOnly || key == "readOnlyHint" && value == "true"
		w.harmless = w.harmless || key == "destructiveHint" && value == "false"
		w.harmful = w.harmful || key == "destructiveHint" && value == "true"
	})
	for i, field := range fields {
		w.path = append(w.path[:0], field)
		switch s := jsonscan.New(raw[i]); {
		case raw[i] == "":
		case i >= 4:
			w.chatty = w.chatty || w.all&chat != 0
			w.visit(&s, schema, 0)
		case i == 3:
			w.visit(&s, data, 0)
		case raw[i][0] == '"':
			w.field(i, jsonscan.Unquote(raw[i]))
		}
	}
}

// members calls f with the members of an object, and reports whether it is one.
func members(raw string, f func(key, value string)) bool {
	return jsonscan.Members(raw, func(key, value string) bool { f(jsonscan.Unquote(key), value); return true })
}

func (w *walker) field(i int, s string) {
	switch i {
	case 0:
		w.name = s
		if w.leaf(split(s), label); disguised(s) {
			w.leaf(s, label)
			w.report.add("name", Review, "lookalikes")
		}
	case 1:
		w.leaf(s, titled(s))
	default:
		w.description = s
		w.leaf(s, prose)
	}
}

// within visits a part under a key.
func (w *walker) within(key string, visit func()) {
	w.path = append(w.path, key)
	visit()
	w.path = w.path[:len(w.path)-1]
}

// A role is the role of a JSON value.
type role uint8

const (
	data    role = iota // all strings are data
	schema              // a JSON Schema, or a list of them
	schemas             // an object of schemas by name
)

// roles are the roles of values in a schema, by keyword.
var roles = map[string]role{
	"properties": schemas, "patternProperties": schemas, "$defs": schemas, "definitions": schemas, "dependentSchemas": schemas,
	"items": schema, "additionalProperties": schema, "anyOf": schema, "oneOf": schema, "allOf": schema, "not": schema, "if": schema, "then": schema, "else": schema,
	"prefixItems": schema, "contains": schema, "propertyNames": schema, "unevaluatedProperties": schema, "unevaluatedItems": schema, "additionalItems": schema,
}

// visit scans a value.
func (w *walker) visit(s *jsonscan.Scanner[string], as role, depth int) {
	switch kind := s.Kind(); {
	case depth > maxDepth:
		w.report.add(strings.Join(w.path, "."), Review, "unreadable")
		s.Skip()
	case kind == '[' && as == data:
		for s.Enter('['); s.More(']'); {
			w.visit(s, data, depth+1)
		}
	case kind == '[':
		i := 0
		for s.Enter('['); s.More(']'); i++ {
			w.within(strconv.Itoa(i), func() { w.visit(s, schema, depth+1) })
		}
	case kind == '{':
		typ, about := "", `""`
		for s.Enter('{'); s.More('}'); {
			if literal := s.Key(); !s.Broken() {
				key := jsonscan.Unquote(literal)
				w.within(key, func() { w.member(s, key, as, depth, &typ, &about) })
			}
		}
		if !s.Broken() {
			w.within("description", func() { w.about(jsonscan.Unquote(about), typ) })
		}
	case kind == '"':
		w.value(s)
	default:
		s.Skip()
	}
}

// member scans a member of an object. The type and the description of a schema go to typ and about.
func (w *walker) member(s *jsonscan.Scanner[string], key string, as role, depth int, typ, about *string) {
	text := s.Kind() == '"'
	switch inner := roles[key]; {
	case as == schemas:
		w.property(key)
		w.visit(s, schema, depth+1)
	case as == data:
		w.leaf(key, titled(key))
		w.visit(s, data, depth+1)
	case key == "type" && text:
		*typ = s.Skip()
	case key == "description" && text:
		*about = s.Skip()
	default:
		if inner == data && len(key) > 16 {
			w.leaf(key, odd)
		}
		w.visit(s, inner, depth+1)
	}
}

// about scans the description of a schema of a type.
func (w *walker) about(s, typ string) {
	at := parameter
	switch {
	case w.path[0] == "outputSchema":
		at = result
	case len(w.path) == 2:
		at = prose
	case typ == `"boolean"`, typ == `"integer"`, typ == `"number"`:
		at = setting
	}
	w.leaf(s, at)
}

// value scans a string of data.
func (w *walker) value(s *jsonscan.Scanner[string]) {
	raw := s.Skip()
	if s.Broken() {
		return
	}
	text, at := jsonscan.Unquote(raw), odd
	if w.path[len(w.path)-1] == "title" {
		at = titled(text)
	}
	if w.leaf(text, at); strings.Contains(text, "@") && !strings.Contains(text, " ") && w.copies() {
		w.report.add(strings.Join(w.path, "."), Review, "exfiltration")
	}
}

// copies reports whether the path leads to a value for a parameter that sends copies, such as
// "bcc".
func (w *walker) copies() bool {
	n := len(w.path)
	return n >= 2 && slices.Contains([]string{"default", "const", "enum"}, w.path[n-1]) && slices.Contains(lists()["copies"], split(w.path[n-2]))
}

// property scans the name of a property.
func (w *walker) property(key string) {
	if len(key) < 8 && isASCII(key) {
		return
	}
	t := w.leaf(split(key), label)
	where, reading := strings.Join(w.path, "."), t.all&reads != 0
	switch {
	case reading && (len(t.words) >= 3 && t.all&path != 0 || t.all&environ != 0):
		v := Block
		if t.all&path != 0 && strings.Contains(t.folded, "env") && t.all&sends == 0 {
			v = Review // perhaps the tool writes such a file
		}
		w.report.add(where, v, "harvest", "names-sensitive-path")
	case t.all&talk != 0 && len(t.words) > 1 && !w.chatty && len(w.path) == 3 && w.path[0] == "inputSchema":
		w.report.add(where, Review, "harvest")
	}
}

// titled returns the location of a title: a long one is a sentence.
func titled(s string) location {
	if strings.Count(s, " ") >= 6 || len(s) > 80 {
		return odd
	}
	return label
}

// split splits the words of a name: snake_case and camelCase.
func split(name string) string {
	var b strings.Builder
	prev := rune(0)
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(prev) {
			b.WriteByte(' ')
		}
		if r == '_' || r == '-' || r == '.' {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
		prev = r
	}
	return b.String()
}

// contradicts finds annotations that the name and the description contradict.
func (w *walker) contradicts() {
	if !w.readOnly && !w.harmless {
		return
	}
	bare := discovery.Tool{ListedTool: discovery.ListedTool{Name: w.name}}
	destroys := policy.ClassOf(&bare) == policy.Destructive && !tentative(split(w.name))
	says := false
	if t := w.read(w.description[:min(len(w.description), 1000)], prose); !tentative(t.folded) {
		says = slices.ContainsFunc(t.hits, func(h hit) bool {
			return h.class&destroy != 0 && (h.word <= 1 || h.sentence == 0 && slices.Contains([]string{"and", "then", "also"}, t.words[h.word-1]))
		})
	}
	switch both := destroys && says; {
	case w.readOnly && both:
		w.report.add("annotations", Block, "contradiction")
	case w.readOnly && (destroys || says || w.harmful), both:
		w.report.add("annotations", Review, "contradiction")
	}
}

// tentative reports whether words say that nothing is destroyed.
func tentative(s string) bool {
	return containsAny(s, lists()["tentative"]...)
}
