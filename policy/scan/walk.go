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

	name, description     string
	params                map[string]bool // names of the properties, folded
	all                   class           // of all texts read
	chatty                bool            // the tool is about conversations
	readOnly, destructive string          // hints, as written
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
	for i, field := range fields {
		w.path = append(w.path[:0], field)
		switch s := jsonscan.New(raw[i]); {
		case raw[i] == "":
		case i >= 4:
			w.chatty = w.chatty || w.all&chat != 0
			w.schema(&s, false, 0)
		case i == 3:
			members(raw[i], func(key, value string) {
				if key == "readOnlyHint" {
					w.readOnly = value
				} else if key == "destructiveHint" {
					w.destructive = value
				}
			})
			w.data(&s, 0)
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

// deep reports whether the next value is nested too deep, and then skips it.
func (w *walker) deep(s *jsonscan.Scanner[string], depth int) bool {
	if depth > maxDepth {
		w.report.add(strings.Join(w.path, "."), Review, "unreadable")
		s.Skip()
	}
	return depth > maxDepth
}

// schema visits a JSON Schema, a list of schemas, or an object of schemas by name.
func (w *walker) schema(s *jsonscan.Scanner[string], named bool, depth int) {
	switch kind := s.Kind(); {
	case w.deep(s, depth):
	case kind == '[':
		i := 0
		for s.Enter('['); s.More(']'); i++ {
			w.within(strconv.Itoa(i), func() { w.schema(s, false, depth+1) })
		}
	case kind == '{':
		typ, about := "", `""`
		for s.Enter('{'); s.More('}'); {
			literal := s.Key()
			if s.Broken() {
				return
			}
			key := jsonscan.Unquote(literal)
			w.within(key, func() {
				switch next := s.Kind(); {
				case named:
					w.property(key)
					w.schema(s, false, depth+1)
				case key == "type" && next == '"':
					typ = s.Skip()
				case key == "description" && next == '"':
					about = s.Skip()
				default:
					w.keyword(s, key, depth)
				}
			})
		}
		if !s.Broken() {
			w.within("description", func() { w.about(jsonscan.Unquote(about), typ) })
		}
	default:
		w.data(s, depth)
	}
}

// keyword visits a key of a schema and its value.
func (w *walker) keyword(s *jsonscan.Scanner[string], key string, depth int) {
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		w.schema(s, true, depth+1)
	case "items", "additionalProperties", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "prefixItems", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "additionalItems":
		w.schema(s, false, depth+1)
	default:
		if len(key) > 16 {
			w.leaf(key, odd)
		}
		w.data(s, depth+1)
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

// data visits a value in which all strings are data.
func (w *walker) data(s *jsonscan.Scanner[string], depth int) {
	switch kind := s.Kind(); {
	case w.deep(s, depth):
	case kind == '[':
		for s.Enter('['); s.More(']'); {
			w.data(s, depth+1)
		}
	case kind == '{':
		for s.Enter('{'); s.More('}'); {
			if key := s.Key(); !s.Broken() {
				name := jsonscan.Unquote(key)
				w.within(name, func() {
					w.leaf(name, titled(name))
					w.data(s, depth+1)
				})
			}
		}
	case kind == '"':
		if raw := s.Skip(); !s.Broken() {
			text, at := jsonscan.Unquote(raw), odd
			if w.path[len(w.path)-1] == "title" {
				at = titled(text)
			}
			if w.leaf(text, at); strings.Contains(text, "@") && !strings.Contains(text, " ") && w.copies() {
				w.report.add(strings.Join(w.path, "."), Review, kindNames[3])
			}
		}
	default:
		s.Skip()
	}
}

// copies reports whether the path leads to a value for a parameter that sends copies, such as
// "bcc".
func (w *walker) copies() bool {
	n := len(w.path)
	return n >= 2 && slices.Contains([]string{"default", "const", "enum"}, w.path[n-1]) &&
		slices.Contains([]string{"bcc", "cc", "blind copy", "copy to", "forward to", "also to", "mirror", "mirror to", "reply to"}, split(w.path[n-2]))
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
		w.report.add(where, v, kindNames[2], "names-sensitive-path")
	case t.all&talk != 0 && len(t.words) > 1 && !w.chatty && len(w.path) == 3 && w.path[0] == "inputSchema":
		w.report.add(where, Review, kindNames[2])
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
	if w.readOnly != "true" && w.destructive != "false" {
		return
	}
	bare := discovery.Tool{ListedTool: discovery.ListedTool{Name: w.name}}
	destroys := policy.ClassOf(&bare) == policy.Destructive && !tentative(split(w.name))
	says := false
	if t := w.read(w.description[:min(len(w.description), 1000)], prose); !tentative(t.folded) {
		for _, h := range t.hits {
			says = says || h.class&destroy != 0 && (h.word <= 1 || h.sentence == 0 && slices.Contains([]string{"and", "then", "also"}, t.words[h.word-1]))
		}
	}
	switch {
	case w.readOnly == "true" && destroys && says:
		w.report.add("annotations", Block, "contradiction")
	case w.readOnly == "true" && (destroys || says || w.destructive == "true"), w.destructive == "false" && destroys && says:
		w.report.add("annotations", Review, "contradiction")
	}
}

// tentative reports whether words say that nothing is destroyed.
func tentative(s string) bool {
	return containsAny(s, "dry run", "preview", "would", "simulat", "estimate", "plan ", "without ", "does not delete", "no changes", "nothing is", "not deleted", "from view", "duplicates from", "can be",
		"undo", "filter", "noise", "whitespace", "formatting", "comments from", "selection", "search", "find ", "show ", "only report")
}
