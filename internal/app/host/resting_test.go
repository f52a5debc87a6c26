package host

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRestsWhenNothingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rests atomic.Int32
		w := &resting{out: io.Discard, after: time.Second, rest: time.AfterFunc(time.Second, func() { rests.Add(1) })}
		for range 5 {
			time.Sleep(900 * time.Millisecond)
			_, _ = w.Write([]byte("busy\n"))
		}
		if n := rests.Load(); n != 0 {
			t.Errorf("rested %d times between writes", n)
		}
		time.Sleep(5 * time.Second)
		if n := rests.Load(); n != 1 {
			t.Errorf("rested %d times in 5 s of silence, want once", n)
		}
	})
}
