// Package eventually waits, in tests, for what gives no signal when it happens.
package eventually

import (
	"testing"
	"time"
)

const (
	// patience is how long a condition may take. Tests that pass wait much
	// shorter, also on a busy machine.
	patience = time.Minute

	firstPause = time.Millisecond
	maxPause   = 20 * time.Millisecond
)

// True returns when cond does, and fails t if that takes too long. what says what
// should be true, such as "the server is listed".
func True(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !holds(cond, patience) {
		t.Fatalf("%s: not within %s", what, patience)
	}
}

func holds(cond func() bool, limit time.Duration) bool {
	end := time.Now().Add(limit)
	for pause := firstPause; !cond(); pause = min(2*pause, maxPause) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}
