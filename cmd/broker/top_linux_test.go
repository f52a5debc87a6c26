package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/mcpbroker/mcpbroker/internal/approver"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

// broker top shows what runs, waits and was written, lets a person approve, and gives
// the terminal back: with a broker of its own, and with that of the daemon.
func TestTop(t *testing.T) {
	file, made := askingLedger(t, `{"rules": [{"effect": "ask", "tools": ["t.write"]}]}`)
	dir := filepath.Dir(file)
	script := func(name, code string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	slow := brokerCommand(t, "exec", "--timeout", "120", "--config", file, script("slow.js", "await callMCPTool('t__slow_read', {})"))
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = slow.Process.Kill()
		_ = slow.Wait() // it was killed
	}()
	asks := brokerCommand(t, "exec", "--config", file, script("write.js", `await callMCPTool('t__write', { text: "\u001b[2J" })`))
	if err := asks.Run(); asks.ProcessState.ExitCode() != 3 {
		t.Fatal(err)
	}

	d, cmd := onDisplay(t, 80, 24, "top", "--config", file)
	seen := d.until(`(?s)1 call: t__write.* t  .* running `)
	if n := strings.Count(seen, "\n"); n != 24 || !strings.Contains(seen, "1 running") {
		t.Errorf("%d lines of\n%s", n, seen)
	}
	if approver.ClientAbove() != "" {
		d.press("a", "you cannot approve here")
	} else {
		seen = d.press("a", "Type .... and enter to approve")
		code := regexp.MustCompile("Type (....) and").FindStringSubmatch(seen)[1]
		if !strings.Contains(seen, `"text": "`) {
			t.Errorf("the question does not show the arguments:\n%s", seen)
		}
		seen = d.press(code+"\r", "approved 1 call; to go on: broker runs resume r_")
		output(t, brokerCommand(t, "runs", "resume", regexp.MustCompile(`r_[a-z2-7]{26}`).FindString(seen), "--config", file))
		if got := made(); !strings.Contains(got, "write{") {
			t.Errorf("the server got %q", got)
		}
		d.until(`(?s)LAST WRITES.*t\.write +write +ok`)
		d.press("j\r", `(?s)execution e_.*1 t\.write +\[write\]`)
		d.press("\x1b", "EXECUTIONS")
	}
	d.resize(50, 14)
	d.until(`(?s)^broker [^\n]*\n[^\n]*\n.*(enter show|s sort)`)
	d.press("/nothing\r", "nothing matches")
	d.press("\x1b", `> \d\d:\d\d:\d\d `)
	if _, err := d.person.WriteString("\x03"); err != nil { // control and C
		t.Fatal(err)
	}
	d.end(cmd)

	state := shortDir(t)
	t.Cleanup(func() { _, _ = daemon.Ask(state, daemon.OpStop, daemon.Build{}) })
	client := startClient(t, bridgeCommand(t, file, state))
	client.execute(t, 1, "return 1")
	client.executed(t, 1)
	t.Setenv("NO_COLOR", "1")
	d, cmd = onDisplay(t, 80, 24, "top", "--config", file, "--state-dir", state)
	d.until(`> \d\d:\d\d:\d\d +\S+ +done `)
	if regexp.MustCompile(`\x1b\[[0-9;]*m`).Match(d.written) {
		t.Errorf("colours in spite of NO_COLOR: %q", d.written)
	}
	client.execute(t, 2, "throw 1")
	d.until(" failed ")
	if _, err := d.person.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	d.end(cmd)

	d, cmd = onDisplay(t, 80, 24, "top", "--config", file, "--state-dir", state)
	d.until(" failed ")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	d.end(cmd)

	if out, err := brokerCommand(t, "top", "--config", file).CombinedOutput(); err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "broker tail") {
		t.Errorf("without a terminal: %v, %s", err, out)
	}
}

// A display is the terminal of somebody who watches broker top.
type display struct {
	t               *testing.T
	person, program *os.File
	before          unix.Termios // settings of the terminal
	width, height   int
	written, rest   []byte // rest is the beginning of a sequence
	cells           [][]rune
	row, column     int
}

