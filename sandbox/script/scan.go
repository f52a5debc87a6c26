package script

import (
	"fmt"
	"strings"
)

// maxNesting bounds the nesting of brackets. Compilers recurse, and a program of brackets alone
// would exhaust their stack.
const maxNesting = 500

// A Kind is the kind of a token, as far as reading a program requires.
type Kind uint8

// The kinds of tokens.
const (
	Word     Kind = iota // an identifier or a keyword
	Punct                // an operator or a bracket
	String               // a string, or a template without substitutions
	Template             // a piece of a template with substitutions
	Number
	Regexp
)

// A Token is one token of a program. Depth is the number of brackets around it; brackets do not
// count themselves.
type Token struct {
	Kind       Kind
	Start, End int
	Depth      int
	condition  bool // a ")" that ends the condition of an if or a loop
}

// Tokens are the tokens of a program in TypeScript, which is not parsed: comments are
// skipped; strings, templates and regular expressions are one token each. Any text can
// be scanned; for other text than TypeScript the tokens are meaningless.
type Tokens struct {
	Src        string
	List       []Token
	pos        int
	open       []openBracket
	deepest    int
	directives []int // offsets of comments that are directives for TypeScript
}

// An openBracket bracket waits for its closing one.
type openBracket struct {
	char      byte // one of ( [ { or $ for a substitution in a template
	condition bool // a "(" after if, while, for or with
}

// Scan splits a text into tokens.
func Scan(src string) *Tokens {
	s := &Tokens{Src: src}
	if strings.HasPrefix(src, "#!") {
		s.line()
	}
	for s.pos < len(src) {
		s.next()
	}
	return s
}

// Text returns the text of token i, or "" outside the program.
func (s *Tokens) Text(i int) string {
	if i < 0 || i >= len(s.List) {
		return ""
	}
	return s.Src[s.List[i].Start:s.List[i].End]
}

// Kind returns the kind of token i.
func (s *Tokens) Kind(i int) Kind {
	if i < 0 || i >= len(s.List) {
		return Punct
	}
	return s.List[i].Kind
}

func (s *Tokens) emit(k Kind, end int) {
	s.List = append(s.List, Token{Kind: k, Start: s.pos, End: end, Depth: len(s.open)})
	s.pos = end
}

func (s *Tokens) at(i int) byte {
	if i < len(s.Src) {
		return s.Src[i]
	}
	return 0
}

func (s *Tokens) next() {
	if n := lineBreak(s.Src, s.pos); n > 0 {
		s.pos += n
		return
	}
	switch c := s.Src[s.pos]; {
	case c == ' ' || c == '\t':
		s.pos++
	case c == '/' && s.at(s.pos+1) == '/':
		s.line()
	case c == '/' && s.at(s.pos+1) == '*':
		s.comment()
	case c == '"' || c == '\'':
		s.emit(String, s.stringEnd(c))
	case c == '`':
		s.template()
	case isWord(c):
		end := s.pos
		for end < len(s.Src) && (isWord(s.Src[end]) || isDigit(s.Src[end])) && lineBreak(s.Src, end) == 0 {
			end++
		}
		s.emit(Word, end)
	case isDigit(c) || c == '.' && isDigit(s.at(s.pos+1)):
		s.emit(Number, s.numberEnd())
	case c == '/' && s.regexAllowed():
		s.emit(Regexp, s.regexEnd())
	default:
		s.punct(c)
	}
}

// lineBreak returns the length of the line end at i, in bytes, or 0. JavaScript has four
// characters that end a line, two of them beyond ASCII.
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
func (s *Tokens) line() {
	start := s.pos
	for s.pos < len(s.Src) && lineBreak(s.Src, s.pos) == 0 {
		s.pos++
	}
	if strings.HasPrefix(s.Src[start:s.pos], "///") && directive().MatchString(s.Src[start:s.pos]) {
		s.directives = append(s.directives, start)
	}
}

func (s *Tokens) comment() {
	end := strings.Index(s.Src[s.pos+2:], "*/")
	if end < 0 {
		end = len(s.Src)
	} else {
		end += s.pos + 4
	}
	s.pos = end
}

func (s *Tokens) stringEnd(quote byte) int {
	for i := s.pos + 1; i < len(s.Src); i++ {
		switch s.Src[i] {
		case '\\':
			if i++; strings.HasPrefix(s.Src[min(i, len(s.Src)):], "\r\n") {
				i++ // one line end
			}
		case quote:
			return i + 1
		case '\n', '\r': // the other two may occur in a string
			return i
		}
	}
	return len(s.Src)
}

