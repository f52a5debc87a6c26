// Package pipes connects tests to processes.
package pipes

import (
	"io"
	"os/exec"
	"testing"
)

// Of returns the other ends of stdin and stdout of cmd, which must not have started. Wait closes
// them.
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
