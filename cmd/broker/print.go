package main

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

// What servers, skills, plugins, scripts and files say is printed by say and
// sayln, which keep each argument on its line, and through a screen, which lets
// nothing pass that steers a terminal or hides from the reader. TestOnePrinter
// finds whatever is printed in another way.

// say is fmt.Fprintf for text of anybody: an argument that is a string, an error
// or a list of strings is one line, and nothing in it steers a terminal. Only the
// format, and lines, may have line breaks.
func say(w io.Writer, format string, args ...any) (int, error) {
	harmless(args)
	return fmt.Fprintf(w, format, args...)
}

// sayln is fmt.Fprintln in the way of say.
func sayln(w io.Writer, args ...any) (int, error) {
	harmless(args)
	return fmt.Fprintln(w, args...)
}

// lines is a text with line breaks of the broker, or printed where any line break is
// harmless.
type lines string

func harmless(args []any) {
	for i, a := range args {
		args[i] = harmlessArg(a)
	}
}

func harmlessArg(a any) any {
	v := reflect.ValueOf(a)
	switch a := a.(type) {
	case nil:
		return nil
	case lines:
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

// ownLines is an error of several lines that are all the broker's own.
type ownLines struct{ error }

func (e ownLines) Unwrap() error { return e.error }

// oneLineError is an error as one line, whatever it says.
type oneLineError struct{ error }

func (e oneLineError) Error() string { return gate.Terminal(e.error.Error()) }
func (e oneLineError) Unwrap() error { return e.error }

// hinted is fmt.Errorf in the way of say; its hint is a second line.
func hinted(format string, args ...any) error {
	harmless(args)
	return ownLines{fmt.Errorf(format, args...)}
}

// A screen is where a command prints: stdout or stderr.
type screen struct {
	w io.Writer

	mu   sync.Mutex
	left []byte // the beginning of a character
}

// Write prints text. What steers a terminal shows as dots.
func (s *screen) Write(p []byte) (int, error) {
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

// flush prints what is left of a text that ends within a character.
func (s *screen) flush() {
	if len(s.left) > 0 {
		_, _ = io.WriteString(s.w, "\ufffd")
		s.left = nil
	}
}

// progress replaces the last line of a terminal.
func progress(w io.Writer, format string, args ...any) {
	if s, ok := w.(*screen); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		w = s.w
	}
	harmless(args)
	fmt.Fprintf(w, "\r\x1b[K"+format, args...)
}

// exact is w for what has to be what it is, byte for byte, such as a file or what
// a script prints: unless it goes to a terminal.
func exact(w io.Writer) io.Writer {
	if s, ok := w.(*screen); ok && !onTerminal(s) {
		return s.w
	}
	return w
}

// onTerminal reports whether w is a terminal, where progress may be shown.
func onTerminal(w io.Writer) bool { return terminalOf(w) != nil }

// terminalOf is the terminal that w writes to; nil if it is none.
func terminalOf(w io.Writer) *os.File {
	if s, ok := w.(*screen); ok {
		w = s.w
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// printJSON prints v as indented JSON, without the escapes of HTML.
func (a *app) printJSON(v any) error {
	return writeJSON(a.stdout, v, "  ")
}

// writeJSON writes v as JSON with escapes for what steers a terminal or hides
// from the reader, so that it is still the same value.
func writeJSON(w io.Writer, v any, indent string) error {
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

// indented is a text with a margin before each of its lines, so that none looks
// like one of the broker's.
func indented(margin, text string) lines { return lines(margin) + indentedAfter(margin, text) }

// indentedAfter is indented but for the first line.
func indentedAfter(margin, text string) lines {
	return lines(strings.ReplaceAll(strings.ReplaceAll(text, "\r", "\n"), "\n", "\n"+margin))
}

// why is an error of a server for people, without what the SDK says of its own
// way to it.
func why(text string) string {
	for _, steps := range []string{`calling "initialize": `, `sending "initialize": `, "rejected by transport: "} {
		text = strings.Replace(text, steps, "", 1)
	}
	return text
}
