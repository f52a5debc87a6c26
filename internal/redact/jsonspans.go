package redact

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// FindJSON is Find for JSON: offsets are those of the text as it is, spans lie
// within strings or are whole numbers, and what stands under a name such as
// "password" is a secret. JSON in a string is looked into. It returns false if
// what it meets cannot be JSON, without a look at each comma and digit.
func FindJSON(text string) ([]Span, bool) {
	f := jsonFinder{text: text, persons: true}
	ok := f.walk()
	return f.spans, ok
}

// FindSecretsJSON is FindJSON without what is about persons.
func FindSecretsJSON(text string) ([]Span, bool) {
	f := jsonFinder{text: text}
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
	// wide finds more, for records: all below the name of a secret, and what is
	// only an example.
	wide    bool
	persons bool
	fixed   bool // finds only tokens of known services
	nested  int  // number of strings around the text
	begun   bool
	spans   []Span
	names   map[string]name // that were seen: rows have the same ones
}

// A name is what is known of the name of a field.
type name struct {
	secret bool // what it names is a secret
	clean  bool // nothing is to be found in it
	counts bool // a number that it names is none
}

// A holder is an object or array that is open.
type holder struct {
	array  bool
	value  bool // of an object: a value follows
	secret bool // the values are secrets
	counts bool
}

// walk finds all, and reports whether the text may be JSON.
func (f *jsonFinder) walk() (ok bool) {
	var places [16]holder
	open := places[:0]
	top := &holder{array: true} // of what is open, or of nothing
	values := 0
	for i := 0; i < len(f.text); {
		secret := top.secret && (top.array || top.value)
		switch c := f.text[i]; c {
		case ' ', '\n', '\t', '\r':
			i++
		case '{', '[':
			if len(open) == 10_000 {
				return false
			}
			f.begun = true
			open = append(open, holder{array: c == '[', secret: secret && (f.wide || c == '['), counts: top.counts})
			if f.wide && c == '{' && secret {
				open[len(open)-1].secret = true
			}
			top = &open[len(open)-1]
			i++
		case '}', ']':
			if len(open) == 0 || top.array != (c == ']') {
				return false
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				top = &holder{array: true}
				values++
			} else {
				top = &open[len(open)-1]
			}
			i++
		case ':':
			if top.array {
				return false
			}
			top.value = true
			i++
		case ',':
			if len(open) == 0 {
				return false
			}
			top.value = false
			i++
		case '"':
			end, whole := endOfString(f.text, i)
			if !top.array && !top.value {
				f.key(i+1, end, top, open)
			} else {
				f.string(i+1, end, secret)
				values += 1 - min(1, len(open))
			}
			if !whole {
				return false
			}
			i = end + 1
		case 't', 'f', 'n':
			n := 4
			if c == 'f' {
				n = 5
			}
			if word := f.text[i:min(len(f.text), i+n)]; word != "true" && word != "false" && word != "null" {
				return false
			}
			values += 1 - min(1, len(open))
			i += n
		default:
			if !isDigit(c) && c != '-' {
				return false
			}
			end := i + 1
			for end < len(f.text) && (isDigit(f.text[end]) || strings.IndexByte(".eE+-", f.text[end]) >= 0) {
				end++
			}
			f.number(i, end, secret, top.counts)
			values += 1 - min(1, len(open))
			i = end
		}
	}
	return len(open) == 0 && values == 1
}

// endOfString is the place of the quote that closes the string that one at i
// opens; the end of the text if none does.
func endOfString(s string, i int) (end int, whole bool) {
	for i++; ; {
		n := strings.IndexByte(s[i:], '"')
		if n < 0 {
			return len(s), false
		}
		end, i = i+n, i+n+1
		slashes := end
		for s[slashes-1] == '\\' {
			slashes--
		}
		if (end-slashes)%2 == 0 {
			return end, true
		}
	}
}

// key finds what is in the name of a field, and notes what it says of the values.
func (f *jsonFinder) key(start, end int, top *holder, open []holder) {
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
	inherited := f.wide && len(open) > 1 && open[len(open)-2].secret && (open[len(open)-2].array || open[len(open)-2].value)
	top.secret, top.counts = n.secret || inherited, n.counts
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
	if t := strings.TrimLeft(plain, " \n"); t != "" && (t[0] == '{' || t[0] == '[') && f.nested < maxNested && !secret {
		inner := jsonFinder{text: plain, wide: f.wide, persons: f.persons, fixed: f.fixed, nested: f.nested + 1}
		if inner.walk() || inner.begun && end == len(f.text) {
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
		from, c := i, raw[i]
		n := len(out)
		if c != '\\' || i+1 == len(raw) {
			out = append(out, c)
			i++
		} else if raw[i+1] == 'u' {
			r := hexRune(raw[i+2:])
			i = min(i+6, len(raw))
			if utf16.IsSurrogate(r) && strings.HasPrefix(raw[i:], `\u`) {
				if both := utf16.DecodeRune(r, hexRune(raw[i+2:])); both != utf8.RuneError {
					r = both
					i = min(i+6, len(raw))
				}
			}
			out = utf8.AppendRune(out, r)
		} else {
			c = raw[i+1]
			if k := strings.IndexByte("ntrbf", c); k >= 0 {
				c = "\n\t\r\b\f"[k]
			}
			out = append(out, c)
			i += 2
		}
		for range len(out) - n {
			at = append(at, from)
		}
	}
	return string(out), append(at, len(raw))
}

func hexRune(s string) rune {
	n, _ := strconv.ParseUint(s[:min(4, len(s))], 16, 32)
	return rune(n)
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
