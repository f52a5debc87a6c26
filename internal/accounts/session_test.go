package accounts

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
)

// A session of the console ends by itself, and what a person may do in it is what
// holds now.
func TestSessionsOfTheConsoleEnd(t *testing.T) {
	docs, err := state.Seal(files.OpenDocuments(t.TempDir()), state.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	admin := true
	d, err := New(Options{Documents: docs, Base: "http://localhost", Console: &Console{May: func(*upstream.Person, []string) (bool, error) { return admin, nil }}})
	if err != nil {
		t.Fatal(err)
	}
	const key = "key"
	visit := func(kind string, life time.Duration, keys ...string) Session {
		t.Helper()
		token, err := d.wait(t.Context(), pendingEntry{Kind: kind, Person: person{Subject: "1", Name: "ann"}, Browser: hashed(key)}, life)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/api/executions", nil)
		r.AddCookie(d.cookie(kindConsole, token, time.Hour))
		if keys == nil {
			keys = []string{key}
		}
		r.Header.Set(keyHeader, keys[0])
		v, err := d.Session(r)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := visit(kindConsole, time.Minute); v.Person == nil || v.Person.Name != "ann" || !v.Changes {
		t.Errorf("a session: %+v", v)
	}
	for _, wrong := range []string{"", "other", hashed(key)} { // browsers send the cookie to every port of its host
		if v := visit(kindConsole, time.Minute, wrong); v.Person != nil {
			t.Errorf("a session with the key %q: %+v", wrong, v)
		}
	}
	if v := visit(kindConsole, -time.Second); v.Person != nil {
		t.Errorf("a session that has expired: %+v", v)
	}
	if v := visit(kindBrowser, time.Minute); v.Person != nil {
		t.Errorf("a browser that connects accounts: %+v", v)
	}
	admin = false
	if v := visit(kindConsole, time.Minute); v.Person == nil || v.Changes {
		t.Errorf("a session of who may not change things any more: %+v", v)
	}
}
