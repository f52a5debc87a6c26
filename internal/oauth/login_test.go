package oauth

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
)

func TestWrongAnswersAreRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fakeauth.Behaviour)
		want   string
	}{
		{"the user says no", func(b *fakeauth.Behaviour) { b.Deny = true }, "access_denied: the user said no"},
		{"another authorization server", func(b *fakeauth.Behaviour) { b.Issuer = "https://evil.example" }, "does not match expected issuer"},
		{"no client may register", func(b *fakeauth.Behaviour) { b.NoRegistration = true }, "client registration"},
		{"no token for the code", func(b *fakeauth.Behaviour) { b.Down = true }, "HTTP 503"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.remote.Set(tt.change)
			if _, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
			if st, err := w.m.Status(w.server); err != nil || st.SignedIn {
				t.Errorf("Status = %+v, %v", st, err)
			}
		})
	}
}

func TestWrongStateIsRefused(t *testing.T) {
	w := newWorld(t)
	w.remote.Set(func(b *fakeauth.Behaviour) { b.State = "of-somebody-else" })
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	_, err := w.m.Login(ctx, w.server, LoginOptions{
		Show: func(string, error) { t.Error("shown, though there is a browser") },
		Open: func(page string) error {
			if err := fakeauth.Browser(page); err == nil || !strings.Contains(err.Error(), "400") {
				t.Errorf("the page after a wrong state: %v, want status 400", err)
			}
			cancel(errors.New("still waiting"))
			return nil
		},
	})
	if err == nil || !strings.Contains(err.Error(), "still waiting") {
		t.Errorf("err = %v, want the login to go on waiting", err)
	}
	if c := w.remote.Counts(); c.Exchanged != 0 {
		t.Errorf("the code was used: %+v", c)
	}
}

func TestSomebodyElsesAnswerDoesNotEndALogin(t *testing.T) {
	w := newWorld(t)
	st, err := w.tryLogin(LoginOptions{Open: func(page string) error {
		u, err := url.Parse(page)
		if err != nil {
			return err
		}
		for _, q := range []string{"", "?code=x&state=y", "?error=access_denied&state="} {
			resp, err := http.Get(u.Query().Get("redirect_uri") + q)
			if err != nil {
				return err
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest || strings.Contains(string(body), "signed in.") {
				t.Errorf("%q: %s: %s", q, resp.Status, body)
			}
		}
		return fakeauth.Browser(page)
	}})
	if err != nil || !st.SignedIn {
		t.Errorf("Login = %+v, %v", st, err)
	}
}

// redirected is where a browser would end that cannot reach this machine.
func redirected(t *testing.T, page string) string {
	t.Helper()
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := stay.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.Header.Get("Location")
}

func TestLoginByPastedAddress(t *testing.T) {
	w := newWorld(t)
	in, out := io.Pipe()
	defer out.Close()
	var warnings []string
	st, err := w.tryLogin(LoginOptions{
		Paste: in,
		Warn:  func(text string) { warnings = append(warnings, text) },
		Show: func(page string, why error) {
			if why != nil {
				t.Errorf("why = %v, though no browser was wanted", why)
			}
			go func() {
				io.WriteString(out, "\nwhat?\nhttp://127.0.0.1/callback?code=x&state=wrong\n"+redirected(t, page)+"\n")
			}()
		},
	})
	if err != nil || !st.SignedIn {
		t.Errorf("Login = %+v, %v", st, err)
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0], "begins with http://127.0.0.1:") || !strings.Contains(warnings[1], "state") {
		t.Errorf("warnings = %q", warnings)
	}
}

func TestBrowserThatDoesNotStart(t *testing.T) {
	w := newWorld(t)
	shown := false
	st, err := w.tryLogin(LoginOptions{
		Open: func(string) error { return errors.New("no display") },
		Show: func(page string, why error) {
			shown = why != nil && why.Error() == "no display"
			if err := fakeauth.Browser(page); err != nil {
				t.Error(err)
			}
		},
	})
	if err != nil || !st.SignedIn || !shown {
		t.Errorf("Login = %+v, %v; shown with the reason: %v", st, err, shown)
	}
}

func TestLoginEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("nobody signed in"))
	defer cancel()
	_, err := w.m.Login(ctx, w.server, LoginOptions{Show: func(string, error) {}})
	if err == nil || !strings.Contains(err.Error(), "nobody signed in") {
		t.Errorf("err = %v", err)
	}
}

