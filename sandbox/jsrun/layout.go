package jsrun

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// How inspected values are laid out: as Node does, whose output models read
// with ease.
const (
	maxInspectLine  = 80 // an object that fits is written on one line
	maxInspectInner = 3  // if no more levels than this are inside of it
	minGrouped      = 7  // so many items of an array may stand in columns
	maxColumns      = 12
)

// A shape is what an object is written as: its name, its brackets, and what is
// between them.
type shape struct {
	name        string
	open, close string
	items       []string
	array       bool // items stand in columns if there are many
	more        bool // the last item says how many are left out
	numbers     bool // all items are numbers, which stand to the right
}

// lay writes a shape whose object is depth levels deep.
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
		items = in.columns(s)
	}
	if in.deepest-depth < maxInspectInner && len(items) == len(s.items) {
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

// textLen is the length of a text as JavaScript counts.
func textLen(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// columns joins the items of an array to lines, in columns of which each is as
// wide as its widest item. Items of very different lengths stay as they are.
func (in *inspector) columns(s shape) []string {
	items := s.items
	if s.more {
		items = items[:len(items)-1]
	}
	const gap = 2 // a comma and a space
	total, widest := 0, 0
	widths := make([]int, len(items))
	for i, item := range items {
		widths[i] = utf8.RuneCountInString(item)
		total += widths[i] + gap
		widest = max(widest, widths[i])
	}
	cell := widest + gap
	if cell*3+in.indent >= maxInspectLine || float64(total)/float64(cell) <= 5 && widest > 6 {
		return s.items
	}
	// A character is about two and a half times as high as it is wide: that
	// many columns make the whole look square. Short items get more.
	bias := math.Sqrt(float64(cell) - float64(total)/float64(len(s.items)))
	width := math.Max(float64(cell)-3-bias, 1)
	square := math.Round(math.Sqrt(2.5*width*float64(len(items))) / width)
	n := min(int(square), (maxInspectLine-in.indent)/cell, maxColumns)
	if n <= 1 {
		return s.items
	}
	columns := make([]int, n)
	for i, w := range widths {
		columns[i%n] = max(columns[i%n], w+gap)
	}
	var lines []string
	for i := 0; i < len(items); i += n {
		var line strings.Builder
		for j := i; j < min(i+n, len(items)); j++ {
			text, width, last := items[j]+", ", widths[j]+gap, j == min(i+n, len(items))-1
			if last {
				text, width = items[j], widths[j]+gap
			}
			space := strings.Repeat(" ", columns[j-i]-width)
			switch {
			case s.numbers:
				line.WriteString(space + text)
			case last:
				line.WriteString(text)
			default:
				line.WriteString(text + space)
			}
		}
		lines = append(lines, line.String())
	}
	if s.more {
		lines = append(lines, s.items[len(s.items)-1])
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

// controls are the control characters that have an escape of their own.
var controls = map[rune]string{'\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`, '\v': `\v`}
