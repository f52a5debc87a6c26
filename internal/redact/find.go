package redact

import (
	"strings"
	"sync"
)

// A candidate is the possible beginning of a secret: a prefix of tokens, the hint of a shape, or
// the name of a field.
type candidate struct {
	text  string
	least int // of a prefix: the least number of characters after it
	class class
	kind  string // of a prefix
	shape *shape
}

// A bucket contains the candidates with the same first two characters, ignoring case.
type bucket struct {
	third uint32 // a bit for each third character
	list  []candidate
}

// A trigger finds all candidates in one pass: two bytes select the bucket, and usually there is
// none.
type trigger struct {
	index   [1 << 14]uint8 // of buckets, by two bytes of 7 bits; 0 is none
	buckets []bucket       // the second is empty, for what other finds
}

var triggers = sync.OnceValue(func() *trigger {
	t := &trigger{buckets: make([]bucket, 2)}
	for i := range uint16(len(t.index)) {
		a, b := byte(i>>7), byte(i&0x7f)
		if a == '@' || a == '+' && (isDigit(b) || b == '(') || isDigit(b) && (isDigit(a) || isAlpha(a)) || a == '-' && b == '-' || a == ':' && b == '/' {
			t.index[i] = 1
		}
	}
	for _, p := range prefixes {
		for _, text := range p.begins {
			t.add(candidate{text: text, least: p.least, class: p.class, kind: p.kind})
		}
	}
	for i := range shapes {
		t.add(candidate{text: shapes[i].hint, shape: &shapes[i]})
	}
	for _, name := range fields {
		t.add(candidate{text: name})
	}
	return t
})

func (t *trigger) add(c candidate) {
	i := &t.index[pair(c.text[0], c.text[1])]
	if *i < 2 {
		*i = uint8(len(t.buckets))
		t.buckets = append(t.buckets, bucket{})
	}
	k := &t.buckets[*i]
	if k.list = append(k.list, c); len(c.text) == 2 {
		k.third = ^uint32(0)
	} else {
		k.third |= 1 << (lowered[c.text[2]] & 31)
	}
}

func pair(a, b byte) uint16 { return uint16(lowered[a])<<7 | uint16(lowered[b]) }

// lowered maps bytes to lower case, and all non-ASCII bytes to one value.
var lowered = func() (t [256]uint8) {
	for c := range t {
		switch t[c] = uint8(c); {
		case 'A' <= c && c <= 'Z':
			t[c] += 'a' - 'A'
		case c >= 0x80:
			t[c] = 0x7f
		}
	}
	return t
}()

// find returns the secrets in text, and personal data if persons is set. They may overlap.
func (t *trigger) find(text string, persons bool) (spans []Span) {
	if len(text) < 6 {
		return nil
	}
	last := 0            // the end of the last span that excludes others
	named, inner := 0, 0 // the end of the last named secret, and the number of names in it
	a := lowered[text[0]]
	for i := 1; i < len(text); i++ {
		b := lowered[text[i]]
		hit := t.index[(uint16(a)<<7|uint16(b))&(1<<14-1)]
		letters := a >= 'a' && b >= 'a'
		a = b
		if hit == 0 {
			continue
		}
		var s Span
		if !letters && !(isDigit(b) && (!persons || i > 1 && isDigit(text[i-2]))) { // the second digit and later ones
			s = t.other(text, i-1, last, persons)
		}
		third := uint8(0)
		if i+1 < len(text) {
			third = lowered[text[i+1]]
		}
		if k := &t.buckets[hit]; s.End == 0 && k.third>>(third&31)&1 != 0 {
			for j := range k.list {
				c := &k.list[j]
				if len(c.text) > 2 && lowered[c.text[2]] != third {
					continue
				}
				if c.least > 0 {
					if end := c.token(text, i-1); end > 0 {
						s = Span{Type: c.kind, Start: i - 1, End: end}
						break
					}
				} else if beginsFolded(text[i-1:], c.text) {
					if c.shape == nil && i+maxName < named {
						if inner++; inner > maxInner {
							continue
						}
					}
					if f := c.inside(text, i-1); f.End > 0 {
						if spans = append(spans, f); c.shape == nil && i > named {
							named, inner = f.End, 0
						}
					}
				}
			}
		}
		if s.End > 0 {
			spans = append(spans, s)
			if last = s.End; last > i {
				i = last - 1
				a = lowered[text[i]]
			}
		}
	}
	return spans
}

