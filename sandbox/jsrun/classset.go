package jsrun

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A charSet is what a class with the flag v stands for: characters, and texts of
// several characters (ECMAScript 2024, 22.2.1, ClassSetExpression).
type charSet struct {
	ranges []unicode.Range32 // in order, apart, of stride 1
	texts  []string
}

// errStringsOf is about classes of texts, which only \q{…} brings into sets.
var errStringsOf = errors.New("properties of strings are known here outside of classes only")

// The errors of a class that other engines refuse too, in their words.
var (
	errSetOperation = errors.New("invalid set operation in character class")
	errSetCharacter = errors.New("invalid character in character class")
)

// A setReader reads one class of the flag v.
type setReader struct {
	in     string
	pos    int
	depth  int
	ranged bool // the operand that was read last is a range
	fold   bool // the flag i: what is in a set is in it in both cases
}

// class reads the class whose "[" is at pos, to behind its "]".
func (s *setReader) class() (charSet, error) {
	if s.depth++; s.depth > maxNesting {
		return charSet{}, errors.New("classes are nested too deeply")
	}
	defer func() { s.depth-- }()
	s.pos++
	negated := strings.HasPrefix(s.in[s.pos:], "^")
	if negated {
		s.pos++
	}
	var set charSet
	op, open := "", false // the operator, and whether its operand is missing
	for n := 0; ; n++ {
		if s.pos >= len(s.in) {
			return set, errors.New("unterminated character class")
		}
		if s.in[s.pos] == ']' {
			if open {
				return set, errSetOperation
			}
			s.pos++
			break
		}
		if rest := s.in[s.pos:]; n > 0 && (strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "&&")) {
			// One operator is in a class, between operands that are no ranges.
			if open || op == "" && (n > 1 || s.ranged) || op != "" && op != rest[:2] {
				return set, errSetOperation
			}
			op, open = rest[:2], true
			s.pos += 2
			continue
		}
		if op != "" && !open {
			return set, errSetOperation
		}
		open = false
		operand, err := s.operand(op == "")
		if err != nil {
			return set, err
		}
		if s.fold {
			operand.ranges = folded(operand.ranges)
		}
		set = set.combined(op, operand)
	}
	if negated {
		if len(set.texts) > 0 {
			return set, errors.New("negated character class may contain strings")
		}
		set.ranges = complement(set.ranges)
	}
	return set, nil
}

// combined is the union, the difference ("--") or the intersection ("&&").
func (c charSet) combined(op string, d charSet) charSet {
	has := func(list []string, keep bool) func(string) bool {
		return func(t string) bool { return slices.Contains(list, t) == keep }
	}
	switch op {
	case "--":
		outside := complement(d.ranges)
		return charSet{intersection(c.ranges, outside), slices.DeleteFunc(slices.Clone(c.texts), has(d.texts, true))}
	case "&&":
		return charSet{intersection(c.ranges, d.ranges), slices.DeleteFunc(slices.Clone(c.texts), has(d.texts, false))}
	}
	return charSet{merged(append(slices.Clone(c.ranges), d.ranges...)), append(slices.Clone(c.texts), d.texts...)}
}

// operand reads a class within, an escape, a character or a range of them.
func (s *setReader) operand(ranges bool) (charSet, error) {
	if s.in[s.pos] == '[' {
		set, err := s.class()
		s.ranged = false
		return set, err
	}
	s.ranged = false
	set, char, err := s.item()
	if err != nil || char < 0 {
		return set, err
	}
	last := char
	if rest := s.in[s.pos:]; ranges && len(rest) > 1 && rest[0] == '-' && rest[1] != '-' {
		s.pos++
		s.ranged = true
		if _, last, err = s.item(); err != nil {
			return set, err
		}
		if last < char {
			return set, errors.New("range out of order in character class")
		}
	}
	return charSet{ranges: []unicode.Range32{{Lo: uint32(char), Hi: uint32(last), Stride: 1}}}, nil
}

