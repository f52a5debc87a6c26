package scan

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unsafe"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A walker visits every string and key of a tool.
type walker struct {
	scope  scope
	report Report
	data   string
	pos    int
	path   []string
	broken bool
	object int // where the innermost object begins

	name, description string
	all               class  // of all that was read so far
	salt              uint64 // of the server, for keys
	hits              *[]hit // to be used again
	inside            bool   // name, title and description have been read
	chatty            bool   // the tool is about conversations
	annotations       discovery.Annotations
}

var hits = sync.Pool{New: func() any { return new([]hit) }}

// newWalker returns a walker over the texts of a server; call done at the end.
func newWalker(server string, others *Others) *walker {
	server = fold(server)
	w := &walker{scope: scope{server: server, others: others, own: others.of(server)}, hits: hits.Get().(*[]hit)}
	w.salt = others.hash(server) << 3
	return w
}

func (w *walker) done() { hits.Put(w.hits) }

// key is that of a text at a place.
func (w *walker) key(s string, at place) uint64 { return w.scope.others.hash(s) + w.salt + uint64(at) }

// A shape describes the values of an object.
type shape uint8

const (
	schema  shape = iota // a JSON Schema
	named                // an object with names as keys and schemas as values
	schemas              // a list of schemas
	value                // anything: all strings in it are data
)

const maxDepth = 100

// fields are what is scanned of a tool, in this order.
var fields = [...]string{"name", "title", "description", "annotations", "inputSchema", "outputSchema"}

// tool scans the fields of a tool.
func (w *walker) tool(definition json.RawMessage) {
	w.data = unsafe.String(unsafe.SliceData(definition), len(definition)) // nothing of it is kept
	var begin, end [len(fields)]int
	w.blank()
	if !w.eat('{') {
		w.report.add("name", Review, "unreadable")
		return
	}
	w.members(func(key string) {
		w.blank()
		from := w.pos
		w.skip(0)
		if i := slices.Index(fields[:], key); i >= 0 {
			begin[i], end[i] = from, w.pos
		}
	})
	w.scope.schema = w.data[begin[4]:end[4]]
	for i, field := range fields {
		if begin[i] == end[i] {
			continue
		}
		w.pos = begin[i]
		w.path = append(w.path[:0], field)
		w.field(field)
	}
	if w.broken {
		w.report.add(strings.Join(w.path, "."), Review, "unreadable")
	}
}

func (w *walker) field(field string) {
	switch field {
	case "inputSchema", "outputSchema":
		if !w.inside {
			w.inside = true
			w.chatty = (w.all|theLexicon().classes(w.scope.server))&chat != 0
		}
		w.value(schema, prose, 0)
		return
	case "annotations":
		at := w.pos
		w.hints()
		w.pos = at
		w.value(value, odd, 0)
		return
	}
	if w.peek() != '"' {
		w.skip(0)
		return
	}
	s := w.string()
	where := func() string { return field }
	switch field {
	case "name":
		w.name = s
		if names := split(s); names != s {
			w.leaf(names, label, where)
		}
		w.leaf(s, label, where)
		if strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f && (invisible(r) || unicode.Is(unicode.Cyrillic, r)) }) && disguised(s) {
			w.report.add("name", Review, "lookalikes")
		}
	case "title":
		w.leaf(s, titled(s), where)
	default:
		w.description = s
		w.leaf(s, prose, where)
	}
}

// hints reads the annotations that contradicts compares.
func (w *walker) hints() {
	if w.peek() != '{' {
		return
	}
	w.pos++
	w.members(func(key string) {
		w.blank()
		from := w.pos
		w.skip(0)
		yes := w.data[from:w.pos] == "true"
		switch {
		case !yes && w.data[from:w.pos] != "false":
		case strings.EqualFold(key, "readOnlyHint"):
			w.annotations.ReadOnly = &yes
		case strings.EqualFold(key, "destructiveHint"):
			w.annotations.Destructive = &yes
		}
	})
}

// param reports whether a name, in lower case, is that of a property of the tool.
func (s *scope) param(name string) bool {
	if s.schema == "" {
		return false
	}
	if s.params == nil {
		s.params = map[string]bool{}
		w := walker{data: s.schema}
		if w.eat('{') {
			w.members(func(key string) {
				w.blank()
				if key != "properties" || !w.eat('{') {
					w.skip(0)
					return
				}
				w.members(func(name string) {
					s.params[fold(name)] = true
					w.skip(0)
				})
			})
		}
	}
	return s.params[name]
}

// where is the path of the string that is being read.
func (w *walker) where() string { return strings.Join(w.path, ".") }

