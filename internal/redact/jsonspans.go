package redact

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// FindJSON is Find for JSON: offsets are those of the text as it is, spans lie
// within strings or are whole numbers, and what stands under a name such as
// "password" is a secret. It returns false if the text is not JSON.
func FindJSON(text string) ([]Span, bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	f := &jsonFinder{text: text}
	f.all()
	return f.spans, true
}

// ReplaceJSON is Replace for what FindJSON returns: the answer is JSON again.
func ReplaceJSON(text string, spans []Span, mark func(kind, value string) string) string {
	i := -1
	return Replace(text, spans, func(kind, value string) string {
		i++
		b := quoted(mark(kind, value))
		if spans[i].number {
			return string(b)
		}
		return string(b[1 : len(b)-1])
	})
}

// A jsonFinder visits the strings and numbers of valid JSON.
type jsonFinder struct {
	text  string
	spans []Span
	names map[string]bool // what secretField says: rows have the same names
}

func (f *jsonFinder) secretField(name string) bool {
	is, known := f.names[name]
	if !known {
		is = secretField(name)
		if f.names == nil {
			f.names = map[string]bool{}
		}
		if len(f.names) < 1000 {
			f.names[name] = is
		}
	}
	return is
}

// A holder is an object or array that is open.
type holder struct {
	array  bool
	secret bool // the values are secrets
	value  bool // of an object: a value follows
}

func (f *jsonFinder) all() {
	var open []holder
	for i := 0; i < len(f.text); {
		var top *holder
		if n := len(open); n > 0 {
			top = &open[n-1]
		}
		secret := top != nil && top.secret && (top.array || top.value)
		switch c := f.text[i]; {
		case c == '{':
			open = append(open, holder{})
			i++
			continue
		case c == '[':
			open = append(open, holder{array: true, secret: secret})
			i++
			continue
		case c == '}' || c == ']':
			open = open[:len(open)-1]
			if n := len(open); n > 0 {
				open[n-1].value = false
			}
			i++
			continue
		case c == ':':
			top.value = true
			i++
			continue
		case c == ',':
			if !top.array {
				top.value = false
			}
			i++
			continue
		case c == '"':
			end := endOfString(f.text, i)
			if top != nil && !top.array && !top.value {
				top.secret = f.secretField(f.text[i+1 : end-1])
			}
			f.string(i+1, end-1, secret)
			i = end
		case isDigit(c) || c == '-':
			end := i + 1
			for end < len(f.text) && (isDigit(f.text[end]) || strings.IndexByte(".eE+-", f.text[end]) >= 0) {
				end++
			}
			f.number(i, end, secret)
			i = end
		default:
			i++
		}
	}
}

func endOfString(s string, i int) int {
	for i++; s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// number finds cards and other numbers that should not leave.
func (f *jsonFinder) number(start, end int, secret bool) {
	v := f.text[start:end]
	if len(v) >= 14 && v[0] != '-' {
		if s := card(v, 0); s.End == len(v) {
			f.spans = append(f.spans, Span{s.Type, start, end, true})
			return
		}
	}
	if secret && len(v) >= 4 && !strings.ContainsAny(v, ".eE-") {
		f.spans = append(f.spans, Span{generic, start, end, true})
	}
}

// string finds what is in the string between its quotes.
func (f *jsonFinder) string(start, end int, secret bool) {
	raw := f.text[start:end]
	if len(raw) < 4 {
		return
	}
	plain, at := raw, []int(nil)
	if strings.IndexByte(raw, '\\') >= 0 {
		plain, at = unescape(raw)
	}
	spans := Find(plain)
	if secret && len(plain) >= 4 && !placeholder(plain, generic) && !described(plain) {
		whole := Span{Type: generic, Start: 0, End: len(plain)}
		if len(spans) == 1 && (spans[0].End-spans[0].Start)*10 >= len(plain)*6 && rank(spans[0].Type) > rank(generic) {
			whole.Type = spans[0].Type
			if spans[0].Start > 0 && (spans[0].Type == "bearer_token" || strings.EqualFold(strings.TrimSpace(plain[:spans[0].Start]), "bearer")) {
				whole.Start = spans[0].Start // the word "Bearer" may be seen
			}
		}
		spans = []Span{whole}
	}
	for _, s := range spans {
		if at != nil {
			s.Start, s.End = at[s.Start], at[s.End]
		}
		f.spans = append(f.spans, Span{Type: s.Type, Start: start + s.Start, End: start + s.End})
	}
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
		if c != '\\' {
			out = append(out, c)
			i++
		} else if raw[i+1] == 'u' {
			r := hexRune(raw[i+2:])
			i += 6
			if utf16.IsSurrogate(r) && strings.HasPrefix(raw[i:], `\u`) {
				if both := utf16.DecodeRune(r, hexRune(raw[i+2:])); both != utf8.RuneError {
					r = both
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		} else {
			switch c = raw[i+1]; c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'r':
				c = '\r'
			case 'b':
				c = '\b'
			case 'f':
				c = '\f'
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

// secretField reports whether what stands under a name is a secret. It is
// narrower than isSecretKey, which may hide more than it has to.
func secretField(key string) bool {
	if len(key) < 3 || len(key) > 64 {
		return false
	}
	key = separators.Replace(strings.ToLower(key))
	switch key {
	case "pass", "pwd", "passphrase", "passcode", "secret", "secrets", "token", "auth", "authorization", "credential", "credentials", "cookie", "setcookie", "jwt", "bearer":
		return true
	}
	for _, c := range []string{"page", "next", "prev", "continu", "sync", "cursor", "count", "type", "limit", "max", "min", "total", "public", "per", "last", "first", "start", "end", "expir"} {
		if strings.HasSuffix(key, "token") && strings.HasPrefix(key, c) || strings.Contains(key, c+"token") || key == c+"key" {
			return false
		}
	}
	for _, s := range []string{"password", "passwd", "secret", "secretkey", "token", "apikey", "accesskey", "secretaccesskey", "privatekey", "accountkey", "signingkey", "encryptionkey", "authkey", "connectionstring", "sessionid", "passwords", "apikeys"} {
		if strings.HasSuffix(key, s) {
			return true
		}
	}
	return false
}