// item reads one character, or an escape that stands for a set; char is -1
// then.
func (s *setReader) item() (set charSet, char rune, err error) {
	c, size := utf8.DecodeRuneInString(s.in[s.pos:])
	s.pos += size
	if c != '\\' {
		return set, c, s.allowed(c)
	}
	if s.pos >= len(s.in) {
		return set, 0, errors.New(`\ at end of pattern`)
	}
	c, size = utf8.DecodeRuneInString(s.in[s.pos:])
	s.pos += size
	switch c {
	case 'd', 'D', 's', 'S', 'w', 'W':
		return charSet{ranges: shorthand(c)}, -1, nil
	case 'p', 'P':
		name, err := s.braced()
		if err != nil {
			return set, 0, err
		}
		table, err := classTable(name)
		if name == "RGI_Emoji" {
			err = errStringsOf
		}
		if err != nil {
			return set, 0, err
		}
		set.ranges = rangesOf(table)
		if c == 'P' {
			set.ranges = complement(set.ranges)
		}
		return set, -1, nil
	case 'q':
		texts, err := s.texts()
		for _, t := range texts {
			if r, n := utf8.DecodeRuneInString(t); n > 0 && n == len(t) {
				set.ranges = merged(append(set.ranges, unicode.Range32{Lo: uint32(r), Hi: uint32(r), Stride: 1}))
			} else {
				set.texts = append(set.texts, t)
			}
		}
		return set, -1, err
	}
	char, err = s.escaped(c)
	return set, char, err
}

// escaped is the character of an escape whose letter c has been read.
func (s *setReader) escaped(c rune) (rune, error) {
	switch c {
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'v':
		return '\v', nil
	case 'f':
		return '\f', nil
	case 'b':
		return '\b', nil
	case '0':
		return 0, nil
	case 'x':
		return s.hex(2)
	case 'u':
		if strings.HasPrefix(s.in[s.pos:], "{") {
			digits, err := s.braced()
			if err != nil {
				return 0, err
			}
			n, err := strconv.ParseUint(digits, 16, 32)
			if err != nil || n > unicode.MaxRune {
				return 0, errors.New("invalid Unicode escape")
			}
			return rune(n), nil
		}
		hi, err := s.hex(4)
		if before := s.pos; err == nil && utf16.IsSurrogate(hi) && strings.HasPrefix(s.in[s.pos:], `\u`) {
			s.pos += 2
			lo, err := s.hex(4)
			if pair := utf16.DecodeRune(hi, lo); err == nil && pair != utf8.RuneError {
				return pair, nil
			}
			s.pos = before
		}
		return hi, err
	}
	return c, nil
}

// allowed says whether the character that was read may stand in a class as it
// is.
func (s *setReader) allowed(c rune) error {
	switch {
	case strings.ContainsRune(`()[]{}/-|`, c):
		return errSetCharacter
	case strings.ContainsRune("&!#$%*+,.:;<=>?@^`~", c) && strings.HasPrefix(s.in[s.pos:], string(c)):
		return errSetOperation
	}
	return nil
}

// texts reads the {…|…} of \q.
func (s *setReader) texts() ([]string, error) {
	if !strings.HasPrefix(s.in[s.pos:], "{") {
		return nil, errors.New(`braces are missing behind \q`)
	}
	s.pos++
	var texts []string
	var text []rune
	for s.pos < len(s.in) {
		switch c := s.in[s.pos]; c {
		case '}', '|':
			s.pos++
			texts, text = append(texts, string(text)), nil
			if c == '}' {
				return texts, nil
			}
			continue
		}
		set, char, err := s.item()
		if err == nil && (char < 0 || len(set.ranges) > 0) {
			err = errSetCharacter
		}
		if err != nil {
			return nil, err
		}
		text = append(text, char)
	}
	return nil, errors.New("unterminated character class")
}

func (s *setReader) hex(digits int) (rune, error) {
	end := min(s.pos+digits, len(s.in))
	n, err := strconv.ParseUint(s.in[s.pos:end], 16, 32)
	if err != nil || end-s.pos < digits {
		return 0, errors.New("invalid escape")
	}
	s.pos = end
	return rune(n), nil
}

// braced reads {…}.
func (s *setReader) braced() (string, error) {
	end := strings.IndexByte(s.in[s.pos:], '}')
	if end < 0 || s.in[s.pos] != '{' {
		return "", fmt.Errorf("braces are missing behind %s", s.in[max(0, s.pos-2):s.pos])
	}
	body := s.in[s.pos+1 : s.pos+end]
	s.pos += end + 1
	return body, nil
}