// value visits a value.
func (w *walker) value(s shape, at place, depth int) {
	w.blank()
	if depth > maxDepth {
		w.broken = true
		return
	}
	switch w.peek() {
	case '"':
		s := w.string()
		if at == label {
			at = titled(s)
		}
		w.leaf(s, at, w.where)
		if at == odd && strings.Contains(s, "@") && !strings.Contains(s, " ") && copies(w.path) {
			w.report.add(w.where(), Review, "exfiltration")
		}
	case '{':
		outer := w.object
		w.object = w.pos
		w.pos++
		w.members(func(key string) {
			w.path = append(w.path, key)
			w.member(key, s, at, depth)
			w.path = w.path[:len(w.path)-1]
		})
		w.object = outer
	case '[':
		w.pos++
		for i := 0; ; i++ {
			w.blank()
			if w.broken || w.eat(']') {
				return
			}
			if i > 0 && !w.comma() {
				return
			}
			w.blank()
			if c := w.peek(); c == '{' || c == '[' {
				w.path = append(w.path, strconv.Itoa(i))
				w.value(s, at, depth+1)
				w.path = w.path[:len(w.path)-1]
			} else {
				w.value(s, at, depth+1)
			}
		}
	default:
		w.skip(depth)
	}
}

// member visits a key and its value.
func (w *walker) member(key string, s shape, at place, depth int) {
	switch {
	case s == value:
		w.leaf(key, titled(key), w.where)
		if key == "title" && w.path[0] == "annotations" {
			at = label
		}
		w.value(value, at, depth+1)
	case s == named:
		w.property(key)
		w.value(schema, parameter, depth+1)
	default:
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			w.value(named, at, depth+1)
		case "description", "markdownDescription":
			w.blank()
			if w.path[0] == "outputSchema" {
				at = result
			} else if len(w.path) == 2 {
				at = prose
			} else {
				at = parameter
			}
			w.value(value, at, depth+1)
		case "title":
			w.value(value, label, depth+1)
		case "items", "additionalProperties", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "prefixItems", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "additionalItems":
			w.value(schema, at, depth+1)
		case "type":
			if !w.plainType() {
				w.value(value, odd, depth+1)
			}
		case "$schema", "$ref", "format":
			w.value(value, odd, depth+1)
		default:
			if len(key) > 16 {
				w.leaf(key, odd, w.where)
			}
			w.value(value, odd, depth+1)
		}
	}
}

// plainType goes behind the name of a type, if it is one of those that there are.
func (w *walker) plainType() bool {
	w.blank()
	for _, t := range [...]string{`"string"`, `"object"`, `"array"`, `"boolean"`, `"integer"`, `"number"`, `"null"`} {
		if strings.HasPrefix(w.data[w.pos:], t) {
			w.pos += len(t)
			return true
		}
	}
	return false
}

// property scans the name of a property.
func (w *walker) property(key string) {
	if len(key) < 8 {
		if !isASCII(key) {
			w.leaf(key, label, w.where)
		}
		return
	}
	whole := w.key(key, property)
	if c, ok := w.scope.others.isInert(whole); ok {
		w.all |= c
		return
	}
	names := split(key)
	w.leaf(names, label, w.where)
	asks, taints := curious(names), taints(names)
	if asks && !w.chatty && len(w.path) == 3 && w.path[0] == "inputSchema" {
		w.report.add(w.where(), Review, "harvest")
	}
	if taints {
		v := Block
		if strings.Contains(names, "env") && !containsAny(names, "ssh", "passwd", "shadow", "aws", "private key") && !containsAny(names, "read", "send", "dump", "leak") {
			v = Review // of a tool that writes such a file, perhaps
		}
		w.report.add(w.where(), v, "harvest", "names-sensitive-path")
	}
	if c, ok := w.scope.others.isInert(w.key(names, label)); ok && !asks && !taints {
		w.scope.others.setInert(whole, c)
	}
}

// copies reports whether a path is that of a value for a parameter that sends
// copies, such as "bcc".
func copies(path []string) bool {
	if n := len(path); n >= 2 && (path[n-1] == "default" || path[n-1] == "const" || path[n-1] == "enum") {
		switch fold(path[n-2]) {
		case "bcc", "cc", "blind_copy", "copy_to", "copyto", "forward_to", "forwardto", "also_to", "mirror", "mirror_to", "reply_to", "replyto":
			return true
		}
	}
	return false
}

// titled is the place of a title: one of many words is a sentence.
func titled(s string) place {
	if strings.Count(s, " ") >= 6 || len(s) > 80 {
		return odd
	}
	return label
}

