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
	all               class           // of all that was read
	chatty            bool            // the tool is about conversations
	annotations       discovery.Annotations
}

// A shape describes the values of an object.
type shape uint8

const (
	schema shape = iota // a JSON Schema
	named               // an object with names as keys and schemas as values
	value               // anything: all strings in it are data
)

const maxDepth = 100

// fields are what is scanned of a tool, in this order.
var fields = [...]string{"name", "title", "description", "annotations", "inputSchema", "outputSchema"}

// tool scans the fields of a tool.
func (w *walker) tool(definition string) {
	var raw [len(fields)]string
	if !jsonscan.Members(definition, func(key, value string) bool {
		if i := slices.Index(fields[:], jsonscan.Unquote(key)); i >= 0 {
			raw[i] = value // the last one counts, as for a decoder
		}
		return true
	}) {
		w.report.add("name", Review, "unreadable")
		return
	}
	w.properties(raw[4])
	for i, field := range fields {
		w.path = append(w.path[:0], field)
		switch s := jsonscan.New(raw[i]); {
		case raw[i] == "":
		case field == "inputSchema", field == "outputSchema":
			w.chatty = w.chatty || w.all&chat != 0
			w.value(&s, schema, prose, 0)
		case field == "annotations":
			w.hints(raw[i])
			w.value(&s, value, odd, 0)
		case raw[i][0] == '"':
			w.field(field, jsonscan.Unquote(raw[i]))
		}
	}
}

func (w *walker) field(field, s string) {
	switch field {
	case "name":
		w.name = s
		w.leaf(split(s), label)
		if strings.ContainsFunc(s, func(r rune) bool { return invisible(r) || unicode.Is(unicode.Cyrillic, r) }) {
			if w.leaf(s, label); disguised(s) {
				w.report.add("name", Review, "lookalikes")
			}
		}
	case "title":
		w.leaf(s, titled(s))
	default:
		w.description = s
		w.leaf(s, prose)
	}
}

// hints reads the annotations that contradicts compares.
func (w *walker) hints(raw string) {
	jsonscan.Members(raw, func(key, value string) bool {
		yes := value == "true"
		switch key := jsonscan.Unquote(key); {
		case !yes && value != "false":
		case strings.EqualFold(key, "readOnlyHint"):
			w.annotations.ReadOnly = &yes
		case strings.EqualFold(key, "destructiveHint"):
			w.annotations.Destructive = &yes
		}
		return true
	})
}

// properties notes the names of the properties of an input schema.
func (w *walker) properties(raw string) {
	w.params = map[string]bool{}
	jsonscan.Members(raw, func(key, value string) bool {
		if jsonscan.Is(key, "properties") {
			jsonscan.Members(value, func(name, _ string) bool {
				w.params[fold(jsonscan.Unquote(name))] = true
				return true
			})
		}
		return true
	})
}

// value visits the value that is next.
func (w *walker) value(s *jsonscan.Scanner[string], as shape, at place, depth int) {
	if depth > maxDepth {
		w.report.add(strings.Join(w.path, "."), Review, "unreadable")
		s.Skip()
		return
	}
	switch s.Kind() {
	case '"':
		raw := s.Skip()
		if s.Broken() {
			return
		}
		text := jsonscan.Unquote(raw)
		if at == label {
			at = titled(text)
		}
		w.leaf(text, at)
		if at == odd && strings.Contains(text, "@") && !strings.Contains(text, " ") && copies(w.path) {
			w.report.add(strings.Join(w.path, "."), Review, kindNames[3])
		}
	case '{':
		kind, about := "", ""
		for s.Enter('{'); s.More('}'); {
			literal := s.Key()
			if s.Broken() {
				return
			}
			key := jsonscan.Unquote(literal)
			w.path = append(w.path, key)
			switch {
			case as == schema && key == "type" && s.Kind() == '"':
				kind = s.Skip()
			case as == schema && key == "description" && s.Kind() == '"':
				about = s.Skip()
			default:
				w.member(s, key, as, at, depth)
			}
			w.path = w.path[:len(w.path)-1]
		}
		if about != "" && !s.Broken() {
			w.about(jsonscan.Unquote(about), kind)
		}
	case '[':
		i := 0
		for s.Enter('['); s.More(']'); i++ {
			if c := s.Kind(); c == '{' || c == '[' {
				w.path = append(w.path, strconv.Itoa(i))
				w.value(s, as, at, depth+1)
				w.path = w.path[:len(w.path)-1]
			} else {
				w.value(s, as, at, depth+1)
			}
		}
	default:
		s.Skip()
	}
}

