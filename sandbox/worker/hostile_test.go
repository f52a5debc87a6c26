package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// misbehave is the main of a child that a program has taken over, or that is
// no child at all.
func misbehave(how string) {
	r, w := wire.NewReader(os.Stdin, 1<<30), wire.NewWriter(os.Stdout)
	next := func() {
		if _, err := r.Next(); err != nil {
			os.Exit(9)
		}
	}
	forever := func() {
		for {
			next()
		}
	}
	switch how {
	case "dies":
		fmt.Fprintln(os.Stderr, "\nno config file")
		os.Exit(1)
	case "chats":
		fmt.Println("Hello, this is some other program.")
		forever()
	case "mute":
		forever()
	}
	next() // hello
	w.Write(wire.TypeReady, 0)
	next() // exec
	call := func(id uint32, size int) {
		w.WriteCall(id, sandbox.Call{Func: "call", Target: "x", Args: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)})
	}
	switch how {
	case "unknown frame":
		w.Write('z', 0, []byte("?"))
	case "second ready":
		w.Write(wire.TypeReady, 0)
	case "long frame":
		os.Stdout.WriteString("O\x00\x00\x00\x00\x7f\xff\xff\xff")
	case "call without json":
		w.Write(wire.TypeCall, 1, []byte("\x00\x00\x00\x00\x00\x00{"))
	case "result without json":
		w.WriteDone(wire.Done{Value: json.RawMessage(`{`)})
	case "large result":
		w.WriteDone(wire.Done{Value: json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)})
	case "failure without reason":
		w.WriteDone(wire.Done{ExitCode: 77})
	case "flood without reading":
		for id := uint32(1); ; id++ {
			call(id, 100_000)
		}
	case "prints after done":
		w.WriteDone(wire.Done{Value: json.RawMessage(`1`)})
		for {
			w.Write(wire.TypeStdout, 0, []byte("more"))
		}
	case "answers without reading":
		call(1, 1)
		hang()
	case "exits":
		os.Exit(0)
	case "panics":
		panic("a fault")
	case "out of memory":
		fmt.Fprintln(os.Stderr, "fatal error: runtime: out of memory")
		os.Exit(2)
	case "stack overflow":
		fmt.Fprintln(os.Stderr, "runtime: goroutine stack exceeds 1000000000-byte limit")
		os.Exit(2)
	case "talks much when it dies":
		os.Stderr.WriteString("panic: the reason\n" + strings.Repeat("goroutine\n", 1_000_000))
		os.Exit(2)
	case "leaves a process":
		cmd := exec.Command("/bin/sleep", "1000")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		w.WriteDone(wire.Done{Value: fmt.Append(nil, cmd.Process.Pid)})
	}
	forever()
}

// hang waits for what never comes.
func hang() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	defer w.Close() // keeps the pipe open
	_, _ = r.Read(make([]byte, 1))
}

func TestHostSurvivesAnyChild(t *testing.T) {
	tests := []struct {
		how  string
		code int
		says string
	}{
		{"unknown frame", sandbox.ExitMemory, "killed"},
		{"second ready", sandbox.ExitMemory, "unexpected frame from a running program: ready"},
		{"long frame", sandbox.ExitMemory, "over the limit"},
		{"call without json", sandbox.ExitMemory, "not JSON"},
		{"result without json", sandbox.ExitMemory, "not JSON"},
		{"large result", sandbox.ExitThrew, "limit of 1000 bytes"},
		{"failure without reason", 77, "exit code 77"},
		{"flood without reading", sandbox.ExitTimeout, "time limit of 0.5 s"},
		{"prints after done", sandbox.ExitOK, ""},
		{"answers without reading", sandbox.ExitTimeout, "time limit of 0.5 s"},
		{"silent", sandbox.ExitTimeout, "time limit of 0.5 s"},
		{"exits", sandbox.ExitMemory, "died"},
		{"panics", sandbox.ExitMemory, "panic: a fault"},
		{"out of memory", sandbox.ExitMemory, "memory limit of 256 MiB"},
		{"stack overflow", sandbox.ExitMemory, "nest"},
		{"talks much when it dies", sandbox.ExitMemory, "the reason"},
	}
	for _, tt := range tests {
		t.Run(tt.how, func(t *testing.T) {
			t.Parallel()
			r := New(&Options{Args: []string{tt.how}, Spares: -1})
			defer r.Close()
			var out bytes.Buffer
			timeout := time.Minute
			if tt.code == sandbox.ExitTimeout {
				timeout = 500 * time.Millisecond
			}
			res, err := r.Run(t.Context(), sandbox.Request{
				Code:   "1",
				Stdout: &out,
				Limits: sandbox.Limits{Timeout: timeout, ResultBytes: 1000},
				Call: func(context.Context, sandbox.Call) (json.RawMessage, error) {
					return json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`), nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if res.ExitCode != tt.code || !strings.Contains(res.Error, tt.says) {
				t.Errorf("exit code %d, error %q; want %d and %q in it", res.ExitCode, res.Error, tt.code, tt.says)
			}
		})
	}
}

func TestAProgramThatIsNoChildIsAnError(t *testing.T) {
	for how, says := range map[string]string{"dies": "no config file", "chats": "worker.Main"} {
		t.Run(how, func(t *testing.T) {
			r := New(&Options{Args: []string{how}})
			defer r.Close()
			_, err := r.Run(t.Context(), sandbox.Request{Code: "1"})
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("error %v, want one with %q", err, says)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		r := New(&Options{Executable: "/there/is/none"})
		defer r.Close()
		if _, err := r.Run(t.Context(), sandbox.Request{Code: "1"}); err == nil || !strings.Contains(err.Error(), "/there/is/none") {
			t.Errorf("error %v, want one that names the file", err)
		}
	})
}

func TestCancellingEndsAStartThatHangs(t *testing.T) {
	r := New(&Options{Args: []string{"mute"}})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	res, err := r.Run(ctx, sandbox.Request{Code: "1"})
	if err != nil || res.ExitCode != sandbox.ExitTimeout {
		t.Errorf("exit code %d, error %v; want %d", res.ExitCode, err, sandbox.ExitTimeout)
	}
	if err := r.Close(); err != nil { // ends the process that still starts
		t.Error(err)
	}
}

func TestWhatAChildStartedDiesWithIt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	r := New(&Options{Args: []string{"leaves a process"}, Spares: -1})
	defer r.Close()
	res, err := r.Run(t.Context(), sandbox.Request{Code: "1"})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	eventually.True(t, "the process is gone, or waits for whoever inherited it", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", res.Value))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