// other finds a secret at i that has no fixed beginning; nothing before least is part of it.
func (t *trigger) other(text string, i, least int, persons bool) (s Span) {
	c := text[i]
	switch {
	case c == ':':
		if s = userinfo(text, i); s.End > 0 {
			s.Type = t.kindOf(text[s.Start:s.End], s.Type)
		}
	case c == '-':
		s = privateKey(text, i, least)
	case !persons:
	case c == '@':
		s = email(text, i, least)
	case c == '+':
		s = phone(text, i)
	case isDigit(c):
		s = number(text, i)
	case i > least && text[i-1]-'A' < 26 && c-'A' < 26:
		s = iban(text, i-1)
	}
	return s
}

// inside returns the secret whose shape or name begins at i, or the zero Span.
func (c *candidate) inside(text string, i int) Span {
	s := c.shape
	if s == nil {
		return assigned(text, i, i+len(c.text))
	}
	from := i
	switch {
	case s.before < 0 && from > 0 && isIn(word, text[from-1]) && text[from-1] != '-':
		return Span{}
	case s.before > 0:
		for from = max(0, from-s.before); from > 0 && i-from < 100 && isIn(word, text[from-1]); from-- {
		}
	}
	m := s.expr().FindStringSubmatchIndex(text[from:min(len(text), i+len(c.text)+s.after)])
	switch {
	case m == nil:
		return Span{}
	case len(m) > 2:
		m = m[2:]
	}
	return Span{Type: s.kind, Start: from + m[0], End: from + m[1]}
}

// kindOf returns the kind of a token with a known prefix, or otherwise.
func (t *trigger) kindOf(token, otherwise string) string {
	if len(token) < 8 {
		return otherwise
	}
	list := t.buckets[t.index[pair(token[0], token[1])]].list
	for i := range list {
		if list[i].least > 0 && list[i].token(token, 0) == len(token) {
			return list[i].kind
		}
	}
	return otherwise
}

const (
	// longest bounds a secret without a shape, in bytes.
	longest = 4 << 10
	// maxInner bounds the names of fields within a named secret that are examined, except those
	// within maxName bytes of its end.
	maxInner, maxName = 8, 64
	// maxWords bounds a token without digits, unless it has no separators.
	maxWords = 256
)

// assigned returns the secret after the name of a field, which is text[start:end]: password=…,
// "api_key": "…", --token …, <secret>….
func assigned(text string, start, end int) Span {
	name := text[start:end]
	i, quoted := end, false
	if i < len(text) && (text[i] == '"' || text[i] == '\'') {
		i, quoted = i+1, true
	}
	gap := blanks(text, i)
	if gap >= len(text) {
		return Span{}
	}
	least, from := 3, gap+1
	switch op := text[gap]; {
	case op == '>' && gap == end && start > 0 && text[start-1] == '<':
		least = 4
	case op != '=' && op != ':':
		if gap != end+1 || text[end] != ' ' || start < 2 || text[start-2:start] != "--" {
			return Span{}
		}
		least, from = 6, gap
	case strings.EqualFold(name, "token") && !quoted && (op == ':' || gap > end+1): // "unexpected token: x"
		if op != ':' || gap != end {
			return Span{}
		}
		least = 16
	}
	from = blanks(text, from)
	if from < len(text) && text[from] == '"' {
		for j := from + 1; j < min(len(text), from+longest); j++ {
			if text[j] == '\\' {
				j++
			} else if text[j] == '"' {
				return Span{Type: generic, Start: from + 1, End: j}
			}
		}
	}
	if from < len(text) && (text[from] == '"' || text[from] == '\'') {
		from++
	}
	to := from
	for to < len(text) && to-from < longest && text[to] > ' ' && strings.IndexByte("\"'&,;(){}[]", text[to]) < 0 {
		if text[to] == '<' && to > from && least == 4 {
			break
		}
		to++
	}
	switch {
	case strings.Contains(text[from:to], "·") && strings.Contains(text[from:to], "»"): // a token that replaces one
		return Span{}
	case to-from < least, least == 16 && strings.ContainsAny(text[from:to], "!#$%*:<>?@\\^`|"):
		return Span{}
	case strings.EqualFold(name, "pwd") && (text[from] == '/' || text[from] == '~'): // the working directory of a shell
		return Span{}
	}
	return Span{Type: generic, Start: from, End: to}
}

