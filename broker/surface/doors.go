package surface

import (
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// doors lead the requests to /mcp and /mcp/NAME to the surface that they are for.
type doors struct {
	o    HTTPOptions
	base *Surface

	mu   sync.Mutex
	open map[*Surface]http.Handler
}

// ServeHTTP answers who asks for a profile that there is not, or that is not for
// its token, as if there were no such address.
func (d *doors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, only := r.PathValue("profile"), d.o.Limits[clientOf(r)].Profile
	named := name != ""
	switch {
	case only != "" && named && name != only:
		noEndpoint(w, r)
		return
	case only != "":
		name = only
	case !named:
		name = d.o.Default
	}
	s := d.base
	if name != "" {
		ok := d.o.Profile != nil
		if ok {
			s, ok = d.o.Profile(name)
		}
		if !ok && named {
			noEndpoint(w, r)
			return
		}
		if !ok {
			http.Error(w, "the profile that you have here is not in the config any more", http.StatusForbidden)
			return
		}
	}
	d.behind(s).ServeHTTP(w, r)
}

// behind is the endpoint of a surface.
func (d *doors) behind(s *Surface) http.Handler {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.open[s]
	if h == nil {
		h = s.endpoint(d.o.Tokens)
		d.open[s] = h
	}
	return h
}

// endpoint answers the clients of s, each with a server of its own.
func (s *Surface) endpoint(tokens map[string]string) http.Handler {
	servers := map[string]*mcp.Server{"": s.Server("http")}
	for name := range tokens {
		servers[name] = s.Server(name)
	}
	serverFor := func(r *http.Request) *mcp.Server { return servers[clientOf(r)] }
	sessions := mcp.NewStreamableHTTPHandler(serverFor, &mcp.StreamableHTTPOptions{Logger: s.log, SessionTimeout: sessionTimeout})
	stateless := mcp.NewStreamableHTTPHandler(serverFor, &mcp.StreamableHTTPOptions{
		Logger: s.log, Stateless: true, PropagateRequestCancellation: true,
	})
	return s.requests.track(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= StatelessSince {
			stateless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	}))
}
