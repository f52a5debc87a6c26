package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// Fprintf is fmt.Fprintf for text of anybody: an argument that is a string, an error
// or a list of strings is one line, and nothing in it steers a terminal. Only the
// format, and Lines, may have line breaks.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	r := repeaterOf(w)
	r.hints(args)
	clean(args)
	return fmt.Fprintf(w, r.format(format), args...)
}

// Fprintln is fmt.Fprintln for text of anybody, like Fprintf.
func Fprintln(w io.Writer, args ...any) (int, error) {
	repeaterOf(w).hints(args)
	clean(args)
	return fmt.Fprintln(w, args...)
}

// Lines is a text with line breaks of the broker, or printed where any line break is
// harmless.
type Lines string

func clean(args []any) {
	for i, a := range args {
		args[i] = cleanArg(a)
	}
}

func cleanArg(a any) any {
	v := reflect.ValueOf(a)
	switch a := a.(type) {
	case nil:
		return nil
	case Lines:
		return gate.TerminalText(string(a))
	case Hint:
		return gate.TerminalText(string(a))
	case ownLines:
		return a
	case error:
		return oneLineError{a}
	case []string:
		list := make([]string, len(a))
		for i := range a {
			list[i] = gate.Terminal(a[i])
		}
		return list
	}
	if v.Kind() == reflect.String {
		return gate.Terminal(v.String())
	}
	if s, ok := a.(fmt.Stringer); ok && !v.CanInt() && !v.CanUint() {
		return gate.Terminal(s.String())
	}
	return a
}

// A Screen is where a command prints: stdout or stderr.
type Screen struct {
	w io.Writer

	repeat *repeater // see RepeatFlags; may be nil

	mu   sync.Mutex
	left []byte // the beginning of a character
}

// NewScreen returns a screen that prints to w.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

// Write prints text. What steers a terminal shows as dots.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.left, p...)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if c := text[len(text)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(text[len(text)-back:]) {
				end -= back
			}
			break
		}
	}
	s.left = bytes.Clone(text[end:])
	_, err := io.WriteString(s.w, gate.TerminalText(string(text[:end])))
	return len(p), err
}

// Flush prints what is left of a text that ends within a character.
func (s *Screen) Flush() {
	if len(s.left) > 0 {
		_, _ = io.WriteString(s.w, "\ufffd")
		s.left = nil
	}
}

// ReplaceLine replaces the last line of a terminal.
func ReplaceLine(w io.Writer, format string, args ...any) {
	if s, ok := w.(*Screen); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		w = s.w
	}
	clean(args)
	fmt.Fprintf(w, "\r\x1b[K"+format, args...)
}

// Exact returns w for what has to be what it is, byte for byte, such as a file or what
// a script prints: unless it goes to a terminal.
func Exact(w io.Writer) io.Writer {
	if s, ok := w.(*Screen); ok && !IsTerminal(s) {
		return s.w
	}
	return w
}

// IsTerminal reports whether w is a terminal, where progress may be shown.
func IsTerminal(w io.Writer) bool { return TerminalOf(w) != nil }

// TerminalOf returns the terminal that w writes to, or nil.
func TerminalOf(w io.Writer) *os.File {
	if s, ok := w.(*Screen); ok {
		w = s.w
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// WriteJSON writes v as JSON with escapes for what steers a terminal or hides
// from the reader, so that it is still the same value.
func WriteJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escapeHidden(b.Bytes()))
	return err
}

// escapeHidden writes the characters of JSON that gate would not let through as
// escapes: they only stand in strings.
func escapeHidden(text []byte) []byte {
	if gate.TerminalText(string(text)) == string(text) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		switch one := string(r); {
		case gate.TerminalText(one) == one:
			b.WriteString(one)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// Indent returns a text with a margin before each of its lines, so that none looks
// like one of the broker's.
func Indent(margin, text string) Lines { return Lines(margin) + IndentAfter(margin, text) }

// IndentAfter is Indent but for the first line.
func IndentAfter(margin, text string) Lines {
	return Lines(strings.ReplaceAll(strings.ReplaceAll(text, "\r", "\n"), "\n", "\n"+margin))
}
