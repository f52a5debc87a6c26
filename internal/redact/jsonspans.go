package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// FindJSON is Find for JSON: offsets are those of the text as it is, spans lie
// within strings or are whole numbers, and what stands under a name such as
// "password" is a secret. JSON in a string is looked into. It returns false if the
// text is not JSON.
func FindJSON(text string) ([]Span, bool) {
	f := newFinder(jsonFinder{persons: true}, text)
	ok := f.walk()
	return f.spans, ok
}

// FindSecretsJSON is FindJSON without what is about persons.
func FindSecretsJSON(text string) ([]Span, bool) {
	f := newFinder(jsonFinder{}, text)
	ok := f.walk()
	return f.spans, ok
}

// ReplaceJSON is Replace for what FindJSON returns: the answer is JSON again, and
// mark is called with values as they are without escapes.
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

// maxNested is how many times a text that is JSON itself, as tools answer, is
// looked into.
const maxNested = 3

// A jsonFinder visits the strings and numbers of JSON.
type jsonFinder struct {
	text string
	scan jsonscan.Scanner[string]
	// wide finds more, for records: all below the name of a secret, and what is
	// only an example.
	wide    bool
	persons bool
	fixed   bool // finds only tokens of known services
	nested  int  // number of strings around the text
	spans   []Span
	names   map[string]name // that were seen: rows have the same ones
}

// newFinder returns a finder like f for a text.
func newFinder(f jsonFinder, text string) jsonFinder {
	f.text, f.scan = text, jsonscan.New(text)
	return f
}

// A name is what is known of the name of a field.
type name struct {
	secret bool // what it names is a secret
	clean  bool // nothing is to be found in it
	counts bool // a number that it names is none
}

// walk finds all, and reports whether the text is JSON. If it is not, the spans are those
// in front of the mistake.
func (f *jsonFinder) walk() (ok bool) {
	f.value(false, name{})
	return f.scan.End()
}

// cut reports whether walk has met the end of the text in an array or object, and so has
// found all that is in the text.
func (f *jsonFinder) cut() bool {
	if !f.scan.Cut() {
		return false
	}
	i := jsonscan.Space(f.text, 0)
	return i < len(f.text) && (f.text[i] == '{' || f.text[i] == '[')
}

// value visits the value that is next. It is a secret if secret is set; under is what is
// known of its name.
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

// closing is where the content of the string ends that was read last, be it the end of the
// text.
func (f *jsonFinder) closing() int {
	if f.scan.Broken() {
		return f.scan.Pos()
	}
	return f.scan.Pos() - 1
}

// member visits a member of an object, all of which are secrets if secret is set.
func (f *jsonFinder) member(secret bool) {
	s := &f.scan
	start := s.Pos()
	key := s.Key()
	if key == "" {
		if start < s.Pos() {
			f.string(start+1, s.Pos(), false) // it is cut
		}
		return
	}
	n := f.key(start+1, start+len(key)-1)
	f.value(n.secret || secret, n)
}

// key finds what is in the name of a field, and returns what it says of the values.
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

// number finds cards and other numbers that should not leave.
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

// string finds what is in the string between its quotes.
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
		if inner.walk() || inner.cut() && end == len(f.text) {
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

// add adds what was found in a string whose inside begins at start; at says where
// its bytes came from.
func (f *jsonFinder) add(spans []Span, start int, at []int) {
	for _, s := range spans {
		if at != nil {
			s.Start, s.End = at[s.Start], at[s.End]
		}
		s.Start, s.End = start+s.Start, start+s.End
		f.spans = append(f.spans, s)
	}
}

// wholeSecret is a text that is a secret by its name, in which spans were found.
func wholeSecret(plain string, spans []Span) Span {
	whole := Span{Type: generic, Start: 0, End: len(plain)}
	if len(spans) == 1 && (spans[0].End-spans[0].Start)*10 >= len(plain)*6 && rank(spans[0].Type) > rank(generic) {
		whole.Type = spans[0].Type
		if spans[0].Start > 0 && (spans[0].Type == "bearer_token" || strings.EqualFold(strings.TrimSpace(plain[:spans[0].Start]), "bearer")) {
			whole.Start = spans[0].Start // the word "Bearer" may be seen
		}
	}
	return whole
}

// described reports whether a text is about a secret, such as "The password of
// the user".
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

// unescape decodes the inside of a JSON string and says for each byte of it, and
// for the end, where it came from.
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

// quoted is s as JSON, "<" and "&" as they are.
func quoted(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string and a buffer cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

var separators = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

// secretFields are how the names of secrets end, without separators; those of
// countFields only look so.
var (
	secretFields = strings.Fields("password passwd passphrase passcode secret privatekey authorization token apikey accesskey accountkey secretkey signingkey encryptionkey authkey credential cookie sessionid connectionstring bearer jwt")
	countFields  = strings.Fields("page next prev continu sync cursor count type limit max min total public per last first start end expir input output")
)

// secretField reports whether what stands under a name, in lower case and without
// separators, is a secret; wide hides more than it has to.
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
