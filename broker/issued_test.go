package broker_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
)

// A ring is tokens that come and go.
type ring map[string]struct {
	client string
	limits broker.TokenLimits
}

func (r ring) Owner(token string) (string, broker.TokenLimits, bool) {
	t, ok := r[token]
	return t.client, t.limits, ok
}

func (r ring) Has(client string) bool {
	for _, t := range r {
		if t.client == client {
			return true
		}
	}
	return false
}

func (r ring) Any() bool { return len(r) > 0 }

// Tokens that were issued work as those of the config do, whose names they cannot take.
func TestIssuedTokens(t *testing.T) {
	b := profiled(t, broker.Deps{}, broker.Settings{})
	tokens := make(ring)
	add := func(token, client string, l broker.TokenLimits) {
		tokens[token] = struct {
			client string
			limits broker.TokenLimits
		}{client, l}
	}
	for _, c := range []struct {
		o           broker.HTTPOptions
		before, now int // status without a token, and once there is one
	}{
		{broker.HTTPOptions{Addr: "127.0.0.1:0"}, 200, 401},
		{broker.HTTPOptions{Addr: "127.0.0.1:0", Tokens: map[string]string{"ann": "secret-a"}}, 401, 401},
	} {
		clear(tokens)
		c.o.Issued = tokens
		h, err := b.Handler(c.o)
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(h)
		ask := func(token string) int {
			headers := map[string]string{}
			if token != "" {
				headers["Authorization"] = "Bearer " + token
			}
			status, _, _ := post(t, t.Context(), srv.URL, initialize, headers)
			return status
		}
		if got := ask(""); got != c.before {
			t.Errorf("without tokens: %d, want %d", got, c.before)
		}
		add("made-1", "ci", broker.TokenLimits{Profile: "work"})
		add("made-2", "old", broker.TokenLimits{Expires: time.Now().Add(-time.Hour)})
		add("made-3", "ann", broker.TokenLimits{})
		for token, want := range map[string]int{"": c.now, "made-1": 200, "made-2": 401, "made-4": 401} {
			if got := ask(token); got != want {
				t.Errorf("with the token %q: %d, want %d", token, got, want)
			}
		}
		if got, want := ask("made-3"), map[bool]int{true: 401, false: 200}[len(c.o.Tokens) > 0]; got != want {
			t.Errorf("with the name of one in the config: %d, want %d", got, want)
		}
		delete(tokens, "made-1")
		if got := ask("made-1"); got != 401 {
			t.Errorf("revoked: %d", got)
		}
		srv.Close()
	}
	if _, err := b.Handler(broker.HTTPOptions{Addr: "0.0.0.0:0", Issued: make(ring)}); err == nil {
		t.Error("other machines need no token")
	}
}
