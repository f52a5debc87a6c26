package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// pausedCall returns a pool of the server puppet, with a call in progress, and a function
// that lets the server answer and returns the error of the call.
func pausedCall(t *testing.T, puppet *fakeupstream.Puppet) (p *Pool, finish func() error) {
	called, released := make(chan struct{}), make(chan struct{})
	var first sync.Once
	before := puppet.HTTP
	puppet.HTTP = func(w http.ResponseWriter, r *http.Request, id, method, name string) bool {
		if name == "slow" {
			first.Do(func() { close(called) })
			select {
			case <-released:
			case <-r.Context().Done():
			}
			return false
		}
		return before != nil && before(w, r, id, method, name)
	}
	puppet.On("tools/call slow", fakeupstream.Result(`{"content":[{"type":"text","text":"slow but there"}]}`))
	p = newPuppet(t, "http stream", puppet)
	slow := make(chan error, 1)
	go func() {
		_, err := p.Call(t.Context(), "s", "slow", nil, nil)
		slow <- err
	}()
	<-called
	return p, func() error { close(released); return <-slow }
}

// reply answers with a status, a content type and a body.
func reply(w http.ResponseWriter, status int, kind, body string) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // the client may be gone
}

// A bad answer fails one call: another running call continues in the same session.
func TestOneBadAnswerFailsOneCall(t *testing.T) {
	t.Parallel()
	const text = "text/event-stream"
	tests := []struct {
		name, kind, body string
		status           int
		want             string // in the error; "" if there is a result
		mayHaveRun       bool
	}{
		{"413 with a page", "text/html", "<html><b>413 Request Entity Too Large</b></html>", 413, "HTTP 413 Request Entity Too Large: 413 Request", false},
		{"400 with a text", "text/plain", "that header is too long", 400, "HTTP 400 Bad Request: that header is too long", false},
		{"403", "text/plain", "blocked by rule 7", 403, "HTTP 403 Forbidden: blocked by rule 7", false},
		{"404 of a proxy", "text/html", "no such route", 404, "HTTP 404 Not Found: no such route", false},
		{"422 with JSON", "application/json", `{"detail":"bad field"}`, 422, "bad field", false},
		{"429", "text/plain", "slow down", 429, "slow down (retry after 7 s)", false},
		{"409 with an error of JSON-RPC", "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32050,"message":"in use"}}`, 409, "in use (code -32050)", false},
		{"503", "text/plain", "deploying", 503, "HTTP 503 Service Unavailable: deploying", true},
		{"202 without a body", "", "", 202, "HTTP 202 Accepted without a message", true},
		{"204", "", "", 204, "HTTP 204 No Content without a message", true},
		{"a page", "text/html", "<title>Sign in</title>", 200, "HTTP 200 OK without a message for the call: Sign in", true},
		{"NaN", "application/json", `{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"structuredContent":{"x":NaN}}}`, 200, `it contains NaN or Infinity: {"jsonrpc"`, true},
		{"-Infinity on a stream", text, "data: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"x\":-Infinity}}\n\n", 200, "it contains NaN or Infinity", true},
		{"an answer that breaks off", "application/json", `{"jsonrpc":"2.0","id":$ID,"result":{"content":[`, 200, "ends early", true},
		{"nested too deep", "application/json", `{"jsonrpc":"2.0","id":$ID,"result":` + deep + `}`, 200, "deeper than 10,000", true},
		{"nested too deep on a stream", text, "data: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":" + deep + "}\n\n", 200, "deeper than 10,000", true},
		{"an error without a version", "application/json", `{"id":$ID,"error":{"code":-32050,"message":"in use"}}`, 200, "in use (code -32050)", false},
		{"an event that tells an error", text, "event: error\ndata: backend exploded\n\n", 200, "ended without an answer: backend exploded", true},
		{"a stream that ends", text, ": nothing\n\n", 200, "ended without an answer", true},
		{"an error on a stream without an id", text, "data: {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32050,\"message\":\"no\"}}\n\n", 200, "no (code -32050)", false},

		{"odd events before the answer", text, "retry\n\nid: 5\n\n: c\n\nevent: ping\ndata: {}\n\nevent: done\ndata: [DONE]\n\ndata: not JSON\n\ndata:\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"other\",\"result\":{}}\n\n" +
			"data: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[]}}\n\n", 200, "", false},
		{"no line behind the answer", text, "data: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[]}}", 200, "", false},
		{"another id", "application/json", `{"jsonrpc":"2.0","id":"$ID","result":{"content":[]}}`, 200, "", false},
		{"a batch", "application/json", `[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}},{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}]`, 200, "", false},
		{"no content type", "", `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`, 200, "", false},
		{"a byte order mark", "application/json; charset=utf-8", "\ufeff" + `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`, 200, "", false},
		{"no version", "application/json", `{"id":$ID,"result":{"content":[]}}`, 200, "", false},
		{"an id of null", "application/json", `{"jsonrpc":"2.0","id":null,"result":{"content":[]}}`, 200, "", false},
		{"two messages in one body", "application/json", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}` + "\n" + `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`, 200, "", false},
		{"a byte order mark on a stream", text, "\ufeffdata: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[]}}\n\n", 200, "", false},
		{"an id as a text on a stream", text, "data: {\"jsonrpc\":\"2.0\",\"id\":\"$ID\",\"result\":{\"content\":[]}}\n\n", 200, "", false},
		{"no version on a stream", text, "data: {\"id\":$ID,\"result\":{\"content\":[]}}\n\n", 200, "", false},
		{"a batch on a stream", text, "data: [{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[]}}]\n\n", 200, "", false},
		{"two messages in one event", text, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\ndata: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[]}}\n\n", 200, "", false},
		{"another session id", "application/json", `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`, 200, "", false},
	}
	var mu sync.Mutex
	now := tests[0]
	puppet := &fakeupstream.Puppet{HTTP: func(w http.ResponseWriter, _ *http.Request, id, _, tool string) bool {
		if tool != "odd" {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Mcp-Session-Id", "changed")
		reply(w, now.status, now.kind, strings.ReplaceAll(now.body, "$ID", id))
		return true
	}}
	p, finish := pausedCall(t, puppet)
	for _, tt := range tests {
		mu.Lock()
		now = tt
		mu.Unlock()
		_, err := p.Call(t.Context(), "s", "odd", nil, nil)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
		_, reply := errors.AsType[*ReplyError](err)
		status, _ := errors.AsType[*HTTPError](err)
		if mayHaveRun := reply || status != nil && status.MayHaveRun(); mayHaveRun != tt.mayHaveRun {
			t.Errorf("%s: %T, may have run: %v, want %v", tt.name, err, mayHaveRun, tt.mayHaveRun)
		}
		if tt.status == 429 && status.RetryAfter != 7*time.Second {
			t.Errorf("%s: retry after %v", tt.name, status.RetryAfter)
		}
	}
	if err := finish(); err != nil {
		t.Errorf("the other call: %v", err)
	}
	if n := puppet.Seen("initialize"); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// Whatever happens to the optional stream of a session, calls continue, and messages on
// it arrive once it is back.
func TestOptionalStreamEndsNothing(t *testing.T) {
	t.Parallel()
	events := func(text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { reply(w, 200, "text/event-stream", "retry: 1\n\n"+text) }
	}
	refused := func(status int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { reply(w, status, "text/plain", "no") }
	}
	for name, gets := range map[string][]func(http.ResponseWriter){
		"ends each time":       {events("event: ping\ndata:\n\n")},
		"ends and is 405":      {events(""), refused(405)},
		"ends and is 503":      {events(""), refused(503)},
		"ends and is 401":      {events(""), refused(401)},
		"is 401":               {refused(401)},
		"is 400":               {refused(400)},
		"is a page":            {func(w http.ResponseWriter) { reply(w, 200, "text/html", "hello") }},
		"has no messages":      {events("data: hello\n\nno colon\n\ndata: [1]\n\ndata: {\"jsonrpc\":\"2.0\"\n\n")},
		"has a broken message": {events("data: {\"jsonrpc\":\"2.0\",\"method\":\"elicitation/create\",\"id\":1}\n\n")},
		"breaks off":           {events("data: {"), func(http.ResponseWriter) { panic(http.ErrAbortHandler) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			n, enough := 0, make(chan struct{})
			puppet := &fakeupstream.Puppet{HTTP: func(w http.ResponseWriter, r *http.Request, _, _, _ string) bool {
				if r.Method != http.MethodGet {
					return false
				}
				mu.Lock()
				get := gets[min(n, len(gets)-1)]
				if n++; n == 9 {
					close(enough)
				}
				mu.Unlock()
				get(w)
				return true
			}}
			p, finish := pausedCall(t, puppet)
			if name == "ends each time" || name == "has no messages" {
				<-enough // more often than the SDK would have tried
			}
			for range 3 {
				if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
					t.Error(err)
				}
			}
			if err := finish(); err != nil {
				t.Error(err)
			}
			if n := puppet.Seen("initialize"); n != 1 {
				t.Errorf("%d sessions, want 1", n)
			}
		})
	}
}

// The stream of a call is resumed after its last event.
func TestStreamOfACallIsResumed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var call string
	var asked []string
	puppet := &fakeupstream.Puppet{HTTP: func(w http.ResponseWriter, r *http.Request, id, _, tool string) bool {
		mu.Lock()
		defer mu.Unlock()
		switch last := r.Header.Get("Last-Event-ID"); {
		case tool == "long":
			call = id
			reply(w, 200, "text/event-stream", "id: 1\nretry: 1\ndata:\n\n")
			return true
		case last != "":
			asked = append(asked, last)
			if len(asked) == 1 {
				reply(w, 200, "text/event-stream", "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n")
			} else {
				reply(w, 200, "text/event-stream", "id: 3\ndata: {\"jsonrpc\":\"2.0\",\"id\":"+call+",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n\n")
			}
			return true
		}
		return false
	}}
	p := newPuppet(t, "http stream", puppet)
	got, err := p.Call(t.Context(), "s", "long", nil, nil)
	if err != nil || textOf(t, got) != "done" {
		t.Errorf("the call: %s, %v", got, err)
	}
	if fmt.Sprint(asked) != "[1 2]" {
		t.Errorf("resumed behind %v", asked)
	}
}

// Whatever the answer to server/discover, the broker tries initialize.
func TestDiscoverDecidesNothing(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w http.ResponseWriter, id string){
		"401": func(w http.ResponseWriter, _ string) { reply(w, 401, "text/plain", "no") },
		"403": func(w http.ResponseWriter, _ string) { reply(w, 403, "text/plain", "no") },
		"202": func(w http.ResponseWriter, _ string) { reply(w, 202, "", "") },
		"204": func(w http.ResponseWriter, _ string) { reply(w, 204, "", "") },
		"500": func(w http.ResponseWriter, _ string) { reply(w, 500, "text/html", "<h1>oops</h1>") },
		"{}":  func(w http.ResponseWriter, _ string) { reply(w, 200, "application/json", "{}") },
		"a result of {}": func(w http.ResponseWriter, id string) {
			reply(w, 200, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
		},
		"a page":         func(w http.ResponseWriter, _ string) { reply(w, 200, "text/html", "<h1>hello</h1>") },
		"a text":         func(w http.ResponseWriter, _ string) { reply(w, 200, "application/json", "hello") },
		"a stream's end": func(w http.ResponseWriter, _ string) { reply(w, 200, "text/event-stream", "") },
		"an error, id null": func(w http.ResponseWriter, _ string) {
			reply(w, 200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}`)
		},
		"an error, id null, on a stream": func(w http.ResponseWriter, _ string) {
			reply(w, 200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n\n")
		},
		"a broken connection": func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			puppet := &fakeupstream.Puppet{HTTP: func(w http.ResponseWriter, _ *http.Request, id, method, _ string) bool {
				if method != "server/discover" {
					return false
				}
				answer(w, id)
				return true
			}}
			p := newPuppet(t, "http stream", puppet)
			if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.Tools != 1 {
				t.Errorf("status = %+v", st)
			}
			if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// Answers to the server and notifications may be refused in any way.
func TestRefusedAnswersAndNotifications(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 404, 405, 406, 413, 500, 200} {
		puppet := &fakeupstream.Puppet{HTTP: func(w http.ResponseWriter, r *http.Request, id, method, _ string) bool {
			if r.Method == http.MethodPost && (id == "" || method == "") {
				reply(w, status, "text/plain", "no")
				return true
			}
			return false
		}}
		puppet.On("tools/call echo", `{"jsonrpc":"2.0","id":77,"method":"ping"}`, fakeupstream.Result(`{"content":[]}`))
		p := newPuppet(t, "http stream", puppet)
		for range 3 {
			if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
				t.Errorf("HTTP %d: %v", status, err)
			}
		}
		if n := puppet.Seen("initialize"); n != 1 {
			t.Errorf("HTTP %d: %d sessions, want 1", status, n)
		}
	}
}
