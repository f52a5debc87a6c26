package apitoken_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/apitoken"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/postgres"
)

var (
	server    *postgrestest.Server
	serverErr error
)

func TestMain(m *testing.M) {
	postgrestest.Main(m, func(s *postgrestest.Server, err error) { server, serverErr = s, err })
}

// onEach runs a test with documents of each kind; open returns those of another broker.
func onEach(t *testing.T, f func(t *testing.T, open func() state.Documents)) {
	t.Run("files", func(t *testing.T) {
		t.Parallel() // it waits
		dir := t.TempDir()
		f(t, func() state.Documents { return files.OpenDocuments(dir) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		at := postgrestest.Need(t, server, serverErr).Address()
		f(t, func() state.Documents {
			d, err := postgres.Connect(at, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			if err := d.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			return d.Documents("api-tokens")
		})
	})
}

func watch(t *testing.T, docs state.Documents) *apitoken.Watcher {
	t.Helper()
	w, err := apitoken.Watch(t.Context(), docs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// A token that one broker makes or revokes is good, or good for nothing, at all others
// within a second.
func TestTokens(t *testing.T) {
	onEach(t, func(t *testing.T, open func() state.Documents) {
		s := apitoken.NewStore(open())
		first, second := watch(t, open()), watch(t, open())
		if first.Any() {
			t.Error("there are tokens")
		}
		made, err := s.Create(t.Context(), apitoken.Token{Name: "ci", Profile: "p", Team: "build"}, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Create(t.Context(), apitoken.Token{Name: "ci"}, false); !errors.Is(err, apitoken.ErrTaken) {
			t.Errorf("a second token of one name: %v", err)
		}
		for _, w := range []*apitoken.Watcher{first, second} {
			eventually.True(t, "the token is good", func() bool { _, ok := w.Find(made); return ok })
			if got, _ := w.Find(made); got.Name != "ci" || got.Profile != "p" || got.Team != "build" || !w.Has("ci") || !w.Any() {
				t.Errorf("found %+v", got)
			}
			if _, ok := w.Find(made + "0"); ok || w.Has("c") {
				t.Error("another token is good")
			}
		}
		today := time.Now().UTC().Format(time.DateOnly)
		eventually.True(t, "the day of its use is kept", func() bool {
			_, used, err := s.List(t.Context())
			return err == nil && used["ci"] == today
		})
		revoked := time.Now()
		if err := s.Revoke(t.Context(), "ci"); err != nil {
			t.Fatal(err)
		}
		for _, w := range []*apitoken.Watcher{first, second} {
			eventually.True(t, "the token is revoked", func() bool { _, ok := w.Find(made); return !ok })
			if !w.Any() {
				t.Error("after the last token was revoked nobody needs one")
			}
		}
		t.Logf("revoked everywhere after %v", time.Since(revoked))
		if err := s.Revoke(t.Context(), "ci"); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("revoked twice: %v", err)
		}
		if list, used, err := s.List(t.Context()); err != nil || len(list)+len(used) != 0 {
			t.Errorf("%+v, %v, %v", list, used, err)
		}
	})
}

// Create does not reuse a revoked name by accident.
func TestRevokedNamesAreNotUsedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, open func() state.Documents) {
		s := apitoken.NewStore(open())
		for _, name := range []string{"ann", "bob", "ci"} {
			if _, err := s.Create(t.Context(), apitoken.Token{Name: name}, false); err != nil {
				t.Fatal(err)
			}
			if err := s.Revoke(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if secret, err := apitoken.NewStore(open()).Create(t.Context(), apitoken.Token{Name: name}, false); !errors.Is(err, apitoken.ErrRevoked) || secret != "" {
				t.Errorf("the name %s is used again: %v", name, err)
			}
			if _, err := s.Create(t.Context(), apitoken.Token{Name: name}, true); err != nil {
				t.Errorf("the client of %s gets no new token: %v", name, err)
			}
			if _, err := s.Create(t.Context(), apitoken.Token{Name: name}, true); !errors.Is(err, apitoken.ErrTaken) {
				t.Errorf("a second token of %s: %v", name, err)
			}
		}
	})
}

// A token is nowhere in what is kept, and is found by those who look for secrets.
func TestTokensAreNotKept(t *testing.T) {
	dir := t.TempDir()
	made, err := apitoken.NewStore(files.OpenDocuments(dir)).Create(t.Context(), apitoken.Token{Name: "ci"}, false)
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(dir, "tokens.json"))
	if err != nil || strings.Contains(string(body), made[len(apitoken.Prefix):]) {
		t.Errorf("kept %s, %v", body, err)
	}
	if text := redact.Text("use " + made + " there"); strings.Contains(text, made) {
		t.Errorf("redacted to %q", text)
	}
}
