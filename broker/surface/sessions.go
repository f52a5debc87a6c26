package surface

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session of the older protocols uses memory until its client ends it or it is idle
// for sessionTimeout. Many clients never end theirs, so the number of sessions is
// bounded: a new session ends the one that was idle longest.

const (
	// maxOwnerSessions bounds the HTTP sessions of an owner: a token, or all clients
	// without one.
	maxOwnerSessions = 256
	// maxSessions bounds the sessions of all owners.
	maxSessions = 2048
)

// httpSessions are the HTTP sessions of one endpoint, of all profiles.
type httpSessions struct {
	perOwner, inAll int

	mu      sync.Mutex
	byID    map[string]*httpSession
	byOwner map[string]map[*httpSession]bool
	all     int
}

// An httpSession is one HTTP session. Its fields are guarded by httpSessions.mu.
type httpSession struct {
	all     *httpSessions
	owner   string
	id      string             // empty until it is open
	session *mcp.ServerSession // nil until it is open
	running int                // requests in progress
	large   int                // those with more than maxKeptBytes
	most    int                // highest value of running since a large one began
	used    time.Time          // time when the last request ended
}

func newHTTPSessions() *httpSessions {
	return &httpSessions{perOwner: maxOwnerSessions, inAll: maxSessions,
		byID: make(map[string]*httpSession), byOwner: make(map[string]map[*httpSession]bool)}
}

type httpSessionKey struct{}

// bound returns a handler that calls next, within the limits of sessions.
func (h *httpSessions) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		large := r.ContentLength > maxKeptBytes || r.ContentLength < 0
		if large && !mayQueue(w, r) {
			return
		}
		if id := r.Header.Get(sessionHeader); id != "" {
			defer h.use(id)()
			if !large {
				next.ServeHTTP(w, r)
				return
			}
			places := h.useLarge(id)
			next.ServeHTTP(w, r)
			n := places()
			if n > 1 { // this answer means that the queue is empty
				deliver(next, r, id, fmt.Sprintf(last, rand.Text()))
			}
			for range n {
				deliver(next, r, id, nothing)
			}
			return
		}
		s := h.admit(w, r)
		if s == nil {
			return
		}
		defer h.done(s)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), httpSessionKey{}, s)))
		if id := w.Header().Get(sessionHeader); large && id != "" {
			deliver(next, r, id, nothing)
		}
	})
}

// admit makes room for one more session of the client of a request. It returns nil if
// it has refused the request.
func (h *httpSessions) admit(w http.ResponseWriter, r *http.Request) *httpSession {
	s, end := h.begin(clientOf(r))
	if s == nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many sessions are in use: end one with DELETE, close streams, or try again later", http.StatusServiceUnavailable)
		return nil
	}
	if end != nil {
		go func() { _ = end.Close() }() // endWait for its last answer
	}
	return s
}

// The SDK keeps the last messages of each session in the slots of the connection's
// queue, until other messages take these slots.

// maxKeptBytes bounds a message that may stay in the queue.
const maxKeptBytes = 64 << 10

// nothing is a notification without effect.
const nothing = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nothing"}}`

// last is a request whose answer means that the queue is empty.
const last = `{"jsonrpc":"2.0","id":"broker-%s","method":"ping"}`

// maxDeliver bounds how long deliver waits for an answer.
const maxDeliver = 10 * time.Second

// deliver sends a message to the session of a request, as if from its client. Small
// messages replace large ones in the queue.
func deliver(next http.Handler, r *http.Request, id, message string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), maxDeliver)
	defer cancel()
	small := r.Clone(ctx)
	small.Header.Set(sessionHeader, id)
	small.Body, small.ContentLength = io.NopCloser(strings.NewReader(message)), int64(len(message))
	next.ServeHTTP(discardWriter{make(http.Header)}, small)
}

// discardWriter is an http.ResponseWriter that discards the response.
type discardWriter struct{ header http.Header }

