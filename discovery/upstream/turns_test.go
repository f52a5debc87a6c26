package upstream

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// Servers that may have to be downloaded start a few at a time; one that hangs
// gives its place to the next after its turn, and all others never wait.
func TestInstallsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool([]Config{{Name: "npx", Command: "/usr/bin/npx"}, {Name: "own", Command: "/opt/server"}}, nil)
		defer p.Close()
		npx, own := p.roster.Load().byName["npx"], p.roster.Load().byName["own"]
		start := time.Now()
		for range maxInstalls() {
			npx.queue(t.Context()) // hangs: never leaves
		}
		own.queue(t.Context())()
		npx.inventory.known = true
		npx.queue(t.Context())()
		npx.inventory.known = false
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %s while there was room or no need", waited)
		}
		leave := npx.queue(t.Context())
		if waited := time.Since(start); waited != installTurn {
			t.Errorf("one too many waited %s, want %s", waited, installTurn)
		}
		leave()
		synctest.Wait()
		for range maxInstalls() {
			defer npx.queue(t.Context())()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		npx.queue(ctx)()
		if ctx.Err() == nil {
			t.Error("there was another place")
		}
	})
}

// A server that hangs although its package is installed keeps its place for a short time
// only.
func TestInstalledServersGiveTheirPlaceBack(t *testing.T) {
	for name, tt := range map[string]struct {
		installs, starts time.Duration // 0 for never
		want             time.Duration
	}{
		"quick":           {time.Second, time.Second, 2 * time.Second},
		"hangs installed": {2 * time.Second, 0, 2*time.Second + startTurn},
		"slow start":      {2 * time.Second, time.Minute, 2*time.Second + startTurn},
		"hangs":           {0, 0, installTurn},
		"slow to install": {time.Minute, 0, installTurn},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewPool([]Config{{Name: "npx", Command: "/usr/bin/npx"}, {Name: "next", Command: "/usr/bin/npx"}}, nil)
				defer p.Close()
				npx, next := p.roster.Load().byName["npx"], p.roster.Load().byName["next"]
				p.installing.free = 1
				leave := npx.queue(t.Context())
				installed := npx.dial.Installed
				if tt.installs > 0 {
					time.AfterFunc(tt.installs, installed)
				}
				if tt.starts > 0 {
					time.AfterFunc(tt.installs+tt.starts, leave)
				}
				start := time.Now()
				next.queue(t.Context())()
				if waited := time.Since(start); waited != tt.want {
					t.Errorf("the next one waited %s, want %s", waited, tt.want)
				}
				leave()
			})
		})
	}
}

// A preferred server gets the next slot, before earlier ones.
func TestPreferredServersAreInstalledFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := turns{free: 1}
		q.wait(t.Context(), "first")
		got := make(chan string, 5)
		for _, name := range []string{"a", "b", "c", "d"} {
			go func() {
				if q.wait(t.Context(), name) {
					got <- name
				}
			}()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		go q.wait(ctx, "gone")
		synctest.Wait()
		cancel()
		synctest.Wait()
		p := Pool{common: &common{installing: &turns{}}}
		p.Prefer([]string{"gone", "c", "b"})
		q.order = p.installing.order
		var order []string
		for range 4 {
			q.leave()
			order = append(order, <-got)
		}
		if q.leave(); strings.Join(order, " ") != "c b a d" || q.free != 1 || len(q.waiting) > 0 {
			t.Errorf("order %q, %d free, %d waiting", order, q.free, len(q.waiting))
		}
	})
}

func TestAboutIsWhatIsKnownBeforeTheListing(t *testing.T) {
	p := newPool(t, nil, Config{Name: "a", Command: "npx", Args: []string{"-y", "@x/server-notes@1"}, Description: "Notes"}, Config{Name: "b", Command: "/opt/billing"})
	for name, want := range map[string]string{"a": "Notes. @x/server-notes", "b": ". billing", "none": ""} {
		if got := p.About(name); got != want {
			t.Errorf("About(%s) = %q, want %q", name, got, want)
		}
	}
}

// A server that fails is tried twice, and what it wrote is there once.
func TestStderrOfTwoAttemptsIsKeptOnce(t *testing.T) {
	p := newPool(t, nil, fake("s", fakeupstream.Exits))
	if st := p.Refresh(t.Context())[0]; len(st.Stderr) != 1 || st.State != StateFailed {
		t.Errorf("status = %+v", st)
	}
}
