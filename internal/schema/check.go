package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// A Schema is a compiled JSON Schema. The nil Schema accepts everything. It is safe for concurrent
// use.
type Schema struct {
	resolved *jsonschema.Resolved
	graph    *graph

	mu    sync.Mutex // held while rules are applied
	rules []*rule
}

// Compile compiles a schema of draft 2020-12, the default, or of draft-07, which includes drafts 4
// and 6; an empty one is the nil Schema. A schema may come from anywhere: infinite recursion is an
// error, and so are references to other documents, which are not fetched, $dynamicRef, and an $id
// within a schema.
func Compile(raw json.RawMessage) (s *Schema, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	defer func() { // the library panics on some invalid schemas
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("invalid JSON Schema: %v", p)
		}
	}()
	if depth := jsonscan.Depth(raw); depth*len(raw) > maxParse {
		return nil, fmt.Errorf("too large: %d bytes, %d levels deep", len(raw), depth)
	}
	var js jsonschema.Schema
	if err := json.Unmarshal(raw, &js); err != nil {
		return nil, fmt.Errorf("invalid JSON Schema: %w", jsonscan.Explain(err))
	}
	js.Schema = dialect(js.Schema)
	if _, err := js.Resolve(nil); err != nil {
		return nil, err
	}
	g, err := newGraph(&js)
	if err != nil {
		return nil, err
	}
	s = &Schema{graph: g, rules: exactRules(g, raw)}
	if s.resolved, err = js.Resolve(nil); err != nil {
		return nil, err
	}
	for _, r := range s.rules {
		r.excluded.Anchor = ruleMark + r.says // the anchor did not exist when the schema was resolved
	}
	return s, nil
}

// maxParse bounds the cost of decoding a schema: the library decodes each level again for every
// level around it, at about 20 million bytes per second.
const maxParse = 20_000_000

// dialect returns the value of $schema for the library, which does not know drafts 4 and 6, nor
// every spelling of draft-07.
func dialect(schema string) string {
	_, name, _ := strings.Cut(strings.TrimSuffix(schema, "#"), "://")
	switch name {
	case "json-schema.org/draft-04/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-07/schema":
		return "http://json-schema.org/draft-07/schema#"
	}
	return "" // 2020-12
}

// Check returns an error that describes a mistake in a value and names the field.
func (s *Schema) Check(raw json.RawMessage) error {
	v, err := DecodeInstance(raw)
	if err != nil {
		return fmt.Errorf("invalid JSON: %w", err)
	}
	return s.CheckValue(v)
}

// CheckValue is like Check, for JSON decoded by json.Unmarshal or Decode. It returns ErrCostly if
// the check would take too long.
func (s *Schema) CheckValue(v any) error {
	if s == nil {
		return nil
	}
	if s.graph.costly(v) {
		return ErrCostly
	}
	if len(s.rules) > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !apply(s.rules, v) {
			return ErrCostly
		}
	}
	if err := s.resolved.Validate(v); err != nil {
		return errors.New(Readable(err))
	}
	return nil
}

var pathNoise = lazyregexp.New(`validating (root|\S+): `)

// The most frequent mistakes, in the library's words.
var (
	broken    = lazyregexp.New(`^not: validated against anchor ` + ruleMark + `(.*)$`)
	wrongType = lazyregexp.New(`(?s)^type: (.*) has type "(\w+)", want (?:one of )?"(.+)"$`)
	missing   = lazyregexp.New(`^required: missing properties: \[(".*")\]$`)
	unknown   = lazyregexp.New(`^unexpected additional properties \[(".*")\]$`)
)

var article = map[string]string{
	"object": "an object", "array": "an array", "string": "a string",
	"integer": "an integer", "number": "a number", "boolean": "a boolean",
}

// plain rewrites an error of the library, which names the failed keyword and prints the value in
// Go syntax.
func plain(why string) string {
	if m := broken.FindStringSubmatch(why); m != nil {
		return m[1]
	}
	if m := wrongType.FindStringSubmatch(why); m != nil {
		var wanted []string
		for t := range strings.SplitSeq(m[3], ", ") {
			wanted = append(wanted, cmp.Or(article[t], t))
		}
		got := m[1]
		switch m[2] {
		case "object", "array":
			got = article[m[2]]
		case "string":
			got = strconv.Quote(got)
		}
		return "takes " + strings.Join(wanted, " or ") + "; got " + got
	}
	for expr, is := range map[*lazyregexp.Regexp]string{missing: "missing", unknown: "unknown"} {
		if m := expr.FindStringSubmatch(why); m != nil {
			names := strings.ReplaceAll(m[1], `" "`, `", "`)
			if names != m[1] {
				return names + " are " + is
			}
			return names + " is " + is
		}
	}
	return why
}

// maxReason bounds a reason, in characters.
const maxReason = 300

// Readable shortens an error of the library, which repeats the path at every step and prints the
// value, to its end and the name of the field.
func Readable(err error) string {
	last := err
	for next := errors.Unwrap(last); next != nil; next = errors.Unwrap(last) {
		last = next
	}
	text := err.Error()
	var where string
	for _, m := range pathNoise.FindAllStringSubmatch(text, -1) {
		if m[1] != "root" {
			where = m[1]
		}
	}
	why := pathNoise.ReplaceAllString(text, "")
	if len(last.Error()) < len(why) {
		why = last.Error()
	}
	why = gate.Cut(plain(strings.ReplaceAll(why, "<invalid reflect.Value>", "null")), maxReason)
	if where == "" {
		return why
	}
	path := strings.Trim(strings.NewReplacer("/properties/", ".", "/items", "[]").Replace(where), "./")
	return fmt.Sprintf("%q: %s", path, why)
}
