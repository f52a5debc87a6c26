package upstream

import (
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
)

// A session is a link to a server, and how far the server is with it.
type session struct {
	*link.Session
	events events
	prober prober

	over   chan struct{} // closed when the end of the connection is recorded in the server
	listed chan struct{} // closed when the first listing of this session succeeded or failed
	taught chan struct{} // likewise, for its skills

	lists   atomic.Bool // tools/list was answered
	dropped atomic.Bool // the server does not use it any more

	since    time.Time // guarded by the connection's mutex: when it was opened
	inFlight int       // likewise
	leaving  bool      // likewise: end when nothing is in flight
	staleAt  time.Time // guarded by the relister's mutex: when to list the tools again; zero for never
}

// events are what a server says in a session beside its answers.
type events interface {
	toolsChanged(*session)
	asked(*session)
}

func newSession(l *link.Session, e events) *session {
	return &session{Session: l, events: e, over: make(chan struct{}), listed: make(chan struct{}), taught: make(chan struct{})}
}

// ToolsChanged is called when the server says that its tools changed.
func (s *session) ToolsChanged() { s.events.toolsChanged(s) }

// Asked is called when the server asks a client a question that does not name a call.
func (s *session) Asked() { s.events.asked(s) }

// modern reports whether the arguments that a call mirrors in headers are known from the
// list of tools.
func (s *session) modern() bool { return s.Transport == "http" && s.Era == link.EraModern }

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
