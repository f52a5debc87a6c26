package eventually

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestConditionIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		True(t, "a second has passed", func() bool { return time.Since(start) >= time.Second })
		if took := time.Since(start); took > time.Second+maxPause {
			t.Errorf("it took %s", took)
		}
		if holds(func() bool { return false }, patience) {
			t.Error("what is never true holds")
		}
	})
}
