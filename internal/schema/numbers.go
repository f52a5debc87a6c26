package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// maxDigits and maxExponent bound the numbers in calculations.
	maxDigits   = 400
	maxExponent = 400
	// maxJudged bounds the applications of a rule in one check, and maxBroken the
	// number of different values that break one.
	maxJudged = 100_000
	maxBroken = 200
	// longInteger is the number of digits from which a float64 may not hold an integer.
	longInteger = 16
)

// DecodeInstance decodes JSON for CheckValue like json.Unmarshal, with two exceptions: integers
// that a float64 cannot hold are int64 or uint64 if these can, and numbers beyond the
// range of float64 become its largest value.
func DecodeInstance(raw json.RawMessage) (any, error) {
	var v any
	if !hasLongInteger(raw) {
		err := json.Unmarshal(raw, &v)
		if _, beyond := errors.AsType[*json.UnmarshalTypeError](err); !beyond { // such as 1e400
			return v, err
		}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("more than one value")
	}
	return (&exactNumbers{}).restore(v), nil
}

// hasLongInteger reports whether a text contains as many consecutive digits as an integer beyond
// 2^53.
func hasLongInteger(raw []byte) bool {
	n := 0
	for _, c := range raw {
		if c < '0' || c > '9' {
			n = 0
		} else if n++; n >= longInteger {
			return true
		}
	}
	return false
}

// exactNumbers replaces each json.Number. Integers that a float64 holds only inexactly
// stay different from each other.
type exactNumbers struct {
	taken map[float64]string
}

func (e *exactNumbers) restore(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			v[key] = e.restore(part)
		}
	case []any:
		for i, part := range v {
			v[i] = e.restore(part)
		}
	case json.Number:
		return e.number(string(v))
	}
	return v
}

func (e *exactNumbers) number(text string) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && i != 0 { // keep 0 and -0 as floats
		return i
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil && u != 0 {
		return u
	}
	f, _ := strconv.ParseFloat(text, 64)
	f = min(max(f, -math.MaxFloat64), math.MaxFloat64)
	if strings.ContainsAny(text, ".eE") || len(text) < longInteger {
		return f
	}
	if e.taken == nil {
		e.taken = make(map[float64]string)
	}
	for other, ok := e.taken[f]; ok && other != text && f < math.MaxFloat64; other, ok = e.taken[f] {
		f = math.Nextafter(f, math.Inf(1))
	}
	e.taken[f] = text
	return f
}

// decimal parses a JSON number. It returns false if the number is too large for
// calculations.
func decimal(text string) (*big.Rat, bool) {
	if len(text) > maxDigits {
		return nil, false
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if e, err := strconv.Atoi(text[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// IsMultiple reports whether number is a whole multiple of of, as decimal numbers: 0.58
// is a multiple of 0.01, though the floats are not. It returns true for numbers that
// are too large for calculations, and for multiples of 0.
func IsMultiple(number, of string) bool {
	n, ok := decimal(number)
	m, ok2 := decimal(of)
	return !ok || !ok2 || m.Sign() == 0 || n.Quo(n, m).IsInt()
}

// A rule is a keyword about numbers that the library would check with inexact floats.
// Instead, the schema excludes a list of numbers: those of the checked value that break
// the rule.
type rule struct {
	excluded *jsonschema.Schema
	says     string
	breaks   func(number string) bool
}

// ruleMark is the prefix of the name of an excluded schema, which messages of the library contain.
const ruleMark = "number "

// exactRules makes the keywords of the schemas of g exact. raw is their JSON. It
// returns rules for keywords that the library cannot check exactly.
func exactRules(g *graph, raw json.RawMessage) (rules []*rule) {
	if !hasLongInteger(raw) && !bytes.Contains(raw, []byte("multipleOf")) {
		return nil
	}
	var root any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&root) != nil {
		return nil
	}
	for at, n := range g.nodes {
		if own, ok := pointed(root, at).(map[string]any); ok && at == n.path {
			rules = append(rules, n.exact(own)...)
		}
	}
	return rules
}

// pointed returns the value at a JSON pointer, or nil.
func pointed(v any, pointer string) any {
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		switch in := v.(type) {
		case map[string]any:
			v = in[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// exact makes one schema exact; own is its JSON.
func (n *node) exact(own map[string]any) (rules []*rule) {
	s, numbers := n.schema, &exactNumbers{}
	if list, ok := own["enum"].([]any); ok && len(list) == len(s.Enum) {
		s.Enum, _ = numbers.restore(list).([]any)
	}
	if c, ok := own["const"]; ok && s.Const != nil {
		c = numbers.restore(c)
		s.Const = &c
	}
	for _, limit := range []struct {
		keyword, says string
		value         **float64
		breaks        func(sign int) bool
	}{
		{"minimum", "must be at least", &s.Minimum, func(sign int) bool { return sign < 0 }},
		{"maximum", "must be at most", &s.Maximum, func(sign int) bool { return sign > 0 }},
		{"exclusiveMinimum", "must be more than", &s.ExclusiveMinimum, func(sign int) bool { return sign <= 0 }},
		{"exclusiveMaximum", "must be less than", &s.ExclusiveMaximum, func(sign int) bool { return sign >= 0 }},
	} {
		text, _ := own[limit.keyword].(json.Number)
		m, ok := decimal(string(text))
		if *limit.value == nil || !ok || !m.IsInt() || new(big.Rat).SetFloat64(**limit.value).Cmp(m) == 0 {
			continue // the library is exact, or as exact as fractions allow
		}
		*limit.value = nil
		rules = append(rules, exclude(s, limit.says+" "+string(text), func(number string) bool {
			v, ok := decimal(number)
			return ok && limit.breaks(v.Cmp(m))
		}))
	}
	if text, ok := own["multipleOf"].(json.Number); ok && s.MultipleOf != nil {
		s.MultipleOf = nil
		rules = append(rules, exclude(s, "must be a multiple of "+string(text), func(number string) bool { return !IsMultiple(number, string(text)) }))
	}
	return rules
}

// exclude adds a rule to a schema.
func exclude(s *jsonschema.Schema, says string, breaks func(number string) bool) *rule {
	r := &rule{excluded: &jsonschema.Schema{Enum: []any{}}, says: says, breaks: breaks}
	s.AllOf = append(slices.Clip(s.AllOf), &jsonschema.Schema{Not: r.excluded})
	return r
}

// apply excludes the numbers that break the rules. It returns false if that takes too
// long.
func apply(rules []*rule, v any) bool {
	numbers := make(map[any]string)
	collect(v, numbers)
	if len(numbers)*len(rules) > maxJudged {
		return false
	}
	for _, r := range rules {
		broken := []any{}
		for value, text := range numbers {
			if r.breaks(text) {
				broken = append(broken, value)
			}
		}
		if len(broken) > maxBroken {
			return false
		}
		r.excluded.Enum = broken
	}
	return true
}

// collect adds the different numbers in v, with their JSON.
func collect(v any, numbers map[any]string) {
	switch v := v.(type) {
	case map[string]any:
		for _, part := range v {
			collect(part, numbers)
		}
	case []any:
		for _, part := range v {
			collect(part, numbers)
		}
	case float64:
		numbers[v] = strconv.FormatFloat(v, 'g', -1, 64)
	case int64:
		numbers[v] = strconv.FormatInt(v, 10)
	case uint64:
		numbers[v] = strconv.FormatUint(v, 10)
	}
}
