package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// openTerminal returns both ends of a new terminal: the person's and the
// program's.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { person.Close() })
	conn, err := person.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number int
	var failed error
	err = conn.Control(func(fd uintptr) { // Fd would make reads of it block for ever
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

// A server that asks for something is answered by whoever runs the script at a
// terminal, in both eras of the protocol.
func TestFormsAreFilledInAtTheTerminal(t *testing.T) {
	for _, tt := range []struct {
		mode         fakeupstream.Mode
		typed, value string
	}{
		{fakeupstream.Asks, "Ada", `{"action":"accept","content":{"name":"Ada"}}`},
		{fakeupstream.AsksLegacy, "Ada", `{"action":"accept","content":{"name":"Ada"}}`},
		{fakeupstream.Asks, ".", `{"action":"decline"}`},
	} {
		t.Run(string(tt.mode)+" "+tt.typed, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("XDG_STATE_HOME", dir)
			config, script := filepath.Join(dir, "servers.json"), filepath.Join(dir, "ask.js")
			text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
				"asks": map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(tt.mode)}}})
			if err != nil {
				t.Fatal(err)
			}
			code := "const a = await callMCPTool('asks__form'); return a.q"
			if err := os.WriteFile(config, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(script, []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			person, program := openTerminal(t)
			cmd := brokerCommand(t, "exec", "--timeout", "100", "--config", config, script)
			var stdout bytes.Buffer
			cmd.Stdin, cmd.Stderr, cmd.Stdout = program, program, &stdout
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			program.Close() // so that the person sees the end
			seen := readUntil(t, person, "Name")
			if !strings.Contains(seen, "Your name?") {
				t.Errorf("the terminal shows %q", seen)
			}
			if _, err := person.WriteString(tt.typed + "\n"); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("exec: %v; the terminal shows %q", err, seen)
			}
			if got := strings.TrimSpace(stdout.String()); got != tt.value {
				t.Errorf("the script returns %s, want %s", got, tt.value)
			}
		})
	}
}

// readUntil reads what a program writes to its terminal until that ends with a
// prompt that has want in it.
func readUntil(t *testing.T, terminal *os.File, want string) string {
	t.Helper()
	if err := terminal.SetReadDeadline(time.Now().Add(90 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var seen []byte
	buf := make([]byte, 4096)
	for {
		n, err := terminal.Read(buf)
		seen = append(seen, buf[:n]...)
		if last := seen[bytes.LastIndexByte(seen, '\n')+1:]; bytes.Contains(last, []byte(want)) && bytes.HasSuffix(last, []byte(": ")) {
			return string(seen)
		}
		if err != nil {
			t.Fatalf("%v; the terminal shows %q", err, seen)
		}
	}
}
