package cli

import (
	"testing"
	"time"
)

func TestSpell(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Second: "0 s", 0: "0 s", 89 * time.Second: "89 s", 2 * time.Minute: "2 min", 100 * time.Minute: "2 h", 49 * time.Hour: "2 days"} {
		if got := Duration(d); got != want {
			t.Errorf("spell(%s) = %s, want %s", d, got, want)
		}
	}
}
