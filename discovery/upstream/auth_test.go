package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"
)

// A keeper is an OAuth handler with one token, which it exchanges for another
// when it is refused. Without another it wants a person.
type keeper struct {
	mu     sync.Mutex
	token  string
	next   []string
	asked  int // calls of Authorize
	opened int // handlers made
	fail   error
}

type wantsPerson struct{ partial bool }

func (wantsPerson) Error() string      { return "nobody is signed in" }
func (wantsPerson) SignInHint() string { return "sign in by hand" }
func (w wantsPerson) Partial() bool    { return w.partial }

func (k *keeper) open(Config, string) (auth.OAuthHandler, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.opened++
	return k, k.fail
}

func (k *keeper) TokenSource(context.Context) (oauth2.TokenSource, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.token == "" {
		return nil, fmt.Errorf("token: %w", wantsPerson{})
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: k.token}), nil
}

func (k *keeper) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	resp.Body.Close()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	if resp.StatusCode == http.StatusForbidden {
		return wantsPerson{partial: true}
	}
	if len(k.next) == 0 {
		k.token = ""
		return wantsPerson{}
	}
	k.token, k.next = k.next[0], k.next[1:]
	return nil
}

func (k *keeper) set(token string, next ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.token, k.next, k.asked = token, next, 0
}

func (k *keeper) times() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked
}

// guard lets requests with the token "good" through, and of tools/call only
// those for tools that are not called "wide".
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		if r.Header.Get("X-Wide") != "" {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="wide"`)
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func remoteHandlers() map[string]http.Handler {
	return map[string]http.Handler{
		"http stateless": guard(mcp.NewStreamableHTTPHandler(goodServer, &mcp.StreamableHTTPOptions{Stateless: true})),
		"http sessions":  guard(mcp.NewStreamableHTTPHandler(goodServer, nil)),
		"sse":            guard(mcp.NewSSEHandler(goodServer, nil)),
	}
}

func TestTokensOverEveryTransport(t *testing.T) {
	for name, h := range remoteHandlers() {
		t.Run(name, func(t *testing.T) {
			k := &keeper{token: "old", next: []string{"good"}}
			cfg := remoteConfig(serve(t, h))
			if name == "sse" {
				cfg.Type = "sse"
			}
			p := newPool(t, &Options{OAuth: k.open}, cfg)
			call := func() error {
				_, err := p.Call(t.Context(), "s", "echo", json.RawMessage(`{}`), nil)
				return err
			}
			if err := call(); err != nil || k.times() != 1 {
				t.Fatalf("with a token that is exchanged: %v, asked %d times", err, k.times())
			}
			k.set("old", "good") // ends in the middle of the session
			if err := call(); err != nil || k.times() != 1 {
				t.Fatalf("in a session: %v, asked %d times", err, k.times())
			}
			k.set("old")
			ce, ok := errors.AsType[*ConnectError](call())
			if !ok || ce.State != StateNeedsSignIn || ce.Hint != "sign in by hand" || !strings.Contains(ce.Error(), "nobody is signed in; sign in by hand") {
				t.Fatalf("without another token: %+v", ce)
			}
			k.set("good")
			if err := call(); err != nil {
				t.Errorf("after a sign-in: %v", err)
			}
			if k.opened != 1 {
				t.Errorf("%d handlers for one address", k.opened)
			}
		})
	}
}

func TestRefusedTokensAreNotTriedForEver(t *testing.T) {
	k := &keeper{token: "a", next: []string{"b", "c", "d", "e", "f", "g"}}
	p := newPool(t, &Options{OAuth: k.open}, remoteConfig(serve(t, guard(nil))))
	st := p.Refresh(t.Context())[0]
	if st.State != StateNeedsSignIn {
		t.Errorf("status = %+v", st)
	}
	// The SDK asks twice to connect: in the new way, then in the old.
	if n := k.times(); n > 2*transport.MaxAuthorize {
		t.Errorf("asked %d times", n)
	}
}

func TestConfiguredAuthorizationWins(t *testing.T) {
	k := &keeper{token: "bad"}
	cfg := remoteConfig(serve(t, remoteHandlers()["http stateless"]))
	cfg.Headers = map[string]string{"authorization": "Bearer good"}
	p := newPool(t, &Options{OAuth: k.open}, cfg)
	if st := p.Refresh(t.Context())[0]; st.State != StateReady || k.opened != 0 {
		t.Errorf("status = %+v, %d handlers", st, k.opened)
	}
}

func TestMissingRightsLeaveTheSessionAlone(t *testing.T) {
	h := remoteHandlers()["http sessions"]
	var mu sync.Mutex
	wide := false
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if wide && r.Method == http.MethodPost {
			r.Header.Set("X-Wide", "1")
		}
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	k := &keeper{token: "good"}
	p := newPool(t, &Options{OAuth: k.open}, remoteConfig(url))
	p.Refresh(t.Context()) // until its tools are listed it is starting
	if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Fatal(err)
	}
	set := func(on bool) { mu.Lock(); wide = on; mu.Unlock() }
	set(true)
	_, err := p.Call(t.Context(), "s", "echo", nil, nil)
	ce, ok := errors.AsType[*ConnectError](err)
	if !ok || ce.State != StateNeedsSignIn || ce.Sent {
		t.Errorf("err = %v", err)
	}
	if st := p.Status()[0]; st.State != StateReady {
		t.Errorf("status = %+v", st)
	}
	set(false)
	if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Error(err)
	}
}

func TestOAuthThatCannotBeSetUp(t *testing.T) {
	k := &keeper{fail: errors.New("environment variable ID is not set")}
	p := newPool(t, &Options{OAuth: k.open}, remoteConfig("http://127.0.0.1:1/mcp"))
	if st := p.Refresh(t.Context())[0]; st.State != StateFailed || !strings.Contains(st.Err.Error(), "ID is not set") || !strings.Contains(st.Hint, "oauth") {
		t.Errorf("status = %+v", st)
	}
}
