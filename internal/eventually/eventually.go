// Package eventually waits, in tests, for events without a signal.
package eventually

import (
	"flag"
	"runtime"
	"strconv"
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

// Overlap lets three parallel tests run at the same time for each processor, unless the flag
// -parallel is set. TestMain calls it for tests that wait most of the time.
func Overlap() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))) // it is a number
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
