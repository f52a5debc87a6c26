package jsrun

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/rangetable"
)

// hasClass reports whether a regular expression has \p{…} or \P{…}.
func hasClass(pattern string) bool {
	return strings.Contains(pattern, `\p{`) || strings.Contains(pattern, `\P{`)
}

// spellOut writes the classes \p{…} and \P{…} of a pattern with the flag u as
// ranges of characters. It refuses flags that are not supported here.
func spellOut(pattern, flags string) (string, error) {
	for _, f := range []string{"v", "d"} {
		if strings.Contains(flags, f) {
			return "", fmt.Errorf("the flag %s is not supported here: %s", f, map[string]string{"v": "use u, with alternatives for sets", "d": "use match.index and the lengths of the groups"}[f])
		}
	}
	if strings.Count(flags, "u") != 1 || !hasClass(pattern) {
		return pattern, nil
	}
	p := speller{in: pattern}
	err := p.spell()
	return p.out.String(), err
}

// A speller goes through one pattern.
type speller struct {
	in  string
	out strings.Builder
}

func (p *speller) spell() error {
	class := false
	for i := 0; i < len(p.in); i++ {
		c := p.in[i]
		switch c {
		case '[':
			class = true
		case ']':
			class = false
		case '\\':
			end := strings.IndexByte(p.in[i:], '}')
			if next := p.in[i+1:]; end < 0 || !strings.HasPrefix(next, "p{") && !strings.HasPrefix(next, "P{") {
				p.out.WriteString(p.in[i:min(i+2, len(p.in))])
				i++
				continue
			}
			if err := p.class(p.in[i+3:i+end], p.in[i+1] == 'P', class); err != nil {
				return err
			}
			i += end
			continue
		}
		p.out.WriteByte(c)
	}
	return nil
}

// class writes the characters of the class called name.
func (p *speller) class(name string, negated, within bool) error {
	table, err := classTable(name)
	if err != nil {
		return err
	}
	if !within {
		p.out.WriteByte('[')
	}
	writeTable(&p.out, table, negated)
	if !within {
		p.out.WriteByte(']')
	}
	return nil
}

// writeTable writes the ranges of a table, or those between them.
func writeTable(b *strings.Builder, tables []*unicode.RangeTable, negated bool) {
	var ranges []unicode.Range32
	rangetable.Visit(rangetable.Merge(tables...), func(r rune) {
		c := uint32(r)
		if n := len(ranges); n > 0 && ranges[n-1].Hi+1 == c {
			ranges[n-1].Hi = c
		} else {
			ranges = append(ranges, unicode.Range32{Lo: c, Hi: c})
		}
	})
	if negated {
		ranges = complement(ranges)
	}
	for _, r := range ranges {
		writeRange(b, r.Lo, r.Hi)
	}
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

// writeRange writes the characters from lo to hi. Surrogates are no characters of
// a text in UTF-8, and escaped.
func writeRange(b *strings.Builder, lo, hi uint32) {
	const first, last = 0xD800, 0xDFFF // surrogates
	if lo < first && hi > last {
		writeRange(b, lo, first-1)
		writeRange(b, first, last)
		writeRange(b, last+1, hi)
		return
	}
	writeChar(b, lo)
	if hi > lo {
		b.WriteByte('-')
		writeChar(b, hi)
	}
}

func writeChar(b *strings.Builder, c uint32) {
	if c < 0x80 || c >= 0xD800 && c <= 0xDFFF {
		fmt.Fprintf(b, `\u%04x`, c)
		return
	}
	b.WriteRune(rune(c))
}

// classTable returns the tables whose union is the class called name.
func classTable(name string) ([]*unicode.RangeTable, error) {
	kind, value, pair := strings.Cut(name, "=")
	if pair {
		switch kind {
		case "Script", "sc", "Script_Extensions", "scx":
			if long, ok := scriptNames[value]; ok {
				value = long
			}
			if t := unicode.Scripts[value]; t != nil {
				return []*unicode.RangeTable{t}, nil
			}
		case "General_Category", "gc":
			if t := category(value); t != nil {
				return []*unicode.RangeTable{t}, nil
			}
		}
	} else if t := category(name); t != nil {
		return []*unicode.RangeTable{t}, nil
	} else if t := binaryProperty(name); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf(`invalid property name in \p{%s}`, name)
}

func category(name string) *unicode.RangeTable {
	if short, ok := unicode.CategoryAliases[name]; ok {
		name = short
	}
	return unicode.Categories[name]
}

// scriptNames are short names of scripts.
var scriptNames = map[string]string{
	"Latn": "Latin", "Grek": "Greek", "Cyrl": "Cyrillic", "Arab": "Arabic", "Hebr": "Hebrew", "Hani": "Han",
	"Hira": "Hiragana", "Kana": "Katakana", "Hang": "Hangul", "Thai": "Thai", "Deva": "Devanagari",
}

// binaryProperty returns the tables of a property that a character has or has
// not; nil for an unknown one.
func binaryProperty(name string) []*unicode.RangeTable {
	p := unicode.Properties
	switch name {
	case "Alphabetic", "Alpha":
		return []*unicode.RangeTable{unicode.L, unicode.Nl, p["Other_Alphabetic"]}
	case "Uppercase", "Upper":
		return []*unicode.RangeTable{unicode.Lu, p["Other_Uppercase"]}
	case "Lowercase", "Lower":
		return []*unicode.RangeTable{unicode.Ll, p["Other_Lowercase"]}
	}
	if t := propertyTables()[name]; t != nil {
		return []*unicode.RangeTable{t}
	}
	if t := p[name]; t != nil && !strings.HasPrefix(name, "Other_") {
		return []*unicode.RangeTable{t}
	}
	return nil
}