// taints reports whether the name of a parameter asks for what is in a file with
// secrets, such as content_of_ssh_id_rsa.
func taints(names string) bool {
	l := theLexicon()
	var c class
	asks := false
	for i := range len(names) {
		if i > 0 && names[i-1] != ' ' {
			continue
		}
		found, _ := l.match(names, i)
		c |= found
		switch w, _, _ := strings.Cut(names[i:], " "); w {
		case "content", "contents", "reading", "read", "dump", "leak", "leaked", "exfil", "stolen", "text", "data", "full", "output":
			asks = true
		case "ssh", "passwd", "shadow", "aws", "kube", "npmrc", "netrc", "env", "dotenv", "wallet", "keychain":
			c |= environ
		}
	}
	words := strings.Count(names, " ") + 1
	return asks && words >= 3 && c&(path|environ) != 0 && c&(path|content|read|creds) != 0 && strings.ContainsAny(names, " ") && secretFile(names)
}

// secretFile reports whether a name is about a file, not about a setting.
func secretFile(names string) bool {
	for _, f := range []string{"id rsa", "id ed25519", "ssh", "passwd", "shadow", "env file", "dotenv", "aws cred", "kube", "npmrc", "netrc", "wallet", "keychain", "private key", "mcp json", "authorized keys", "of env", "from env", "env content", "environment"} {
		if strings.Contains(names, f) {
			return true
		}
	}
	return false
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

// switches reports whether the innermost schema is of a boolean or a number: its
// description describes an effect, not a value to fill in.
func (w *walker) switches() bool {
	o := walker{data: w.data, pos: w.object}
	found := false
	if !o.eat('{') {
		return false
	}
	o.members(func(key string) {
		o.blank()
		from := o.pos
		o.skip(0)
		if key == "type" {
			switch o.data[from:o.pos] {
			case `"boolean"`, `"integer"`, `"number"`:
				found = true
			}
		}
	})
	return found
}

// contradicts finds annotations that the name and the texts deny.
func (w *walker) contradicts() {
	bare := discovery.Tool{ListedTool: discovery.ListedTool{Name: w.name}}
	name := policy.ClassOf(&bare)
	yes := func(b *bool) bool { return b != nil && *b }
	a := w.annotations
	lead := leadVerb(w.description)
	destroys := name == policy.Destructive && !tentative(split(w.name))
	says := lead&destroy != 0 && !tentative(fold(w.description))
	if yes(a.ReadOnly) && !says && w.all&destroy != 0 && alsoDestroys(w.description) {
		w.report.add("annotations", Review, "contradiction")
	}
	switch {
	case yes(a.ReadOnly) && destroys && says:
		w.report.add("annotations", Block, "contradiction")
	case yes(a.ReadOnly) && (destroys || says), yes(a.ReadOnly) && yes(a.Destructive), a.Destructive != nil && !*a.Destructive && destroys && says:
		w.report.add("annotations", Review, "contradiction")
	}
}

// curious reports whether the name of a parameter asks for the conversation or
// the system prompt, which counts in a tool that has nothing to do with either.
func curious(names string) bool {
	return containsAny(names, "system prompt", "conversation history", "chat history", "full conversation", "conversation log", "chat log", "chain of thought", "previous messages", "full chat", "entire conversation", "conversation transcript", "tool call history", "tool history", "hidden prompt", "all tool results", "llm context", "model context")
}

// alsoDestroys reports whether a description says "and deletes".
func alsoDestroys(s string) bool {
	s = fold(s[:min(len(s), 1000)])
	if tentative(strings.TrimPrefix(strings.TrimPrefix(s, "list "), "get ")) {
		return false
	}
	for _, w := range []string{"deletes", "removes", "erases", "destroys", "wipes", "purges", "drops", "overwrites"} {
		if strings.Contains(s, "and "+w+" ") || strings.Contains(s, "then "+w+" ") || strings.Contains(s, "also "+w+" ") {
			return true
		}
	}
	return false
}

// leadVerb is the class of the first word of a description.
func leadVerb(s string) class {
	s = strings.TrimLeft(fold(s[:min(len(s), 80)]), " \n\t*#`\"'-")
	for _, filler := range []string{"permanently ", "irreversibly ", "immediately ", "safely ", "this tool ", "tool that ", "tool to ", "fully ", "completely ", "it "} {
		s = strings.TrimPrefix(s, filler)
	}
	c, _ := theLexicon().match(s, 0)
	return c
}

// tentative reports whether words say that nothing is done.
func tentative(s string) bool {
	for _, w := range []string{"dry run", "preview", "would", "simulat", "estimate", "plan ", "without chang", "without delet", "does not delete", "no changes", "nothing is", "not deleted", "from view", "duplicates from", "list ", "get ", "count ", "check ", "can be", "undo", "filter", "noise", "whitespace", "formatting", "comments from", "selection", "search", "find ", "show ", "only report"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
