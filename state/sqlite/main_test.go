package sqlite

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// childEnv makes the test binary play a broker with an audit store of its own.
const childEnv = "AUDIT_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

// child begins an execution with two calls, prints its ID once they are
// committed, and waits until its stdin ends: it is killed, or it finishes the
// execution.
func child(dir string) int {
	s, err := Open(dir, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	id := s.Begin(Execution{Client: "child", Code: "1"})
	for i := range 2 {
		s.Record(Call{ExecutionID: id, Seq: i, Server: "git", Tool: "log", ID: "git__log", Duration: time.Millisecond, Status: CallOK, ResultBytes: 100})
	}
	// An execution that is finished takes with it what came before.
	other := s.Begin(Execution{Client: "child"})
	if err := s.Finish(Execution{ID: other}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(id)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return 1
	}
	if err := s.Finish(Execution{ID: id, Calls: 2}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// A childBroker is a second process on the same directory.
type childBroker struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	id    string // of its running execution
}

func startChild(t *testing.T, dir string) *childBroker {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &childBroker{cmd: cmd, stdin: stdin}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatalf("child said nothing: %v", cmd.Wait())
	}
	c.id = lines.Text()
	return c
}

// kill ends the child as kill -9 does, and waits until it is gone.
func (c *childBroker) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait() // its error is that it was killed
}

// finish lets the child finish its execution and end.
func (c *childBroker) finish(t *testing.T) {
	t.Helper()
	if err := c.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Fatalf("child: %v", err)
	}
}

func open(t *testing.T, dir string, o *Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func show(t *testing.T, s *Store, id string) (Execution, []Call) {
	t.Helper()
	e, calls, err := s.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return e, calls
}
