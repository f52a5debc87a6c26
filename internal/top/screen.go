package top

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// A screen is a terminal that a view uses exclusively until it is closed.
type screen struct {
	in, out *os.File
	before  *term.State
	restore func() // restores other changes
	colour  bool

	shown []string // the lines as they were written
	width int
}

const (
	// enter selects the alternate screen, hides the cursor, and disables wrapping, whatever the
	// width of characters.
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leave = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

func openScreen(in, out *os.File, colour bool) (*screen, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	s := &screen{in: in, out: out, before: before, restore: understandEscapes(out), colour: colour}
	s.write(enter)
	return s, nil
}

// close restores the terminal.
func (s *screen) close() {
	s.write(leave)
	s.restore()
	_ = term.Restore(int(s.in.Fd()), s.before) // there is nothing else to do
}

// write does not report errors: the keys end with the terminal.
func (s *screen) write(text string) { _, _ = s.out.WriteString(text) }

func (s *screen) size() (width, height int) {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// draw writes the lines that have changed. After a change of the size these are all lines: the
// terminal may have moved its content.
func (s *screen) draw(lines []line, width int) {
	var b strings.Builder
	if width != s.width || len(lines) != len(s.shown) {
		b.WriteString("\x1b[H\x1b[2J")
		s.shown, s.width = make([]string, len(lines)), width
	}
	for i, l := range lines {
		if text := l.paint(width, s.colour); text != s.shown[i] {
			fmt.Fprintf(&b, "\x1b[%d;1H%s\x1b[K", i+1, text)
			s.shown[i] = text
		}
	}
	if b.Len() > 0 {
		s.write(b.String())
	}
}

// readKeys reads keys until the terminal is gone. A read cannot be interrupted: it ends with the
// process.
func readKeys(in *os.File) <-chan string {
	keys := make(chan string)
	go func() {
		defer close(keys)
		buf := make([]byte, 256)
		for {
			n, err := in.Read(buf)
			for _, k := range parseKeys(string(buf[:n])) {
				keys <- k
			}
			if err != nil {
				return
			}
		}
	}()
	return keys
}

// sequences are the sequences of terminals for special keys.
var sequences = map[string]string{
	"[A": "up", "[B": "down", "OA": "up", "OB": "down", "[5~": "pgup", "[6~": "pgdown", "[Z": "shift+tab",
	"[H": "home", "[F": "end", "OH": "home", "OF": "end", "[1~": "home", "[4~": "end",
}

var controls = map[rune]string{3: "ctrl+c", '\r': "enter", '\n': "enter", '\t': "tab", 8: "backspace", 127: "backspace"}

// parseKeys returns the keys in the input of a terminal, with names for special keys. It ignores
// unknown ones.
func parseKeys(text string) (keys []string) {
	for text != "" {
		if text[0] == '\x1b' {
			n := sequence(text[1:])
			if n == 0 {
				keys = append(keys, "esc")
			} else if k := sequences[text[1:1+n]]; k != "" {
				keys = append(keys, k)
			}
			text = text[1+n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		text = text[n:]
		if k := controls[r]; k != "" {
			keys = append(keys, k)
		} else if r >= ' ' && r != utf8.RuneError {
			keys = append(keys, string(r))
		}
	}
	return keys
}

// sequence returns the length of the sequence after an escape at the beginning of text, or 0.
func sequence(text string) int {
	switch {
	case len(text) > 1 && text[0] == 'O':
		return 2
	case len(text) > 1 && text[0] == '[':
		for i := 1; i < len(text); i++ {
			if text[i] >= '@' && text[i] <= '~' {
				return i + 1
			}
		}
		return len(text)
	}
	return 0
}
