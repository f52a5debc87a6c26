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

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// strict reads one JSON value into to. What encoding/json ignores is an error:
// keys that to has no field for, keys of another case, and keys that occur twice.
// The error names all of them.
func strict(data []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return invalidJSON(data, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("invalid JSON: there is more after its end")
	}
	r := &reader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	r.value("", reflect.TypeOf(to).Elem())
	if len(r.problems) > 0 {
		return errors.Join(r.problems...)
	}
	return json.Unmarshal(raw, to)
}

// invalidJSON says where JSON is wrong.
func invalidJSON(data []byte, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("line %d: invalid JSON: %s", lineAt(data, syntax.Offset), syntax)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	}
	return errors.New("invalid JSON: it ends in the middle of a value")
}

// lineAt is the line of a byte of data.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}

// maxProblems is how many are reported at once.
const maxProblems = 20

// A reader compares JSON with the Go type that it is read into. A place is the
// path of a value, such as "steps.a.next[0].when".
type reader struct {
	data     []byte
	dec      *json.Decoder
	problems []error
}

func (r *reader) problem(place, format string, args ...any) {
	if len(r.problems) < maxProblems {
		if place != "" {
			place += ": "
		}
		line := lineAt(r.data, r.dec.InputOffset())
		r.problems = append(r.problems, fmt.Errorf("line %d: %s%w", line, marked(place), fmt.Errorf(format, args...)))
	}
}

// marked names the subskill that a place is in, as other problems do.
func marked(place string) string {
	rest, ok := strings.CutPrefix(place, "subskills.")
	name, inside, found := strings.Cut(rest, ".workflow")
	if !ok || !found {
		return place
	}
	return (&area{name: name}).label() + strings.TrimPrefix(strings.TrimPrefix(inside, "."), ": ")
}

// token is the next one of JSON that is known to be valid.
func (r *reader) token() json.Token {
	t, _ := r.dec.Token()
	return t
}

// value compares the next value with a type; nil is any.
func (r *reader) value(place string, t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		t = nil
	}
	token := r.token()
	if token != nil && t != nil && !takes(t, token) {
		r.problem(place, "got %s, want %s", got(token), expected(t))
		t = nil
	}
	switch token {
	case json.Delim('{'):
		r.object(place, t)
	case json.Delim('['):
		var of reflect.Type
		if t != nil {
			of = t.Elem()
		}
		for i := 0; r.dec.More(); i++ {
			r.value(place+"["+strconv.Itoa(i)+"]", of)
		}
		r.token()
	}
}

// object compares an object after its brace.
func (r *reader) object(place string, t reflect.Type) {
	seen := map[string]bool{}
	for r.dec.More() {
		key, _ := r.token().(string)
		if seen[key] {
			r.problem(place, "the key %q occurs twice", key)
		}
		seen[key] = true
		var of reflect.Type
		switch {
		case t == nil:
		case t.Kind() == reflect.Map:
			of = t.Elem()
		default:
			var keys []string
			if of, keys = fieldOf(t, key); of == nil {
				r.problem(place, "unknown key %q%s", key, hint(key, keys))
			}
		}
		r.value(strings.TrimPrefix(place+"."+key, "."), of)
	}
	r.token()
}

// fieldOf is the type of the field that a struct has for a key, or nil, with the
// keys that exist.
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

// hint helps with a key that does not exist.
func hint(key string, keys []string) string {
	if near := nearest.Names(key, keys, 1); len(near) > 0 {
		return fmt.Sprintf(", did you mean %q?", near[0])
	}
	return "; known keys are " + strings.Join(keys, ", ")
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
		return "a string or an array of strings and objects"
	case reflect.TypeFor[Piece]():
		return "a string or an object"
	case reflect.TypeFor[Branches]():
		return "the name of a step or an array of branches"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

// got is what a value that begins with a token is, in words.
func got(token json.Token) string {
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return "an array"
		}
		return "an object"
	case string:
		return strconv.Quote(gate.Cut(token, 60))
	}
	return fmt.Sprint(token)
}
