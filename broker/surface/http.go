package surface

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// HTTPOptions configure the HTTP endpoint and its access.
type HTTPOptions struct {
	// Addr is where the endpoint listens, as "host:port". An address that
	// is not loopback needs tokens.
	Addr string
	// Tokens maps a client's name to its bearer token. When empty, everyone
	// who can connect may use it.
	Tokens map[string]string
	// Limits are those of the tokens that have some, by the client's name.
	Limits map[string]TokenLimits
	// Issued are further tokens, which may change; it may be nil.
	Issued Issued
	// SignIn accepts tokens of an authorization server too; nil accepts none.
	SignIn *SignIn
	// Profile finds the surface at /mcp/NAME; nil means that there is none.
	Profile func(name string) (s *Surface, ok bool)
	// Default is the profile that is also at /mcp, or empty.
	Default string
	// API answers requests below /api/; nil answers 404. It checks its tokens itself,
	// and refuses requests with RefuseAPI on behalf of the endpoint.
	API       http.Handler
	RefuseAPI func(w http.ResponseWriter, status int, detail string)
	// Console answers what is below /console. Unless people sign in to it, it is for
	// this machine alone: it is left out on an address that others can reach. Nil has
	// nothing there.
	Console       http.Handler
	ConsoleSignIn bool
	// Connect answers requests below /connect, where people connect their accounts of
	// servers; nil answers 404. It checks access itself.
	Connect http.Handler
	// ConnectLink answers who posts to /connect with a token.
	ConnectLink func(w http.ResponseWriter, r *http.Request, p *upstream.Person)
	// Ready reports whether /readyz answers 200; nil means always.
	Ready func() bool
	// Replicas are the brokers that share their state with this one; it may be nil.
	Replicas Replicas
	// Busy is called when a script begins to wait for a client that may come back
	// through another replica, and what it returns when that is over; nil for nothing.
	Busy func() (done func())

	// bodyTime is set by tests; zero means the constant.
	bodyTime time.Duration
}

// TokenLimits say what a token is good for.
type TokenLimits struct {
	// Profile is the only one that it can use; empty for any.
	Profile string
	// Team is the team whose quota counts, or empty.
	Team string
	// Expires is when it ends; zero is never.
	Expires time.Time
}

// Expired reports whether the token is good for nothing any more.
func (l TokenLimits) Expired() bool { return !l.Expires.IsZero() && !time.Now().Before(l.Expires) }

// Issued are tokens beside those of the config. It is safe for concurrent use.
type Issued interface {
	// Owner returns the client of a token, and what it is good for.
	Owner(token string) (client string, l TokenLimits, ok bool)
	// Has reports whether a client has that name.
	Has(client string) bool
	// Any reports whether there are some, or were.
	Any() bool
}

// owner returns the client that owns a token, or "", and the token's limits. Names of
// the config take precedence.
func (o *HTTPOptions) owner(token string) (client string, l TokenLimits) {
	if client = TokenOwner(o.Tokens, token); client != "" {
		return client, o.Limits[client]
	}
	if o.Issued != nil {
		if client, l, ok := o.Issued.Owner(token); ok && o.Tokens[client] == "" {
			return client, l
		}
	}
	return "", TokenLimits{}
}

// named reports whether a client with a token has that name.
func (o *HTTPOptions) named(client string) bool {
	_, ok := o.Tokens[client]
	return ok || o.Issued != nil && o.Issued.Has(client)
}

// closed reports whether the endpoint requires a token.
func (o *HTTPOptions) closed() bool {
	return len(o.Tokens) > 0 || o.SignIn != nil || o.Issued != nil && o.Issued.Any()
}

// sessionTimeout ends the sessions of clients that went away without a word.
const sessionTimeout = 30 * time.Minute

// StatelessSince is the first protocol version without sessions.
const StatelessSince = "2026-07-28"

