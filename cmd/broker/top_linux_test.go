package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	written         []byte
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
		d.written = append(d.written, buf[:n]...)
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
	if d.written = append(d.written, rest...); failed != nil || !strings.HasSuffix(string(d.written), "\x1b[?7h\x1b[?25h\x1b[?1049l") {
		d.t.Errorf("it ends with %v, %q", failed, rest)
	}
}

var displayed = regexp.MustCompile(`(?s)\x1b\[([0-9;?]*)([a-zA-Z])|.`)

// screen is what a terminal would show, as far as broker top steers it.
func (d *display) screen() string {
	cells := make([][]rune, d.height)
	for i := range cells {
		cells[i] = []rune(strings.Repeat(" ", d.width))
	}
	text := string(d.written)
	text = text[max(0, strings.LastIndex(text, "\x1b[2J")):]
	row, column := 0, 0
	for _, m := range displayed.FindAllStringSubmatch(text, -1) {
		switch inside := row < d.height && column < d.width; {
		case m[2] == "H":
			to := strings.Split(m[1]+";", ";")
			row, _ = strconv.Atoi(to[0])
			column, _ = strconv.Atoi(to[1])
			row, column = max(0, row-1), max(0, column-1)
		case m[2] == "K" && inside:
			copy(cells[row][column:], []rune(strings.Repeat(" ", d.width)))
		case m[2] == "":
			if inside {
				cells[row][column], _ = utf8.DecodeRuneInString(m[0])
			}
			column++
		}
	}
	var b strings.Builder
	for _, line := range cells {
		b.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	return b.String()
}
