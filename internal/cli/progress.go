package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

const (
	barEvery = 200 * time.Millisecond
	// lineEvery is the interval of progress lines without a terminal, such as in the
	// log of a CI job.
	lineEvery = 10 * time.Second
	barWidth  = 20
)

// Bar draws how much of all is done.
func Bar(done, all int) string {
	n := 0
	if all > 0 {
		n = min(max(done, 0), all) * barWidth / all
	}
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", barWidth-n) + "]"
}

// Meter says on stderr how far something is until the function that it returns is
// called, which may be called twice: on a terminal in its last line, else now and
// then in a line of its own. Nothing is said while how returns nothing.
func (t *IO) Meter(how func() string) (stop func()) {
	every, width := lineEvery, Width(t.Err)
	show := func(text string) { Fprintf(t.Err, "broker: %s\n", text) }
	terminal := IsTerminal(t.Err)
	if terminal {
		every = barEvery
		show = func(text string) {
			if width > 0 { // a line that is longer cannot be replaced
				text = gate.Cut(text, width-1)
			}
			ReplaceLine(t.Err, "%s", text)
		}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for first := true; ; first = false {
			if text := how(); text != "" && (terminal || !first) {
				t.mu.Lock()
				show(text)
				t.mu.Unlock()
			}
			select {
			case <-done:
				if terminal {
					ReplaceLine(t.Err, "")
				}
				return
			case <-tick.C:
			}
		}
	}()
	return sync.OnceFunc(func() { close(done); <-gone })
}

// Busy is Meter for what has no known end.
func (t *IO) Busy(what string) (stop func()) {
	start := time.Now()
	return t.Meter(func() string {
		return fmt.Sprintf("%s … %d s", OneLine(what, 100), int(time.Since(start).Seconds()))
	})
}

// keyAfter is the time after which a waiting command offers to go on.
const keyAfter = 500 * time.Millisecond

// MeterUntilKey shows on a terminal how far something is, and calls goOn when a key is
// pressed, until done is called or ctx is done. without names what goOn ends.
func (t *IO) MeterUntilKey(ctx context.Context, how func() string, without string, goOn func()) (done func()) {
	stop := t.Meter(how)
	pressed, release := t.anyKey(ctx)
	over := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		hint := time.NewTimer(keyAfter)
		defer hint.Stop()
		for {
			select {
			case <-pressed:
				goOn()
				return
			case <-hint.C:
				if pressed != nil && how() != "" {
					t.mu.Lock()
					ReplaceLine(t.Err, "broker: press a key to go on without %s\n", without)
					t.mu.Unlock()
				}
			case <-over:
				return
			}
		}
	}()
	return func() { close(over); <-gone; release(); stop() }
}