// Handler returns the Streamable HTTP endpoint at /mcp. It serves clients of both
// protocol eras: those with sessions, and those that name the version in each request.
// /healthz always answers 200, and /readyz depends on Ready.
func (s *Surface) Handler(o HTTPOptions) (http.Handler, error) {
	loopback := isLoopback(o.Addr)
	if !loopback && !o.closed() {
		return nil, fmt.Errorf("%s can be reached by other machines, so it needs a token\n"+
			`hint: broker tokens create NAME, or "broker": {"http": {"tokens": {"me": "${BROKER_TOKEN}"}}} in the config, or listen on 127.0.0.1`, o.Addr)
	}
	for name, token := range o.Tokens {
		if token == "" {
			return nil, fmt.Errorf("the HTTP token of %q is empty", name)
		}
	}
	mux := http.NewServeMux()
	all := &profileRouter{o: o, base: s, sessions: newHTTPSessions(), handlers: make(map[*Surface]http.Handler)}
	var large largeBodies
	endpoint := checkOrigin(large.limit(all), o, loopback)
	mux.Handle("/mcp", endpoint)
	mux.Handle("/mcp/{profile}", endpoint)
	if o.Replicas != nil { // what others pass on is checked here again, and stays here
		inner := http.NewServeMux()
		inner.Handle("/mcp", checkOrigin(large.limit(markForwarded(all)), o, false))
		inner.Handle("/mcp/{profile}", checkOrigin(large.limit(markForwarded(all)), o, false))
		o.Replicas.Serve(s.guardHTTP(inner))
	}
	if o.SignIn != nil {
		metadata := o.SignIn.metadata()
		mux.Handle(wellKnown, metadata)
		mux.Handle(wellKnown+"/", metadata)
	}
	if o.API != nil {
		mux.Handle("/api/", requireSameSite(o.API, loopback, o.RefuseAPI))
	}
	if o.Console != nil && (loopback || o.ConsoleSignIn) {
		mux.Handle("/console", requireSameSite(o.Console, loopback, refusePlainly))
		mux.Handle("/console/", requireSameSite(o.Console, loopback, refusePlainly))
	}
	if o.Connect != nil && (len(o.Tokens) > 0 || o.SignIn != nil) {
		mux.Handle("POST /connect", checkOrigin(forBearer(o.ConnectLink), o, loopback))
		mux.Handle("/connect", o.Connect)
		mux.Handle("/connect/", o.Connect)
	}
	// Monitoring has no token and learns nothing else.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeHealth(w, true) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { writeHealth(w, o.Ready == nil || o.Ready()) })
	mux.HandleFunc("/", notFound)
	return s.guardHTTP(withBodyDeadline(mux, cmp.Or(o.bodyTime, bodyTime))), nil
}

// ConsoleHandler serves the console and its API, without MCP, on a loopback
// address.
func ConsoleHandler(console, api http.Handler, refuse func(w http.ResponseWriter, status int, detail string)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/", requireSameSite(api, true, refuse))
	console = requireSameSite(console, true, refusePlainly)
	mux.Handle("/console", console)
	mux.Handle("/console/", console)
	mux.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusFound))
	return withBodyDeadline(mux, bodyTime)
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "the MCP endpoint is /mcp", http.StatusNotFound)
}

func writeHealth(w http.ResponseWriter, ok bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	status, text := http.StatusOK, "ok\n"
	if !ok {
		status, text = http.StatusServiceUnavailable, "not ready\n"
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone
}

// checkOrigin refuses requests that a web page in the user's browser could send, unless the
// client proves that it knows a token.
func checkOrigin(next http.Handler, o HTTPOptions, loopback bool) http.Handler {
	if protected := withToken(next, o); o.closed() {
		next = protected
	} else if open := next; o.Issued != nil {
		next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if o.closed() {
				protected.ServeHTTP(w, r)
				return
			}
			open.ServeHTTP(w, r)
		})
	}
	local, named := requireSameSite(next, loopback, refusePlainly), requireSameSite(next, false, refusePlainly)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.closed() { // a page does not know the token, and a local proxy forwards its own host name
			named.ServeHTTP(w, r)
			return
		}
		local.ServeHTTP(w, r)
	})
}

// refusePlainly answers in plain text, for pages that people open and for MCP clients.
func refusePlainly(w http.ResponseWriter, status int, detail string) { http.Error(w, detail, status) }

