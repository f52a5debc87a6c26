package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// FindJSON is like Find, for JSON: offsets are those of the raw text, spans are within strings or
// whole numbers, and values under a name such as "password" are secrets. It also searches JSON in
// strings. It returns false if the text is not JSON.
func FindJSON(text string) ([]Span, bool) {
	f := newFinder(jsonFinder{persons: true}, text)
	ok := f.walk()
	return f.spans, ok
}

// FindSecretsJSON is like FindJSON, without personal data.
func FindSecretsJSON(text string) ([]Span, bool) {
	f := newFinder(jsonFinder{}, text)
	ok := f.walk()
	return f.spans, ok
}

// ReplaceJSON is like Replace, for the result of FindJSON: it returns JSON, and calls mark with
// unescaped values.
func ReplaceJSON(text string, spans []Span, mark func(kind, value string) string) string {
	i := -1
	return Replace(text, spans, func(kind, value string) string {
		i++
		for range spans[i].strings {
			if strings.IndexByte(value, '\\') >= 0 {
				value, _ = unescape(value)
			}
		}
		s := mark(kind, value)
		if spans[i].number {
			s = string(quoted(s))
		}
		for range spans[i].strings {
			q := quoted(s)
			s = string(q[1 : len(q)-1])
		}
		return s
	})
}

// maxNested bounds the nesting of JSON in strings that is searched.
const maxNested = 3

// A jsonFinder visits the strings and numbers of JSON.
type jsonFinder struct {
	text string
	scan jsonscan.Scanner[string]
	// wide finds more, for records: all values below the name of a secret, and examples.
	wide    bool
	persons bool
	fixed   bool // finds only tokens of known services
	nested  int  // number of strings around the text
	spans   []Span
	names   map[string]name // the names that occurred: rows repeat them
}

// newFinder returns a finder like f for a text.
func newFinder(f jsonFinder, text string) jsonFinder {
	f.text, f.scan = text, jsonscan.New(text)
	return f
}

// A name contains the properties of the name of a field.
type name struct {
	secret bool // its value is a secret
	clean  bool // it contains nothing to hide
	counts bool // a number under it is not a secret
}

// walk finds all spans, and reports whether the text is JSON. If not, the spans are those before
// the mistake.
func (f *jsonFinder) walk() (ok bool) {
	f.value(false, name{})
	return f.scan.End()
}

// truncated reports whether walk reached the end of the text within an array or object, and so has
// searched all of it.
func (f *jsonFinder) truncated() bool {
	if !f.scan.Cut() {
		return false
	}
	i := jsonscan.Space(f.text, 0)
	return i < len(f.text) && (f.text[i] == '{' || f.text[i] == '[')
}

// value visits the next value. It is a secret if secret is set; under are the properties of its
// name.
func (f *jsonFinder) value(secret bool, under name) {
	s := &f.scan
	switch s.Kind() {
	case '{':
		for s.Enter('{'); s.More('}'); {
			f.member(secret && f.wide)
		}
	case '[':
		for s.Enter('['); s.More(']'); {
			f.value(secret, under)
		}
	case '"':
		start := s.Pos()
		s.Skip()
		f.string(start+1, f.closing(), secret)
	case '0':
		start := s.Pos()
		if s.Skip(); !s.Broken() {
			f.number(start, s.Pos(), secret, under.counts)
		}
	default:
		s.Skip()
	}
}

// closing returns the end of the content of the last string, which may be the end of the text.
func (f *jsonFinder) closing() int {
	if f.scan.Broken() {
		return f.scan.Pos()
	}
	return f.scan.Pos() - 1
}

// member visits a member of an object; its values are secrets if secret is set.
func (f *jsonFinder) member(secret bool) {
	s := &f.scan
	start := s.Pos()
	key := s.Key()
	if key == "" {
		if start < s.Pos() {
			f.string(start+1, s.Pos(), false) // it is cut off
		}
		return
	}
	n := f.key(start+1, start+len(key)-1)
	f.value(n.secret || secret, n)
}

// key searches the name of a field, and returns its properties.
func (f *jsonFinder) key(start, end int) name {
	text := f.text[start:end]
	n, known := f.names[text]
	if !known {
		had := len(f.spans)
		f.string(start, end, false)
		key := separators.Replace(strings.ToLower(text))
		n = name{secret: !f.fixed && secretField(key, f.wide), clean: len(f.spans) == had, counts: strings.Contains(key, "token")}
		if f.names == nil {
			f.names = map[string]name{}
		}
		if len(f.names) < 1000 && len(text) < 200 {
			f.names[text] = n
		}
	} else if !n.clean {
		f.string(start, end, false)
	}
	return n
}

// number finds cards and other numbers to hide.
func (f *jsonFinder) number(start, end int, secret, counts bool) {
	v := f.text[start:end]
	s := Span{Start: start, End: end, strings: f.nested, number: true}
	switch {
	case f.wide && secret && !counts, secret && len(v) >= 4 && !strings.ContainsAny(v, ".eE-"):
		s.Type = generic
	case f.persons && len(v) >= 14 && v[0] != '-':
		if c := card(v, 0); c.End == len(v) {
			s.Type = c.Type
		}
	}
	if s.Type != "" {
		f.spans = append(f.spans, s)
	}
}

