package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

func newTestCommands(t *testing.T) sandbox.Commander {
	t.Helper()
	needImage(t, pythonImage)
	c := NewCommands(&Options{Image: testImage})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// run runs a command and writes down all that came of it.
func run(t *testing.T, c sandbox.Commander, cmd sandbox.Command) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	code, err := c.Command(t.Context(), cmd)
	return fmt.Sprintf("%d %q %q %v", code, stdout.String(), stderr.String(), err)
}

func TestCommandsRunWithoutAShell(t *testing.T) {
	c := newTestCommands(t)
	files := filesOf("1",
		sandbox.File{Path: "s/args.sh", Data: []byte("#!/bin/sh\nfor a in \"$@\"; do printf '[%s]' \"$a\"; done\n"), Executable: true},
		sandbox.File{Path: "s/fail.sh", Data: []byte("echo out; echo err >&2; exit 3\n")})
	for _, tt := range []struct {
		name string
		cmd  sandbox.Command
		want string
	}{
		{"arguments as they are", sandbox.Command{Argv: []string{"/mnt/skills/s/args.sh", "a b", "; touch PWNED", "$HOME", "`id`", "*", ""}, Files: files},
			`0 "[a b][; touch PWNED][$HOME][` + "`id`" + `][*][]" "" <nil>`},
		{"both streams and the code", sandbox.Command{Argv: []string{"sh", "/mnt/skills/s/fail.sh"}, Files: files}, `3 "out\n" "err\n" <nil>`},
		{"input", sandbox.Command{Argv: []string{"cat"}, Stdin: "héllo"}, `0 "héllo" "" <nil>`},
		{"no input", sandbox.Command{Argv: []string{"cat"}}, `0 "" "" <nil>`},
		{"its folder and variables", sandbox.Command{Argv: []string{"sh", "-c", `cd . && echo "$PWD $GIVEN $HOME"`}, Dir: "/mnt/skills/s", Files: files, Env: []string{"GIVEN=x"}}, `0 "/mnt/skills/s x /tmp\n" "" <nil>`},
		{"a folder to write in", sandbox.Command{Argv: []string{"sh", "-c", "ls -A; echo x >a && cat a"}}, `0 "x\n" "" <nil>`},
		{"nothing else to write in", sandbox.Command{Argv: []string{"sh", "-c", "for d in / /usr /mnt/skills/s; do echo x >$d/a || echo no; done 2>/dev/null"}, Files: files}, `0 "no\nno\nno\n" "" <nil>`},
		{"no network", sandbox.Command{Argv: []string{"python3", "-c", "import socket\ntry: socket.create_connection(('1.1.1.1', 53), 2)\nexcept OSError as e: print(e.strerror)"}}, `0 "Network is unreachable\n" "" <nil>`},
		{"nobody", sandbox.Command{Argv: []string{"python3", "-c", "import os; print(os.getuid(), os.getgid())"}}, `0 "65534 65534\n" "" <nil>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(t, c, tt.cmd); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestCommandsInNode(t *testing.T) {
	needImage(t, nodeImage)
	c := NewCommands(&Options{Image: nodeTestImage})
	defer c.Close()
	files := filesOf("1", sandbox.File{Path: "s/x.js", Data: []byte(`const fs = require('fs'); fs.writeFileSync('/tmp/a', process.argv[2]);
try { fs.writeFileSync('/mnt/skills/s/b', '') } catch (e) { console.log(fs.readFileSync('/tmp/a', 'utf8'), e.code, process.getuid()) }`)})
	if got, want := run(t, c, sandbox.Command{Argv: []string{"node", "/mnt/skills/s/x.js", "a b"}, Files: files}), `0 "a b EROFS 65534\n" "" <nil>`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestProgramsRunInTheImageThatSuits(t *testing.T) {
	for program, want := range map[string]string{"node": NodeImage, "/usr/bin/node": NodeImage, "python3": PythonImage, "sh": PythonImage} {
		images, hint := imagesFor(program)
		if len(images) != 1 || images[0] != want || !strings.Contains(hint, "broker sandbox build ") {
			t.Errorf("%s runs in %v (%s), want %s", program, images, hint, want)
		}
	}
}

func TestCommandsEndWithTheirTime(t *testing.T) {
	c := newTestCommands(t)
	start := time.Now()
	// It ignores signals, and has left something running that holds the streams.
	got := run(t, c, sandbox.Command{Argv: []string{"sh", "-c", "trap '' TERM INT; sleep 60 & echo up; while :; do sleep 60; done"}, Timeout: 2 * time.Second})
	if want := `0 "up\n" "" time limit reached`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("changed my mind"))
	if _, err := c.Command(ctx, sandbox.Command{Argv: []string{"sleep", "60"}}); err == nil || err.Error() != "changed my mind" {
		t.Errorf("cancelled: %v", err)
	}
}

func TestCommandsThatCannotRunSayWhy(t *testing.T) {
	c := newTestCommands(t)
	if _, err := c.Command(t.Context(), sandbox.Command{Argv: []string{"nodejs-is-not-here", "x"}}); !errors.Is(err, sandbox.ErrNoProgram) || !strings.Contains(err.Error(), "image "+testImage+" has no nodejs-is-not-here") {
		t.Errorf("no program: %v", err)
	}
	missing := NewCommands(&Options{Image: "mcpbroker/none:test"})
	defer missing.Close()
	if _, err := missing.Command(t.Context(), sandbox.Command{Argv: []string{"sh"}}); !errors.Is(err, ErrNoImage) {
		t.Errorf("no image: %v", err)
	}
	nowhere := NewCommands(&Options{Engine: Address{Host: "unix:///nowhere.sock"}})
	defer nowhere.Close()
	if _, err := nowhere.Command(t.Context(), sandbox.Command{Argv: []string{"sh"}}); !errors.Is(err, ErrNoEngine) {
		t.Errorf("no engine: %v", err)
	}
	c.Close()
	if _, err := c.Command(t.Context(), sandbox.Command{Argv: []string{"sh"}}); err == nil {
		t.Error("a command runs after Close")
	}
}

func TestCommandsEndWithTheirMemory(t *testing.T) {
	c := newTestCommands(t)
	got := run(t, c, sandbox.Command{Argv: []string{"python3", "-c", "x = bytearray(1 << 30)"}, MemoryBytes: 64 << 20})
	if want := `137 "" "" <nil>`; got != want && !strings.Contains(got, "MemoryError") {
		t.Errorf("%s, want %s", got, want)
	}
}
