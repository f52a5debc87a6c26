package upstream

import (
	"context"
	"errors"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/modelcontextprotocol/go-sdk/auth"
)

// A Talker answers the questions of a server for the caller of a call.
type Talker = link.Talker

// CallOptions are optional properties of a call.
type CallOptions = link.CallOptions

// An InputError means that a call failed because a question of its server was not
// answered.
type InputError = link.InputError

// A session is one connection to a server, and how far the server is with it.
type session struct {
	*link.Session
	server *server

	over   chan struct{} // closed when the end of the connection is recorded in the server
	listed chan struct{} // closed when the first listing of this session succeeded or failed
	taught chan struct{} // likewise, for its skills

	// Guarded by the server's mutex.
	inFlight int
	leaving  bool      // end when nothing is in flight
	lists    bool      // tools/list was answered
	staleAt  time.Time // time at which to list the tools again; zero for never
	probe    *probe    // last check whether the session exists, or nil
}

func newSession(s *server, l *link.Session) *session {
	return &session{Session: l, server: s, over: make(chan struct{}), listed: make(chan struct{}), taught: make(chan struct{})}
}

// ToolsChanged is called when the server says that its tools changed.
func (s *session) ToolsChanged() { s.server.toolsChanged(s) }

// Asked is called when the server asks its client a question that does not name a call.
func (s *session) Asked() { s.server.asked(s) }

// open connects to the server.
func (s *server) open(ctx context.Context) (*session, error) {
	var sess *session
	_, err := s.dial.Dial(ctx, func(l *link.Session) link.Listener {
		sess = newSession(s, l)
		return sess
	})
	return sess, err
}

// newDialer returns what connects to the server.
func (s *server) newDialer(out link.Output) *link.Dialer {
	o := &s.pool.opts
	return &link.Dialer{
		Server: s.cfg.reached(o), Programs: s.pool.programs, Output: out,
		Client: link.Client{Implementation: o.Implementation, Capabilities: o.Capabilities, Logger: o.Logger},
	}
}

// reached is how a server is connected, with what o says of references and sign-ins.
func (c Config) reached(o *Options) link.Server {
	s := link.Server{
		Name: c.Name, Type: c.kind(), Command: c.Command, Args: c.Args,
		Timeout: c.StartTimeout, ShortInstalled: c.anyStart, Plain: c.direct(), OwnDir: c.Dir != "" && !c.lent,
		Resolve: func() (*link.Target, error) { return c.target(o) },
	}
	if o.OAuth != nil {
		s.OAuth = func(url string) (auth.OAuthHandler, error) { return o.OAuth(c, url) }
	}
	if c.Permit != nil {
		s.MayStart = c.Permit.MayStart
	}
	return s
}

// target returns what to start or dial for c.
func (c Config) target(o *Options) (*link.Target, error) {
	if c.usesFolder() {
		folder := c.folder
		if folder == "" {
			folder = o.Folder()
		}
		if folder == "" {
			return nil, errNoFolder
		}
		c = c.inFolder(folder)
	}
	t, err := c.resolveIn(o.Expand, o.Environ())
	if need, ok := errors.AsType[transport.SignInNeeded](err); ok {
		return nil, link.NeedsSignIn(need)
	}
	if err != nil {
		return nil, &link.Error{Err: &ReferenceError{err}, Hint: "set it, or change the value in the configuration"}
	}
	return t, nil
}
