package top

import (
	"strings"

	"golang.org/x/text/width"

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

// cells is how many places of a terminal a character takes: Chinese, Japanese and
// Korean ones and most pictures take two.
func cells(r rune) int {
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

func textWidth(text string) (n int) {
	for _, r := range text {
		n += cells(r)
	}
	return n
}

// split is the beginning of text that takes at most n places, and the rest.
func split(text string, n int) (begin, rest string) {
	for i, r := range text {
		if n -= cells(r); n < 0 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// truncate is text of at most n places, with a mark where it was cut.
func truncate(text string, n int) string {
	if textWidth(text) <= n {
		return text
	}
	begin, _ := split(text, n-1)
	return strings.TrimRight(begin, " ") + "…"
}

// pad is text that takes exactly width places.
func pad(text string, width int, right bool) string {
	text = truncate(gate.Terminal(text), width)
	space := strings.Repeat(" ", max(0, width-textWidth(text)))
	if right {
		return space + text
	}
	return text + space
}

// paint is the line as a terminal gets it, of at most width places. Only here
// something is written that steers the terminal.
func (l line) paint(width int, colour bool) string {
	var b strings.Builder
	for _, c := range l {
		if width <= 0 {
			break
		}
		text := truncate(gate.Terminal(c.text), width)
		width -= textWidth(text)
		if colour && c.style != plain {
			text = "\x1b[" + codes[c.style] + "m" + text + "\x1b[m"
		}
		b.WriteString(text)
	}
	return b.String()
}

// wrapped is a text of anybody as lines that take at most width places each: what
// is beyond them would not be seen.
func wrapped(text string, width int, margin string) (list []line) {
	width = max(2, width-len(margin))
	for one := range strings.SplitSeq(gate.TerminalText(text), "\n") {
		begin, rest := split(gate.Terminal(one), width)
		for list = append(list, line{{margin + begin, plain}}); rest != ""; list = append(list, line{{margin + begin, plain}}) {
			begin, rest = split(rest, width)
		}
	}
	return list
}
