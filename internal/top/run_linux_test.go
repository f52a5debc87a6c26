package top

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
)

// A terminal runs the view.
type terminal struct {
	t               *testing.T
	person, program *os.File
	before          *unix.Termios
	written         string
	ended           chan error
}

func onTerminal(t *testing.T, ctx context.Context, o Options) *terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err == nil {
		err = unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, person: os.NewFile(uintptr(dup(t, person)), "ptmx"), program: program, ended: make(chan error, 1)}
	person.Close()
	t.Cleanup(func() { term.person.Close() }) // after a panic, bubbletea may still read from program
	if term.before, err = unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS); err != nil {
		t.Fatal(err)
	}
	o.In, o.Out = program, program
	go func() { term.ended <- Run(ctx, o) }()
	return term
}

// dup returns a descriptor that reads with deadlines.
func dup(t *testing.T, f *os.File) int {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// press sends keys, and waits until something is written.
func (term *terminal) press(keys, want string) {
	term.t.Helper()
	if _, err := term.person.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
	buf := make([]byte, 4096)
	_ = term.person.SetReadDeadline(time.Now().Add(20 * time.Second)) // a read tells
	for seen := ""; !strings.Contains(ansi.Strip(seen), want); {
		n, err := term.person.Read(buf)
		if err != nil {
			term.t.Fatalf("%v: no %q in %q", err, want, seen)
		}
		seen += string(buf[:n])
		term.written += string(buf[:n])
	}
}

// end checks that the view ends with an error, and that the terminal is as it was.
func (term *terminal) end(want error) {
	term.t.Helper()
	if err := <-term.ended; !errors.Is(err, want) {
		term.t.Errorf("it ends with %v, want %v", err, want)
	}
	after, err := unix.IoctlGetTermios(int(term.program.Fd()), unix.TCGETS)
	if err != nil || *after != *term.before {
		term.t.Errorf("%v; the terminal has %+v, want %+v", err, after, term.before)
	}
	if n := strings.Count(term.written, "\x1b[2J says"); n > 0 {
		term.t.Errorf("a server steers the terminal: %q", term.written)
	}
	restores := []string{"\x1b[?1049l", "\x1b[?25h"}
	missing := func(text string) bool { return !strings.Contains(term.written, text) }
	buf := make([]byte, 64<<10)
	for _ = term.person.SetReadDeadline(time.Now().Add(20 * time.Second)); slices.ContainsFunc(restores, missing); {
		n, err := term.person.Read(buf)
		if term.written += string(buf[:n]); err != nil {
			term.t.Errorf("%v: not all of %q is in %q", err, restores, term.written)
			break
		}
	}
}

// Keys that arrive in pieces are one, wide letters are shown, and q gives the terminal back.
func TestRun(t *testing.T) {
	_, open := startBroker(t)
	term := onTerminal(t, t.Context(), Options{Connect: open, Colour: true})
	term.press("", "漢字server")
	term.press("\x1b[Z", "SERVERS")
	term.press("\x1b", "") // the beginning of down
	term.press("[B", "> 漢字server")
	term.press("k", "> other")
	term.press("\r", "says")
	term.press("\x1b", "EXECUTIONS")
	term.press("a", "Type ")
	term.press("qx", "qx")
	term.press("\x1b", "nothing was decided")
	if _, err := term.person.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	term.end(nil)
}

// Whatever ends the view, the terminal is as it was.
func TestTerminalIsRestored(t *testing.T) {
	_, open := startBroker(t)
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		term := onTerminal(t, ctx, Options{Connect: open})
		term.press("", "漢字server")
		cancel()
		term.end(nil)
	})
	t.Run("gone", func(t *testing.T) {
		term := onTerminal(t, t.Context(), Options{Connect: open})
		term.press("", "漢字server")
		term.person.Close()
		if err := <-term.ended; err != nil {
			t.Errorf("it ends with %v", err)
		}
	})
}

// After a panic the terminal is as it was, too. bubbletea does not wait for its reader then, which
// the race detector reports: .ci/run runs this test without it.
func TestTerminalIsRestoredAfterPanics(t *testing.T) {
	_, open := startBroker(t)
	t.Run("panic of an errand", func(t *testing.T) {
		shown := make(chan struct{})
		term := onTerminal(t, t.Context(), Options{Connect: func() (string, error) { <-shown; panic("of a test") }})
		term.press("", "connecting")
		close(shown)
		term.end(tea.ErrProgramPanic)
	})
	t.Run("panic of the model", func(t *testing.T) {
		defer func() { sections[serverSection].rows = (*model).serverRows }()
		sections[serverSection].rows = func(m *model) []row {
			if m.filter == "x" {
				panic("of a test")
			}
			return nil
		}
		term := onTerminal(t, t.Context(), Options{Connect: open})
		term.press("", "2 servers")
		term.press("/", "esc shows all")
		if _, err := term.person.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		term.end(tea.ErrProgramPanic)
	})
}
