package learned

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// Some tools return data inside a text: JSON in a tag or a fence, or after a heading,
// or lines of "key: value". A script gets the text; the store learns the type of the
// data and an expression that extracts it.

// A form is a way to embed data in a text.
type form string

const (
	formTag   form = "tag"   // <json>…</json>
	formFence form = "fence" // ```json … ```
	formTail  form = "tail"  // a heading, then JSON to the end
	formPart  form = "part"  // JSON within other text
	formLines form = "lines" // key: value
)

// heldData describes the data in the text results of a tool, in the form of the last
// text.
type heldData struct {
	Form form `json:"f"`
	// Mark is the name of the tag, or the bracket that begins the JSON.
	Mark  string `json:"m,omitempty"`
	Calls int    `json:"c"`
	Root  node   `json:"r"`
}

// A textSample is the data in one text.
type textSample struct {
	form      form
	separator string
	s         *sample
}

// A Held describes the data in the text results of a tool.
type Held struct {
	Calls  int
	Schema json.RawMessage
	// Parse is a TypeScript expression that extracts the data from a result r.
	Parse string
}

const (
	// minText is the length of the shortest text that is searched.
	minText = 8
	// everyText is the number of calls whose texts are all searched; later ones are
	// sampled.
	everyText = 16
	// minLines is the number of lines of "key: value" that are data instead of prose.
	minLines = 3
)

// textOf returns the data in a result that is a text, or nil. calls is the number of
// calls so far.
func textOf(value json.RawMessage, calls int) *textSample {
	value = bytes.TrimSpace(value)
	if len(value) < minText || value[0] != '"' || calls > everyText && calls&(calls-1) != 0 {
		return nil
	}
	if bytes.IndexByte(value, '{') < 0 && bytes.IndexByte(value, '[') < 0 && !bytes.Contains(value, []byte(": ")) {
		return nil
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		return nil
	}
	return dataIn(text)
}

var (
	tagged = lazyregexp.New(`<([A-Za-z][\w-]{0,30})>\s*[{\[]`)
	fenced = lazyregexp.New("(?s)```\\w*\\s*(.*?)```")
	pair   = lazyregexp.New(`^[ \t*-]*([A-Za-z][\w .-]{0,39}?)[ \t]*: (.*\S)`)
)

// dataIn returns the data in a text. It reads each form exactly as the expression does.
func dataIn(text string) *textSample {
	if m := tagged.FindStringSubmatch(text); m != nil {
		_, rest, _ := strings.Cut(text, "<"+m[1]+">")
		if data, _, ok := strings.Cut(rest, "</"+m[1]+">"); ok {
			if s := sampleOf(data); s != nil {
				return &textSample{formTag, m[1], s}
			}
		}
	}
	if m := fenced.FindStringSubmatch(text); m != nil {
		if s := sampleOf(m[1]); s != nil {
			return &textSample{formFence, "", s}
		}
	}
	if start := strings.IndexAny(text, "{["); start >= 0 {
		open := text[start : start+1]
		if s := sampleOf(text[start:]); s != nil {
			return &textSample{formTail, open, s}
		}
		if end := strings.LastIndex(text, closing(open)); end > start {
			if s := sampleOf(text[start : end+1]); s != nil {
				return &textSample{formPart, open, s}
			}
		}
	}
	return linesIn(text)
}

func closing(open string) string {
	if open == "{" {
		return "}"
	}
	return "]"
}

// sampleOf returns the sample of an object or array in a text, or nil if the text is
// neither or is empty.
func sampleOf(data string) *sample {
	data = strings.TrimSpace(data)
	if data == "" || data[0] != '{' && data[0] != '[' || !json.Valid([]byte(data)) {
		return nil
	}
	if strings.TrimSpace(data[1:len(data)-1]) == "" {
		return nil
	}
	s, err := take([]byte(data))
	if err != nil {
		return nil
	}
	return s
}

// linesIn parses a text of lines of "key: value", each key once.
func linesIn(text string) *textSample {
	values := map[string]string{}
	var keys []string
	lines := 0
	for l := range strings.Lines(text) {
		if strings.TrimSpace(l) == "" {
			continue
		}
		lines++
		m := pair.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		if _, twice := values[m[1]]; twice || len(keys) > maxKeys {
			return nil
		}
		values[m[1]] = m[2]
		keys = append(keys, m[1])
	}
	if len(keys) < minLines || 4*len(keys) < 3*lines {
		return nil
	}
	var b strings.Builder
	for i, k := range keys {
		name, _ := json.Marshal(k) // marshalling a string cannot fail
		value, _ := json.Marshal(values[k])
		fmt.Fprintf(&b, "%s%s:%s", map[bool]string{true: "{", false: ","}[i == 0], name, value)
	}
	s, err := take([]byte(b.String() + "}"))
	if err != nil {
		return nil
	}
	return &textSample{formLines, "", s}
}

// parse returns the expression that extracts the data from r.
func (h *heldData) parse() string {
	switch h.Form {
	case formTag:
		return fmt.Sprintf(`JSON.parse(r.split('<%s>')[1].split('</%[1]s>')[0])`, h.Mark)
	case formFence:
		return "JSON.parse(r.match(/```\\w*\\s*([\\s\\S]*?)```/)[1])"
	case formTail:
		if h.Mark == "{" {
			return `JSON.parse(r.slice(r.indexOf('{')))`
		}
		return `JSON.parse(r.slice(r.indexOf('[')))`
	case formPart:
		return fmt.Sprintf(`JSON.parse(r.slice(r.indexOf('%s'), r.lastIndexOf('%s') + 1))`, h.Mark, closing(h.Mark))
	}
	return `Object.fromEntries([...r.matchAll(/^[ \t*-]*([A-Za-z][\w .-]*?)[ \t]*: (.*\S)/gm)].map(m => [m[1], m[2]]))`
}

// mergeText adds the data of one text. A new form replaces the old one.
func (t *learnedTool) mergeText(h hasher, q queued) {
	if q.text == nil {
		return
	}
	if t.Held == nil || t.Held.Form != q.text.form || t.Held.Mark != q.text.separator {
		t.Held = &heldData{Form: q.text.form, Mark: q.text.separator}
	}
	t.Held.Calls++
	q.merger(h).merge(&t.Held.Root, q.text.s)
}

// Held describes the data in the text results of a tool. ok is false if the tool has none.
// The form is known after the first call, and the keys of objects after a second call with
// other arguments.
func (s *Store) Held(server, tool string) (Held, bool) {
	if err := s.load(); err != nil {
		s.log.Warn("read learned types", "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.tools[toolName(server, tool)]
	if e == nil || e.Held == nil || !e.Held.valid() {
		return Held{}, false
	}
	return Held{Calls: e.Held.Calls, Schema: json.RawMessage(e.Held.Root.schema(0)), Parse: e.Held.parse()}, true
}

// markShape matches valid marks, which become part of code.
var markShape = lazyregexp.New(`^(?:[A-Za-z][\w-]{0,30}|[{\[]|)$`)

// valid reports whether this program could have written the mark: another program may
// have stored the row.
func (h *heldData) valid() bool { return markShape.MatchString(h.Mark) }
