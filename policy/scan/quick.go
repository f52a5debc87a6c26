package scan

import "strings"

// triggers are the classes of which every signal needs one, or two that pairs
// has. A text without them is not looked at any closer.
const triggers = hush | silent | mutiny | ignore | anyTool | sole | mark | memo | future | creds | environ | command | path | talk | voided | outranks | coded

var pairs = [...]class{tell | neg, keep | hidden, hide | user, agreed | user, ai | note, decode | do, sink | send, sink | bcc, sink | party}

// worth reports whether a text with these classes has to be looked at.
func (c class) worth(at place) bool {
	for _, p := range pairs {
		if c&p == p {
			return true
		}
	}
	return c&triggers != 0 || at == result && c&do != 0
}

// dull reports whether a text has none of the triggers, by one pass over its
// bytes, and which classes are in it. It errs towards false: whatever is not plain
// words, or may be a name of a tool, an address or a code, is for the closer look.
func (w *walker) dull(s string, f *features, at place) (all class, ok bool) {
	if f.run || f.entity || f.unseen || f.singles || f.blanks || f.percents > 0 || f.escapes > 0 || f.bits >= 40 || f.pairs >= 8 {
		return 0, false
	}
	if f.address {
		if strings.ContainsAny(s, "${<[") {
			return 0, false
		}
		all = sink
	}
	l := theLexicon()
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case alphanumeric[c]:
			found, _ := l.match(s, i)
			all |= found
			start, digits := i, 0
			for i < len(s) && alphanumeric[s[i]] {
				if s[i] <= '9' {
					digits++
				}
				i++
			}
			if digits > 0 && i-start >= 4 {
				return 0, false // letters as digits, or an account
			}
			if i+1 < len(s) && s[i+1] > ' ' && (s[i] == '-' || s[i] == '.' || s[i] == '/' || s[i] == ':') && (start == 0 || !isIdent(s[start-1])) {
				name, _ := ident(s, start)
				if w.scope.foreign(strings.ToLower(name), false, false) || strings.IndexByte(name, '.') > 0 && collects(strings.ToLower(name)) {
					return 0, false
				}
			}
			if word := s[start:i]; len(word) >= 4 && (word[0]|0x20 == 't' && strings.EqualFold(word[:4], "tool") || word[0]|0x20 == 'c' && strings.EqualFold(word[:4], "call") || strings.EqualFold(word, "function")) {
				return 0, false // a name may stand beside it
			}
		case c == '.' || c == '/' || c == '\\':
			if i == 0 || !alphanumeric[s[i-1]] {
				found, _ := l.match(s, i)
				all |= found
			}
			i++
		case c == '<', (c == '[' || c == '#' || c == '{') && marker(strings.ToLower(s[i:min(i+24, len(s))])) > 0,
			c == '[' && i+1 < len(s) && (s[i+1] == '/' || s[i+1]|0x20 == 'c'), c == '`', c == '"', c == '_', c == '@', c == '+', c == '\'' && (i == 0 || !alphanumeric[s[i-1]]):
			return 0, false
		default:
			i++
		}
		if all&triggers != 0 {
			return 0, false
		}
	}
	return all, !all.worth(at)
}

var alphanumeric = func() (t [256]bool) {
	for c := range t {
		t[c] = isWord(byte(c)) || isWord(byte(c)|0x20) && c >= 'A' && c <= 'Z'
	}
	return t
}()
