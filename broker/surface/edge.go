package surface

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/modelcontextprotocol/go-sdk/auth"
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
	// Profile returns the surface at /mcp/NAME. If it is nil, only /mcp is served.
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

func notFound(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "the MCP endpoint is /mcp", http.StatusNotFound)
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
