package oauth

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
)

func TestLoginThenCall(t *testing.T) {
	w := newWorld(t)
	p := w.pool()
	w.wantSignIn(w.call(p, "whoami"))
	asked := w.remote.Counts().Refused
	if asked == 0 {
		t.Error("the server was not asked whether it wants a token")
	}
	for range 5 {
		w.wantSignIn(w.call(p, "whoami"))
	}
	if n := w.remote.Counts().Refused; n != asked {
		t.Errorf("the server was asked %d times more while nobody signed in", n-asked)
	}
	if st := p.Status()[0]; st.State != upstream.StateNeedsSignIn || fmt.Sprint(st.Err) != "needs sign-in" || st.Hint != `broker auth login "remote one"` {
		t.Errorf("status = %s, %v, %q", st.State, st.Err, st.Hint)
	}
	st := w.login()
	if !st.SignedIn || !st.Refreshable || st.Issuer != w.remote.Issuer || fmt.Sprint(st.Scopes) != "[read]" || st.Expires.IsZero() {
		t.Errorf("Login = %+v", st)
	}
	if err := w.call(p, "whoami"); err != nil { // the same pool, which was running
		t.Fatal(err)
	}
	if got, err := w.m.Status(w.server); err != nil || got.Stored != st.Stored || !got.SignedIn {
		t.Errorf("Status = %+v, %v", got, err)
	}
	if c := w.remote.Counts(); c.Registered != 1 || c.SignIns != 1 || c.Exchanged != 1 || c.Refreshed != 0 {
		t.Errorf("counts = %+v", c)
	}
}

func TestTokenIsInAFileThatOnlyItsOwnerReads(t *testing.T) {
	w := newWorld(t)
	w.login()
	path, content := w.file()
	if !strings.Contains(string(content), fakeauth.Secret) {
		t.Errorf("the token is not in %s", path)
	}
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode here")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	dir, err := os.Stat(w.m.store.scope)
	if err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("mode of the directory %v, %v, want 0700", dir.Mode(), err)
	}
}

func TestTokenIsInTheKeyring(t *testing.T) {
	w := newWorld(t)
	w.ring.err = nil
	if st := w.login(); st.Stored != "keyring" {
		t.Errorf("stored in %q", st.Stored)
	}
	w.noTokensBelow(w.dir)
	p := w.pool()
	if err := w.call(p, "whoami"); err != nil {
		t.Fatal(err)
	}
	w.clock.advance(2 * time.Hour)
	if err := w.call(p, "whoami"); err != nil {
		t.Fatal(err)
	}
	w.noTokensBelow(w.dir)
	if _, err := w.m.Logout(t.Context(), w.server); err != nil || len(w.ring.values) != 0 {
		t.Errorf("after logout: %v, %d entries", err, len(w.ring.values))
	}
}

func TestTokenThatIsTooBigForTheKeyring(t *testing.T) {
	w := newWorld(t)
	w.ring.err = nil
	w.login()
	w.ring.limit = 10
	w.clock.advance(2 * time.Hour)
	if err := w.call(w.pool(), "whoami"); err != nil {
		t.Fatal(err)
	}
	if _, content := w.file(); !strings.Contains(string(content), fakeauth.Secret) || len(w.ring.values) != 0 {
		t.Errorf("the renewed token is not in the file, or an old one is left in the keyring: %d entries", len(w.ring.values))
	}
	if err := w.call(w.pool(), "whoami"); err != nil {
		t.Error(err)
	}
}

func TestExpiredTokenIsRenewed(t *testing.T) {
	w := newWorld(t)
	w.login()
	p := w.pool()
	for round := 1; round <= 3; round++ {
		if err := w.call(p, "whoami"); err != nil {
			t.Fatal(err)
		}
		refused := w.remote.Counts().Refused
		w.clock.advance(2 * time.Hour)
		if err := w.call(p, "whoami"); err != nil {
			t.Fatal(err)
		}
		// Each renewal has to send the token of the one before.
		if c := w.remote.Counts(); c.Refreshed != round || c.Reused != 0 || c.Refused != refused {
			t.Errorf("round %d: counts = %+v, want no refusal", round, c)
		}
	}
}

func TestTokenThatEndsBeforeItsTimeIsRenewedOnce(t *testing.T) {
	w := newWorld(t)
	w.login()
	p := w.pool()
	if err := w.call(p, "whoami"); err != nil {
		t.Fatal(err)
	}
	w.remote.Forget(false)
	if err := w.call(p, "whoami"); err != nil {
		t.Fatal(err)
	}
	if c := w.remote.Counts(); c.Refreshed != 1 {
		t.Errorf("counts = %+v", c)
	}
}

