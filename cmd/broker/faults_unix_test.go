//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// withRetry makes nginx send a request again that got no answer, as docs/serve.md
// says.
func withRetry(conf string) string {
	return strings.Replace(conf, "proxy_next_upstream error timeout;", "proxy_next_upstream error timeout non_idempotent;\nproxy_set_header Idempotency-Key $request_id;", 1)
}

// Brokers are killed, one after the other, while clients write: nothing is lost of
// what was answered, and nothing is done twice.
func TestFleetKilled(t *testing.T) {
	for _, tt := range []struct {
		name  string
		nginx func(string) string
	}{{"no retry", nil}, {"retry", withRetry}} {
		t.Run(tt.name, func(t *testing.T) {
			c := startCounter(t)
			f := startFleetWith(t, 3, faultsConfig(t, map[string]string{"counter": c.url}, map[string]any{}), fleetOptions{nginx: tt.nginx})
			l := startLoad(t, c, 8, f.url)
			began := time.Now()
			kept := openKept(t, f.states[0])
			kills := 0
			for ; kills < 2 || time.Since(began) < faultsFor(t); kills++ {
				r, before, at := f.replicas[kills%3], l.n.Load(), time.Now()
				eventually.True(t, "clients go on", func() bool { return l.n.Load() > before+10 })
				r.signal(syscall.SIGKILL)
				<-r.ended
				kept.readRuns(t)
				r.start(t)
				r.ready(t)
				pause := 2200 * time.Millisecond // nginx tries again after 2 s what has failed
				if faultsFor(t) > 0 {
					pause = 5*time.Second - time.Since(at)
				}
				ready := time.Now()
				eventually.True(t, "the next one", func() bool { return time.Since(ready) > pause })
			}
			l.end()
			t.Logf("%d kills in %v", kills, time.Since(began).Round(time.Second))
			l.check(kept)
		})
	}
}
