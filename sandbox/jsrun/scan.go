package jsrun

import (
	"fmt"
	"strings"
)

// maxNesting is how deeply brackets may be nested. Compilers recurse, and a
// program of brackets alone would use up their stack.
const maxNesting = 500

// A kind is what a token is, as far as preparation needs to know.
type kind uint8

const (
	word     kind = iota // an identifier or a keyword
	punct                // an operator or a bracket
	str                  // a string, or a template without substitutions
	template             // a piece of a template with substitutions
	number
	regex
)

// A token is one token of a program. depth is the number of brackets that
// enclose it; an opening bracket and its closing one count as outside.
type token struct {
	kind       kind
	start, end int
	depth      int
	newline    bool // a line ends between the token before and this one
	condition  bool // a ")" that ends the condition of an if or a loop
}

// A scanner splits TypeScript into tokens without parsing it: comments are
// skipped, strings, templates and regular expressions are one token. It reads
// anything; what is no TypeScript gives tokens that nobody can use.
type scanner struct {
	src     string
	pos     int
	tokens  []token
	open    []opened
	newline bool
	deepest int
	orders  []int // where comments are that a TypeScript compiler obeys
}

// An opened bracket waits for its other half.
type opened struct {
	char      byte // one of ( [ { or $ for a substitution in a template
	condition bool // a "(" after if, while, for or with
}

func scan(src string) *scanner {
	s := &scanner{src: src}
	if strings.HasPrefix(src, "#!") {
		s.line()
	}
	for s.pos < len(src) {
		s.next()
	}
	return s
}

// text returns the text of token i; it is empty outside of the program.
func (s *scanner) text(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return s.src[s.tokens[i].start:s.tokens[i].end]
}

func (s *scanner) kind(i int) kind {
	if i < 0 || i >= len(s.tokens) {
		return punct
	}
	return s.tokens[i].kind
}

func (s *scanner) emit(k kind, end int) {
	s.tokens = append(s.tokens, token{kind: k, start: s.pos, end: end, depth: len(s.open), newline: s.newline})
	s.pos = end
	s.newline = false
}

func (s *scanner) at(i int) byte {
	if i < len(s.src) {
		return s.src[i]
	}
	return 0
}

func (s *scanner) next() {
	if n := lineBreak(s.src, s.pos); n > 0 {
		s.newline = true
		s.pos += n
		return
	}
	switch c := s.src[s.pos]; {
	case c == ' ' || c == '\t':
		s.pos++
	case c == '/' && s.at(s.pos+1) == '/':
		s.line()
	case c == '/' && s.at(s.pos+1) == '*':
		s.comment()
	case c == '"' || c == '\'':
		s.emit(str, s.stringEnd(c))
	case c == '`':
		s.template()
	case isWord(c):
		end := s.pos
		for end < len(s.src) && (isWord(s.src[end]) || isDigit(s.src[end])) && lineBreak(s.src, end) == 0 {
			end++
		}
		s.emit(word, end)
	case isDigit(c) || c == '.' && isDigit(s.at(s.pos+1)):
		s.emit(number, s.numberEnd())
	case c == '/' && s.regexAllowed():
		s.emit(regex, s.regexEnd())
	default:
		s.punct(c)
	}
}

// lineBreak is the length of what ends a line at i, in bytes; 0 if none ends.
// JavaScript has four characters that do, two of them beyond ASCII.
func lineBreak(src string, i int) int {
	switch src[i] {
	case '\n', '\r':
		return 1
	case 0xE2:
		if rest := src[i:]; strings.HasPrefix(rest, "\u2028") || strings.HasPrefix(rest, "\u2029") {
			return 3
		}
	}
	return 0
}

// line skips a comment to the end of its line.
func (s *scanner) line() {
	start := s.pos
	for s.pos < len(s.src) && lineBreak(s.src, s.pos) == 0 {
		s.pos++
	}
	if strings.HasPrefix(s.src[start:s.pos], "///") && directive().MatchString(s.src[start:s.pos]) {
		s.orders = append(s.orders, start)
	}
}

func (s *scanner) comment() {
	end := strings.Index(s.src[s.pos+2:], "*/")
	if end < 0 {
		end = len(s.src)
	} else {
		end += s.pos + 4
	}
	s.newline = s.newline || strings.ContainsAny(s.src[s.pos:end], "\n\r\u2028\u2029")
	s.pos = end
}

