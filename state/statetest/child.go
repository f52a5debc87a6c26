// Package statetest is the suite that each implementation of a contract of
// package state passes. What the contracts promise is stated there; a test here
// fails for each promise that is not kept.
package statetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// childEnv makes the test binary play a second broker on the record at that
// place.
const childEnv = "STATETEST_CHILD_AT"

// Main is the TestMain of a package that runs Audits: the suite starts the test
// binary as other brokers, and kills some of them.
func (a Audits) Main(m *testing.M) { os.Exit(a.Play(m)) }

// Play is Main for a package that has more to do: it returns the exit code.
func (a Audits) Play(m *testing.M) int {
	if !IsChild() {
		return m.Run()
	}
	if err := a.child(os.Getenv(childEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// IsChild reports whether the test binary was started as another broker.
func IsChild() bool { return os.Getenv(childEnv) != "" }

// child begins an execution with two calls, prints its ID once they are
// committed, and waits until its stdin ends: it is killed, or it finishes the
// execution.
func (a Audits) child(at string) error {
	s, err := a.Open(at, state.Keep{})
	if err != nil {
		return err
	}
	id := s.Begin(state.Execution{Client: "child", Code: "1"})
	for i := range 2 {
		s.Record(state.Call{ExecutionID: id, Seq: i, Server: "git", Tool: "log", ID: "git__log", Duration: time.Millisecond, Status: state.CallOK, ResultBytes: 100})
	}
	// An execution that is finished takes with it what came before.
	if err := s.Finish(state.Execution{ID: s.Begin(state.Execution{Client: "child"})}); err != nil {
		return err
	}
	fmt.Println(id)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return errors.Join(s.Finish(state.Execution{ID: id, Calls: 2}), s.Close())
}

// A Child is a second broker on the same record.
type Child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	// ID is that of its running execution.
	ID string
}

// StartChild starts one, which returns when it has begun an execution with two calls.
func StartChild(t *testing.T, at string) *Child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+at)
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
	c := &Child{cmd: cmd, stdin: stdin}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatalf("child printed nothing: %v", cmd.Wait())
	}
	c.ID = lines.Text()
	return c
}

// Kill ends the child as kill -9 does, and waits until it is gone.
func (c *Child) Kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait() // its error is that it was killed
}

// Finish makes the child finish its execution and exit.
func (c *Child) Finish(t *testing.T) {
	t.Helper()
	if err := c.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Fatalf("child: %v", err)
	}
}
