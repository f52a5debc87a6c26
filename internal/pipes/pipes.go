// Package pipes lets tests talk to the processes that they start.
package pipes

import (
	"io"
	"os/exec"
	"testing"
)

// Of returns the ends of cmd's stdin and stdout, which is about to be started.
// Wait closes them.
func Of(t testing.TB, cmd *exec.Cmd) (stdin io.WriteCloser, stdout io.ReadCloser) {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err = cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return stdin, stdout
}
