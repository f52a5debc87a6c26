package surface

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A conversation hears a text once, until it ends, and again once it is another text.
func TestTextsAreNewOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all told
		session, other := new(mcp.ServerSession), new(mcp.ServerSession)
		lasting := toldKey{session: weak.Make(session)}
		for _, c := range []struct {
			key         toldKey
			lasting     bool
			about, text string
			after       time.Duration
			want        bool
		}{
			{lasting, true, "a", "x", 0, true},
			{lasting, true, "a", "x", 24 * time.Hour, false},
			{lasting, true, "b", "x", 0, true},
			{lasting, true, "a", "y", 0, true},
			{lasting, true, "a", "y", 0, false},
			{toldKey{session: weak.Make(other)}, true, "a", "y", 0, true},
			{toldKey{client: "ann"}, false, "a", "x", 0, true},
			{toldKey{client: "ann"}, false, "a", "x", statelessTold - time.Second, false},
			{toldKey{client: "bob"}, false, "a", "x", 0, true},
			{toldKey{client: "ann"}, false, "a", "x", statelessTold + time.Second, true},
		} {
			time.Sleep(c.after)
			if got := all.news(c.key, c.lasting, c.about, c.text); got != c.want {
				t.Errorf("%q about %q after %s: news %t, want %t", c.text, c.about, c.after, got, c.want)
			}
		}
	})
}

// The memory of conversations is bounded, and the latest ones stay.
func TestToldIsBounded(t *testing.T) {
	var all told
	key := func(i int) toldKey { return toldKey{client: fmt.Sprint(i)} }
	for i := range 3 * maxTold {
		all.news(key(i), true, "a", "x")
	}
	if len(all.by) > maxTold {
		t.Errorf("%d conversations are remembered, of at most %d", len(all.by), maxTold)
	}
	if all.news(key(3*maxTold-1), true, "a", "x") {
		t.Error("the latest conversation is forgotten")
	}
	for i := range 3 * maxToldTexts {
		all.news(key(0), true, fmt.Sprint(i), "x")
	}
	if n := len(all.by[key(0)].digests); n > maxToldTexts {
		t.Errorf("a conversation remembers %d texts, of at most %d", n, maxToldTexts)
	}
}