func (n discardWriter) Header() http.Header         { return n.header }
func (n discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (n discardWriter) WriteHeader(int)             {}

// mayQueue reads the body of a request and reports whether it may be queued; if not, it
// has refused the request. It refuses a large notification, which has no answer after
// which it could be replaced.
func mayQueue(w http.ResponseWriter, r *http.Request) bool {
	body, ok := readBody(w, r)
	if !ok || len(body) <= maxKeptBytes {
		return ok
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
	}
	if json.Unmarshal(body, &m) == nil && m.Method != nil && (len(m.ID) == 0 || string(m.ID) == "null") {
		http.Error(w, fmt.Sprintf("a notification has at most %d bytes", maxKeptBytes), http.StatusRequestEntityTooLarge)
		return false
	}
	return true
}

// begin makes room for one more session of an owner. If end is not nil, it ends that
// session first. It returns nil if all sessions are in use.
func (h *httpSessions) begin(owner string) (s *httpSession, end *mcp.ServerSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	from := owner
	if h.all >= h.inAll { // end a session of the owner with the most sessions
		for o, list := range h.byOwner {
			if len(list) > len(h.byOwner[from]) {
				from = o
			}
		}
	}
	if h.all >= h.inAll || len(h.byOwner[owner]) >= h.perOwner {
		oldest := h.idleLocked(from)
		if oldest == nil {
			return nil, nil
		}
		end = oldest.session
		h.removeLocked(oldest)
	}
	s = &httpSession{all: h, owner: owner, running: 1}
	if h.byOwner[owner] == nil {
		h.byOwner[owner] = make(map[*httpSession]bool)
	}
	h.byOwner[owner][s] = true
	h.all++
	return s, end
}

// idleLocked returns the least recently used session of an owner without a request, or
// nil.
func (h *httpSessions) idleLocked(owner string) *httpSession {
	var oldest *httpSession
	for s := range h.byOwner[owner] {
		if s.session != nil && s.running == 0 && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	return oldest
}

func (h *httpSessions) removeLocked(s *httpSession) {
	if !h.byOwner[s.owner][s] {
		return
	}
	delete(h.byOwner[s.owner], s)
	if len(h.byOwner[s.owner]) == 0 {
		delete(h.byOwner, s.owner)
	}
	delete(h.byID, s.id)
	h.all--
}

// use marks an open session as busy until done is called.
func (h *httpSessions) use(id string) (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.byID[id]
	if s == nil {
		return func() {}
	}
	s.running++
	s.most = max(s.most, s.running)
	return func() { h.done(s) }
}

// useLarge notes that a request of an open session is large. The returned function ends
// that, and returns the number of small messages that replace the large ones: the queue
// grows to twice its longest length.
func (h *httpSessions) useLarge(id string) (places func() int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.byID[id]
	if s == nil {
		return func() int { return 1 }
	}
	if s.large == 0 {
		s.most = s.running
	}
	s.large++
	return func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		if s.large--; s.large > 0 {
			return 1
		}
		return 2*s.most + 2
	}
}

// done ends a request. It drops a session that its first request did not open.
func (h *httpSessions) done(s *httpSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.running--
	s.used = time.Now()
	if s.session == nil {
		h.removeLocked(s)
	}
}

// recordSession records the session that an HTTP initialize request has opened.
func recordSession(ctx context.Context, req mcp.Request) {
	s, _ := ctx.Value(httpSessionKey{}).(*httpSession)
	session, ok := req.GetSession().(*mcp.ServerSession)
	if s == nil || !ok {
		return
	}
	h := s.all
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.session != nil || session.ID() == "" {
		return
	}
	s.session, s.id = session, session.ID()
	h.byID[s.id] = s
	go func() { // ends with the session
		_ = session.Wait()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.removeLocked(s)
	}()
}

// String summarizes the sessions, for tests.
func (h *httpSessions) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Sprintf("%d sessions of %d owners, %d ids", h.all, len(h.byOwner), len(h.byID))
}
