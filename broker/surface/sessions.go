package surface

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session of the older protocols keeps memory until its client ends it, or does
// not use it for sessionTimeout. Many clients never end theirs, so their number is
// bounded: whoever begins one more ends the one that was idle for the longest time.

const (
	// maxOwnerSessions is how many sessions an owner has over HTTP: a token, or all
	// clients without one.
	maxOwnerSessions = 256
	// maxSessions is how many there are in all.
	maxSessions = 2048
)

// httpSessions are the sessions over HTTP of one endpoint, whatever profile they
// are of.
type httpSessions struct {
	perOwner, inAll int

	mu      sync.Mutex
	byID    map[string]*httpSession
	byOwner map[string]map[*httpSession]bool
	all     int
}

// An httpSession is one of them. Its fields are guarded by httpSessions.mu.
type httpSession struct {
	all     *httpSessions
	owner   string
	id      string             // empty until it is open
	session *mcp.ServerSession // nil until it is open
	running int                // requests that are being answered
	used    time.Time          // when the last of them ended
}

func newHTTPSessions() *httpSessions {
	return &httpSessions{perOwner: maxOwnerSessions, inAll: maxSessions,
		byID: make(map[string]*httpSession), byOwner: make(map[string]map[*httpSession]bool)}
}

type httpSessionKey struct{}

// bound is next, which answers the requests of sessions, for as many as there may be.
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
			next.ServeHTTP(w, r)
			if large {
				release(next, r, id)
			}
			return
		}
		s, end := h.begin(clientOf(r))
		if s == nil {
			w.Header().Set("Retry-After", "5")
			http.Error(w, "too many sessions are in use: end one with DELETE, or try again later", http.StatusServiceUnavailable)
			return
		}
		if end != nil {
			go func() { _ = end.Close() }() // waits for its last answer
		}
		defer h.done(s)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), httpSessionKey{}, s)))
		if id := w.Header().Get(sessionHeader); large && id != "" {
			release(next, r, id)
		}
	})
}

// The SDK keeps the last message of each session, until the next one takes its
// place in the queue of the connection.

// maxKeptBytes is the largest message that may stay there.
const maxKeptBytes = 64 << 10

// nothing is a notification that changes nothing.
const nothing = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nothing"}}`

// release lets a small message take the place of a large one that was answered.
func release(next http.Handler, r *http.Request, id string) {
	small := r.Clone(context.WithoutCancel(r.Context()))
	small.Header.Set(sessionHeader, id)
	small.Body, small.ContentLength = io.NopCloser(strings.NewReader(nothing)), int64(len(nothing))
	next.ServeHTTP(nowhere{make(http.Header)}, small)
}

// nowhere is an answer that nobody reads.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

// mayQueue reads the body of a request, and is false if it has refused it: nobody
// waits for the end of a notification, so a large one would stay in the queue.
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

// begin makes room for one more session of an owner, by that of end if that is not
// nil. It returns nil if all are in use.
func (h *httpSessions) begin(owner string) (s *httpSession, end *mcp.ServerSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	from := owner
	if h.all >= h.inAll { // whoever has most has one too many
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

// idleLocked is the session of an owner that was used least recently and that has
// no request; nil if there is none.
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

// use notes a request of an open session until the function is called.
func (h *httpSessions) use(id string) (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.byID[id]
	if s == nil {
		return func() {}
	}
	s.running++
	return func() { h.done(s) }
}

// done ends a request. A session that was not opened by its first one is none.
func (h *httpSessions) done(s *httpSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.running--
	s.used = time.Now()
	if s.session == nil {
		h.removeLocked(s)
	}
}

// opened notes the session that an initialize over HTTP has opened.
func opened(ctx context.Context, req mcp.Request) {
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
	go func() { // it ends with the session
		_ = session.Wait()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.removeLocked(s)
	}()
}

// String describes the sessions, for tests.
func (h *httpSessions) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Sprintf("%d sessions of %d owners, %d ids", h.all, len(h.byOwner), len(h.byID))
}