// template reads from a backquote, or from the brace that ends a substitution, to the next
// substitution or the end.
func (s *Tokens) template() {
	first := s.Src[s.pos] == '`'
	for i := s.pos + 1; i < len(s.Src); i++ {
		switch {
		case s.Src[i] == '\\':
			i++
		case s.Src[i] == '`':
			if first {
				s.emit(String, i+1)
			} else {
				s.emit(Template, i+1)
			}
			return
		case s.Src[i] == '$' && s.at(i+1) == '{':
			s.emit(Template, i+2)
			s.push('$')
			return
		}
	}
	s.emit(Template, len(s.Src))
}

func (s *Tokens) numberEnd() int {
	i := s.pos
	for i < len(s.Src) {
		c := s.Src[i]
		sign := (c == '+' || c == '-') && s.Src[i-1]|0x20 == 'e' && !strings.HasPrefix(s.Src[s.pos:], "0x")
		if !isWord(c) && !isDigit(c) && c != '.' && !(sign && i > s.pos) {
			break
		}
		i++
	}
	return i
}

func (s *Tokens) regexEnd() int {
	class := false
	i := s.pos + 1
	for ; i < len(s.Src) && lineBreak(s.Src, i) == 0; i++ {
		switch s.Src[i] {
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
			for i++; i < len(s.Src) && isWord(s.Src[i]); i++ {
			}
			return i
		}
	}
	return min(i, len(s.Src))
}

// beforeRegex are the words after which "/" begins a regular expression.
var beforeRegex = set("return typeof case in of delete void throw new else do await yield instanceof")

// regexAllowed distinguishes a regular expression from a division, by the preceding token.
func (s *Tokens) regexAllowed() bool {
	i := len(s.List) - 1
	switch s.Kind(i) {
	case Word:
		return beforeRegex[s.Text(i)] && s.Text(i-1) != "."
	case String, Number, Regexp:
		return false
	case Template:
		return strings.HasSuffix(s.Text(i), "{")
	}
	switch s.Text(i) {
	case "]", "++", "--":
		return false
	case ")":
		return s.List[i].condition
	case "!": // TypeScript's x! is a value
		before := i - 1
		value := s.Kind(before) != Punct || s.Text(before) == ")" || s.Text(before) == "]"
		return !value || before < 0 || s.List[before].End != s.List[i].Start
	}
	return true
}

// conditional are words followed by a condition in parentheses and then a statement.
var conditional = set("if while for with")

var longPuncts = []string{"...", "=>", "?.", "++", "--"}

func (s *Tokens) punct(c byte) {
	switch c {
	case '(', '[', '{':
		s.emit(Punct, s.pos+1)
		s.push(c)
		return
	case ')', ']', '}':
		var o openBracket
		if n := len(s.open); n > 0 {
			o, s.open = s.open[n-1], s.open[:n-1]
		}
		if o.char == '$' && c == '}' {
			s.template()
			return
		}
		s.emit(Punct, s.pos+1)
		s.List[len(s.List)-1].condition = o.condition
		return
	}
	for _, p := range longPuncts {
		if strings.HasPrefix(s.Src[s.pos:], p) && !(p == "?." && isDigit(s.at(s.pos+2))) {
			s.emit(Punct, s.pos+len(p))
			return
		}
	}
	s.emit(Punct, s.pos+1)
}

func (s *Tokens) push(c byte) {
	before := len(s.List) - 2
	condition := c == '(' && conditional[s.Text(before)] && s.Text(before-1) != "."
	s.open = append(s.open, openBracket{c, condition})
	s.deepest = max(s.deepest, len(s.open))
}

// Closing returns the index of the bracket that closes the one at i, or -1.
func (s *Tokens) Closing(i int) int {
	for j := i + 1; j < len(s.List); j++ {
		if s.List[j].Depth <= s.List[i].Depth && s.Kind(j) == Punct {
			switch s.Text(j) {
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

// tooDeep returns the error of a program that no compiler should process.
func (s *Tokens) tooDeep() error {
	if s.deepest <= maxNesting {
		return nil
	}
	return fmt.Errorf("brackets are nested %d deep; the limit is %d\n0 tools called", s.deepest, maxNesting)
}
