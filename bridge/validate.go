package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// A Validator checks arguments against input schemas, each of which it
// compiles once. It is safe for concurrent use.
type Validator struct {
	mu       sync.Mutex
	compiled map[*discovery.Tool]*schema
}

// schema is a compiled input schema. resolved is nil for one that cannot be
// judged: it lets everything pass, since the server judges anyway.
type schema struct {
	resolved *jsonschema.Resolved
	top      *jsonschema.Schema
}

// NewValidator returns a Validator that has compiled nothing yet.
func NewValidator() *Validator {
	return &Validator{compiled: make(map[*discovery.Tool]*schema)}
}

// maxCompiled bounds the cache. Tools are pointers into catalogues, so the
// entries of a replaced catalogue are garbage after a while.
const maxCompiled = 4096

func (v *Validator) schema(t *discovery.Tool) *schema {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s, ok := v.compiled[t]; ok {
		return s
	}
	if len(v.compiled) >= maxCompiled {
		clear(v.compiled)
	}
	s := compile(t.InputSchema)
	v.compiled[t] = s
	return s
}

// compile never fails: what is no schema is one that everything satisfies.
// A schema may come from anywhere, so a panic of the library is caught too.
func compile(raw json.RawMessage) (s *schema) {
	s = &schema{}
	defer func() {
		if recover() != nil {
			s = &schema{}
		}
	}()
	var js jsonschema.Schema
	if len(raw) == 0 || json.Unmarshal(raw, &js) != nil {
		return s
	}
	s.top = &js
	// References to other documents are not fetched: such a schema stays
	// unresolved.
	if resolved, err := js.Resolve(nil); err == nil {
		s.resolved = resolved
	}
	return s
}

// Check returns the arguments to send: args, or {} when there are none. A
// mistake is an *Error that names the parameter, what is accepted and the
// nearest name.
func (v *Validator) Check(t *discovery.Tool, args json.RawMessage) (json.RawMessage, error) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 || bytes.Equal(args, []byte("null")) {
		args = json.RawMessage(`{}`)
	}
	refuse := func(format string, a ...any) (json.RawMessage, error) {
		return nil, &Error{Code: CodeArguments, Message: t.ID + ": " + fmt.Sprintf(format, a...), Hint: expectation(v.schema(t).top)}
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(args, &given); err != nil {
		return refuse("arguments are one object, such as {name: value}; got %s", kindOf(args))
	}
	s := v.schema(t)
	if s.top == nil {
		return args, nil
	}
	if problem := topLevel(s.top, given); problem != "" {
		return refuse("%s", problem)
	}
	if s.resolved == nil {
		return args, nil
	}
	var instance any
	if err := json.Unmarshal(args, &instance); err != nil {
		return refuse("%v", err)
	}
	if err := s.resolved.Validate(instance); err != nil {
		return refuse("%s", readable(err))
	}
	return args, nil
}

// topLevel finds the mistakes that can be told better than a validator does:
// missing and unknown parameters, and values outside an enum.
func topLevel(s *jsonschema.Schema, given map[string]json.RawMessage) string {
	known := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		known = append(known, name)
	}
	slices.Sort(known)
	var problems []string
	closed := s.AdditionalProperties != nil && isFalse(s.AdditionalProperties)
	var unknown []string
	for name := range given {
		if s.Properties[name] == nil && closed && len(s.PatternProperties) == 0 {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		p := fmt.Sprintf("unknown parameter %q", name)
		if near := nearest.Names(name, known, 1); len(near) > 0 {
			p += fmt.Sprintf(", did you mean %q?", near[0])
		}
		problems = append(problems, p)
	}
	for _, name := range s.Required {
		if _, ok := given[name]; ok {
			continue
		}
		p := fmt.Sprintf("missing parameter %q", name)
		if near := nearest.Names(name, slices.Sorted(keysOf(given)), 1); len(near) > 0 && !slices.Contains(known, near[0]) && len(unknown) == 0 {
			p += fmt.Sprintf(" (%q was given)", near[0])
		}
		problems = append(problems, p)
	}
	for _, name := range known {
		if raw, ok := given[name]; ok {
			if p := enumProblem(name, s.Properties[name], raw); p != "" {
				problems = append(problems, p)
			}
		}
	}
	return strings.Join(problems, "; ")
}

func keysOf(m map[string]json.RawMessage) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func enumProblem(name string, s *jsonschema.Schema, raw json.RawMessage) string {
	if s == nil || len(s.Enum) == 0 {
		return ""
	}
	var got any
	if json.Unmarshal(raw, &got) != nil {
		return ""
	}
	accepted := make([]string, 0, len(s.Enum))
	for _, e := range s.Enum {
		b, err := json.Marshal(e)
		if err != nil || e == got || fmt.Sprint(e) == fmt.Sprint(got) {
			return ""
		}
		accepted = append(accepted, string(b))
	}
	if len(accepted) > 12 {
		more := len(accepted) - 12
		near := nearest.Names(strings.Trim(string(raw), `"`), accepted, 3)
		accepted = append(append(near, accepted[:12-len(near)]...), fmt.Sprintf("… %d more", more))
	}
	return fmt.Sprintf("%q is %s; accepted: %s", name, clip(string(raw), 60), strings.Join(accepted, ", "))
}

// isFalse recognises the schema false, which jsonschema-go writes as not {}.
func isFalse(s *jsonschema.Schema) bool {
	b, err := json.Marshal(s)
	return err == nil && string(b) == "false"
}

// expectation is the list of parameters, required ones first and marked.
func expectation(s *jsonschema.Schema) string {
	if s == nil || len(s.Properties) == 0 {
		return ""
	}
	var required, optional []string
	for name := range s.Properties {
		if slices.Contains(s.Required, name) {
			required = append(required, name)
		} else {
			optional = append(optional, name+"?")
		}
	}
	slices.Sort(required)
	slices.Sort(optional)
	return "parameters: " + clip(strings.Join(append(required, optional...), ", "), 300)
}

var pathNoise = regexp.MustCompile(`validating (root|\S+): `)

// readable shortens the library's error, which repeats every step of the path
// and prints the value, to its end and the name of the parameter.
func readable(err error) string {
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
	why = clip(why, 300)
	if where == "" {
		return why
	}
	path := strings.Trim(strings.NewReplacer("/properties/", ".", "/items", "[]").Replace(where), "./")
	return fmt.Sprintf("%q: %s", path, why)
}

func kindOf(raw json.RawMessage) string {
	switch {
	case len(raw) == 0:
		return "nothing"
	case raw[0] == '[':
		return "an array"
	case raw[0] == '"':
		return "a string"
	}
	return clip(string(raw), 40)
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
