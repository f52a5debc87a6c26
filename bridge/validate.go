package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/jsoncheck"
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
	root     any // the same, as JSON
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
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&s.root) != nil {
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
// mistake is an *Error that names every parameter that is wrong, what is
// accepted and the nearest name.
func (v *Validator) Check(t *discovery.Tool, args json.RawMessage) (json.RawMessage, error) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 || bytes.Equal(args, []byte("null")) {
		args = json.RawMessage(`{}`)
	}
	s := v.schema(t)
	refuse := func(why string) (json.RawMessage, error) {
		return nil, &Error{Code: CodeArguments, Message: t.ID + ": " + why, Hint: expectation(s.top)}
	}
	if args[0] != '{' {
		return refuse("arguments are one object, such as {name: value}; got " + kindOf(args))
	}
	if s.top == nil {
		return args, nil
	}
	var invalid error
	if s.resolved != nil {
		var instance any
		if err := json.Unmarshal(args, &instance); err != nil {
			return refuse(err.Error())
		}
		if invalid = s.resolved.Validate(instance); invalid == nil {
			return args, nil
		}
	}
	// What is wrong is looked for by ourselves, because a validator stops at
	// the first mistake and tells it in terms of the schema.
	input, err := ParseLiteral(args)
	if err != nil {
		return refuse(err.Error())
	}
	found := findings(s.root, input, false)
	switch {
	case len(found) > 0:
		return refuse(sentences(found))
	case invalid != nil:
		return refuse(jsoncheck.Readable(invalid))
	}
	return args, nil
}

// maxFindings is how many mistakes one error tells.
const maxFindings = 6

func sentences(found []Finding) string {
	var texts []string
	for _, f := range found[:min(len(found), maxFindings)] {
		texts = append(texts, f.Message)
	}
	if more := len(found) - maxFindings; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(unique(texts), "; ")
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
