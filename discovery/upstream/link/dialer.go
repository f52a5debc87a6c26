package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

const (
	methodInitialize   = "initialize"
	methodListTools    = "tools/list"
	methodReadResource = "resources/read"

	legacyVersion = "2025-11-25"
	modernSince   = "2026-07-28"
)

// A Dialer opens sessions to one server. It is used by one goroutine at a time.
type Dialer struct {
	Server   Server
	Client   Client
	Programs Programs
	Output   Output // a new one if it is zero

	// Era and Transport are those of the last session; empty if they are not known.
	Era       Era
	Transport string // "http" or "sse"

	// Version is the version of the package to start; empty for the one in use.
	Version string
	// Review decides about newer versions of the package; nil does not look for any.
	Review packages.Review
	// Progress is called with each step of an attempt, and Installed when the package is
	// installed; both may be nil.
	Progress  func(Step)
	Installed func()
	// Pipes replaces the process in tests.
	Pipes func() (*transport.Stdio, error)

	signIn    auth.OAuthHandler // for signInURL; nil until it is needed
	signInURL string

	attempt
}

// An attempt is one use of a Dialer.
type attempt struct {
	advice adviser
	attach func(*Session) Listener
	limit  time.Duration // for a process: after its package is installed
	began  time.Time     // start of the last process or request
}

// does reports the progress of the attempt.
func (d *Dialer) does(s Step) {
	if d.Progress != nil {
		d.Progress(s)
	}
}

// Dial opens a session. For a process, Server.Timeout begins after the installation of its
// package; see dialStdio for a second process. For a remote server, it covers everything.
//
// Each session is passed to attach before it is opened, and its events to the listener that
// attach returns. The last one is the one that Dial returns. A nil attach hears nothing.
func (d *Dialer) Dial(ctx context.Context, attach func(*Session) Listener) (*Session, error) {
	if d.Output == (Output{}) {
		d.Output = NewOutput()
	}
	d.attempt = attempt{attach: attach, advice: adviser{server: d.Server, output: output{Output: d.Output}}}
	t, err := d.Server.Resolve()
	if err != nil {
		return nil, err
	}
	if err := d.runDirectly(ctx, t); err != nil {
		return nil, err
	}
	if d.advice.direct && d.Installed != nil {
		d.Installed()
	}
	d.limit = d.Server.Timeout
	if d.advice.direct && d.Server.ShortInstalled {
		d.limit = StartTimeout // what took long is done
	}
	d.Output.Stderr.SetHide(t.Hide.In)
	d.Output.Dropped.SetHide(t.Hide.In)
	d.does(Starting)
	var s *Session
	if d.Server.Type == "stdio" {
		s, err = d.dialStdio(ctx, t)
	} else {
		s, err = d.within(ctx, d.limit, func(ctx context.Context) (*Session, error) { return d.dialRemote(ctx, t) })
	}
	if err == nil {
		return s, nil
	}
	return nil, d.advice.explain(err, t.Hide)
}

// Rest returns the time that is left of the last attempt, at least a quarter.
func (d *Dialer) Rest() time.Duration { return max(d.limit-time.Since(d.began), d.limit/4) }

// within calls open with a context that ends after the given time. If open fails
// because of that, the error says so.
func (d *Dialer) within(ctx context.Context, limit time.Duration, open func(context.Context) (*Session, error)) (*Session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w for %s", errNoAnswer, words.Seconds(limit)))
	defer cancel()
	d.began = time.Now()
	s, err := open(ctx)
	if err != nil && ctx.Err() != nil { // the timeout is the cause, whatever err says
		err = &Error{Err: context.Cause(ctx), said: d.advice.said()}
	}
	return s, err
}

// handshake does the handshake over a transport.
func (d *Dialer) handshake(ctx context.Context, s *Session, over mcp.Transport, e Era) (err error) {
	s.panics.log = d.Client.Logger.With("server", d.Server.Name)
	defer s.panics.recovered(methodInitialize, &err)
	var o *mcp.ClientSessionOptions
	if e == EraLegacy {
		o = &mcp.ClientSessionOptions{ProtocolVersion: legacyVersion}
	}
	s.promised, s.advice = d.Client.Capabilities, d.advice
	if d.attach != nil {
		s.listener = d.attach(s)
	}
	ms, err := s.newClient(d.Client.Implementation).Connect(ctx, over, o)
	if err != nil {
		return err
	}
	s.mcp = ms
	s.Era = EraLegacy
	if init := ms.InitializeResult(); init != nil && init.ProtocolVersion >= modernSince {
		s.Era = EraModern
	}
	d.Era = s.Era
	return nil
}

// runDirectly replaces the command of a package runner by the installed program of the
// package. If it cannot be installed, the runner starts in its own folder. An installed
// Python module runs without the working folder in the module path.
func (d *Dialer) runDirectly(ctx context.Context, t *Target) error {
	if t.Program == "" {
		return nil
	}
	log := d.Client.Logger
	if d.Version != "" {
		c, err := d.Programs.Packages.CommandAt(ctx, t.Command, d.Version)
		t.Command, d.advice.direct = c, err == nil
		return err
	}
	if d.Programs.Packages != nil && d.Server.Plain {
		d.does(Installing)
		c, err := d.Programs.Packages.ReviewedCommand(ctx, t.Command, d.Server.Name, d.Review)
		t.Command, d.advice.direct = c, err == nil
		switch {
		case err == nil || ctx.Err() != nil:
			return nil
		case errors.Is(err, packages.ErrNotPlain):
			log.Debug("start a package as it is written", "server", d.Server.Name, "err", t.Hide.InErr(err))
		default:
			d.advice.failed = err
			log.Warn("start a package as it is written", "server", d.Server.Name, "err", t.Hide.InErr(err))
		}
	}
	c, away, err := d.Programs.Runners.Confine(t.Command)
	if err != nil {
		return fmt.Errorf("start a package runner: %w", err)
	}
	if away && t.Dir != "" {
		log.Warn("a server does not start in its working folder: its package runner does not support that; npx, pnpm dlx and uvx do", "server", d.Server.Name)
	}
	t.Command = c
	if !d.Server.OwnDir { // otherwise the code of the folder may be meant
		t.Command = packages.InstalledModule(c)
	}
	return nil
}
