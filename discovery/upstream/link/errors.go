package link

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
)

// ErrClosed is the cause of the contexts of a pool that is closed.
var ErrClosed = errors.New("the connections to upstream servers are closed")

var (
	errNoAnswer    = errors.New("no answer to initialize")
	errProbeSilent = errors.New("no answer to server/discover")
)

// An Error is the reason a server could not be connected or listed.
type Error struct {
	Err error
	// Hint is a step or command that may help; it may be empty.
	Hint string
	// SignIn is set if the server refuses the credentials, or wants some.
	SignIn bool
	// Handled means that the error comes from an OAuth handler, which itself decides
	// when to ask the server again, so the next call may try at once.
	Handled bool

	said launch.Failure // from its output, if the error alone is not enough
}

// NeedsSignIn returns the error for a server to which a person must sign in.
func NeedsSignIn(need transport.SignInNeeded) *Error {
	return &Error{Err: need, Hint: need.SignInHint(), SignIn: true, Handled: true}
}

// Error returns the cause from the server's output, and then the resulting error.
func (e *Error) Error() string {
	switch {
	case e.said.Cause == "":
		return e.Err.Error()
	case e.said.Known:
		return fmt.Sprintf("%s (%v)", e.said.Cause, e.Err)
	}
	return e.Err.Error() + "; it wrote: " + e.said.Cause
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// A processError means that the process of a server ended.
type processError struct {
	status string
	said   launch.Failure
}

// Error returns the cause from the process's output, and how the process ended.
func (e *processError) Error() string {
	text := "the server process ended: " + e.status
	switch {
	case e.said.Cause == "":
		return text
	case e.said.Known:
		return e.said.Cause + " (" + text + ")"
	}
	return text + ": " + e.said.Cause
}

func isProcess(err error) bool {
	_, ok := errors.AsType[*processError](err)
	return ok
}

// A StatusError is an HTTP answer that ended an attempt to connect.
type StatusError struct{ Status int }

// Error returns the status and its name.
func (e *StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the server answered HTTP %d %s", e.Status, http.StatusText(e.Status)))
}

// withStatus adds the server's answer to err, since the SDK keeps only the text of the
// status, and marks errors that need a sign-in.
func withStatus(status int, err error) error {
	if _, ok := errors.AsType[*jsonrpc.Error](err); ok && status != http.StatusUnauthorized && status < 400 {
		return err
	}
	if status < 400 {
		return err
	}
	return &Error{Err: &StatusError{Status: status}, SignIn: status == http.StatusUnauthorized}
}

// signInError is err with what the server answered, or what the OAuth handler
// said if it was asked in vain.
func signInError(r *transport.HTTP, err error) error {
	if need := r.SignInNeeded(); need != nil {
		return NeedsSignIn(need)
	}
	return withStatus(r.Status(), err)
}
