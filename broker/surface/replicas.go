package surface

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// Any request of any client may reach any of the brokers that share their state.
// Most need nothing that only one of them has: all of protocol 2026-07-28, and those
// of older clients that cannot be asked anything. Their session is a name alone:
// any replica knows it, and none keeps anything of it.
//
// What one replica keeps in its memory has an id that begins with its name: the
// session of an older client that can be asked, and a script that waits for its
// client to come back. Another replica passes such a request on to it, once.

// Replicas are the brokers that share their state with this one.
type Replicas interface {
	// Name is that of this one.
	Name() string
	// Pass passes a request on to the named replica. It returns false, without reading
	// or writing anything, if the replica does not exist.
	Pass(w http.ResponseWriter, r *http.Request, name string) bool
	// Serve sets the handler for requests from other replicas.
	Serve(h http.Handler)
}

const (
	sessionHeader = "Mcp-Session-Id"
	// anywhere is the name in the ids of sessions that any replica answers.
	anywhere = "any"
	// maxRequestBytes bounds a request, as the SDK does.
	maxRequestBytes = mcp.DefaultMaxRequestBodyBytes
)

// newID returns an id for data of the named replica; without other replicas, the id
// contains no name.
func newID(replica string) string {
	if replica == "" {
		return rand.Text()
	}
	return replica + "-" + rand.Text()
}

// replicaIn returns the name of the replica in an id, or "".
func replicaIn(id string) string {
	i := strings.LastIndexByte(id, '-')
	return id[:max(i, 0)]
}

// newSession makes the id of a session that any replica answers, with what the client
// calls itself, for the record.
func newSession(client string) string {
	return newID(anywhere) + "." + base64.RawURLEncoding.EncodeToString([]byte(gate.Cut(gate.Clean(client), 60)))
}

// maxSessionID is longer than what newSession makes.
const maxSessionID = 512

// readSession reads an id made by newSession, or returns false. A forged id is
// harmless: it only determines the client's name and which of its own conversations it
// uses.
func readSession(id string) (client string, ok bool) {
	rest, ok := strings.CutPrefix(id, anywhere+"-")
	if !ok || len(id) > maxSessionID {
		return "", false
	}
	_, name, _ := strings.Cut(rest, ".")
	text, err := base64.RawURLEncoding.DecodeString(name)
	return gate.Cut(gate.Clean(string(text)), 60), err == nil
}

// replicated answers the requests of one surface's clients where several brokers do.
type replicated struct {
	replicas  Replicas
	sessions  http.Handler // of this replica, in its memory
	stateless http.Handler
	news      http.Handler // the streams of clients of sessions that any replica answers
}

type forwardedKey struct{}

// markForwarded marks requests that another replica has passed on.
func markForwarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), forwardedKey{}, true)))
	})
}

// ServeHTTP finds the replica with the data of a request.
func (e *replicated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	_, everywhere := readSession(id)
	switch {
	case r.Header.Get("Mcp-Protocol-Version") >= StatelessSince:
		e.modern(w, r)
	case everywhere && r.Method == http.MethodGet:
		e.news.ServeHTTP(w, r)
	case everywhere:
		e.stateless.ServeHTTP(w, r)
	case id == "":
		e.begin(w, r)
	case !e.pass(w, r, id):
		e.sessions.ServeHTTP(w, r) // has it, or answers that it does not exist
	}
}

// pass passes a request on to the replica in an id. It is false if that is this one,
// or gone.
func (e *replicated) pass(w http.ResponseWriter, r *http.Request, id string) bool {
	name := replicaIn(id)
	return name != "" && name != e.replicas.Name() && r.Context().Value(forwardedKey{}) == nil && e.replicas.Pass(w, r, name)
}

// modern answers a request of protocol 2026-07-28. Where a script waits for it, its
// replica is in the state.
func (e *replicated) modern(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	if bytes.Contains(body, []byte(`"requestState"`)) {
		var m struct {
			Params struct{ RequestState string }
		}
		if json.Unmarshal(body, &m) == nil && e.pass(w, r, m.Params.RequestState) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	e.stateless.ServeHTTP(w, r)
}

// begin answers a request without a session. If it begins one, it depends on the
// client where that is.
func (e *replicated) begin(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	var m struct {
		Method string
		Params struct {
			ClientInfo   struct{ Name string }
			Capabilities struct{ Elicitation, Sampling json.RawMessage }
		}
	}
	// What cannot be read is refused by the SDK.
	if json.Unmarshal(body, &m) == nil && m.Method == "initialize" {
		if can := m.Params.Capabilities; can.Elicitation != nil || can.Sampling != nil {
			e.sessions.ServeHTTP(w, r)
			return
		}
		w.Header().Set(sessionHeader, newSession(m.Params.ClientInfo.Name))
	}
	e.stateless.ServeHTTP(w, r)
}

// readBody reads the body of a request, which can be read again. It is false if the
// request has been refused.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, true
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			http.Error(w, fmt.Sprintf("request body exceeds %d bytes", maxRequestBytes), http.StatusRequestEntityTooLarge)
		} else {
			http.Error(w, "failed to read body", http.StatusBadRequest)
		}
		return nil, false
	}
	setBody(r, body)
	return body, true
}

// setBody makes the body of a request readable again after it was read.
func setBody(r *http.Request, body []byte) {
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
}

// replicated is the endpoint of s where several brokers answer its clients.
func (s *Surface) replicated(o HTTPOptions, all *httpSessions) http.Handler {
	name := o.Replicas.Name()
	s.suspended.serveAs(name, o.Busy)
	servers := newClientServers(s, func() string { return newID(name) })
	return &replicated{
		replicas: o.Replicas, sessions: all.bound(s.sessions(servers.For)), stateless: all.boundStreams(s.stateless(servers.For)),
		news: all.boundStreams(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.sendNews(w, r, servers.For(r)) })),
	}
}