// string searches the string between its quotes.
func (f *jsonFinder) string(start, end int, secret bool) {
	raw := f.text[start:end]
	if len(raw) < 4 && !(secret && f.wide && raw != "") {
		return
	}
	plain, at := raw, []int(nil)
	if strings.IndexByte(raw, '\\') >= 0 {
		plain, at = unescape(raw)
	}
	var spans []Span
	if open := jsonscan.Space(plain, 0); open < len(plain) && (plain[open] == '{' || plain[open] == '[') && f.nested < maxNested && !secret {
		inner := newFinder(jsonFinder{wide: f.wide, persons: f.persons, fixed: f.fixed, nested: f.nested + 1}, plain)
		if inner.walk() || inner.truncated() && end == len(f.text) {
			f.add(inner.spans, start, at)
			return
		}
	}
	switch {
	case f.fixed:
		spans = fixedTokens(plain)
	case secret && f.wide:
		spans = []Span{{Type: generic, End: len(plain)}}
	case f.wide:
		spans = merge(triggers().find(plain, false))
	default:
		spans = find(plain, f.persons)
		if secret && len(plain) >= 4 && !placeholder(plain, generic) && !described(plain) {
			spans = []Span{wholeSecret(plain, spans)}
		}
	}
	for i := range spans {
		spans[i].strings = f.nested + 1
	}
	f.add(spans, start, at)
}

// add adds the spans found in a string whose content begins at start; at maps them to the raw
// text.
func (f *jsonFinder) add(spans []Span, start int, at []int) {
	for _, s := range spans {
		if at != nil {
			s.Start, s.End = at[s.Start], at[s.End]
		}
		s.Start, s.End = start+s.Start, start+s.End
		f.spans = append(f.spans, s)
	}
}

// wholeSecret returns a span for a text that is a secret by its name and contains spans.
func wholeSecret(plain string, spans []Span) Span {
	whole := Span{Type: generic, Start: 0, End: len(plain)}
	if len(spans) == 1 && (spans[0].End-spans[0].Start)*10 >= len(plain)*6 && rank(spans[0].Type) > rank(generic) {
		whole.Type = spans[0].Type
		if spans[0].Start > 0 && (spans[0].Type == "bearer_token" || strings.EqualFold(strings.TrimSpace(plain[:spans[0].Start]), "bearer")) {
			whole.Start = spans[0].Start // the word "Bearer" may stay
		}
	}
	return whole
}

// described reports whether a text describes a secret, such as "The password of the user".
func described(s string) bool {
	if strings.Count(s, " ") < 2 {
		return false
	}
	low := strings.ToLower(s)
	for _, w := range []string{"password", "token", "secret", "key", "credential", "cookie"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// unescape decodes the content of a JSON string and returns for each byte, and for the end, its
// index in raw.
func unescape(raw string) (string, []int) {
	out := make([]byte, 0, len(raw))
	at := make([]int, 0, len(raw)+1)
	for i := 0; i < len(raw); {
		from, n := i, len(out)
		if c := raw[i]; c < utf8.RuneSelf && c != '\\' {
			out = append(out, c)
			i++
		} else {
			var r rune
			r, i = jsonscan.Char(raw, i)
			out = utf8.AppendRune(out, r)
		}
		for range len(out) - n {
			at = append(at, from)
		}
	}
	return string(out), append(at, len(raw))
}

// quoted returns s as JSON, without the escapes for HTML.
func quoted(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string and a buffer cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

var separators = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

// secretFields are suffixes of the names of secrets, without separators; countFields are suffixes
// of names that only look similar.
var (
	secretFields = strings.Fields("password passwd passphrase passcode secret privatekey authorization token apikey accesskey accountkey secretkey signingkey encryptionkey authkey credential cookie sessionid connectionstring bearer jwt")
	countFields  = strings.Fields("page next prev continu sync cursor count type limit max min total public per last first start end expir input output")
)

// secretField reports whether the value under a name, in lower case and without separators, is a
// secret; wide hides more.
func secretField(key string, wide bool) bool {
	if len(key) < 3 || len(key) > 64 {
		return false
	}
	switch key {
	case "pass", "auth":
		return true
	case "pin", "otp", "cvv", "cvc", "totp":
		return wide
	}
	if strings.HasSuffix(key, "pwd") {
		return true
	}
	one := key
	if key != "tokens" || wide {
		one = strings.TrimSuffix(key, "s")
	}
	if strings.HasSuffix(one, "token") || strings.HasPrefix(key, "token") {
		for _, c := range countFields {
			if strings.HasPrefix(key, c) && !wide || strings.Contains(key, c+"token") || strings.HasPrefix(key, "token"+c) {
				return false
			}
		}
	}
	for _, s := range secretFields {
		if strings.HasSuffix(one, s) || wide && strings.Contains(key, s) {
			return true
		}
	}
	return false
}
