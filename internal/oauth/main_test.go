package oauth

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
	"github.com/mcpbroker/mcpbroker/state/files"
)

// A memory keyring works, or fails with err. Above limit bytes it is too small.
type memory struct {
	mu     sync.Mutex
	values map[string]string
	err    error
	limit  int
}

func (m *memory) Get(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[name]
	switch {
	case m.err != nil:
		return "", m.err
	case !ok:
		return "", ErrNotFound
	}
	return v, nil
}

func (m *memory) Set(name, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.err != nil:
		return m.err
	case m.limit > 0 && len(value) > m.limit:
		return ErrTooBig
	}
	if m.values == nil {
		m.values = make(map[string]string)
	}
	m.values[name] = value
	return nil
}

func (m *memory) Delete(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.values[name]; !ok {
		return ErrNotFound
	}
	delete(m.values, name)
	return m.err
}

// A clock stands still until it is moved. Expiry times are counted from the
// real one, so it begins there.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A world is a server that asks for a sign-in and a broker's side of it.
type world struct {
	t      *testing.T
	remote *fakeauth.Server
	server Server
	dir    string
	ring   *memory
	clock  *clock
	log    *buffer
	m      *Manager
	cache  string // stores lists of tools; empty stores none
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newWorld has no keyring. When the test ends, it looks for secrets in the log.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, remote: fakeauth.Start(), dir: t.TempDir(), ring: &memory{err: ErrNoKeyring}, clock: &clock{now: time.Now()}, log: new(buffer)}
	t.Cleanup(w.remote.Close)
	w.remote.Set(func(b *fakeauth.Behaviour) { b.Now = w.clock.Now })
	w.server = Server{Name: "remote one", URL: w.remote.URL}
	w.m = w.manager()
	t.Cleanup(func() { w.noSecret("log", w.log.String()) })
	return w
}

func (w *world) manager() *Manager {
	logger := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return newIn(w.dir, &Options{Keyring: w.ring, Now: w.clock.Now, Logger: logger})
}

func (w *world) noSecret(where, text string) {
	w.t.Helper()
	if strings.Contains(text, fakeauth.Secret) {
		w.t.Errorf("a secret is in the %s: %s", where, text)
	}
}

// login signs in with a browser that agrees.
func (w *world) login() Status {
	w.t.Helper()
	st, err := w.tryLogin(LoginOptions{Open: fakeauth.Browser})
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

func (w *world) tryLogin(o LoginOptions) (Status, error) {
	if o.Show == nil {
		o.Show = func(_ string, why error) {
			if why != nil {
				w.t.Errorf("the browser says: %v", why)
			}
		}
	}
	st, err := w.m.Login(w.t.Context(), w.server, o)
	if err != nil {
		w.noSecret("error", err.Error())
	}
	return st, err
}

// pool connects to the server as a broker does.
func (w *world) pool() *upstream.Pool {
	w.t.Helper()
	logger := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p := upstream.NewPool([]upstream.Config{{Name: w.server.Name, URL: w.server.URL, StartTimeout: 30 * time.Second}}, &upstream.Options{
		Logger: logger, CacheDir: w.cache,
		OAuth: func(c upstream.Config, url string) (auth.OAuthHandler, error) {
			return w.m.Handler(Server{Name: c.Name, URL: url, Client: w.server.Client}), nil
		},
	})
	w.t.Cleanup(func() { p.Close() })
	return p
}

// call calls a tool; its error, which must hold no secret, is nil if it ran.
func (w *world) call(p *upstream.Pool, tool string) error {
	w.t.Helper()
	raw, err := p.Call(w.t.Context(), w.server.Name, tool, nil, nil)
	if err != nil {
		w.noSecret("error", err.Error())
		return err
	}
	if !strings.Contains(string(raw), tool+" was called") {
		w.t.Errorf("%s answered %s", tool, raw)
	}
	return nil
}

// wantSignIn checks that err says what to type, and returns it.
func (w *world) wantSignIn(err error) *upstream.ConnectError {
	w.t.Helper()
	ce, ok := errors.AsType[*upstream.ConnectError](err)
	if !ok || ce.State != upstream.StateNeedsSignIn || ce.Hint != `broker auth login "remote one"` || ce.Sent {
		w.t.Fatalf("err = %v (%+v), want one that needs a sign-in", err, ce)
	}
	return ce
}

// file is the only stored file.
func (w *world) file() (path string, content []byte) {
	w.t.Helper()
	paths, err := filepath.Glob(filepath.Join(w.dir, "oauth", "*.json"))
	if err != nil || len(paths) != 1 {
		w.t.Fatalf("stored files: %v, %v", paths, err)
	}
	content, err = os.ReadFile(paths[0])
	if err != nil {
		w.t.Fatal(err)
	}
	return paths[0], content
}

// edit changes the stored record.
func (w *world) edit(change func(*record)) {
	w.t.Helper()
	path, content := w.file()
	var f stored
	if err := json.Unmarshal(content, &f); err != nil {
		w.t.Fatal(err)
	}
	change(f.Record)
	if err := w.m.store.write(strings.TrimSuffix(filepath.Base(path), ".json"), f); err != nil {
		w.t.Fatal(err)
	}
}

// noTokensBelow fails if a file below dir holds a secret.
func (w *world) noTokensBelow(dir string) {
	w.t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		w.noSecret("file "+path, string(data))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

var _ io.Writer = (*buffer)(nil)

// newIn returns a manager with files in a state directory.
func newIn(dir string, o *Options) *Manager {
	dir = filepath.Join(dir, "oauth")
	return New(files.OpenDocuments(dir), dir, o)
}

func storeIn(dir string, ring Keyring) *store {
	return &store{docs: files.OpenDocuments(dir), scope: dir, keyring: ring}
}