// shorthand is the class \d, \s or \w, or what is not in it for a capital.
func shorthand(c rune) []unicode.Range32 {
	one := func(lo, hi rune) unicode.Range32 { return unicode.Range32{Lo: uint32(lo), Hi: uint32(hi), Stride: 1} }
	var ranges []unicode.Range32
	switch unicode.ToLower(c) {
	case 'd':
		ranges = []unicode.Range32{one('0', '9')}
	case 'w':
		ranges = []unicode.Range32{one('0', '9'), one('A', 'Z'), one('_', '_'), one('a', 'z')}
	case 's':
		ranges = []unicode.Range32{one('\t', '\r'), one(' ', ' '), one(0xa0, 0xa0), one(0x1680, 0x1680), one(0x2000, 0x200a),
			one(0x2028, 0x2029), one(0x202f, 0x202f), one(0x205f, 0x205f), one(0x3000, 0x3000), one(0xfeff, 0xfeff)}
	}
	if unicode.IsUpper(c) {
		return complement(ranges)
	}
	return ranges
}

// rangesOf is the union of tables.
func rangesOf(tables []*unicode.RangeTable) []unicode.Range32 {
	var ranges []unicode.Range32
	for _, t := range tables {
		for _, r := range t.R16 {
			ranges = addRange(ranges, uint32(r.Lo), uint32(r.Hi), uint32(r.Stride))
		}
		for _, r := range t.R32 {
			ranges = addRange(ranges, r.Lo, r.Hi, r.Stride)
		}
	}
	return merged(ranges)
}

// complement is what lies between ranges that are in order and apart.
func complement(ranges []unicode.Range32) []unicode.Range32 {
	var gaps []unicode.Range32
	next := uint32(0)
	for _, r := range ranges {
		if r.Lo > next {
			gaps = append(gaps, unicode.Range32{Lo: next, Hi: r.Lo - 1, Stride: 1})
		}
		next = r.Hi + 1
	}
	if next <= unicode.MaxRune {
		gaps = append(gaps, unicode.Range32{Lo: next, Hi: unicode.MaxRune, Stride: 1})
	}
	return gaps
}

// intersection is what two sets of ranges, each in order and apart, share.
func intersection(a, b []unicode.Range32) []unicode.Range32 {
	var both []unicode.Range32
	for i, j := 0, 0; i < len(a) && j < len(b); {
		lo, hi := max(a[i].Lo, b[j].Lo), min(a[i].Hi, b[j].Hi)
		if lo <= hi {
			both = append(both, unicode.Range32{Lo: lo, Hi: hi, Stride: 1})
		}
		if a[i].Hi < b[j].Hi {
			i++
		} else {
			j++
		}
	}
	return both
}

// write writes the set as a pattern of the flag u.
func (c charSet) write(b *strings.Builder) {
	if len(c.texts) == 0 {
		writeRanges(b, c.ranges)
		return
	}
	// The longest text that matches counts.
	texts := slices.Clone(c.texts)
	slices.SortStableFunc(texts, func(x, y string) int { return len(y) - len(x) })
	b.WriteString("(?:")
	empty := false
	for _, t := range texts {
		if t == "" {
			empty = true
			continue
		}
		for _, r := range t {
			writeChar(b, uint32(r))
		}
		b.WriteByte('|')
	}
	writeRanges(b, c.ranges)
	if empty {
		b.WriteByte('|')
	}
	b.WriteByte(')')
}

// writeRanges writes a class; one of nothing matches nothing.
func writeRanges(b *strings.Builder, ranges []unicode.Range32) {
	b.WriteByte('[')
	for _, r := range ranges {
		writeRange(b, r.Lo, r.Hi)
	}
	b.WriteByte(']')
}

// folded is ranges with the other cases of what is in them.
func folded(ranges []unicode.Range32) []unicode.Range32 {
	const last = 0x1E943 // that has another case
	all := slices.Clone(ranges)
	for _, r := range ranges {
		for c := rune(r.Lo); c <= rune(min(r.Hi, last)); c++ {
			for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
				all = append(all, unicode.Range32{Lo: uint32(f), Hi: uint32(f), Stride: 1})
			}
		}
	}
	return merged(all)
}