func TestCallbackPort(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.server.Client.CallbackPort = l.Addr().(*net.TCPAddr).Port
	if _, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser}); err == nil || !strings.Contains(err.Error(), "callbackPort") {
		t.Errorf("with a port that is taken: %v", err)
	}
	l.Close()
	var redirect string
	_, err = w.tryLogin(LoginOptions{Open: func(page string) error {
		u, _ := url.Parse(page)
		redirect = u.Query().Get("redirect_uri")
		return fakeauth.Browser(page)
	}})
	if err != nil || redirect != "http://"+l.Addr().String()+"/callback" {
		t.Errorf("redirect address %q, %v", redirect, err)
	}
}

func TestClientMetadataDocument(t *testing.T) {
	w := newWorld(t)
	const document = "https://client.example/broker.json"
	w.remote.Set(func(b *fakeauth.Behaviour) { b.MetadataClient = document })
	w.server.Client = Client{MetadataURL: document}
	w.login()
	p := w.pool()
	w.clock.advance(2 * time.Hour)
	if err := w.call(p, "whoami"); err != nil {
		t.Fatal(err)
	}
	if c := w.remote.Counts(); c.Registered != 0 || c.Refreshed != 1 {
		t.Errorf("counts = %+v", c)
	}
}

func TestServersWithoutASignIn(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"open", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/mcp" {
				http.NotFound(w, r)
			}
		}, "requires no sign-in: it answered HTTP 200"},
		{"keys only", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/mcp" {
				http.NotFound(w, r)
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
		}, `give it credentials in its "headers"`},
		{"metadata of another server", func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/mcp":
				w.WriteHeader(http.StatusUnauthorized)
			case "/.well-known/oauth-protected-resource/mcp":
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, `{"resource":"https://other.example/mcp","authorization_servers":["https://evil.example"]}`)
			default:
				http.NotFound(w, r)
			}
		}, "does not say where to sign in"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(tt.handler)
			defer srv.Close()
			m := newIn(t.TempDir(), &Options{Keyring: &memory{err: ErrNoKeyring}})
			_, err := m.Login(t.Context(), Server{Name: "s", URL: srv.URL + "/mcp"}, LoginOptions{Show: func(string, error) { t.Error("a page was shown") }})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
	m := newIn(t.TempDir(), &Options{Keyring: &memory{err: ErrNoKeyring}})
	_, err := m.Login(t.Context(), Server{Name: "s", URL: "http://127.0.0.1:1/key-" + fakeauth.Secret}, LoginOptions{})
	if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), fakeauth.Secret) {
		t.Errorf("dead server: %v", err)
	}
}

func TestHeadersOfTheServerGoToNoOtherHost(t *testing.T) {
	leaked := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked <- r.Header.Get("X-Api-Key") }))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	m := newIn(t.TempDir(), &Options{Keyring: &memory{err: ErrNoKeyring}})
	s := Server{Name: "s", URL: srv.URL + "/mcp", Headers: map[string]string{"X-Api-Key": "k3y"}}
	if _, err := m.Login(t.Context(), s, LoginOptions{Show: func(string, error) {}}); err == nil {
		t.Error("signed in to a server that only redirects")
	}
	close(leaked)
	for k := range leaked {
		if k != "" {
			t.Errorf("another host got %q", k)
		}
	}
}

func FuzzPastedAddress(f *testing.F) {
	f.Add("http://127.0.0.1/callback?code=c&state=right\n")
	f.Add("?state=right&error=access_denied&error_description=%1b[31m")
	f.Add("\x00\n:::\nhttp://%zz?state=right")
	f.Fuzz(func(t *testing.T, in string) {
		c := &callback{listener: closedListener{}, answers: make(chan answer, 1)}
		c.expect("right")
		c.paste(strings.NewReader(in), func(string) {})
		select {
		case a := <-c.answers:
			if a.err == nil && (a.result.Code == "" || a.result.State != "right") {
				t.Errorf("%q gives %+v", in, a.result)
			}
			if a.err != nil && strings.ContainsAny(a.err.Error(), "\x1b\n\x00") {
				t.Errorf("%q gives the error %q", in, a.err)
			}
		default:
		}
	})
}

type closedListener struct{ net.Listener }

func (closedListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