// about scans the description of a schema whose type is kind.
func (w *walker) about(s, kind string) {
	at := parameter
	switch {
	case w.path[0] == "outputSchema":
		at = result
	case len(w.path) == 1:
		at = prose
	case kind == `"boolean"`, kind == `"integer"`, kind == `"number"`:
		at = setting
	}
	w.path = append(w.path, "description")
	w.leaf(s, at)
	w.path = w.path[:len(w.path)-1]
}

// member visits a key and its value.
func (w *walker) member(s *jsonscan.Scanner[string], key string, as shape, at place, depth int) {
	switch as {
	case value:
		w.leaf(key, titled(key))
		if key == "title" && w.path[0] == "annotations" {
			at = label
		}
		w.value(s, value, at, depth+1)
		return
	case named:
		w.property(key)
		w.value(s, schema, parameter, depth+1)
		return
	}
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		w.value(s, named, at, depth+1)
	case "title":
		w.value(s, value, label, depth+1)
	case "items", "additionalProperties", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "prefixItems", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "additionalItems":
		w.value(s, schema, at, depth+1)
	default:
		if len(key) > 16 {
			w.leaf(key, odd)
		}
		w.value(s, value, odd, depth+1)
	}
}

// property scans the name of a property.
func (w *walker) property(key string) {
	if len(key) < 8 && isASCII(key) {
		return
	}
	t := w.leaf(split(key), label)
	reads := t.all&(content|read) != 0
	switch where := strings.Join(w.path, "."); {
	case len(t.words) >= 3 && t.all&path != 0 && reads, t.all&environ != 0 && reads:
		v := Block
		if t.all&path != 0 && strings.Contains(t.folded, "env") && t.all&(read|send) == 0 {
			v = Review // of a tool that writes such a file, perhaps
		}
		w.report.add(where, v, kindNames[2], "names-sensitive-path")
	case t.all&talk != 0 && len(t.words) > 1 && !w.chatty && len(w.path) == 3 && w.path[0] == "inputSchema":
		w.report.add(where, Review, kindNames[2])
	}
}

// copies reports whether a path is that of a value for a parameter that sends
// copies, such as "bcc".
func copies(path []string) bool {
	n := len(path)
	return n >= 2 && slices.Contains([]string{"default", "const", "enum"}, path[n-1]) &&
		slices.Contains([]string{"bcc", "cc", "blind copy", "copy to", "forward to", "also to", "mirror", "mirror to", "reply to"}, split(path[n-2]))
}

// titled is the place of a title: one of many words is a sentence.
func titled(s string) place {
	if strings.Count(s, " ") >= 6 || len(s) > 80 {
		return odd
	}
	return label
}

// split writes the words of a name apart: snake_case and camelCase.
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

// contradicts finds annotations that the name and the description deny.
func (w *walker) contradicts() {
	yes := func(b *bool) bool { return b != nil && *b }
	a := w.annotations
	if !yes(a.ReadOnly) && (a.Destructive == nil || *a.Destructive) {
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
	case yes(a.ReadOnly) && destroys && says:
		w.report.add("annotations", Block, "contradiction")
	case yes(a.ReadOnly) && (destroys || says || yes(a.Destructive)), a.Destructive != nil && !*a.Destructive && destroys && says:
		w.report.add("annotations", Review, "contradiction")
	}
}

// tentative reports whether words say that nothing is destroyed.
func tentative(s string) bool {
	for _, w := range []string{"dry run", "preview", "would", "simulat", "estimate", "plan ", "without ", "does not delete", "no changes", "nothing is", "not deleted", "from view", "duplicates from", "can be", "undo", "filter", "noise", "whitespace", "formatting", "comments from", "selection", "search", "find ", "show ", "only report"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
