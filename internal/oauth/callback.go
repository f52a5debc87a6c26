package oauth

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

const callbackPath = "/callback"

// A callback waits for the browser to return from the sign-in page.
type callback struct {
	server   string // the name of the server on the page
	host     string // in the address; empty means the listener's
	listener net.Listener
	answers  chan answer

	mu    sync.Mutex
	state string // the required state of an answer; empty while none is expected
}

// expect sets the required state of the answer.
func (c *callback) expect(state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = state
}

// An answer is the result of a sign-in.
type answer struct {
	result *auth.AuthorizationResult
	err    error
}

func listen(server string, port int) (*callback, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	if err != nil {
		return nil, fmt.Errorf("wait for the browser: %w: another \"callbackPort\" may be free", err)
	}
	return &callback{server: server, listener: l, answers: make(chan answer, 1)}, nil
}

func (c *callback) redirectURL() string {
	at := c.listener.Addr().String()
	if _, port, err := net.SplitHostPort(at); err == nil && c.host != "" {
		at = net.JoinHostPort(c.host, port)
	}
	return "http://" + at + callbackPath
}

// serve answers the browser until the returned function is called, which waits until a page has
// been sent.
func (c *callback) serve() (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callbackPath, c.page)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(c.listener) // ends with stop
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			srv.Close()
		}
		<-done
	}
}

var errWrongState = errors.New("this answer is not to the sign-in that is waiting: its state is another one")

// page handles one answer. An answer with another state changes nothing.
func (c *callback) page(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address contains the code
	a := c.read(r.URL.Query())
	title, text := "You are signed in", "The broker may use "+c.server+" for you now. You can close this page."
	switch {
	case errors.Is(a.err, errWrongState):
		title, text = "Not signed in", "This page belongs to no sign-in that is waiting. Type broker auth login again."
		w.WriteHeader(http.StatusBadRequest)
	case a.err != nil:
		title, text = "Not signed in", a.err.Error()
	}
	fmt.Fprintf(w, "<!doctype html><html lang=en><title>%s</title><body style=\"font:16px sans-serif;margin:4em\"><h1>%[1]s</h1><p>%s</p>\n",
		html.EscapeString(title), html.EscapeString(text))
	if !errors.Is(a.err, errWrongState) {
		c.deliver(a)
	}
}

// deliver passes the first answer on; later ones are repetitions.
func (c *callback) deliver(a answer) {
	select {
	case c.answers <- a:
	default:
	}
}

// read reads the query of a redirect.
func (c *callback) read(q url.Values) answer {
	c.mu.Lock()
	state := c.state
	c.mu.Unlock()
	if state == "" || q.Get("state") != state {
		return answer{err: errWrongState}
	}
	return answerOf(q)
}

// answerOf reads the query of a redirect with the right state.
func answerOf(q url.Values) answer {
	if code := q.Get("error"); code != "" {
		text := "the authorization server says " + cleanCode(code)
		if d := cleanText(q.Get("error_description")); d != "" {
			text += ": " + d
		}
		return answer{err: errors.New(text)}
	}
	if q.Get("code") == "" {
		return answer{err: errors.New("the authorization server sent the browser back without a code")}
	}
	return answer{result: &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}}
}

// paste reads redirect URLs that a person pastes until one is right. It ends with its input, or
// with the program, since reading from a terminal cannot be interrupted.
func (c *callback) paste(in io.Reader, warn func(string)) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<10)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		u, err := url.Parse(line)
		if err != nil || !u.Query().Has("state") {
			warn("that is not the address that the browser was sent to: it begins with " + c.redirectURL() + "?")
			continue
		}
		a := c.read(u.Query())
		if errors.Is(a.err, errWrongState) {
			warn(a.err.Error())
			continue
		}
		c.deliver(a)
		return
	}
}

// cleanText returns a text of the authorization server for display.
func cleanText(s string) string { return gate.Cut(gate.Line(s), 200) }
