package surface

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessions serves clients of the older protocols, which have sessions. The SDK's
// protection of local addresses is off, since it would refuse proxies on this machine;
// see checked.
func (s *Surface) sessions(server func(*http.Request) *mcp.Server) http.Handler {
	return exactIDs(mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{Logger: s.log, SessionTimeout: sessionTimeout, DisableLocalhostProtection: true}))
}

// stateless answers requests that stand alone.
func (s *Surface) stateless(server func(*http.Request) *mcp.Server) http.Handler {
	return withAddr(exactIDs(mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Logger: s.log, Stateless: true, PropagateRequestCancellation: true, DisableLocalhostProtection: true,
	})))
}

// maxIdleServers bounds the clients with a server but no session.
const maxIdleServers = 256

// clientServers are the servers of clients, created on demand.
type clientServers struct {
	s  *Surface
	id func() string // makes the ids of sessions; nil is the SDK's

	mu     sync.Mutex
	most   int
	byName map[string]*clientServer
}

// For returns the server for a request.
func (c *clientServers) For(r *http.Request) *mcp.Server {
	return c.server(cmp.Or(clientOf(r), "http"))
}

// server returns the server of the client with the given name.
func (c *clientServers) server(name string) *mcp.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.byName[name]
	if one == nil {
		if len(c.byName) >= c.most {
			c.forgetLocked()
		}
		one = &clientServer{server: c.s.server(name, c.id)}
		c.byName[name] = one
	}
	one.used = time.Now()
	return one.server
}

// forgetLocked drops the least recently used half of the servers without sessions; they
// are created again on demand.
func (c *clientServers) forgetLocked() {
	var idle []string
	for name, one := range c.byName {
		used := false
		for range one.server.Sessions() {
			used = true
			break
		}
		if !used {
			idle = append(idle, name)
		}
	}
	slices.SortFunc(idle, func(a, b string) int { return c.byName[a].used.Compare(c.byName[b].used) })
	for _, name := range idle[:(len(idle)+1)/2] {
		delete(c.byName, name)
	}
}

// A clientServer is the server of one client, with the time of its last use.
type clientServer struct {
	server *mcp.Server
	used   time.Time
}

func newClientServers(s *Surface, id func() string) *clientServers {
	return &clientServers{s: s, id: id, most: maxIdleServers, byName: make(map[string]*clientServer)}
}

// sendNews sends a client of an older protocol without a session the notifications that
// a session would receive: that lists have changed. Any replica can answer, and
// repeatedly, since all of them have the same lists.
func (s *Surface) sendNews(w http.ResponseWriter, r *http.Request, server *mcp.Server) {
	if accept := r.Header.Get("Accept"); !strings.Contains(accept, "text/event-stream") && !strings.Contains(accept, "*/*") {
		http.Error(w, "Accept must contain text/event-stream", http.StatusBadRequest)
		return
	}
	n := &news{w: w, done: make(chan struct{})}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	// Clients count how often they connect again without an id that is new to them,
	// and give up.
	if err := n.send("id: " + rand.Text() + "\ndata:\n\n"); err != nil {
		return
	}
	session, err := server.Connect(r.Context(), n, &mcp.ServerSessionOptions{State: &mcp.ServerSessionState{
		InitializeParams:  &mcp.InitializeParams{ProtocolVersion: r.Header.Get("Mcp-Protocol-Version")},
		InitializedParams: &mcp.InitializedParams{},
	}})
	if err != nil {
		s.log.Warn("send news", "err", err)
		return
	}
	defer session.Close()
	if r.Header.Get("Last-Event-Id") != "" { // it may have missed something
		if n.send(`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n") != nil {
			return
		}
	}
	select {
	case <-r.Context().Done():
	case <-n.done:
	}
}