// onDisplay starts the broker on a terminal of a size.
func onDisplay(t *testing.T, width, height int, args ...string) (*display, *exec.Cmd) {
	t.Helper()
	person, program := openTerminal(t)
	d := &display{t: t, person: person, program: program}
	d.resize(width, height)
	d.before = d.settings()
	cmd := brokerCommand(t, args...)
	cmd.Env = append(os.Environ(), "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return d, cmd
}

func (d *display) resize(width, height int) {
	d.t.Helper()
	d.width, d.height = width, height
	d.cells, d.row, d.column = blank(height, width), 0, 0
	if err := unix.IoctlSetWinsize(int(d.program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *display) settings() unix.Termios {
	d.t.Helper()
	s, err := unix.IoctlGetTermios(int(d.program.Fd()), unix.TCGETS)
	if err != nil {
		d.t.Fatal(err)
	}
	return *s
}

// press presses keys, and waits until the screen shows something, which it returns.
func (d *display) press(keys, want string) string {
	d.t.Helper()
	if _, err := d.person.WriteString(keys); err != nil {
		d.t.Fatal(err)
	}
	return d.until(want)
}

func (d *display) until(want string) string {
	d.t.Helper()
	pattern := regexp.MustCompile(want)
	if err := d.person.SetReadDeadline(time.Now().Add(90 * time.Second)); err != nil {
		d.t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for {
		screen := d.screen()
		if pattern.MatchString(screen) {
			return screen
		}
		n, err := d.person.Read(buf)
		if err != nil {
			d.t.Fatalf("%v; no %q in\n%s", err, want, screen)
		}
		d.write(buf[:n])
	}
}

// end checks that the program has ended well and the terminal is as it was.
func (d *display) end(cmd *exec.Cmd) {
	d.t.Helper()
	failed := cmd.Wait()
	if d.settings() != d.before {
		d.t.Error("the settings of the terminal are not as they were")
	}
	d.program.Close() // so that there is an end to read
	rest, err := io.ReadAll(d.person)
	if err != nil && !errors.Is(err, syscall.EIO) {
		d.t.Error(err)
	}
	d.written = append(d.written, rest...)
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h", "\x1b[>1u": "\x1b[<1u", "\x1b[>4;2m": "\x1b[>4m"} {
		if text := string(d.written); !strings.Contains(text, on) || strings.LastIndex(text, on) > strings.LastIndex(text, off) {
			d.t.Errorf("%q is not undone by %q in %q", on, off, rest)
		}
	}
	if failed != nil {
		d.t.Errorf("it ends with %v, %q", failed, rest)
	}
}

func blank(height, width int) [][]rune {
	cells := make([][]rune, height)
	for i := range cells {
		cells[i] = []rune(strings.Repeat(" ", width))
	}
	return cells
}

// screen returns what the terminal shows.
func (d *display) screen() string {
	var b strings.Builder
	for _, line := range d.cells {
		b.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	return b.String()
}

// sequence matches what a terminal reads at a time. The groups are the private mark, the numbers and the
// letter of a control sequence.
var sequence = regexp.MustCompile(`^(?s:\x1b\[([<=>?]?)([0-9;:]*)[ -/]*([@-~])|\x1b[^\[]|[^\x1b])`)

// write does what an xterm does with the bytes of a program that draws the whole screen.
func (d *display) write(p []byte) {
	d.written, d.rest = append(d.written, p...), append(d.rest, p...)
	for {
		m := sequence.FindSubmatch(d.rest)
		if m == nil || !utf8.FullRune(d.rest) {
			return
		}
		d.rest = d.rest[len(m[0]):]
		switch c := string(m[0]); {
		case len(m[3]) > 0 && len(m[1]) == 0:
			d.control(string(m[2]), m[3][0])
		case c == "\r":
			d.column = 0
		case c == "\n":
			d.row = min(d.row+1, d.height-1)
		case c == "\b":
			d.column = max(0, d.column-1)
		case c == "\t":
			d.column = min(d.column/8*8+8, d.width-1)
		case c == "\x1bM":
			d.row = max(0, d.row-1)
		case c[0] >= ' ' && c[0] != 0x7f:
			if d.column >= d.width {
				d.row, d.column = min(d.row+1, d.height-1), 0
			}
			d.cells[d.row][d.column], _ = utf8.DecodeRuneInString(c)
			d.column++
		}
	}
}

// control moves, erases, inserts or scrolls.
func (d *display) control(numbers string, letter byte) {
	first, second, _ := strings.Cut(numbers, ";")
	n, _ := strconv.Atoi(first)
	other, _ := strconv.Atoi(second)
	some, line := max(1, n), d.cells[d.row]
	at := min(d.column, d.width-1)
	switch letter {
	case 'H':
		d.row, d.column = some-1, max(1, other)-1
	case 'A':
		d.row -= some
	case 'B':
		d.row += some
	case 'C':
		d.column = at + some
	case 'D':
		d.column = at - some
	case 'G', '`':
		d.column = some - 1
	case 'd':
		d.row = some - 1
	case 'X':
		copy(line[at:min(at+some, d.width)], blank(1, d.width)[0])
	case 'K':
		from, to := [3]int{at, 0, 0}[n], [3]int{d.width, at + 1, d.width}[n]
		copy(line[from:to], blank(1, d.width)[0])
	case 'J':
		if n == 2 {
			d.row, at = 0, 0
		}
		copy(d.cells[d.row][at:], blank(1, d.width)[0])
		copy(d.cells[d.row+1:], blank(d.height, d.width))
	case 'P':
		d.cells[d.row] = append(append(line[:at:at], line[min(at+some, d.width):]...), blank(1, min(some, d.width-at))[0]...)
	case '@':
		d.cells[d.row] = append(append(line[:at:at], blank(1, some)[0]...), line[at:]...)[:d.width]
	case 'L':
		d.cells = slices.Insert(d.cells, d.row, blank(some, d.width)...)[:d.height]
	case 'M':
		d.cells = append(slices.Delete(d.cells, d.row, min(d.row+some, d.height)), blank(some, d.width)...)[:d.height]
	case 'S':
		d.cells = append(d.cells[some:], blank(some, d.width)...)
	case 'T':
		d.cells = append(blank(some, d.width), d.cells...)[:d.height]
	case 'm', 'r', 'u', 'p', 'q', 'h', 'l': // attributes and modes
	default:
		d.t.Errorf("a terminal does not know %q of %q", letter, numbers)
	}
	d.row, d.column = min(max(d.row, 0), d.height-1), min(max(d.column, 0), d.width)
}
