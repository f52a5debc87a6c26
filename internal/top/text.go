package top

import (
	"strings"

	"golang.org/x/text/width"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A style is the appearance of a cell. Colour draws attention, and is never the only sign.
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

// A cell is text of one style. The text may be foreign: it passes the gate when it is painted.
type cell struct {
	text  string
	style style
}

// A line of the screen.
type line []cell

// cells returns the width of a character: two for Chinese, Japanese and Korean ones and most
// pictures.
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

// split returns the beginning of text that is at most n cells wide, and the rest.
func split(text string, n int) (begin, rest string) {
	for i, r := range text {
		if n -= cells(r); n < 0 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// truncate returns text in at most n cells, with a mark where it was cut.
func truncate(text string, n int) string {
	if textWidth(text) <= n {
		return text
	}
	begin, _ := split(text, n-1)
	return strings.TrimRight(begin, " ") + "…"
}

// pad returns text in exactly width cells.
func pad(text string, width int, right bool) string {
	text = truncate(gate.Terminal(text), width)
	space := strings.Repeat(" ", max(0, width-textWidth(text)))
	if right {
		return space + text
	}
	return text + space
}

// paint returns the line for a terminal, in at most width cells. It is the only function that
// writes control sequences.
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

// wrapped splits a foreign text into lines of at most width cells, so that all of it is visible.
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
