package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// strict reads one JSON value into to. What encoding/json passes over is an
// error: keys that to has no field for, keys of another case, and keys that stand
// twice. The error names all of them.
func strict(data []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return noJSON(data, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the end of the JSON")
	}
	r := &reader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	r.value(place{}, reflect.TypeOf(to).Elem())
	if len(r.problems) > 0 {
		return errors.Join(r.problems...)
	}
	return json.Unmarshal(raw, to)
}

// noJSON says where JSON is wrong.
func noJSON(data []byte, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("line %d: it is no JSON: %s", lineAt(data, syntax.Offset), syntax)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	}
	return errors.New("it is no JSON: it ends in the middle of a value")
}

// lineAt is the line in which a byte of data stands.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}

// maxProblems is how many are told at once.
const maxProblems = 20

// A reader compares JSON with the Go type that it is read into.
type reader struct {
	data     []byte
	dec      *json.Decoder
	problems []error
}

// A place is where a value stands: in what, such as `step "a": `, and under which
// key of it, such as "next[0].when".
type place struct{ in, key string }

// what names a place.
func (p place) what() string {
	if p.in+p.key == "" {
		return "a workflow"
	}
	return strings.TrimSuffix(p.in+p.key, ": ")
}

// at begins what is said of a place.
func (p place) at() string {
	if p.key == "" {
		return p.in
	}
	return p.in + p.key + ": "
}

// member is the place of a value of type t under a key of an object.
func (p place) member(key string, t reflect.Type) place {
	if t == reflect.TypeFor[*Definition]() && p.key == "" {
		return p // the workflow of a subskill, which is called by its name
	}
	if p.key != "" {
		key = p.key + "." + key
	}
	return place{p.in, key}
}

func (r *reader) problem(format string, args ...any) {
	if len(r.problems) < maxProblems {
		line := lineAt(r.data, r.dec.InputOffset())
		r.problems = append(r.problems, fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...)))
	}
}

// token is the next one. That the JSON is right was checked.
func (r *reader) token() json.Token {
	t, _ := r.dec.Token()
	return t
}

// value compares the next value with a type; nil is any.
func (r *reader) value(at place, t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		t = nil
	}
	token := r.token()
	if token != nil && t != nil && !takes(t, token) {
		r.problem("%s takes %s; got %s", at.what(), expected(t), got(token))
		t = nil
	}
	switch token {
	case json.Delim('{'):
		r.object(at, t)
	case json.Delim('['):
		var of reflect.Type
		if t != nil {
			of = t.Elem()
		}
		for i := 0; r.dec.More(); i++ {
			r.value(place{at.in, at.key + "[" + strconv.Itoa(i) + "]"}, of)
		}
		r.token()
	}
}

// nouns are what the entries of a definition are called.
var nouns = map[reflect.Type]string{
	reflect.TypeFor[*Step](): "step", reflect.TypeFor[*Definition](): "part", reflect.TypeFor[*Subskill](): "subskill", reflect.TypeFor[*Topic](): "topic",
}

// object compares an object that has begun.
func (r *reader) object(at place, t reflect.Type) {
	seen := map[string]bool{}
	for r.dec.More() {
		key, _ := r.token().(string)
		if seen[key] {
			r.problem("%sthe key %q stands there twice", at.at(), key)
		}
		seen[key] = true
		switch {
		case t == nil:
			r.value(at.member(key, nil), nil)
		case t.Kind() == reflect.Map:
			inner := at.member(key, nil)
			if noun := nouns[t.Elem()]; noun != "" {
				inner = place{in: at.in + noun + " " + strconv.Quote(key) + ": "}
			}
			r.value(inner, t.Elem())
		default:
			field, keys := fieldOf(t, key)
			if field == nil {
				r.problem("%sthere is no key %q%s", at.at(), key, nearKey(key, keys))
			}
			r.value(at.member(key, field), field)
		}
	}
	r.token()
}

// fieldOf is the type of the field that a struct has for a key, or nil, with the
// keys that there are.
func fieldOf(t reflect.Type, key string) (field reflect.Type, keys []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == key && name != "-" {
			return f.Type, nil
		}
		if name != "-" {
			keys = append(keys, name)
		}
	}
	return nil, keys
}

// nearKey is the key that was meant, or all that there are.
func nearKey(key string, keys []string) string {
	if near := nearest.Names(key, keys, 1); len(near) > 0 {
		return ": did you mean " + near[0] + "?"
	}
	return "; there are " + strings.Join(keys, ", ")
}

// takes reports whether a value that begins with a token may be one of type t.
func takes(t reflect.Type, token json.Token) bool {
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return t.Kind() == reflect.Slice
		}
		return t.Kind() == reflect.Struct || t.Kind() == reflect.Map
	case string:
		return t.Kind() == reflect.String || t == reflect.TypeFor[Prompt]() || t == reflect.TypeFor[Branches]() || t == reflect.TypeFor[Piece]()
	case bool:
		return t.Kind() == reflect.Bool
	case json.Number:
		_, wrong := strconv.Atoi(string(token))
		_, large := token.Float64()
		return t.Kind() == reflect.Int && wrong == nil || t.Kind() == reflect.Float64 && large == nil
	}
	return false
}

// expected is what a value of type t is, in words.
func expected(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Prompt]():
		return "a text or a list of texts and elements"
	case reflect.TypeFor[Piece]():
		return "a text or an object"
	case reflect.TypeFor[Branches]():
		return "the name of a step or a list of branches"
	}
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// got is what stands there instead.
func got(token json.Token) string {
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return "a list"
		}
		return "an object"
	case string:
		return strconv.Quote(clip(token, 60))
	}
	return fmt.Sprint(token)
}
