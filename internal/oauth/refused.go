package oauth

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

const (
	// refusalMemory is the time for which a refusal is remembered, so that a server is not
	// asked repeatedly before a sign-in.
	refusalMemory = time.Minute
	// maxSubject bounds the part of a request that is searched for its subject.
	maxSubject = 8 << 20
)

// A subject identifies a kind of request: a method and, for tools, the tool. The zero
// value is the whole session.
type subject struct{ method, tool string }

// discoverMethod begins a session of newer clients. Its refusal does not affect other
// requests.
const discoverMethod = "server/discover"

// subjectOf returns the subject of a request. A session depends on the answer to
// initialize, and to the GET of the 2024-11-05 transport; a server may refuse any other
// request and answer the rest.
func subjectOf(req *http.Request) subject {
	if req.Method == http.MethodGet {
		return subject{}
	}
	unknown := subject{method: "a request"}
	if req.GetBody == nil {
		return unknown
	}
	body, err := req.GetBody()
	if err != nil {
		return unknown
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxSubject))
	if err != nil {
		return unknown
	}
	var m struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	_ = json.Unmarshal(text, &m) // members of another type are ignored
	switch m.Method {
	case "":
		return unknown
	case "tools/call":
		return subject{m.Method, m.Params.Name}
	case "initialize":
		return subject{}
	}
	return subject{method: m.Method}
}

// opens reports whether a session depends on the request.
func (s subject) opens() bool { return s == subject{} }

// String formats the subject for an error.
func (s subject) String() string {
	if s.tool != "" {
		return "the tool " + cleanText(s.tool)
	}
	return cleanText(s.method)
}

// A refusal is a token, or the absence of one, that the server refused.
type refusal struct {
	token string
	until time.Time
	err   *SignInError
}

// refusedBefore returns the error for a token that was refused a moment ago.
func (h *handler) refusedBefore(rec *record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused == nil || h.refused.token != accessToken(rec) || h.m.now().After(h.refused.until) {
		return nil
	}
	return h.refused.err
}

// refuse returns the error for a token that the server refuses, and remembers it if a
// session cannot be opened with it. If the session is open without a token, or with one
// that was just issued, the error concerns this request only.
func (h *handler) refuse(about subject, token, reason string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.signIn(reason)
	if about.opens() {
		h.refused = &refusal{token: token, until: h.m.now().Add(refusalMemory), err: err}
	} else if token == "" && !h.known || token != "" && token == h.forced {
		err.Request = about.String()
	}
	return err
}

// maxChallenged bounds the stored scopes of refusals.
const maxChallenged = 50

// storeChallenge stores how the server refused a request. The next sign-in needs that if the
// server opens sessions without a token.
func (h *handler) storeChallenge(ctx context.Context, about subject, resp *http.Response) {
	c := challengeOf(resp.Header)
	if about.opens() || about.method == discoverMethod || c.Metadata == "" && len(c.Scopes) == 0 {
		return // a sign-in asks for that itself
	}
	before := h.m.store.challenge(h.key)
	if c.Metadata == before.Metadata {
		c.Scopes = union(before.Scopes, c.Scopes)
	}
	c.Scopes = c.Scopes[:min(len(c.Scopes), maxChallenged)]
	if c.equal(before) {
		return
	}
	if err := h.m.store.storeChallenge(ctx, h.key, c); err != nil {
		h.m.log.Warn("cannot store a server's request for a sign-in", "server", h.s.Name, "err", err)
	}
}
