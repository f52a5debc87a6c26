package link

import (
	"context"
	"errors"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery/hide"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An Era is how a server opens a session.
type Era string

// The eras: protocol 2026-07-28 begins with server/discover, older ones with initialize.
const (
	EraUnknown Era = ""
	EraLegacy  Era = "initialize"
	EraModern  Era = "discover"
)

// A Listener hears what a server says outside of results. Its methods must be safe for
// concurrent use and must not block.
type Listener interface {
	// ToolsChanged is called when the server says that it offers something else.
	ToolsChanged()
	// Asked is called when the server asks a question that does not name its call.
	Asked()
}

// A Session is one connection to a server. It is safe for concurrent use.
type Session struct {
	// Transport is "stdio", "http" or "sse", and Era how the session was opened.
	Transport string
	Era       Era
	// Process is the process of the server; nil for a remote server.
	Process *launch.Process
	// Hide hides the secrets that the server was given.
	Hide *hide.Hider

	mcp     *mcp.ClientSession
	handled func(method string) // called after a notification of the server was handled; may be nil
	hangUp  func()              // cancels answers to the server in progress; may be nil
	cleanup func()              // frees what the transport holds; may be nil
	gone    chan struct{}       // closed when the connection has ended

	calls    calls
	promised questions.Capabilities // announced to the server
	listener Listener               // may be nil
	advice   adviser
	logging  sync.Once // the server was asked for its log
	panics   panics
}

// newSession returns a session that is not open yet.
func newSession(h *hide.Hider) *Session {
	return &Session{Hide: h, gone: make(chan struct{}), panics: panics{hide: h}}
}

// newClient makes the SDK's client for one session.
func (s *Session) newClient(impl *mcp.Implementation) *mcp.Client {
	changed := func() {
		if s.listener != nil {
			s.listener.ToolsChanged()
		}
	}
	o := &mcp.ClientOptions{
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { changed() },
		PromptListChangedHandler:    func(context.Context, *mcp.PromptListChangedRequest) { changed() },
		ResourceListChangedHandler:  func(context.Context, *mcp.ResourceListChangedRequest) { changed() },
		ProgressNotificationHandler: s.onProgress,
	}
	s.handleMessages(o)
	c := mcp.NewClient(impl, o)
	c.AddReceivingMiddleware(s.settled, s.panics.guarded, s.rootsQuestions)
	c.AddSendingMiddleware(s.panics.guarded)
	sendsSkillMethods(c)
	return c
}

// settled records that a message of the server was handled.
func (s *Session) settled(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if s.handled != nil {
			defer s.handled(method)
		}
		return next(ctx, method, req)
	}
}

// capabilities returns what the server says that it has, or nil.
func (s *Session) capabilities() *mcp.ServerCapabilities {
	if s.mcp == nil {
		return nil
	}
	init := s.mcp.InitializeResult()
	if init == nil {
		return nil
	}
	return init.Capabilities
}

// AnnouncesTools reports whether the server says when its tools change.
func (s *Session) AnnouncesTools() bool {
	c := s.capabilities()
	return c != nil && c.Tools != nil && c.Tools.ListChanged
}

// Gone returns a channel that is closed when the connection has ended, once Wait is
// called.
func (s *Session) Gone() <-chan struct{} { return s.gone }

// Ended reports whether the connection is gone.
func (s *Session) Ended() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

var errConnectionEnded = errors.New("the server closed the connection")

// Wait waits for the end of the connection and returns the cause. It must be called
// once.
func (s *Session) Wait() error {
	cause := s.mcp.Wait()
	close(s.gone)
	return s.Cause(cause)
}

// Cause returns the error for a connection that has ended with err, which may be nil,
// with how the process of the server ended.
func (s *Session) Cause(err error) error {
	if err == nil {
		err = errConnectionEnded
	}
	return s.Hide.InErr(s.advice.died(err, s.Process))
}

// Failed returns err, the error of a request, with what the process of the server wrote.
func (s *Session) Failed(err error) error {
	return &Error{Err: s.Hide.InErr(err), said: s.advice.said()}
}

// Lost returns err, the cause of the end of the connection, with what to do about it.
func (s *Session) Lost(err error) error { return &Error{Err: err, Hint: s.Hint(err)} }

// Hint returns what to do about err; it may be empty.
func (s *Session) Hint(err error) string { return s.Hide.In(s.advice.hint(err, s.Hide)) }

// Shut ends the connection and, for stdio, the process with its tree. It returns
// when nothing is left, and may be called more than once.
func (s *Session) Shut() {
	if s.Process != nil {
		s.Process.Stop() // the connection ends with the pipes
	}
	if s.hangUp != nil {
		s.hangUp()
	}
	_ = s.mcp.Close() // nothing to do about a connection that does not close well
	if s.cleanup != nil {
		s.cleanup()
	}
}
