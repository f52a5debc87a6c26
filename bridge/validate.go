package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/schema"
)

// A Validator checks arguments against input schemas. It compiles each schema once. It is safe for
// concurrent use.
type Validator struct {
	mu       sync.Mutex
	compiled map[*discovery.Tool]func() *inputSchema
}

// An inputSchema is a compiled input schema. checked is nil, which accepts everything, for a
// schema that cannot be compiled: the server checks the arguments anyway.
type inputSchema struct {
	checked *schema.Schema
	doc     schema.Document // the same schema
	// spelt maps texts as models see them to strings of the schema with characters that were
	// spelled out for models.
	spelt map[string]string
}

// NewValidator returns an empty Validator.
func NewValidator() *Validator {
	return &Validator{compiled: make(map[*discovery.Tool]func() *inputSchema)}
}

// maxCompiled bounds the cache. Tools are pointers into catalogues, so the entries of a replaced
// catalogue become garbage.
const maxCompiled = 4096

func (v *Validator) schema(t *discovery.Tool) *inputSchema {
	v.mu.Lock()
	compiled, ok := v.compiled[t]
	if !ok {
		if len(v.compiled) >= maxCompiled {
			clear(v.compiled)
		}
		compiled = sync.OnceValue(func() *inputSchema { return compile(t.InputSchema) })
		v.compiled[t] = compiled
	}
	v.mu.Unlock()
	return compiled() // calls of other tools do not wait for it
}

// compile never fails: an invalid schema accepts everything.
func compile(raw json.RawMessage) *inputSchema {
	var s inputSchema
	if s.doc = schema.Read(raw); s.doc.Object() == nil {
		return &inputSchema{}
	}
	if checked, err := schema.Compile(raw); err == nil {
		s.checked = checked
	}
	s.spelt = gate.Spellings(raw)
	return &s
}

// Check returns the arguments to send: args, or {} if there are none, without each null of an
// optional property that does not accept it. If they are wrong, it returns an *Error that names
// every wrong parameter, its accepted values and the nearest name.
func (v *Validator) Check(t *discovery.Tool, args json.RawMessage) (json.RawMessage, error) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 || bytes.Equal(args, []byte("null")) {
		args = json.RawMessage(`{}`)
	}
	s := v.schema(t)
	refuse := func(why string) (json.RawMessage, error) { return nil, v.refuse(t, errors.New(why)) }
	if args[0] != '{' {
		return refuse("arguments are one object, such as {name: value}; got " + kindOf(args))
	}
	if s.doc.Object() == nil {
		return args, nil
	}
	if s.spelt != nil && json.Valid(args) {
		args = gate.Respell(args, s.spelt)
	}
	instance, err := schema.DecodeInstance(args)
	if err != nil {
		return refuse(err.Error())
	}
	invalid := s.checked.CheckValue(instance)
	if invalid == nil && s.checked != nil {
		return args, nil
	}
	// A validator stops at the first mistake and describes it in terms of the
	// schema, so find all mistakes here.
	input, err := ParseLiteral(args)
	if err != nil {
		return refuse(err.Error())
	}
	found, j := findings(s.doc, input, false)
	if len(j.omitted) > 0 && len(found) == 0 {
		args = json.RawMessage(compact(input.without(j.omitted)))
		if s.checked.Check(args) == nil {
			return args, nil
		}
	}
	switch {
	case len(found) > 0:
		return refuse(sentences(found))
	case invalid != nil && invalid != schema.ErrCostly && !j.nullable:
		return refuse(invalid.Error())
	}
	return args, nil
}

// refuse returns the error of a call with wrong arguments.
func (v *Validator) refuse(t *discovery.Tool, why error) *Error {
	return &Error{Code: CodeArguments, Message: t.ID + ": " + why.Error(), Hint: expectation(v.schema(t).doc.Object())}
}

// maxFindings bounds the mistakes that one error lists.
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

// expectation lists the parameters, the required ones first and marked.
func expectation(o *schema.Object) string {
	properties, needed := o.Properties(), o.Required()
	if properties.Size() == 0 {
		return ""
	}
	var required, optional []string
	for _, name := range properties.Keys {
		if slices.Contains(needed, name) {
			required = append(required, gate.Name(name))
		} else {
			optional = append(optional, gate.Name(name)+"?")
		}
	}
	slices.Sort(required)
	slices.Sort(optional)
	return "parameters: " + gate.Cut(strings.Join(append(required, optional...), ", "), 300)
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
	return gate.Cut(string(raw), 40)
}
