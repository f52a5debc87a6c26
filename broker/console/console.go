// Package console serves the web console: its files, built from src and embedded, and
// the sessions of the browsers that show it.
//
// A person opens the console with a printed token in the fragment of the address, which
// browsers do not send. The page exchanges it for a cookie, which scripts cannot read
// and other sites cannot send, and for a key, which the page stores for its origin and
// sends in a header. Browsers send a cookie to every port of its host, so the cookie
// alone is not enough. Package connect provides the sign-in with an issuer instead.
package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// policy lets a page load only resources of this server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const (
	// maxKeys bounds tokens and sessions: the oldest is removed.
	maxKeys = 64
	// sessionAge is the time for which a browser need not present a token again.
	sessionAge = 12 * time.Hour

	// KeyHeader is the header with the key of the session.
	KeyHeader = "Broker-Console-Key"
)

// A key contains the rights of a token or a session.
type key struct {
	changes bool
	once    bool              // for a token
	page    [sha256.Size]byte // for a session: the digest of the page's key
	since   time.Time
}

// A keyring stores secrets by their digests.
type keyring map[[sha256.Size]byte]key

// add creates a secret.
func (k keyring) add(v key) string {
	secret := rand.Text()
	if len(k) >= maxKeys {
		var oldest [sha256.Size]byte
		for d := range k {
			if k[oldest].since.IsZero() || k[d].since.Before(k[oldest].since) {
				oldest = d
			}
		}
		delete(k, oldest)
	}
	v.since = time.Now()
	k[sha256.Sum256([]byte(secret))] = v
	return secret
}

// A Console serves the files and sessions of the console. It is safe for concurrent use.
type Console struct {
	mu       sync.Mutex
	tokens   keyring
	sessions keyring
}

// New returns a console without sessions.
func New() *Console {
	return &Console{tokens: keyring{}, sessions: keyring{}}
}

// URL returns an address that opens the console, on a listener such as 127.0.0.1:8080. Without
// changes, the console is read-only. The address is a secret for the life of c or, with once,
// until a browser has opened it: programs that start a browser reveal their arguments to all users
// of a machine.
func (c *Console) URL(listener string, changes, once bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return "http://" + listener + "/console/#token=" + c.tokens.add(key{changes: changes, once: once})
}

// cookieName returns a name that contains the port, since cookies do not depend on the port.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "80"
	}
	return "broker-console-" + port
}

// Session reports whether a request has the cookie and the key of a session, and whether the
// session may make changes.
func (c *Console) Session(r *http.Request) (in, changes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session(r)
}

func (c *Console) session(r *http.Request) (in, changes bool) {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return false, false
	}
	k, ok := c.sessions[sha256.Sum256([]byte(cookie.Value))]
	page := sha256.Sum256([]byte(r.Header.Get(KeyHeader)))
	ok = ok && subtle.ConstantTimeCompare(k.page[:], page[:]) == 1
	return ok && time.Since(k.since) < sessionAge, ok && k.changes
}

// ServeHTTP serves paths below /console. The caller must refuse requests of other hosts
// and origins.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	switch name := strings.TrimPrefix(r.URL.Path, "/console"); {
	case name == "":
		http.Redirect(w, r, "/console/", http.StatusMovedPermanently)
	case name == "/session" && r.Method == http.MethodPost:
		c.openSession(w, r)
	case name == "/session": // this console has no sign-in
		h.Set("Content-Type", "application/json")
		answer := "{}"
		if in, changes := c.Session(r); in && !changes {
			answer = `{"changes": false}`
		}
		_, _ = io.WriteString(w, answer) // the page may be gone
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
	case name == "/docs":
		http.Redirect(w, r, "/console/docs/", http.StatusMovedPermanently)
	case strings.HasPrefix(name, "/docs/"):
		h.Set("Cache-Control", "no-cache")
		serveDocs(w, r, strings.TrimPrefix(name, "/docs/"))
	default:
		serveFile(w, r, strings.TrimPrefix(name, "/"))
	}
}

// openSession exchanges a token for a cookie, and a key in the response body.
func (c *Console) openSession(w http.ResponseWriter, r *http.Request) {
	var body struct{ Token string }
	err := json.NewDecoder(io.LimitReader(r.Body, 4<<10)).Decode(&body)
	c.mu.Lock()
	defer c.mu.Unlock()
	digest := sha256.Sum256([]byte(body.Token))
	k, ok := c.tokens[digest]
	if in, _ := c.session(r); in && !ok { // the browser that has used the token
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err != nil || !ok {
		http.Error(w, `this token is not known, or was used: run "broker console" for another address`, http.StatusForbidden)
		return
	}
	if k.once {
		delete(c.tokens, digest)
	}
	page := rand.Text()
	k.page = sha256.Sum256([]byte(page))
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: c.sessions.add(k), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]string{"key": page}) // the page may be gone
}
