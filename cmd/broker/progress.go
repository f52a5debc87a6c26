package main

import (
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

// bar is how much of all is done.
func bar(done, all int) string {
	n := 0
	if all > 0 {
		n = min(max(done, 0), all) * barWidth / all
	}
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", barWidth-n) + "]"
}

// meter says on stderr how far something is until the function that it returns is
// called, which may be called twice: on a terminal in its last line, else now and
// then in a line of its own. Nothing is said while how returns nothing.
func (a *app) meter(how func() string) (stop func()) {
	every, width := lineEvery, widthOf(a.stderr)
	show := func(text string) { say(a.stderr, "broker: %s\n", text) }
	terminal := onTerminal(a.stderr)
	if terminal {
		every = barEvery
		show = func(text string) {
			if width > 0 { // a line that is longer cannot be replaced
				text = gate.Cut(text, width-1)
			}
			progress(a.stderr, "%s", text)
		}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for first := true; ; first = false {
			if text := how(); text != "" && (terminal || !first) {
				a.line.Lock()
				show(text)
				a.line.Unlock()
			}
			select {
			case <-done:
				if terminal {
					progress(a.stderr, "")
				}
				return
			case <-tick.C:
			}
		}
	}()
	return sync.OnceFunc(func() { close(done); <-gone })
}

// busy is meter for what has no known end.
func (a *app) busy(what string) (stop func()) {
	start := time.Now()
	return a.meter(func() string {
		return fmt.Sprintf("%s … %d s", oneLine(what, 100), int(time.Since(start).Seconds()))
	})
}

// progressOf returns a function that describes the servers that have not answered yet.
func progressOf(s *session, all int) func() string {
	return func() string {
		var waiting []string
		for _, st := range starting(s) {
			waiting = append(waiting, fmt.Sprintf("%s %s, %s", st.Name, st.Doing, spell(time.Since(st.Since))))
		}
		if len(waiting) == 0 {
			return ""
		}
		all = max(all, len(waiting))
		return fmt.Sprintf("%d of %d servers answered; %s", all-len(waiting), all, oneLine(strings.Join(waiting, "; "), 300))
	}
}
