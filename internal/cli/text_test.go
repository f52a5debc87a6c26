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

// The state of a server is said once, also where its error begins with it.
func TestStateIsSaidOnce(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ state, text, now, ago string }{
		{"needs sign-in", "needs sign-in", "needs sign-in", "needs sign-in 3 min ago"},
		{"needs sign-in", "needs sign-in: the token was refused", "needs sign-in: the token was refused", "needs sign-in 3 min ago: the token was refused"},
		{"needs sign-in", "401 Unauthorized", "needs sign-in: 401 Unauthorized", "needs sign-in 3 min ago: 401 Unauthorized"},
		{"failed", `calling "initialize": EOF`, "failed: EOF", "failed 3 min ago: EOF"},
		{"failed", "failed to start", "failed to start", "failed 3 min ago: failed to start"},
	} {
		if got := Failure(tt.state, tt.text); got != tt.now {
			t.Errorf("Failure(%q, %q) = %q, want %q", tt.state, tt.text, got, tt.now)
		}
		if got := FailedAgo(tt.state, tt.text, at, at.Add(3*time.Minute)); got != tt.ago {
			t.Errorf("FailedAgo(%q, %q) = %q, want %q", tt.state, tt.text, got, tt.ago)
		}
	}
}
