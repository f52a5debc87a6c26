package cli

import (
	"io"
	"os"
	"sync"
)

// An IO is where a command reads and prints.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	JSON     bool // print JSON, and ask nobody

	asked *Person    // see Person
	mu    sync.Mutex // held while the last line of the terminal is replaced, or what comes after it is printed
}

// Filter makes Out and Err screens, and returns a function that prints what is left of
// the last characters.
func (t *IO) Filter() (flush func()) {
	stdout, stderr := NewScreen(t.Out), NewScreen(t.Err)
	t.Out, t.Err = stdout, stderr
	return func() {
		stdout.Flush()
		stderr.Flush()
	}
}

// PrintJSON prints v as indented JSON, without the escapes of HTML.
func (t *IO) PrintJSON(v any) error { return WriteJSON(t.Out, v, "  ") }

// Interactive returns the terminal that a command reads from, or nil if it is not one
// or what is printed to stderr is not seen there.
func (t *IO) Interactive() *os.File {
	in, ok := t.In.(*os.File)
	if !ok || !IsTerminal(in) || !IsTerminal(t.Err) {
		return nil
	}
	return in
}

// Person returns the terminal of the user who runs the command, or nil.
func (t *IO) Person() *Person {
	in := t.Interactive()
	if t.JSON || in == nil {
		return nil
	}
	if t.asked == nil { // one for all questions: it reads ahead
		t.asked = NewPerson(in, t.Err)
	}
	return t.asked
}

// Lock keeps progress from being printed until Unlock, and clears its line.
func (t *IO) Lock() {
	t.mu.Lock()
	if IsTerminal(t.Err) {
		ReplaceLine(t.Err, "")
	}
}

// Unlock lets progress be printed again.
func (t *IO) Unlock() { t.mu.Unlock() }
