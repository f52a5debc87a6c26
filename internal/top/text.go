package top

import (
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A style is how a cell looks. Colour is only where attention is due, and never all
// that says so.
type style int

const (
	plain style = iota
	bold
	dim
	bad
	warn
	live
	chosen
)

var codes = [...]string{bold: "1", dim: "2", bad: "31", warn: "33", live: "36", chosen: "7"}

// A cell is text of one style. The text may be anybody's: it passes the gate where
// it is painted.
type cell struct {
	text  string
	style style
}

// A line of the screen.
type line []cell

// fit is text as exactly width characters.
func fit(text string, width int, right bool) string {
	text = gate.Cut(gate.Terminal(text), width)
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	if right {
		return space + text
	}
	return text + space
}

// paint is the line as a terminal gets it, of at most width characters. Only here
// something is written that steers the terminal.
func (l line) paint(width int, colour bool) string {
	var b strings.Builder
	for _, c := range l {
		if width <= 0 {
			break
		}
		text := gate.Cut(gate.Terminal(c.text), width)
		width -= utf8.RuneCountInString(text)
		if colour && c.style != plain {
			text = "\x1b[" + codes[c.style] + "m" + text + "\x1b[m"
		}
		b.WriteString(text)
	}
	return b.String()
}

// wrapped is a text of anybody as lines of at most width characters.
func wrapped(text string, width int, margin string) (list []line) {
	width = max(1, width-len(margin))
	for one := range strings.SplitSeq(gate.TerminalText(text), "\n") {
		r := []rune(gate.Terminal(one))
		for len(r) > width {
			list = append(list, line{{margin + string(r[:width]), plain}})
			r = r[width:]
		}
		list = append(list, line{{margin + string(r), plain}})
	}
	return list
}
