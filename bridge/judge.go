package bridge

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/schema"
)

// A Finding is one mistake in the arguments of a call.
type Finding struct {
	// Offset is the offset of the wrong literal or key.
	Offset int
	// Message names the parameter, the accepted values and the nearest name.
	Message string

	path     string
	kind     findingKind
	accepted []string // values or types, for the kinds that have them
	got      string
}

type findingKind uint8

const (
	wrongOther findingKind = iota
	wrongType
	wrongValue
	unknownKey
	missingKey
)

// Judge returns the certain mistakes in the arguments of a call, which may be partly known. Each
// mistake is reported once, in the order of the arguments. An undeclared key is a mistake unless
// the schema mentions further keys, as for a TypeScript compiler: a schema that does not mention
// them allows them, but such a key is nearly always misspelt.
func (v *Validator) Judge(t *discovery.Tool, input Literal) []Finding {
	s := v.schema(t)
	if s.doc.Object() == nil {
		return nil
	}
	found, _ := findings(s.doc, input, true)
	return found
}

// findings judges the arguments of a call, and returns the judge with its record of nulls. strict
// means that a schema that does not mention further keys forbids them.
func findings(doc schema.Document, input Literal, strict bool) ([]Finding, *judge) {
	j := &judge{doc: doc, budget: maxJudged}
	switch {
	case input.Kind == Unknown:
		return nil, j
	case input.Kind == Undefined || input.Kind == KnownValue && input.Value == nil:
		input = Literal{Kind: KnownObject, Offset: input.Offset}
	case input.Kind != KnownObject:
		return []Finding{{Offset: input.Offset, Message: "arguments are one object, such as {name: value}; got " + input.String()}}, j
	}
	return j.check(doc.Root, input, "", strict), j
}

// maxJudged bounds the compared pairs of a schema and a value; the rest is accepted.
const maxJudged = 20_000

// maxJudgedDepth bounds the depth of references and values.
const maxJudgedDepth = 64

// A judge compares values with schemas and reports only certain mistakes: it accepts whatever it
// does not understand.
type judge struct {
	doc     schema.Document
	budget  int
	depth   int
	omitted []*Field // nulls that count as omitted
	// nullable means that OpenAPI's "nullable", which JSON Schema does not know, accepted a null.
	nullable bool
}

func (j *judge) check(s any, l Literal, path string, strict bool) []Finding {
	if j.budget--; j.budget < 0 || j.depth > maxJudgedDepth || l.Kind == Unknown || l.Kind == Undefined {
		return nil
	}
	j.depth++
	defer func() { j.depth-- }()
	o, ok := s.(*schema.Object)
	if !ok {
		if s == false {
			return []Finding{{Offset: l.Offset, path: path, Message: quoted(path) + " is not accepted"}}
		}
		return nil
	}
	if l.isNull() && o.Get("nullable") == true {
		j.nullable = true
		return nil
	}
	if ref := o.Text("$ref"); ref != "" {
		target, ok := j.doc.Find(ref)
		if !ok {
			return nil // an unresolved reference accepts everything
		}
		return j.check(target, l, path, strict)
	}
	if f := checkType(o, l, path); f != nil {
		return []Finding{*f}
	}
	if f := checkValue(o, l, path); f != nil {
		return []Finding{*f}
	}
	composed := slices.ContainsFunc([]string{"allOf", "anyOf", "oneOf", "if", "dependentSchemas", "unevaluatedProperties"}, o.Has)
	strict = strict && !composed
	var found []Finding
	switch l.Kind {
	case KnownObject:
		found = j.object(o, l, path, strict)
	case KnownArray:
		found = j.array(o, l, path, strict)
	}
	return append(found, j.combined(o, l, path)...)
}

// combined judges a value by the subschemas of allOf, anyOf and oneOf.
func (j *judge) combined(o *schema.Object, l Literal, path string) []Finding {
	var found []Finding
	for _, b := range o.List("allOf") {
		found = append(found, j.check(b, l, path, false)...)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		found = append(found, j.any(o.List(key), l, path)...)
	}
	return found
}