// requireSameSite refuses what a web page of somebody else in the user's browser could
// send.
func requireSameSite(next http.Handler, loopback bool, refuse func(w http.ResponseWriter, status int, detail string)) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, "requests from web pages of another origin are refused")
	}))
	next = crossOrigin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A page that made its own name resolve to this machine sends that
		// name as Host (DNS rebinding).
		if loopback && !isLoopback(r.Host) {
			refuse(w, http.StatusForbidden, fmt.Sprintf("host %q is refused: use localhost or 127.0.0.1", gate.Cut(r.Host, maxSaid)))
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && !sameHost(origin, r.Host) {
			refuse(w, http.StatusForbidden, fmt.Sprintf("origin %q is refused", gate.Cut(origin, maxSaid)))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// withToken refuses requests without a valid token. It sets the client's name as the
// user of the request, to whom the SDK binds a session: another client's token cannot
// use it.
func withToken(next http.Handler, o HTTPOptions) http.Handler {
	needed := &auth.RequireBearerTokenOptions{AllowMissingExpiration: true}
	if o.SignIn != nil {
		needed.Scopes = o.SignIn.Scopes
	}
	verify := func(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		client, limits := o.owner(token)
		switch {
		case client != "":
			return &auth.TokenInfo{UserID: client, Scopes: needed.Scopes, Extra: ofToken(client, limits)}, nil
		case o.SignIn == nil:
			return nil, auth.ErrInvalidToken
		}
		return o.SignIn.info(ctx, token, o.named)
	}
	next = withChallenge(auth.RequireBearerToken(verify, needed), next, o.SignIn)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fields := strings.Fields(r.Header.Get("Authorization")); len(fields) == 2 {
			if _, l := o.owner(fields[1]); l.Expired() {
				why := "this token expired on " + l.Expires.UTC().Format("2006-01-02 15:04 MST") + ": ask for a new one"
				w.Header().Set("WWW-Authenticate", challenge(http.StatusUnauthorized, r, o.SignIn)+fmt.Sprintf(", error_description=%q", why))
				http.Error(w, why, http.StatusUnauthorized)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// TokenOwner returns the client that owns token, or "". It takes constant time.
func TokenOwner(tokens map[string]string, token string) (name string) {
	got := sha256.Sum256([]byte(token))
	for n, t := range tokens {
		want := sha256.Sum256([]byte(t))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			name = n
		}
	}
	return name
}

// clientOf returns the name of the client that owns the token of a request, or "" if
// there are no tokens.
func clientOf(r *http.Request) string {
	if info := auth.TokenInfoFromContext(r.Context()); info != nil {
		return info.UserID
	}
	return ""
}

// httpRequests are the HTTP requests in progress. In the protocol with sessions the SDK
// continues a call after its request is gone, so that the client can ask for the answer
// again. This endpoint does not support that: it kills the script of a client that is
// gone.
type httpRequests struct {
	mu   sync.Mutex
	last uint64
	byID map[string]context.Context
}

// requestHeader marks a request for the handler of the call in it.
const requestHeader = "X-Broker-Request"

// track marks requests and forgets them when they end.
func (h *httpRequests) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		if h.byID == nil {
			h.byID = make(map[string]context.Context)
		}
		h.last++
		id := strconv.FormatUint(h.last, 36)
		h.byID[id] = r.Context()
		h.mu.Unlock()
		defer func() {
			h.mu.Lock()
			delete(h.byID, id)
			h.mu.Unlock()
		}()
		r.Header.Set(requestHeader, id) // whatever the client put there
		next.ServeHTTP(w, r)
	})
}

// join returns a context that is also done when the HTTP request that req came
// in is. The function it returns must be called.
func (h *httpRequests) join(ctx context.Context, req *mcp.CallToolRequest) (context.Context, func()) {
	if req.Extra == nil || req.Extra.Header.Get(requestHeader) == "" {
		return ctx, func() {}
	}
	h.mu.Lock()
	request := h.byID[req.Extra.Header.Get(requestHeader)]
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	if request == nil { // it is gone already
		cancel()
		return ctx, func() {}
	}
	stop := context.AfterFunc(request, cancel)
	return ctx, func() { stop(); cancel() }
}

// isLoopback reports whether hostport names this machine for itself alone.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func sameHost(origin, host string) bool {
	_, rest, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(rest, host)
}

// ErrAddr is wrapped by the errors of NormalizeAddr.
var ErrAddr = errors.New("no address to listen on")

// NormalizeAddr completes what a user typed as an address: "8080" and ":8080"
// listen on 127.0.0.1 only.
func NormalizeAddr(addr string) (string, error) {
	whole := addr
	if !strings.Contains(addr, ":") {
		whole = ":" + addr
	}
	host, port, err := net.SplitHostPort(whole)
	if _, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil {
		return "", fmt.Errorf("%w: %q\nhint: 127.0.0.1:8080, or 0.0.0.0:8080 for other machines", ErrAddr, addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}
