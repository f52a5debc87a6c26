package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errNotSent means that a call failed before it was sent.
var errNotSent = errors.New("the connection had ended")

// outliveGrace bounds the wait of a call with a lost connection for outlive.
const outliveGrace = 250 * time.Millisecond

// An answer is what a server answered to a request for a tool, or of another method, in a
// session.
type answer struct {
	server *server
	sess   *session
	tool   string
}

// failed turns what the SDK returned into one of the errors of Call.
func (a answer) failed(ctx context.Context, err error) error {
	s, sess, tool := a.server, a.sess, a.tool
	if e := a.authFailed(ctx, err); e != nil {
		return e
	}
	if gone, again := a.forgotten(ctx, err); gone {
		err = errForgotten(err)
		s.leave(ctx, sess, err)
		if !again {
			return &ConnectError{Server: s.cfg.Name, State: StateFailed, Sent: true, Hint: "the next call opens another session", Err: sess.Hide.InErr(err)}
		}
		return fmt.Errorf("call %s/%s: %w: %w", s.cfg.Name, tool, errNotSent, sess.Hide.InErr(err))
	}
	if errors.Is(err, mcp.ErrConnectionClosed) {
		s.end(ctx, sess, err)
		return fmt.Errorf("call %s/%s: %w: %w", s.cfg.Name, tool, errNotSent, sess.Hide.InErr(err))
	}
	if e := a.unreadable(err); e != nil {
		return e
	}
	if send, ok := errors.AsType[*transport.SendError](err); ok {
		return &ConnectError{Server: s.cfg.Name, State: StateFailed, Sent: true, Err: sess.Hide.InErr(send)}
	}
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return &RPCError{Server: s.cfg.Name, Tool: tool, Code: rpc.Code, Message: sess.Hide.In(gate.Clean(rpc.Message)), Data: sess.Hide.InJSON(rpc.Data)}
	}
	// A connection that breaks is noticed here and by outlive at about the same
	// time; outlive knows more about the reason.
	select {
	case <-sess.Gone():
	case <-time.After(outliveGrace):
	}
	return a.lost(err)
}

// unreadable returns the error of a call with an answer that was not a message or
// cannot be read, or nil for any other err. The session continues.
func (a answer) unreadable(err error) error {
	s, sess, tool := a.server, a.sess, a.tool
	if cannotRead(err) {
		return &ReplyError{Server: s.cfg.Name, Tool: tool, Err: sess.Hide.InErr(err)}
	}
	e, ok := errors.AsType[*transport.StatusError](err)
	switch {
	case !ok:
		return nil
	case e.Status == http.StatusUnauthorized:
		return &ConnectError{Server: s.cfg.Name, State: StateNeedsSignIn, Hint: sess.Hint(&link.StatusError{Status: e.Status}), Err: sess.Hide.InErr(e)}
	}
	return &HTTPError{Server: s.cfg.Name, Tool: tool, Status: e.Status, RetryAfter: e.RetryAfter, Err: sess.Hide.InErr(e)}
}

// cannotRead reports whether err, which is not a connection error, means that the
// answer to a call came but could not be read. The SDK has no type for that.
func cannotRead(err error) bool {
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, os.ErrClosed, net.ErrClosed} {
		if errors.Is(err, broken) {
			return false
		}
	}
	_, rpc := errors.AsType[*jsonrpc.Error](err) // includes the SDK's errors for closing connections
	_, status := errors.AsType[*transport.StatusError](err)
	_, send := errors.AsType[*transport.SendError](err)
	_, system := errors.AsType[syscall.Errno](err)
	return !rpc && !status && !send && !system
}

// lost returns the error of a call with a lost connection.
func (a answer) lost(err error) error {
	s, sess := a.server, a.sess
	e := &ConnectError{Server: s.cfg.Name, State: StateFailed, Sent: true, Err: sess.Hide.InErr(err)}
	if sess.Ended() {
		e.Err = sess.Cause(nil)
		e.Hint = "the next call starts it again"
	}
	return e
}

// authFailed returns the error of a call that lacked a token or a sufficient one, or
// nil if err has another cause. The tool has not run. If tools/list needs a sign-in
// too, authFailed closes the session, and the next call asks for the token again. Other
// servers need one for only some of their tools.
func (a answer) authFailed(ctx context.Context, err error) error {
	s, sess := a.server, a.sess
	need, ok := errors.AsType[transport.SignInNeeded](err)
	if !ok {
		if e, ok := errors.AsType[*transport.AuthError](err); ok {
			return &ConnectError{Server: s.cfg.Name, State: StateFailed, Hint: link.AuthHint, Err: sess.Hide.InErr(e)}
		}
		return nil
	}
	if !need.Partial() && a.wantsSignIn(ctx) {
		s.signOut(sess, need, need.SignInHint())
	}
	return &ConnectError{Server: s.cfg.Name, State: StateNeedsSignIn, Hint: need.SignInHint(), Err: need}
}

// wantsSignIn reports whether tools/list needs a sign-in in sess.
func (a answer) wantsSignIn(ctx context.Context) bool {
	_, wants := errors.AsType[transport.SignInNeeded](a.probe(ctx))
	return wants
}

// Servers forget sessions: HTTP servers when they are deployed, stdio servers when a
// watcher restarts the program behind the pipes. The protocol has HTTP 404 for this,
// but others answer 400, or a JSON-RPC error with various codes and any text. So after
// a refusal that may mean a lost session, the broker calls tools/list, which the
// session answered before. If that is refused in the same way, the session is gone, and
// the broker opens a new one.

// probeTime bounds the check whether a session exists.
const probeTime = 10 * time.Second

// forgotten reports whether err, the error of a call in sess, means that the server has
// lost the session, and whether the call can be repeated because nothing has run.
func (a answer) forgotten(ctx context.Context, err error) (gone, again bool) {
	sess := a.sess
	said, may := link.DenialIn(err)
	if !may || sess.Era != link.EraLegacy {
		return false, false
	}
	select {
	case <-sess.listed:
	case <-ctx.Done():
		return false, false
	}
	lists := sess.lists.Load() || !a.server.lister.main // the main instance lists the tools
	if !lists {                                         // a new session would refuse it too
		return errors.Is(err, mcp.ErrSessionMissing), true
	}
	now, refused := link.DenialIn(a.probe(ctx))
	if !refused || !now.Like(said) {
		return false, false
	}
	return true, said.Unsent
}

// probe requests the first page of tools in the session, and returns the error.
func (a answer) probe(ctx context.Context) error {
	return a.sess.prober.probe(ctx, a.server.host.tasks, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, min(probeTime, a.server.cfg.CallTimeout))
		defer cancel()
		return a.sess.Probe(ctx)
	})
}

// errForgotten wraps the error of a session that its server has lost.
func errForgotten(err error) error {
	return fmt.Errorf("the server no longer knows the session: %w", err)
}
