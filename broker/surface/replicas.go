package surface

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// Any request of any client may reach any of the brokers that share their state.
// Most need nothing that only one of them has: all of protocol 2026-07-28, and those
// of older clients that cannot be asked anything. Their session is a name alone:
// any replica knows it, and none keeps anything of it.
//
// What one replica keeps in its memory has an id that begins with its name: the
// session of an older client that can be asked, and a script that waits for its
// client to come back. Another replica passes such a request on to it, once.

// replicated answers the requests of one surface's clients where several brokers do.
type replicated struct {
	replicas  Replicas
	sessions  http.Handler // of this replica, in its memory
	stateless http.Handler
	news      http.Handler // the streams of clients of sessions that any replica answers
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
