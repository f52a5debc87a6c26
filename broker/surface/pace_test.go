package surface

import (
	"testing"
	"time"
)

// However fast reports come, a client gets a burst and then an even rate.
func TestReportsOfProgressArePaced(t *testing.T) {
	for _, c := range []struct {
		name    string
		reports int
		apart   time.Duration
		want    int
	}{
		{"a few at once", progressBurst, 0, progressBurst},
		{"a flood", 1_000_000, 0, progressBurst},
		{"a flood for ten seconds", 1_000_000, 10 * time.Microsecond, progressBurst + 99},
		{"as fast as allowed", 1_000, progressEvery, 1_000},
		{"a slow tool", 100, time.Second, 100},
	} {
		var rate pace
		now, sent := time.Now(), 0
		for range c.reports {
			if rate.allows(now) {
				sent++
			}
			now = now.Add(c.apart)
		}
		if sent < c.want || sent > c.want+1 {
			t.Errorf("%s: %d reports were sent, want %d", c.name, sent, c.want)
		}
	}
}
