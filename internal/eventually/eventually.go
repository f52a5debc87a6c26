// Package eventually waits, in tests, for events without a signal.
package eventually

import (
	"testing"
	"time"
)

const (
	// patience bounds the time until a condition is true. Tests that pass wait much less, even on
	// a busy machine.
	patience = time.Minute

	firstPause = time.Millisecond
	maxPause   = 20 * time.Millisecond
)

// True returns when cond does, and fails t if that takes too long. what describes the condition,
// such as "the server is listed".
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
