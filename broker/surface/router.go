package surface

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// profileRouter lead the requests to /mcp and /mcp/NAME to the surface that they are for.
type profileRouter struct {
	o    HTTPOptions
	base *Surface

	sessions *httpSessions
	mu       sync.Mutex
	handlers map[*Surface]http.Handler // by profile; kept until the broker stops
}

// ServeHTTP answers 404 for a profile that does not exist or does not belong to the
// token.
func (p *profileRouter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("profile")
	named := name != ""
	mine, limited := profilesOf(r)
	switch {
	case limited && named && !slices.Contains(mine, name):
		notFound(w, r)
		return
	case limited && !named && len(mine) == 1:
		name = mine[0]
	case limited && !named && !slices.Contains(mine, p.o.Default):
		why := "no profile here is for you"
		if len(mine) > 0 {
			why = "several profiles are for you: use /mcp/NAME with one of " + strings.Join(mine, ", ")
		}
		http.Error(w, why, http.StatusForbidden)
		return
	case !named:
		name = p.o.Default
	}
	s := p.base
	if name != "" {
		ok := p.o.Profile != nil
		if ok {
			s, ok = p.o.Profile(name)
		}
		if !ok && named {
			notFound(w, r)
			return
		}
		if !ok {
			http.Error(w, "the profile that you have here is not in the config any more", http.StatusForbidden)
			return
		}
	}
	p.handlerFor(s).ServeHTTP(w, r)
}

// handlerFor is the endpoint of a surface.
func (p *profileRouter) handlerFor(s *Surface) http.Handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.handlers[s]
	if h == nil {
		h = s.endpoint(p.o, p.sessions)
		p.handlers[s] = h
	}
	return h
}

// endpoint answers the clients of s, with one server for each.
func (s *Surface) endpoint(o HTTPOptions, all *httpSessions) http.Handler {
	if o.Replicas != nil {
		return s.requests.track(s.replicated(o, all))
	}
	servers := newClientServers(s, nil)
	sessions, stateless := all.bound(s.sessions(servers.For)), all.boundStreams(s.stateless(servers.For))
	return s.requests.track(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= StatelessSince {
			stateless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	}))
}

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

// A clientServer is the server of one client, with the time of its last use.
type clientServer struct {
	server *mcp.Server
	used   time.Time
}

func newClientServers(s *Surface, id func() string) *clientServers {
	return &clientServers{s: s, id: id, most: maxIdleServers, byName: make(map[string]*clientServer)}
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
