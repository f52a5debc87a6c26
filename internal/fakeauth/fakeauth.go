// Package fakeauth provides a remote MCP server that requires OAuth, with its authorization
// server: real HTTP servers on the loopback interface for tests. The sign-in page approves
// automatically, so a browser is an HTTP client that follows redirects. The servers check what the
// specifications require of clients: PKCE, the resource parameter, registered redirect addresses,
// single use of a refresh token. A second use revokes all tokens of that sign-in, as real servers
// do.
package fakeauth

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// Secret is part of every token, code and client secret of a Server, so that tests can search for
// it where it must not be.
const Secret = "S3CR3T"

// Behaviour configures a Server. Server.Set changes it at any time.
type Behaviour struct {
	// Lifetime of access tokens; zero means an hour.
	Lifetime time.Duration
	// NoExpiry leaves expires_in out.
	NoExpiry bool
	// NoRefresh issues no refresh tokens.
	NoRefresh bool
	// NoRegistration refuses clients that register themselves.
	NoRegistration bool
	// ClientID and ClientSecret identify a client that was registered manually, with any redirect
	// address.
	ClientID, ClientSecret string
	// MetadataClient, if not empty, is the address of a client ID metadata document that is
	// accepted as a client, without being read.
	MetadataClient string
	// Issuers returns the authorization server that the MCP server names on each request; nil
	// means Server.Issuer.
	Issuers func() string
	// Withhold is a scope that no token gets.
	Withhold string
	// Unauthorized refuses calls that lack a scope with 401 instead of 403.
	Unauthorized bool
	// Deny answers the sign-in page with access_denied.
	Deny bool
	// State, if not empty, replaces the client's state in the answer of the sign-in page.
	State string
	// Issuer, if not empty, is the issuer in the answer of the sign-in page.
	Issuer string
	// Subject returns the account of a token to be exchanged for one of this server; nil exchanges
	// none.
	Subject func(token string) (account string, ok bool)
	// Down makes the token endpoint answer 503.
	Down bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Counts counts the events at a Server.
type Counts struct {
	Registered int // clients that registered
	SignIns    int // answers of the sign-in page
	Exchanged  int // exchanged codes
	Refreshed  int // refresh tokens that were used
	Reused     int // refresh tokens that were used a second time
	Revoked    int // requests for revocation
	Traded     int // tokens of others that were exchanged
	Refused    int // answers of 401 or 403 from the MCP server
}

// A Server is an MCP server with its authorization server. It is safe for concurrent use.
type Server struct {
	// URL is the MCP endpoint. Its tools are whoami and admin; admin needs the scope "admin",
	// which clients do not request by themselves.
	URL string
	// Issuer is the address of the authorization server.
	Issuer string

	mcp, as *httptest.Server

	mu      sync.Mutex
	b       Behaviour
	counts  Counts
	clients map[string]client
	codes   map[string]code
	access  map[string]grant
	refresh map[string]*refreshToken
	issued  []string
}

type client struct {
	secret    string
	redirects []string // nil means any
}

// A grant is the data of a token.
type grant struct {
	family  string // identifies the tokens of one sign-in
	account string // from the browser's cookie "account"
	client  string
	scopes  string
	expiry  time.Time
}

type code struct {
	grant
	challenge, redirect string
}

type refreshToken struct {
	grant
	used bool
}

// Start starts both servers. Close ends them.
func Start() *Server {
	s := &Server{
		clients: make(map[string]client), codes: make(map[string]code),
		access: make(map[string]grant), refresh: make(map[string]*refreshToken),
	}
	s.as = httptest.NewServer(s.authorizationServer())
	s.mcp = httptest.NewUnstartedServer(nil) // its handler needs its address
	s.Issuer, s.URL = s.as.URL, "http://"+s.mcp.Listener.Addr().String()+"/mcp"
	s.mcp.Config.Handler = s.protectedServer()
	s.mcp.Start()
	return s
}

// Close ends the servers and their connections.
func (s *Server) Close() {
	for _, srv := range []*httptest.Server{s.mcp, s.as} {
		srv.CloseClientConnections()
		srv.Close()
	}
}

// Set changes the behaviour.
func (s *Server) Set(change func(*Behaviour)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.b)
}

// Counts returns the counts so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Issued returns the access and refresh tokens that were issued so far.
func (s *Server) Issued() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.issued)
}

// Forget invalidates every access token and, if all is set, every refresh token.
func (s *Server) Forget(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
	if all {
		clear(s.refresh)
	}
}

// now returns the time; s.mu must be held.
func (s *Server) now() time.Time {
	if s.b.Now != nil {
		return s.b.Now()
	}
	return time.Now()
}

func newSecret(kind string) string { return fmt.Sprintf("%s-%s-%s", kind, Secret, rand.Text()) }

// Browser opens url like a browser with a user who agrees to everything: it follows
// redirects to the end.
func Browser(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the browser ended at a page with status %s", resp.Status)
	}
	return nil
}
