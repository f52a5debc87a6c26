package cli

import (
	"testing"
)

func TestIsKey(t *testing.T) {
	for sent, want := range map[string]bool{" ": true, "\n": true, "q": true, "\x1b": true, "é": true, "\x04": false, "\x00": false, "\x1b[A": false, "\x1b[I": false, "\x1b[12;40R": false} {
		if got := isKey([]byte(sent)); got != want {
			t.Errorf("isKey(%q) = %v", sent, got)
		}
	}
}
