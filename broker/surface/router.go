package surface

import (
	"net/http"
	"slices"
	"strings"
	"sync"
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
