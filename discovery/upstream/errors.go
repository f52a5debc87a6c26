package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

// ErrClosed means that the Pool has been closed.
var ErrClosed = link.ErrClosed

// ErrUnknownServer means that no server of that name is configured.
var ErrUnknownServer = errors.New("no such server is configured")

// A ReferenceError means that a reference in the configuration of a server, such
// as ${VAR}, has no value: to try again does not help.
type ReferenceError struct{ Err error }

// Error names the reference but not its value.
func (e *ReferenceError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ReferenceError) Unwrap() error { return e.Err }

// An RPCError is a protocol error that a server answered with. It is not the
// same as a tool that failed, which is a result with isError.
type RPCError struct {
	Server, Tool string
	Code         int64
	Message      string
	Data         json.RawMessage // as it came; may be nil
}

// maxErrorData bounds the data of an error in its text, in bytes.
const maxErrorData = 500

// Error returns the tool, the server's message, its code and the data that the message
// does not repeat.
func (e *RPCError) Error() string {
	text := fmt.Sprintf("call %s/%s: %s (code %d)", e.Server, e.Tool, e.Message, e.Code)
	if string(e.Data) == "null" {
		return text
	}
	data := string(e.Data)
	var words string
	if json.Unmarshal(e.Data, &words) == nil {
		data = words
	}
	data = strings.TrimSpace(gate.Line(gate.Clean(data)))
	if data == "" || data == "{}" || data == "[]" || strings.Contains(e.Message, data) {
		return text
	}
	return text + ": " + gate.Cut(data, maxErrorData)
}

// An HTTPError means that a server, or a proxy in front of it, answered one call with
// an HTTP status and no message. Other calls continue.
type HTTPError struct {
	Server, Tool string
	Status       int
	// RetryAfter is the time that the server asks to wait; zero if unknown.
	RetryAfter time.Duration
	Err        error
}

// Error returns the tool, the status and the server's text.
func (e *HTTPError) Error() string {
	return fmt.Sprintf("call %s/%s: %v", e.Server, e.Tool, e.Err)
}

// Unwrap returns the cause.
func (e *HTTPError) Unwrap() error { return e.Err }

// MayHaveRun reports whether the tool may have run: only a status from 400 to 499 means
// that the request was refused.
func (e *HTTPError) MayHaveRun() bool { return e.Status < 400 || e.Status >= 500 }

// A ReplyError means that the answer to a call came but cannot be read. The tool may
// have run.
type ReplyError struct {
	Server, Tool string
	Err          error
}

// Error returns the tool and the beginning of the answer.
func (e *ReplyError) Error() string {
	return fmt.Sprintf("call %s/%s: %v", e.Server, e.Tool, e.Err)
}

// Unwrap returns the cause.
func (e *ReplyError) Unwrap() error { return e.Err }

// A ConnectError means that a server could not be reached or was lost.
type ConnectError struct {
	Server string
	// State is StateFailed or StateNeedsSignIn.
	State State
	// Hint is a step or command that may help; it may be empty.
	Hint string
	// Sent is set when the connection was lost after a call had been sent, so
	// that the tool may have run.
	Sent bool
	// RetryIn is how long further attempts are refused; zero if the next call
	// tries at once.
	RetryIn time.Duration
	// Retrying is set if Err is from the last attempt and another one is in progress.
	Retrying bool
	Err      error
}

// Error names the server and the cause, and what to do if that is a sign-in,
// which no other call gets round.
func (e *ConnectError) Error() string {
	verb := "connect to"
	switch {
	case e.Sent:
		verb = "lost connection to"
	case isPartial(e.Err):
		verb = "call"
	}
	s := fmt.Sprintf("%s %s: %v", verb, e.Server, e.Err)
	if e.State == StateNeedsSignIn && e.Hint != "" {
		s += "; " + e.Hint
	}
	switch {
	case e.Retrying:
		s += " (it is being tried again)"
	case e.RetryIn > 0:
		s += fmt.Sprintf(" (next attempt possible in %s)", max(e.RetryIn.Round(time.Second), time.Second))
	}
	return s
}

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

// A TimeoutError means that a server did not answer a call in time. The call
// has been cancelled, but the tool may have run.
type TimeoutError struct {
	Server, Tool string
	After        time.Duration
}

// Error names the tool and the limit.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("call %s/%s: no answer for %s (config: callTimeout)", e.Server, e.Tool, words.Seconds(e.After))
}

// Timeout reports true, as net.Error has it.
func (e *TimeoutError) Timeout() bool { return true }

// An UnansweredError means that a call ended after it was sent and before its server
// answered: its context was done, or the Pool was closed. The tool may have run.
type UnansweredError struct {
	Server, Tool string
	Err          error
}

// Error returns the tool and the reason.
func (e *UnansweredError) Error() string {
	return fmt.Sprintf("call %s/%s: %v", e.Server, e.Tool, e.Err)
}

// Unwrap returns the cause.
func (e *UnansweredError) Unwrap() error { return e.Err }

// isPartial reports whether only this request needs a sign-in.
func isPartial(err error) bool {
	need, ok := errors.AsType[transport.SignInNeeded](err)
	return ok && need.Partial()
}

// A RememberedError is the error of a server that another pool could not connect.
type RememberedError struct {
	Text string
	// Unfinished is set if that pool ended before the outcome was known.
	Unfinished bool
}

// Error returns the text of that error.
func (e *RememberedError) Error() string { return e.Text }