func TestManyCallsRenewOnce(t *testing.T) {
	w := newWorld(t)
	w.login()
	p := w.pool()
	if err := w.call(p, "whoami"); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func(){func() { w.clock.advance(2 * time.Hour) }, func() { w.remote.Forget(false) }} {
		before := w.remote.Counts().Refreshed
		end()
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				if err := w.call(p, "whoami"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if c := w.remote.Counts(); c.Refreshed != before+1 || c.Reused != 0 {
			t.Errorf("counts = %+v, want one renewal", c)
		}
	}
}

func TestEndedSignInSaysWhatToDo(t *testing.T) {
	w := newWorld(t)
	w.login()
	p := w.pool()
	if err := w.call(p, "whoami"); err != nil {
		t.Fatal(err)
	}
	w.remote.Forget(true)
	ce := w.wantSignIn(w.call(p, "whoami"))
	if want := "needs sign-in: the sign-in has ended, the authorization server says invalid_grant"; ce.Err.Error() != want {
		t.Errorf("err = %v, want %s", ce.Err, want)
	}
	if st := p.Status()[0]; st.State != upstream.StateNeedsSignIn || st.Hint == "" {
		t.Errorf("status = %s, %q", st.State, st.Hint)
	}
	refused := w.remote.Counts().Refused
	for range 5 {
		w.wantSignIn(w.call(p, "whoami"))
	}
	if c := w.remote.Counts(); c.Refused != refused || c.Refreshed != 0 {
		t.Errorf("counts = %+v, want no further request", c)
	}
	if _, content := w.file(); strings.Contains(string(content), fakeauth.Secret) {
		t.Errorf("tokens that are of no use are kept: %s", content)
	}
	if st, err := w.m.Status(w.server); err != nil || st.SignedIn || !strings.Contains(st.Reason, "invalid_grant") {
		t.Errorf("Status = %+v, %v", st, err)
	}
	w.login()
	if err := w.call(p, "whoami"); err != nil {
		t.Errorf("after another sign-in: %v", err)
	}
}

func TestExpiredTokenWithoutRefreshNeedsSignIn(t *testing.T) {
	w := newWorld(t)
	w.remote.Set(func(b *fakeauth.Behaviour) { b.NoRefresh = true })
	if st := w.login(); !st.SignedIn || st.Refreshable {
		t.Errorf("Login = %+v", st)
	}
	p := w.pool()
	if err := w.call(p, "whoami"); err != nil {
		t.Fatal(err)
	}
	w.clock.advance(2 * time.Hour)
	if ce := w.wantSignIn(w.call(p, "whoami")); !strings.Contains(ce.Err.Error(), "expired") {
		t.Errorf("err = %v", ce.Err)
	}
	if st, err := w.m.Status(w.server); err != nil || st.SignedIn || st.Reason != "the token has expired" {
		t.Errorf("Status = %+v, %v", st, err)
	}
}

func TestAuthorizationServerThatIsDownIsNotASignIn(t *testing.T) {
	w := newWorld(t)
	w.login()
	running, fresh := w.pool(), w.pool()
	if err := w.call(running, "whoami"); err != nil {
		t.Fatal(err)
	}
	w.remote.Set(func(b *fakeauth.Behaviour) { b.Down = true })
	w.clock.advance(2 * time.Hour)
	for _, p := range []*upstream.Pool{running, fresh} {
		err := w.call(p, "whoami")
		ce, ok := errors.AsType[*upstream.ConnectError](err)
		if !ok || ce.State != upstream.StateFailed || ce.Sent || !strings.Contains(err.Error(), "HTTP 503") || !strings.Contains(ce.Hint, "broker auth status") {
			t.Fatalf("err = %v (%+v)", err, ce)
		}
	}
	w.remote.Set(func(b *fakeauth.Behaviour) { b.Down = false })
	fresh.Refresh(t.Context()) // a call has to wait a moment
	for _, p := range []*upstream.Pool{running, fresh} {
		if err := w.call(p, "whoami"); err != nil {
			t.Errorf("when it is back: %v", err)
		}
	}
}

func TestStepUp(t *testing.T) {
	w := newWorld(t)
	w.login()
	p := w.pool()
	for range 2 {
		ce := w.wantSignIn(w.call(p, "admin"))
		if want := "needs sign-in with more rights: it asks for admin"; ce.Err.Error() != want {
			t.Errorf("err = %v, want %s", ce.Err, want)
		}
		if err := w.call(p, "whoami"); err != nil { // which needs no more
			t.Fatal(err)
		}
	}
	if st, err := w.m.Status(w.server); err != nil || !st.SignedIn || fmt.Sprint(st.Wanted) != "[admin]" {
		t.Errorf("Status = %+v, %v", st, err)
	}
	if st := w.login(); fmt.Sprint(st.Scopes) != "[admin read]" || len(st.Wanted) != 0 {
		t.Errorf("Login = %+v", st)
	}
	if err := w.call(p, "admin"); err != nil {
		t.Errorf("after the sign-in with more rights: %v", err)
	}
}

// A 401 may name the scope as well, whether or not the token can be renewed.
func TestStepUpByUnauthorized(t *testing.T) {
	for _, noRefresh := range []bool{false, true} {
		w := newWorld(t)
		w.remote.Set(func(b *fakeauth.Behaviour) { b.Unauthorized, b.NoRefresh = true, noRefresh })
		w.login()
		p := w.pool()
		if ce := w.wantSignIn(w.call(p, "admin")); !strings.Contains(ce.Err.Error(), "it asks for admin") {
			t.Errorf("err = %v, want the scope", ce.Err)
		}
		if st := w.login(); fmt.Sprint(st.Scopes) != "[admin read]" {
			t.Errorf("Login = %+v", st)
		}
		if err := w.call(p, "admin"); err != nil {
			t.Errorf("after the sign-in with more rights: %v", err)
		}
	}
}

// A sign-in that did not give what it asked for is not recommended again, and
// later ones go on asking.
func TestStepUpEnds(t *testing.T) {
	for _, unauthorized := range []bool{false, true} {
		w := newWorld(t)
		w.remote.Set(func(b *fakeauth.Behaviour) { b.Withhold, b.Unauthorized = "admin", unauthorized })
		w.login()
		p := w.pool()
		w.wantSignIn(w.call(p, "admin"))
		for range 2 {
			if st := w.login(); fmt.Sprint(st.Scopes) != "[read]" || len(st.Wanted) != 0 {
				t.Errorf("Login = %+v", st)
			}
			err := w.call(p, "admin")
			ce, ok := errors.AsType[*upstream.ConnectError](err)
			if !ok || !strings.Contains(err.Error(), "too few rights: it asks for admin") || !strings.HasPrefix(ce.Hint, "sign in as another user") {
				t.Errorf("err = %v, want it to say that the rights were asked for", err)
			}
			if st, err := w.m.Status(w.server); err != nil || len(st.Wanted) != 0 {
				t.Errorf("Status = %+v, %v, want nothing more to be asked for", st, err)
			}
		}
		w.remote.Set(func(b *fakeauth.Behaviour) { b.Withhold = "" })
		if st := w.login(); fmt.Sprint(st.Scopes) != "[admin read]" {
			t.Errorf("Login = %+v, want it to go on asking", st)
		}
		if err := w.call(p, "admin"); err != nil {
			t.Error(err)
		}
	}
}

func TestLogout(t *testing.T) {
	w := newWorld(t)
	if _, err := w.m.Logout(t.Context(), w.server); !errors.Is(err, ErrNotSignedIn) {
		t.Errorf("Logout before login: %v", err)
	}
	w.login()
	p := w.pool()
	if err := w.call(p, "whoami"); err != nil {
		t.Fatal(err)
	}
	revoked, err := w.m.Logout(t.Context(), w.server)
	if err != nil || !revoked || w.remote.Counts().Revoked != 1 {
		t.Errorf("Logout = %v, %v", revoked, err)
	}
	w.noTokensBelow(w.dir)
	w.wantSignIn(w.call(p, "whoami")) // a broker that was running
	if st, err := w.m.Status(w.server); err != nil || st.SignedIn || st.Stored != "" {
		t.Errorf("Status = %+v, %v", st, err)
	}
}

func TestConfiguredClientKeepsItsSecretInTheConfiguration(t *testing.T) {
	w := newWorld(t)
	const secret = fakeauth.Secret + "-of-client"
	w.remote.Set(func(b *fakeauth.Behaviour) { b.NoRegistration, b.ClientID, b.ClientSecret = true, "by-hand", secret })
	if _, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser}); err == nil || !strings.Contains(err.Error(), "client registration") {
		t.Errorf("Login without a client: %v", err)
	}
	w.server.Client = Client{ID: "by-hand", Secret: secret, Scopes: []string{"read", "more"}}
	if st := w.login(); fmt.Sprint(st.Scopes) != "[more read]" {
		t.Errorf("Login = %+v", st)
	}
	if _, content := w.file(); strings.Contains(string(content), secret) {
		t.Errorf("the client's secret is on the disk: %s", content)
	}
	p := w.pool()
	w.clock.advance(2 * time.Hour)
	if err := w.call(p, "whoami"); err != nil {
		t.Fatal(err)
	}
	if c := w.remote.Counts(); c.Registered != 0 || c.Refreshed != 1 {
		t.Errorf("counts = %+v", c)
	}
}

func TestTokenStaysWithItsServer(t *testing.T) {
	w := newWorld(t)
	w.login()
	other := fakeauth.Start()
	defer other.Close()
	w.server.URL = other.URL // the same name at another address
	w.wantSignIn(w.call(w.pool(), "whoami"))
	if st, err := w.m.Status(w.server); err != nil || st.SignedIn {
		t.Errorf("Status = %+v, %v", st, err)
	}
}

func TestNoSecretGoesWhereItCouldBeRead(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://example.com/token": true, "http://127.0.0.1:1/t": true, "http://localhost/t": true, "http://[::1]:2/": true,
		"http://example.com/token": false, "ftp://127.0.0.1/": false, "javascript:alert(1)": false, "": false, "http://127.0.0.1.example.com/": false,
	} {
		if err := checkSecure("token endpoint", address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
	w := newWorld(t)
	w.login()
	w.edit(func(r *record) { r.TokenURL = "http://example.com/token" })
	w.clock.advance(2 * time.Hour)
	if err := w.call(w.pool(), "whoami"); err == nil || !strings.Contains(err.Error(), "is not https") {
		t.Errorf("err = %v", err)
	}
}