// blanks returns the index of the first character from i on that is not white space.
func blanks(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] >= '\t' && text[i] <= '\r') {
		i++
	}
	return i
}

// privateKey finds a private key by the dashes at i, which precede its first line or, if that is
// cut off, its last. A key without an end extends to the end of the text.
func privateKey(text string, i, least int) Span {
	const begin, end, most = "-----BEGIN ", "-----END ", 64 << 10
	names := func(at int) int { // the end of a line that names a private key
		line := text[at:min(len(text), at+80)]
		if stop := strings.Index(line, "-----"); stop >= 0 && strings.Contains(line[:stop], "PRIVATE KEY") {
			return at + stop + 5
		}
		return 0
	}
	switch head := text[i:]; {
	case beginsFolded(head, "-----begin "):
		from := names(i + len(begin))
		if from == 0 {
			return Span{}
		}
		body := text[from:min(len(text), from+most)]
		stop := strings.Index(body, end)
		if stop < 0 {
			return Span{"private_key", i, from + len(body), 0, false}
		}
		to := from + stop + len(end)
		return Span{"private_key", i, max(to, names(to)), 0, false}
	case strings.HasPrefix(head, end):
		to := names(i + len(end))
		for to > 0 && i > least && (isIn(base64, text[i-1]) || text[i-1] == '\n' || text[i-1] == '\r') {
			i--
		}
		return Span{"private_key", i, to, 0, false}
	}
	return Span{}
}

// token returns the end of the token that begins in text at i, or 0.
func (c *candidate) token(text string, i int) int {
	if !strings.HasPrefix(text[i:], c.text) {
		return 0
	}
	if len(c.text) < 6 && i > 0 && isIn(word, text[i-1]) && text[i-1] != '-' { // the end of a word
		return 0
	}
	start := i + len(c.text)
	end := start
	digits, separators := 0, 0
	for ; end < len(text) && isIn(c.class, text[end]); end++ {
		switch b := text[end]; {
		case isDigit(b):
			digits++
		case b == '-' || b == '_':
			separators++
		}
		// Otherwise a long text would be read again from each prefix in it.
		if n := end - start; n >= maxWords && digits == 0 && separators > 0 || c.class >= hexadecimal && n > c.least {
			return 0
		}
	}
	for end > start && text[end-1] == '.' { // the end of a sentence
		end--
	}
	n := end - start
	switch {
	case n < c.least, digits == 0 && separators > 0, // words-in-a-row are not tokens
		c.class >= hexadecimal && (n > c.least || end < len(text) && isIn(word, text[end])),
		c.class == letters && digits == 0:
		return 0
	}
	return end
}

// userinfo finds the secret before the host in an address whose colon is at i: a password, or a
// name of the length of a token.
func userinfo(text string, i int) Span {
	const longName = 20
	if !strings.HasPrefix(text[i:], "://") {
		return Span{}
	}
	start, colon, at := i+3, -1, -1
scan:
	for i := start; i < min(len(text), start+longest); i++ {
		switch c := text[i]; {
		case c <= ' ' || c == '/' || c == '"' || c == '\'':
			break scan
		case c == ':' && colon < 0 && at < 0:
			colon = i
		case c == '@':
			at = i
		}
	}
	switch {
	case colon >= 0 && at > colon+1:
		return Span{Type: "url_password", Start: colon + 1, End: at}
	case colon < 0 && at >= start+longName:
		return Span{Type: "url_password", Start: start, End: at}
	}
	return Span{}
}

func isIn(k class, c byte) bool {
	switch {
	case isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F':
		return true
	case 'g' <= c && c <= 'z' || 'G' <= c && c <= 'Z' || c == '_' || c == '-':
		return k != hexadecimal && (k != letters || c != '_' && c != '-')
	case c == '.':
		return k == dotted
	case c == '+' || c == '/' || c == '=':
		return k == base64
	}
	return false
}

// beginsFolded reports whether text begins with hint, which is in lower case, ignoring case.
func beginsFolded(text, hint string) bool {
	if len(text) < len(hint) {
		return false
	}
	for i := len(hint) - 1; i >= 0; i-- { // the beginning is known to match
		if lowered[text[i]] != hint[i] {
			return false
		}
	}
	return true
}
