package cli

import (
	"bytes"
	"testing"
	"time"
)

// A terminal gets the progress of long calls, without control characters and at most
// once a second.
func TestProgressAtTheTerminal(t *testing.T) {
	type report struct {
		at    time.Duration
		calls int
		text  string
	}
	for name, tt := range map[string]struct {
		reports []report
		want    string
	}{
		"a short run is quiet": {[]report{{10 * time.Millisecond, 0, "a"}, {900 * time.Millisecond, 0, "b"}}, ""},
		"one line a second":    {[]report{{0, 0, "a"}, {time.Second, 0, "b"}, {1500 * time.Millisecond, 0, "c"}, {2 * time.Second, 0, "d"}, {2001 * time.Millisecond, 0, "e"}}, "b\nd\n"},
		"calls that begin":     {[]report{{2 * time.Second, 1, "call 1: t"}, {3 * time.Second, 0, "t.t: 1/2"}, {5 * time.Second, 2, "call 2: t"}}, "t.t: 1/2\n"},
		"after a long silence": {[]report{{time.Hour, 0, "a"}, {time.Hour + time.Second/2, 0, "b"}}, "a\n"},
		"control characters":   {[]report{{time.Second, 0, "t.t: 1 \x1b[31mred\nhint: broker approvals approve"}}, "t.t: 1 ·[31mred hint: broker approvals approve\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var shown bytes.Buffer
			began := time.Unix(1_000_000, 0)
			now := began
			tell := CallProgress(&shown, func() time.Time { return now })
			for _, r := range tt.reports {
				now = began.Add(r.at)
				tell(r.calls, r.text)
			}
			if shown.String() != tt.want {
				t.Errorf("shown %q, want %q", &shown, tt.want)
			}
		})
	}
}
