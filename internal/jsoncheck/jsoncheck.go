// Package jsoncheck checks JSON against JSON Schemas and says what is wrong in
// words for the one who wrote it, who may be a model.
package jsoncheck

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Schema is a JSON Schema (draft 2020-12 or draft-07) that was found right.
// The nil Schema lets everything pass. It may be used by several goroutines.
type Schema struct{ resolved *jsonschema.Resolved }

// Compile prepares a schema; an empty one is the nil Schema. References to other
// documents are not fetched: they are errors.
func Compile(raw json.RawMessage) (s *Schema, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	defer func() { // the library does, at schemas that nobody thought of
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("it is no JSON Schema: %v", p)
		}
	}()
	var js jsonschema.Schema
	if err := json.Unmarshal(raw, &js); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	resolved, err := js.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &Schema{resolved}, nil
}

// Check says what is wrong with a value, naming the field.
func (s *Schema) Check(raw json.RawMessage) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	if s == nil {
		return nil
	}
	if err := s.resolved.Validate(v); err != nil {
		return errors.New(Readable(err))
	}
	return nil
}

var pathNoise = regexp.MustCompile(`validating (root|\S+): `)

// The mistakes that are made most often, in the library's words.
var (
	wrongType = regexp.MustCompile(`(?s)^type: (.*) has type "(\w+)", want (?:one of )?"(.+)"$`)
	missing   = regexp.MustCompile(`^required: missing properties: \[(".*")\]$`)
	unknown   = regexp.MustCompile(`^unexpected additional properties \[(".*")\]$`)
)

var article = map[string]string{
	"object": "an object", "array": "an array", "string": "a string",
	"integer": "an integer", "number": "a number", "boolean": "a boolean",
}

// plain says in plain words what the library tells as the keyword that failed and
// the value as Go prints it.
func plain(why string) string {
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
	for expr, is := range map[*regexp.Regexp]string{missing: "missing", unknown: "unknown"} {
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

// maxReason is how long a reason may be, in characters.
const maxReason = 300

// Readable shortens an error of the library, which repeats every step of the
// path and prints the value, to its end and the name of the field.
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
	why = plain(strings.ReplaceAll(why, "<invalid reflect.Value>", "null"))
	if r := []rune(why); len(r) > maxReason {
		why = string(r[:maxReason-1]) + "…"
	}
	if where == "" {
		return why
	}
	path := strings.Trim(strings.NewReplacer("/properties/", ".", "/items", "[]").Replace(where), "./")
	return fmt.Sprintf("%q: %s", path, why)
}
