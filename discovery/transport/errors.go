package transport

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// codeRejected is the code of the SDK's error for a request that its transport
// did not send. An error with it fails that request; any other one of Write ends
// the connection.
const codeRejected = -32005

// rejected is err for the SDK, which fails one request with it.
func rejected(err error) error {
	return fmt.Errorf("%w: %w", &jsonrpc.Error{Code: codeRejected, Message: "rejected by transport"}, err)
}

// A SendError means that a request got no answer: it could not be sent, or the
// network connection was lost before the answer began.
type SendError struct{ Err error }

// Error is that of the cause.
func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// A StatusError is an HTTP answer to a call that holds no message for it. It
// concerns that call alone.
type StatusError struct {
	Status int
	// Text is what the answer says in words, cut; it is the server's.
	Text string
	// RetryAfter is how long the server wants to be left alone; zero if it does not
	// say.
	RetryAfter time.Duration
	// SessionGone is set when the server answered that the session does not exist.
	SessionGone bool
}

// Error names the status, what the answer says and when to try again.
func (e *StatusError) Error() string {
	s := strings.TrimSpace(fmt.Sprintf("the server answered HTTP %d %s", e.Status, http.StatusText(e.Status)))
	if e.Status < 300 {
		s += " without a message for the call"
	}
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.RetryAfter > 0 {
		s += fmt.Sprintf(" (retry after %.3g s)", e.RetryAfter.Seconds())
	}
	return s
}

// Unwrap returns mcp.ErrSessionMissing if the session does not exist.
func (e *StatusError) Unwrap() error {
	if e.SessionGone {
		return mcp.ErrSessionMissing
	}
	return nil
}

// An AnswerError means that the answer to a call came and cannot be read, or
// broke off: what was asked for has perhaps happened.
type AnswerError struct {
	Why string
	// Text is the beginning of what came, on one line; it is the server's.
	Text string
}

// Error says why the answer cannot be read, and shows it.
func (e *AnswerError) Error() string {
	if e.Text == "" {
		return "the server's answer cannot be used: " + e.Why
	}
	return fmt.Sprintf("the server's answer cannot be used: %s: %s", e.Why, e.Text)
}

// maxShown is how much of an answer is shown, in characters.
const maxShown = 300

// shown is the beginning of text on one line.
func shown(text []byte) string {
	if len(text) > 4*maxShown {
		text = text[:4*maxShown]
	}
	return gate.Cut(gate.Line(strings.ToValidUTF8(string(text), "\ufffd")), maxShown)
}

// words is what a body says, without the marks of HTML.
func words(body []byte) string {
	if len(body) > 16<<10 {
		body = body[:16<<10]
	}
	var out strings.Builder
	in := false
	for _, r := range strings.ToValidUTF8(string(body), "") {
		switch {
		case r == '<':
			in = true
			out.WriteByte(' ')
		case r == '>' && in:
			in = false
		case !in:
			out.WriteRune(r)
		}
	}
	return shown([]byte(strings.Join(strings.Fields(out.String()), " ")))
}

// maxRetryAfter bounds what a server can ask for.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the header of that name, which has seconds or a date.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseFloat(v, 64); err == nil && n > 0 {
		return min(time.Duration(min(n, maxRetryAfter.Seconds())*float64(time.Second)), maxRetryAfter)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, min(time.Until(at), maxRetryAfter))
	}
	return 0
}

// statusError is the error for an answer to a call that has no message.
func statusError(resp *http.Response, body []byte) *StatusError {
	return &StatusError{Status: resp.StatusCode, Text: words(body), RetryAfter: retryAfter(resp.Header)}
}

var errEventsEnded = errors.New("the event stream ended without an answer")
