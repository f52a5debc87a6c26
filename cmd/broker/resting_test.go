package main

import (
	"io"
	"testing"
	"testing/synctest"
	"time"
)

func TestRestsWhenNothingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rests := 0
		w := &resting{out: io.Discard, after: time.Second, rest: time.AfterFunc(time.Second, func() { rests++ })}
		for range 5 {
			time.Sleep(900 * time.Millisecond)
			_, _ = w.Write([]byte("busy\n"))
		}
		if rests != 0 {
			t.Errorf("rested %d times between writes", rests)
		}
		time.Sleep(5 * time.Second)
		if rests != 1 {
			t.Errorf("rested %d times in 5 s of silence, want once", rests)
		}
	})
}
