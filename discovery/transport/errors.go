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

// codeRejected is the SDK's code for a request that its transport did not send. An
// error of Write with this code fails one request; any other one ends the connection.
const codeRejected = -32005

// rejected wraps err so that the SDK fails only one request.
func rejected(err error) error {
	return fmt.Errorf("%w: %w", &jsonrpc.Error{Code: codeRejected, Message: "rejected by transport"}, err)
}

// A SendError means that a request got no answer: it could not be sent, or the network
// connection was lost before the answer began.
type SendError struct{ Err error }

// Error returns the text of the cause.
func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// A StatusError is an HTTP response to a call without a message for it. It concerns
// that call alone.
type StatusError struct {
	Status int
	// Text is the response's text, cut. It comes from the server.
	Text string
	// RetryAfter is the time that the server asks to wait; zero if unknown.
	RetryAfter time.Duration
	// SessionGone is set if the server answered that the session does not exist.
	SessionGone bool
}

// Error returns the status, the text of the response and the time to wait.
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

// An AnswerError means that the answer to a call came but cannot be read, or was
// incomplete. The call may have had its effect.
type AnswerError struct {
	Why string
	// Text is the beginning of the answer, on one line. It comes from the server.
	Text string
}

// Error returns the reason the answer cannot be read, and its beginning.
func (e *AnswerError) Error() string {
	if e.Text == "" {
		return "the server's answer cannot be used: " + e.Why
	}
	return fmt.Sprintf("the server's answer cannot be used: %s: %s", e.Why, e.Text)
}

// maxShown bounds the part of an answer in an error, in characters.
const maxShown = 300

// shown returns the beginning of text on one line.
func shown(text []byte) string {
	if len(text) > 4*maxShown {
		text = text[:4*maxShown]
	}
	return gate.Cut(gate.Line(strings.ToValidUTF8(string(text), "\ufffd")), maxShown)
}

// words returns the text of a body without HTML tags.
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

// maxRetryAfter bounds the waiting time that a server can request.
const maxRetryAfter = 24 * time.Hour

// retryAfter parses the header Retry-After, which has seconds or a date.
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

// statusError returns the error for a response to a call without a message.
func statusError(resp *http.Response, body []byte) *StatusError {
	return &StatusError{Status: resp.StatusCode, Text: words(body), RetryAfter: retryAfter(resp.Header)}
}

var errEventsEnded = errors.New("the event stream ended without an answer")