// any judges a value by branches of which one must accept it, preferably one that accepts every
// null.
func (j *judge) any(branches []any, l Literal, path string) []Finding {
	var wrong [][]Finding
	var omitted []*Field
	before := len(j.omitted)
	for _, b := range branches {
		f := j.check(b, l, path, false)
		switch more := j.omitted[before:]; {
		case len(f) > 0:
			wrong = append(wrong, f)
		case len(more) == 0:
			return nil
		case omitted == nil:
			omitted = slices.Clone(more)
		}
		j.omitted = j.omitted[:before]
	}
	if len(wrong) < len(branches) || len(branches) == 0 {
		j.omitted = append(j.omitted, omitted...)
		return nil
	}
	// Branches for another type or value are useless beside one that the value was meant for.
	meant := slices.DeleteFunc(slices.Clone(wrong), func(f []Finding) bool {
		return slices.ContainsFunc(f, func(f Finding) bool {
			return f.path == path && (f.kind == wrongType || f.kind == wrongValue) || f.kind == wrongValue && discriminates(f)
		})
	})
	if len(meant) == 1 {
		return meant[0]
	}
	if f := merged(wrong, path); f != nil {
		return []Finding{*f}
	}
	if len(meant) > 1 {
		slices.SortStableFunc(meant, func(a, b []Finding) int { return len(a) - len(b) })
		if len(meant[0]) < len(meant[1]) {
			return meant[0]
		}
		return []Finding{{Offset: l.Offset, path: path, Message: fmt.Sprintf("%s matches none of the %d accepted forms; the nearest: %s",
			quoted(path), len(branches), meant[0][0].Message)}}
	}
	return wrong[0]
}

// discriminates reports whether a wrong value is that of a key that distinguishes forms: it
// accepts a single value.
func discriminates(f Finding) bool { return len(f.accepted) == 1 }

// merged returns one finding for branches that each refuse the type of the value or its not being
// an accepted one.
func merged(wrong [][]Finding, path string) *Finding {
	var values, types []string
	for _, f := range wrong {
		if len(f) != 1 || f[0].path != path {
			return nil
		}
		switch f[0].kind {
		case wrongValue:
			values = append(values, f[0].accepted...)
		case wrongType:
			types = append(types, f[0].accepted...)
		default:
			return nil
		}
	}
	first := wrong[0][0]
	if len(values) > 0 {
		f := valueFinding(path, first.got, first.Offset, unique(values))
		return &f
	}
	f := typeFinding(path, first.got, first.Offset, unique(types))
	return &f
}

func unique(list []string) []string {
	var u []string
	for _, s := range list {
		if !slices.Contains(u, s) {
			u = append(u, s)
		}
	}
	return u
}

func (j *judge) array(o *schema.Object, l Literal, path string, strict bool) []Finding {
	if l.Open {
		return nil
	}
	wrong := func(format string, n json.Number) []Finding {
		return []Finding{{Offset: l.Offset, path: path, Message: quoted(path) + fmt.Sprintf(format, n) + "; got " + strconv.Itoa(len(l.Items))}}
	}
	if n, ok := o.Get("minItems").(json.Number); ok && compare(strconv.Itoa(len(l.Items)), n) < 0 {
		return wrong(" takes at least %s items", n)
	}
	if n, ok := o.Get("maxItems").(json.Number); ok && compare(strconv.Itoa(len(l.Items)), n) > 0 {
		return wrong(" takes at most %s items", n)
	}
	tuple, rest, _ := o.Items()
	var found []Finding
	for i, item := range l.Items {
		s := rest
		if i < len(tuple) {
			s = tuple[i]
		}
		found = append(found, j.check(s, item, fmt.Sprintf("%s[%d]", path, i), strict)...)
	}
	return found
}

// checkType returns a finding if l has none of the types of the schema.
func checkType(o *schema.Object, l Literal, path string) *Finding {
	types := o.Types()
	is := l.typeName()
	if len(types) == 0 || is == "" {
		return nil
	}
	for _, t := range types {
		switch t {
		case is:
			return nil
		case "integer":
			if is == "number" && isInteger(l.Value) {
				return nil
			}
		case "string", "number", "boolean", "null", "object", "array":
		default:
			return nil // not a type of JSON Schema
		}
	}
	f := typeFinding(path, l.String(), l.Offset, types)
	return &f
}

