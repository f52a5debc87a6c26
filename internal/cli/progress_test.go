package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Where there is no terminal, what takes long says so in plain lines, and what is
// done soon says nothing.
func TestProgressWithoutATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		a := IO{Err: &said}
		stop := a.Busy("installing\x1b[2J x")
		time.Sleep(lineEvery - time.Second)
		stop()
		stop()
		if said.String() != "" {
			t.Errorf("%q", &said)
		}
		stop = a.Busy("installing\x1b[2J x")
		time.Sleep(2*lineEvery + time.Second)
		stop()
		if want := "broker: installing·[2J x … 10 s\nbroker: installing·[2J x … 20 s\n"; said.String() != want {
			t.Errorf("%q, want %q", &said, want)
		}
	})
}

func TestBar(t *testing.T) {
	for _, tt := range []struct {
		done, all int
		want      string
	}{{0, 4, "...................."}, {1, 4, "#####..............."}, {4, 4, "####################"}, {9, 4, "####################"}, {0, 0, "...................."}} {
		if got := Bar(tt.done, tt.all); got != "["+tt.want+"]" {
			t.Errorf("bar(%d, %d) = %s", tt.done, tt.all, got)
		}
	}
}
