package accounts_test

import (
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/accounts"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
)

var (
	ann = &upstream.Person{Issuer: "https://id.example.com", Subject: "1", Name: "ann"}
	bob = &upstream.Person{Issuer: "https://id.example.com", Subject: "2", Name: "bob"}
)

// A replica is one broker for people: its servers, and the pages where they connect
// accounts.
type replica struct {
	*upstream.Pool
	t        *testing.T
	accounts *accounts.Service
	base     string

	mu     sync.Mutex
	events []state.Event
}

// sealedFiles are documents in a directory.
func sealedFiles(t *testing.T, dir string) state.Documents {
	t.Helper()
	return seal(t, files.OpenDocuments(dir), make([]byte, state.KeyBytes))
}

func seal(t *testing.T, docs state.Documents, key []byte) state.Documents {
	t.Helper()
	sealed, err := state.Seal(docs, key)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// start starts a replica of these servers. change may change its options.
func start(t *testing.T, docs state.Documents, servers []config.Server, change func(*accounts.Options)) *replica {
	t.Helper()
	r := &replica{t: t}
	shared := oauth.New(files.OpenDocuments(t.TempDir()), "", &oauth.Options{Keyring: oauth.NoKeyring{}})
	o := accounts.Options{
		Documents: docs, Base: "http://later",
		Servers: func() (list []accounts.Server) {
			for _, s := range servers {
				if s.Credentials == "user" {
					list = append(list, accounts.Server{Name: s.Name, Secrets: s.PersonalSecrets(), OAuth: func() (oauth.Server, error) {
						return oauth.Server{Name: s.Name, URL: s.URL}, nil
					}})
				}
			}
			return list
		},
		Expand: func(secret func(string) (string, error)) func(string) (string, error) {
			return config.Sources{Env: func(string) (string, bool) { return "", false }, Person: secret}.Expand
		},
		Shared: func(c upstream.Config, url string) (auth.OAuthHandler, error) {
			return shared.Handler(oauth.Server{Name: c.Name, URL: url}), nil
		},
		Note: func(e state.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, e)
		},
		Changed: func(server string, p *upstream.Person, connected bool) { r.Forget(server, p) },
	}
	if change != nil {
		change(&o)
	}
	service, err := accounts.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(service.Handler())
	t.Cleanup(ts.Close)
	if err := service.SetBase(ts.URL); err != nil {
		t.Fatal(err)
	}
	var configs []upstream.Config
	for _, s := range servers {
		configs = append(configs, upstream.Config{Name: s.Name, URL: s.URL, Headers: s.Headers, Command: s.Command, Args: s.Args, Env: s.Env, Credentials: upstream.Credentials(s.Credentials),
			OAuth: upstream.OAuthClient{ID: s.OAuth.ClientID, Secret: s.OAuth.ClientSecret, TokenEndpoint: s.OAuth.TokenEndpoint}})
	}
	r.accounts, r.base = service, ts.URL
	r.Pool = upstream.NewPool(configs, &upstream.Options{People: service, Expand: o.Expand(nil), OAuth: o.Shared})
	t.Cleanup(func() { r.Close() })
	return r
}

// whoami is what the server calls the account of a person, or the error.
func (r *replica) whoami(p *upstream.Person, server string) (string, error) {
	ctx := r.t.Context()
	if p != nil {
		ctx = upstream.WithPerson(ctx, p)
	}
	raw, err := r.Call(ctx, server, "whoami", nil, nil)
	return string(raw), err
}

// link is the page that a person is sent to who has not connected an account.
func (r *replica) link(p *upstream.Person, server string) string {
	r.t.Helper()
	_, err := r.whoami(p, server)
	e, ok := errors.AsType[*upstream.ConnectError](err)
	if !ok || e.State != upstream.StateNeedsSignIn {
		r.t.Fatalf("%s calls %s: %v, want to be sent to a page", p.Name, server, err)
	}
	at := regexp.MustCompile(`http://\S+[^,\s]`).FindString(e.Hint)
	if !strings.HasPrefix(at, r.base+"/connect/") {
		r.t.Fatalf("the hint is %q", e.Hint)
	}
	return at
}

// A browser has cookies, and says where its forms come from.
type browser struct {
	t *testing.T
	*http.Client
}

// newBrowser is one whose user is known to fakeauth by this name.
func newBrowser(t *testing.T, account string) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"account", "person"} {
		jar.SetCookies(&url.URL{Scheme: "http", Host: "127.0.0.1"}, []*http.Cookie{{Name: name, Value: account, Path: "/"}})
	}
	return &browser{t, &http.Client{Jar: jar}}
}

func (b *browser) do(req *http.Request, err error) (status int, page string) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := b.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if strings.Contains(resp.Header.Get("Content-Type"), "html") && !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		b.t.Errorf("the page at %s has the policy %q", req.URL, resp.Header.Get("Content-Security-Policy"))
	}
	return resp.StatusCode, string(body)
}

func (b *browser) get(at string) (int, string) {
	b.t.Helper()
	return b.do(http.NewRequestWithContext(b.t.Context(), http.MethodGet, at, nil))
}

// post sends a form of a page at the same origin, or of one elsewhere.
func (b *browser) post(at, origin string, form url.Values) (int, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, at, strings.NewReader(form.Encode()))
	if err == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", origin)
	}
	return b.do(req, err)
}

var href = regexp.MustCompile(`href="([^"]*)"`)

// connect goes through the pages from a link to the end.
func (b *browser) connect(r *replica, link, server string) {
	b.t.Helper()
	if status, page := b.post(link, r.base, nil); status != http.StatusOK || !strings.Contains(page, "Connect "+server) {
		b.t.Fatalf("the link leads to %d %s", status, page)
	}
	b.signIn(r, server)
}

// leave submits the page of a server, and returns the sign-in page that it leads to.
func (b *browser) leave(r *replica, server string) (page string) {
	b.t.Helper()
	status, text := b.post(r.base+"/connect/"+server, r.base, nil)
	m := href.FindStringSubmatch(text)
	if status != http.StatusOK || m == nil {
		b.t.Fatalf("the page of the server answers %d %s", status, text)
	}
	page = html.UnescapeString(m[1])
	if u, err := url.Parse(page); err != nil || !strings.Contains(text, "authorization server <strong>"+u.Scheme+"://"+u.Host+"</strong>") {
		b.t.Errorf("the issuer is not named before %s opens: %s", page, text)
	}
	return page
}

func (b *browser) signIn(r *replica, server string) {
	b.t.Helper()
	if status, text := b.get(b.leave(r, server)); status != http.StatusOK || !strings.Contains(text, "<h1>Connected</h1>") {
		b.t.Fatalf("the sign-in ends with %d %s", status, text)
	}
}

func remoteServer(name string, s *fakeauth.Server) config.Server {
	return config.Server{Name: name, URL: s.URL, Credentials: "user"}
}

func startRemote(t *testing.T) *fakeauth.Server {
	s := fakeauth.Start()
	t.Cleanup(s.Close)
	return s
}

// want checks whose account a call was made with.
func (r *replica) want(p *upstream.Person, server, account string) {
	r.t.Helper()
	if got, err := r.whoami(p, server); err != nil || !strings.Contains(got, "by "+account+`"`) {
		r.t.Errorf("%s calls %s as %s, %v, want %s", p.Name, server, got, err, account)
	}
}
