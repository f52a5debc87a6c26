package upstream

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// A pool uses the servers of its base that are configured the same, hears what
// they list, and leaves them running when it is closed.
func TestPoolUsesTheServersOfItsBase(t *testing.T) {
	shared, changed, apart := fake("shared", fakeupstream.Stateful), fake("changed", fakeupstream.Stateful), fake("apart", fakeupstream.Stateful)
	base := newPool(t, nil, shared, changed, apart)
	changed.Env = map[string]string{"A": "1"}
	heard := make(chan string, 100)
	p := NewPool([]Config{shared, changed, apart, fake("own", fakeupstream.Stateful)}, &Options{
		Base: base, Apart: func(c Config) bool { return c.Name == "apart" },
		OnListing: func(l discovery.Listing) { heard <- l.Server },
	})
	t.Cleanup(func() { p.Close() })
	news := p.Changed()
	base.Refresh(t.Context())
	<-news
	if got := <-heard; got != "shared" {
		t.Errorf("the pool heard of %s", got)
	}
	for _, st := range p.Refresh(t.Context()) {
		if st.Err != nil {
			t.Errorf("%s: %v", st.Name, st.Err)
		}
	}
	where := func(p *Pool, server string) string {
		t.Helper()
		raw, err := p.Call(context.WithoutCancel(t.Context()), server, "where", nil, nil)
		if err != nil {
			t.Fatalf("call %s: %v", server, err)
		}
		return textOf(t, raw)
	}
	for _, c := range []struct {
		server string
		same   bool
	}{{"shared", true}, {"changed", false}, {"apart", false}} {
		if a, b := where(base, c.server), where(p, c.server); (a == b) != c.same {
			t.Errorf("%s: %q in the base, %q here", c.server, a, b)
		}
	}
	own, before := where(p, "own"), where(base, "shared")
	p.Close()
	if _, err := p.Call(t.Context(), "own", "where", nil, nil); err == nil {
		t.Errorf("%q is there after the end", own)
	}
	if got := where(base, "shared"); got != before {
		t.Errorf("the shared server is %q, before %q", got, before)
	}
	base.Update(nil) // nobody hears of it any more
	eventually.True(t, "the base forgets the pool", func() bool { return len(base.sharers.all()) == 0 })
	if strings.Contains(before, own) {
		t.Error("all servers are one")
	}
}
