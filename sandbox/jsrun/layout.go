package jsrun

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Inspected values have the layout of Node, which models know.
const (
	maxInspectLine  = 80 // the length of an object on one line
	maxInspectInner = 3  // the levels in an object on one line
	minGrouped      = 7  // the items of an array with several items per line
)

// A shape is the text of an object in parts: its name, its brackets, and the items between them.
type shape struct {
	name        string
	open, close string
	items       []string
	array       bool // several items share a line if there are many
}

// lay formats a shape of an object at the given depth.
func (in *inspector) lay(s shape, depth int) string {
	prefix := s.name
	if prefix != "" && s.open != "" {
		prefix += " "
	}
	if len(s.items) == 0 {
		return prefix + s.open + s.close
	}
	items := s.items
	if s.array && len(items) >= minGrouped {
		items = in.filled(items)
	}
	if in.deepest-depth < maxInspectInner && (len(items) == len(s.items) || len(items) == 1) {
		joined := strings.Join(items, ", ")
		width := 2*len(items) + in.indent + len(s.open) + len(s.name) + 10
		for _, item := range items {
			width += textLen(item)
		}
		if width <= maxInspectLine && !strings.Contains(joined, "\n") && !strings.Contains(s.name, "\n") {
			return prefix + s.open + " " + joined + " " + s.close
		}
	}
	indent := "\n" + strings.Repeat(" ", in.indent)
	return prefix + s.open + indent + "  " + strings.Join(items, ","+indent+"  ") + indent + s.close
}

// textLen returns the length of a text in UTF-16.
func textLen(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// filled joins the items of an array to lines, as many per line as fit.
func (in *inspector) filled(items []string) []string {
	lines := []string{items[0]}
	for _, item := range items[1:] {
		last := &lines[len(lines)-1]
		if textLen(*last)+2+textLen(item)+in.indent >= maxInspectLine || strings.Contains(item, "\n") || strings.Contains(*last, "\n") {
			lines = append(lines, item)
		} else {
			*last += ", " + item
		}
	}
	return lines
}

// quoteJS quotes a string with the quote that needs the fewest escapes.
func quoteJS(s string) string {
	quote := '\''
	if strings.ContainsRune(s, '\'') {
		if !strings.ContainsRune(s, '"') {
			quote = '"'
		} else if !strings.ContainsRune(s, '`') && !strings.Contains(s, "${") {
			quote = '`'
		}
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || 0x7f <= r && r < 0xa0:
			b.WriteString(cmp.Or(controls[r], fmt.Sprintf(`\x%02X`, r)))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}

// controls maps the control characters that have short escapes.
var controls = map[rune]string{'\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`, '\v': `\v`}
