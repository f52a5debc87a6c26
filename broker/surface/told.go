package surface

import (
	"context"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

const (
	// maxTold bounds the conversations whose texts are remembered, and maxToldTexts the
	// texts of each.
	maxTold      = 4096
	maxToldTexts = 2048
	// statelessTold is how long a conversation without a session is remembered after
	// its last text.
	statelessTold = 10 * time.Minute
)

// A told remembers the texts that conversations were sent, so that none is sent twice.
// The zero value is ready to use. It is safe for concurrent use.
type told struct {
	mu sync.Mutex
	by map[toldKey]*toldTo
}

// A toldKey identifies a conversation: by its session, or where the protocol has none by
// the client and its connection. A client that connects again gets them again.
type toldKey struct {
	session weak.Pointer[mcp.ServerSession]
	client  string
}

// A toldTo is what one conversation was sent: digests by subject.
type toldTo struct {
	digests map[string]uint64
	used    time.Time
}

var toldSeed = maphash.MakeSeed()

// toldKeyOf returns the key of the conversation of a request. Over HTTP a session may
// be served by several brokers, which know it by its id.
func toldKeyOf(ctx context.Context, c *Call, req *mcp.CallToolRequest, stateless bool) (key toldKey, lasting bool) {
	switch {
	case !stateless:
		return toldKey{session: weak.Make(req.Session)}, true
	case c.Session != "":
		return toldKey{client: string(gate.Compact([]string{"session", c.Client, c.Session}))}, true
	}
	addr, _ := ctx.Value(addrKey{}).(string)
	return toldKey{client: string(gate.Compact([]string{"client", c.Client, c.Owner, c.ClientInfo, addr}))}, false
}

// addrKey is the context key of the address that a request comes from.
type addrKey struct{}

// withAddr returns a handler that records the address that a request comes from.
func withAddr(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), addrKey{}, r.RemoteAddr)))
	})
}

// news reports whether a conversation was not sent text about a subject before, and
// records that it is sent now. A lasting conversation is remembered until it ends.
func (t *told) news(key toldKey, lasting bool, about, text string) bool {
	digest := maphash.String(toldSeed, text)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	one := t.by[key]
	if one == nil || !lasting && now.Sub(one.used) > statelessTold {
		if t.by == nil {
			t.by = make(map[toldKey]*toldTo)
		}
		if len(t.by) >= maxTold {
			t.forgetLocked()
		}
		one = &toldTo{digests: make(map[string]uint64)}
		t.by[key] = one
	}
	one.used = now
	if was, ok := one.digests[about]; ok && was == digest {
		return false
	}
	if len(one.digests) >= maxToldTexts {
		clear(one.digests)
	}
	one.digests[about] = digest
	return true
}

// forgetLocked drops the conversations that are over, and then the least recently used
// quarter if there are still too many.
func (t *told) forgetLocked() {
	maps.DeleteFunc(t.by, func(k toldKey, _ *toldTo) bool { return k.client == "" && k.session.Value() == nil })
	if len(t.by) < maxTold {
		return
	}
	keys := slices.SortedFunc(maps.Keys(t.by), func(a, b toldKey) int { return t.by[a].used.Compare(t.by[b].used) })
	for _, k := range keys[:len(keys)/4] {
		delete(t.by, k)
	}
}