func (s *scanner) stringEnd(quote byte) int {
	for i := s.pos + 1; i < len(s.src); i++ {
		switch s.src[i] {
		case '\\':
			if i++; strings.HasPrefix(s.src[min(i, len(s.src)):], "\r\n") {
				i++ // one end of a line
			}
		case quote:
			return i + 1
		case '\n', '\r': // the other two may stand in a string
			return i
		}
	}
	return len(s.src)
}

// template reads from a backquote, or from the brace that ends a
// substitution, to the next substitution or the end.
func (s *scanner) template() {
	first := s.src[s.pos] == '`'
	for i := s.pos + 1; i < len(s.src); i++ {
		switch {
		case s.src[i] == '\\':
			i++
		case s.src[i] == '`':
			if first {
				s.emit(str, i+1)
			} else {
				s.emit(template, i+1)
			}
			return
		case s.src[i] == '$' && s.at(i+1) == '{':
			s.emit(template, i+2)
			s.push('$')
			return
		}
	}
	s.emit(template, len(s.src))
}

func (s *scanner) numberEnd() int {
	i := s.pos
	for i < len(s.src) {
		c := s.src[i]
		sign := (c == '+' || c == '-') && s.src[i-1]|0x20 == 'e' && !strings.HasPrefix(s.src[s.pos:], "0x")
		if !isWord(c) && !isDigit(c) && c != '.' && !(sign && i > s.pos) {
			break
		}
		i++
	}
	return i
}

func (s *scanner) regexEnd() int {
	class := false
	i := s.pos + 1
	for ; i < len(s.src) && lineBreak(s.src, i) == 0; i++ {
		switch s.src[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if class {
				continue
			}
			for i++; i < len(s.src) && isWord(s.src[i]); i++ {
			}
			return i
		}
	}
	return min(i, len(s.src))
}

// beforeRegex are the words after which "/" begins a regular expression.
var beforeRegex = set("return typeof case in of delete void throw new else do await yield instanceof")

// regexAllowed tells a regular expression from a division, by what is before.
func (s *scanner) regexAllowed() bool {
	i := len(s.tokens) - 1
	switch s.kind(i) {
	case word:
		return beforeRegex[s.text(i)] && s.text(i-1) != "."
	case str, number, regex:
		return false
	case template:
		return strings.HasSuffix(s.text(i), "{")
	}
	switch s.text(i) {
	case "]", "++", "--":
		return false
	case ")":
		return s.tokens[i].condition
	case "!": // TypeScript's x! is a value
		before := i - 1
		value := s.kind(before) != punct || s.text(before) == ")" || s.text(before) == "]"
		return !value || before < 0 || s.tokens[before].end != s.tokens[i].start
	}
	return true
}

// conditional are the words whose parentheses hold a condition, after which a
// statement begins.
var conditional = set("if while for with")

var longPuncts = []string{"...", "=>", "?.", "++", "--"}

func (s *scanner) punct(c byte) {
	switch c {
	case '(', '[', '{':
		s.emit(punct, s.pos+1)
		s.push(c)
		return
	case ')', ']', '}':
		var o opened
		if n := len(s.open); n > 0 {
			o, s.open = s.open[n-1], s.open[:n-1]
		}
		if o.char == '$' && c == '}' {
			s.template()
			return
		}
		s.emit(punct, s.pos+1)
		s.tokens[len(s.tokens)-1].condition = o.condition
		return
	}
	for _, p := range longPuncts {
		if strings.HasPrefix(s.src[s.pos:], p) && !(p == "?." && isDigit(s.at(s.pos+2))) {
			s.emit(punct, s.pos+len(p))
			return
		}
	}
	s.emit(punct, s.pos+1)
}

func (s *scanner) push(c byte) {
	before := len(s.tokens) - 2
	condition := c == '(' && conditional[s.text(before)] && s.text(before-1) != "."
	s.open = append(s.open, opened{c, condition})
	s.deepest = max(s.deepest, len(s.open))
}

// closing returns the index of the bracket that closes the one at i, or -1.
func (s *scanner) closing(i int) int {
	for j := i + 1; j < len(s.tokens); j++ {
		if s.tokens[j].depth <= s.tokens[i].depth && s.kind(j) == punct {
			switch s.text(j) {
			case ")", "]", "}":
				return j
			}
			return -1
		}
	}
	return -1
}

func isWord(c byte) bool {
	return c >= 0x80 || c == '_' || c == '$' || c == '\\' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// tooDeep is the error of a program that no compiler should see.
func (s *scanner) tooDeep() error {
	if s.deepest <= maxNesting {
		return nil
	}
	return fmt.Errorf("brackets are nested %d deep; the limit is %d\n0 tools called", s.deepest, maxNesting)
}