func typeFinding(path, got string, offset int, types []string) Finding {
	named := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			named[i] = "null"
		case "integer", "object", "array":
			named[i] = "an " + t
		default:
			named[i] = "a " + t
		}
	}
	return Finding{Offset: offset, path: path, kind: wrongType, accepted: types, got: got,
		Message: fmt.Sprintf("%s takes %s; got %s", quoted(path), strings.Join(named, " or "), got)}
}

func isInteger(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	r, ok := rational(string(n))
	return !ok || r.IsInt()
}

// rational parses a number; ok is false for one that is too large.
func rational(s string) (*big.Rat, bool) {
	if len(s) > 400 {
		return nil, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > 400 || e < -400 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}

// compare compares two numbers; numbers that cannot be parsed are equal.
func compare(a string, b json.Number) int {
	x, ok := rational(a)
	y, ok2 := rational(string(b))
	if !ok || !ok2 {
		return 0
	}
	return x.Cmp(y)
}

// checkValue judges a value other than an object or array.
func checkValue(o *schema.Object, l Literal, path string) *Finding {
	if l.Kind != KnownValue {
		return nil
	}
	accepted, isEnum := o.Values()
	if isEnum && !slices.ContainsFunc(accepted, func(a any) bool { return equal(a, l.Value) }) {
		values := make([]string, len(accepted))
		for i, a := range accepted {
			values[i] = compact(a)
		}
		f := valueFinding(path, l.String(), l.Offset, values)
		return &f
	}
	var why string
	switch v := l.Value.(type) {
	case json.Number:
		why = rangeProblem(o, v)
	case string:
		why = textProblem(o, v)
	}
	if why == "" {
		return nil
	}
	return &Finding{Offset: l.Offset, path: path, Message: fmt.Sprintf("%s %s; got %s", quoted(path), why, l)}
}

func equal(a, b any) bool {
	x, ok := a.(json.Number)
	y, ok2 := b.(json.Number)
	if ok && ok2 {
		return compare(string(x), y) == 0
	}
	switch a.(type) {
	case *schema.Object, []any:
		return false
	}
	return a == b
}

func rangeProblem(o *schema.Object, v json.Number) string {
	for _, c := range []struct {
		key, says string
		wrong     func(int) bool
	}{
		{"minimum", "must be at least", func(c int) bool { return c < 0 }},
		{"maximum", "must be at most", func(c int) bool { return c > 0 }},
		{"exclusiveMinimum", "must be more than", func(c int) bool { return c <= 0 }},
		{"exclusiveMaximum", "must be less than", func(c int) bool { return c >= 0 }},
	} {
		limit, ok := o.Get(c.key).(json.Number)
		if !ok {
			continue
		}
		x, ok := rational(string(v))
		y, ok2 := rational(string(limit))
		if ok && ok2 && c.wrong(x.Cmp(y)) {
			return c.says + " " + limit.String()
		}
	}
	if of, ok := o.Get("multipleOf").(json.Number); ok && !schema.IsMultiple(string(v), string(of)) {
		return "must be a multiple of " + of.String()
	}
	return ""
}

func textProblem(o *schema.Object, v string) string {
	n := strconv.Itoa(utf8.RuneCountInString(v))
	if limit, ok := o.Get("minLength").(json.Number); ok && compare(n, limit) < 0 {
		if limit == "1" {
			return "must not be empty"
		}
		return "must have at least " + limit.String() + " characters"
	}
	if limit, ok := o.Get("maxLength").(json.Number); ok && compare(n, limit) > 0 {
		return "must have at most " + limit.String() + " characters"
	}
	if p, ok := o.Get("pattern").(string); ok {
		if re, err := regexp.Compile(p); err == nil && !re.MatchString(v) {
			return "must match /" + gate.Cut(gate.Spelt(p), 80) + "/"
		}
	}
	return ""
}

// quoted returns the name of a parameter for messages.
func quoted(path string) string {
	if path == "" {
		return "the argument"
	}
	return strconv.Quote(gate.Cut(path, maxShownName))
}
