package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/hide"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/lines"
	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

const (
	methodInitialize = "initialize"

	legacyVersion = "2025-11-25"
	modernSince   = "2026-07-28"

	// A server that is up answers the probe within milliseconds. One that is
	// not up yet copes with an initialize behind it.
	maxProbeWait = 4 * time.Second
)

// A dialer opens sessions to one server. It is used by one goroutine at a time.
type dialer struct {
	cfg      Config
	opts     *Options
	guard    *launch.Guard
	packages *packages.Store // may be nil
	runners  *packages.RunnerFolder
	stderr   *lines.Ring
	dropped  *lines.Ring
	changed  func(*session) // called when the server says that its tools changed
	asked    func(*session) // the server asked a client something

	era       era
	transport string // "http" or "sse", once known

	signIn    auth.OAuthHandler // for signInURL; nil until it is needed
	signInURL string

	// pipes replaces the process in tests.
	pipes func() (*transport.Stdio, error)

	limit   time.Duration   // for a process: after its package is installed
	direct  bool            // attempt without a package runner
	version string          // of the package, unless it is the one in use
	review  packages.Review // of newer versions; nil does not look for any
	doing   func(Activity)  // called with the progress; may be nil
	began   time.Time       // start of the last process or request
	failed  error           // error of installing the package, or nil

	installed func() // called when the package is installed; may be nil
}

// does reports the progress of the attempt.
func (d *dialer) does(a Activity) {
	if d.doing != nil {
		d.doing(a)
	}
}

// dial opens a session. For a process, d.cfg.StartTimeout begins after the installation
// of its package; see dialStdio for a second process. For a remote server, it covers
// everything.
func (d *dialer) dial(ctx context.Context) (*session, error) {
	cfg := d.cfg
	if cfg.usesFolder() {
		folder := cfg.folder
		if folder == "" {
			folder = d.opts.Folder()
		}
		if folder == "" {
			return nil, errNoFolder
		}
		cfg = cfg.inFolder(folder)
	}
	t, err := cfg.resolveIn(d.opts.Expand, d.opts.Environ())
	if need, ok := errors.AsType[transport.SignInNeeded](err); ok {
		return nil, &dialError{err: need, hint: need.SignInHint(), signIn: true, handled: true}
	}
	if err != nil {
		return nil, &dialError{err: &ReferenceError{err}, hint: "set it, or change the value in the configuration"}
	}
	if err := d.runDirectly(ctx, t); err != nil {
		return nil, err
	}
	if d.direct && d.installed != nil {
		d.installed()
	}
	d.limit = d.cfg.StartTimeout
	if d.direct && d.cfg.anyStart {
		d.limit = defaultStartTimeout // what took long is done
	}
	d.stderr.SetHide(t.hide.In)
	d.dropped.SetHide(t.hide.In)
	d.does(ActivityStarting)
	var s *session
	if d.cfg.kind() == "stdio" {
		s, err = d.dialStdio(ctx, t)
	} else {
		s, err = d.within(ctx, d.limit, func(ctx context.Context) (*session, error) { return d.dialRemote(ctx, t) })
	}
	if err == nil {
		return s, nil
	}
	return nil, d.explain(err, t.hide)
}

// within calls open with a context that ends after the given time. If open fails
// because of that, the error says so.
func (d *dialer) within(ctx context.Context, limit time.Duration, open func(context.Context) (*session, error)) (*session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w for %s", errNoAnswer, seconds(limit)))
	defer cancel()
	d.began = time.Now()
	s, err := open(ctx)
	if err != nil && ctx.Err() != nil { // the timeout is the cause, whatever err says
		err = &dialError{err: context.Cause(ctx), said: d.said()}
	}
	return s, err
}

var errNoAnswer = errors.New("no answer to initialize")

// explain adds what to do about err and hides resolved values in it.
func (d *dialer) explain(err error, h *hide.Hider) error {
	e, ok := errors.AsType[*dialError](err)
	if !ok {
		e = &dialError{err: err}
	}
	if e.hint == "" {
		e.hint = d.hint(e.err, h)
	}
	e.hint = h.In(e.hint)
	e.said.Cause = h.In(e.said.Cause)
	e.err = h.InErr(e.err)
	return e
}

func (d *dialer) hint(err error, h *hide.Hider) string {
	if status, ok := errors.AsType[*httpStatusError](err); ok {
		switch {
		case status.status == http.StatusUnauthorized:
			return fmt.Sprintf(`give %s valid credentials in its "headers", for example "Authorization": "Bearer ${TOKEN}"`, d.cfg.Name)
		case status.status == http.StatusForbidden:
			return `check that the credentials in "headers" may use this server`
		case status.status == http.StatusNotFound || status.status == http.StatusMethodNotAllowed:
			return `check the path of "url"; MCP endpoints often end in /mcp or /sse`
		}
		return "try again later, or ask the operator of the server"
	}
	if _, ok := errors.AsType[*transport.AuthError](err); ok {
		return authHint
	}
	if e, ok := errors.AsType[*outbound.RedirectError](err); ok {
		return fmt.Sprintf(`if that is the server, correct "url" to begin with %s`, e.To)
	}
	if e, ok := errors.AsType[*outbound.TLSError](err); ok { // its text contains the advice
		test := launch.ByHand("broker", []string{"servers", "test", d.cfg.Name})
		if e.CertFile {
			return "SSL_CERT_FILE=authority.pem " + test
		}
		return test + ", when that is done"
	}
	if _, ok := errors.AsType[net.Error](err); ok && d.cfg.Command == "" {
		return `check "url" and the network`
	}
	if _, ok := errors.AsType[*exec.Error](err); ok || errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return launch.StartHint(d.cfg.Command, err)
	}
	if hint := launch.DamageHint(d.stderr.Lines()); hint != "" {
		return hint
	}
	if d.cfg.Command != "" {
		return d.processHint(err, h)
	}
	return `check "url" and "type"`
}

// byHand is the command as one types it into a shell.
func (d *dialer) byHand(h *hide.Hider) string {
	return byHand(d.cfg, h.In)
}

func byHand(c Config, hide func(string) string) string {
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = hide(a)
	}
	return launch.ByHand(hide(c.Command), args)
}

// origin is where a listing of s comes from; the hider has yet to see it.
func (s *server) origin(l *discovery.Listing) discovery.Origin {
	o := discovery.Origin{URL: s.cfg.URL, Version: l.Version}
	if s.cfg.Command == "" {
		return o
	}
	o.Command = byHand(s.cfg, func(text string) string { return text })
	if spec, err := packages.Parse(s.cfg.Command, s.cfg.Args); err == nil && s.pool.packages != nil && !s.cfg.AsWritten {
		o.Package = s.pool.packages.Version(spec)
	}
	return o
}

// dialStdio starts the server and opens a session in its era, which may take a second
// process (see the package comment). The second process gets as much time if the first
// one refused to initialize, and otherwise half, at most defaultStartTimeout, since the
// first one has done the slow work, such as a download.
func (d *dialer) dialStdio(ctx context.Context, t *target) (*session, error) {
	known := d.era
	s, conn, err := d.openWithin(ctx, d.limit, t, known)
	if err == nil || ctx.Err() != nil {
		return s, err
	}
	silent := errors.Is(err, errNoAnswer)
	switch {
	case conn == nil: // not even started
		return nil, err
	case known == eraUnknown && (!silent || conn.Stuck()):
		// It ended with the probe, never recovered from it, or refused the
		// initialize that it found behind the probe when it was up at last.
		d.era = eraLegacy
	case known == eraLegacy && conn.InitializeAnswered() && !silent:
		d.era = eraUnknown // it refused initialize: perhaps it was updated
	default:
		return nil, err
	}
	d.stderr.Reset() // the second attempt says the same again
	d.dropped.Reset()
	d.does(ActivityRestarting)
	limit := min(d.limit, defaultStartTimeout)
	if !conn.InitializeAnswered() {
		limit /= 2 // it may never answer
	}
	s, _, err2 := d.openWithin(ctx, limit, t, d.era)
	if err2 != nil {
		if d.era == eraUnknown || silent && errors.Is(err2, errNoAnswer) {
			return nil, err
		}
		return nil, err2
	}
	return s, nil
}

// openWithin is openStdio with a time limit.
func (d *dialer) openWithin(ctx context.Context, limit time.Duration, t *target, e era) (s *session, conn *transport.Stdio, err error) {
	s, err = d.within(ctx, limit, func(ctx context.Context) (*session, error) {
		s, c, err := d.openStdio(ctx, t, e)
		conn = c
		return s, err
	})
	return s, conn, err
}

// openStdio makes one attempt with its own process. conn is nil if the process did not
// start.
func (d *dialer) openStdio(ctx context.Context, t *target, e era) (*session, *transport.Stdio, error) {
	s := newSession(t.hide)
	s.transport = "stdio"
	var conn *transport.Stdio
	if d.pipes != nil {
		c, err := d.pipes()
		if err != nil {
			return nil, nil, err
		}
		conn = c
	} else {
		if err := d.mayStart(); err != nil {
			return nil, nil, err
		}
		proc, err := launch.Start(t.Command, d.stderr, d.guard)
		if err != nil {
			return nil, nil, err
		}
		s.proc = proc
		probe := min(maxProbeWait, d.limit/8)
		if e == eraModern { // it answers once it is running, and accepts no initialize after the probe
			probe = d.limit / 2
		}
		conn = transport.NewStdio(proc.Stdout, proc.Stdin, transport.StdioOptions{
			Dropped: d.dropped.Add, ProbeWait: probe,
		})
	}
	s.handled = conn.Settle()
	err := d.handshake(ctx, s, conn, e)
	if err != nil {
		if !conn.InitializeAnswered() && context.Cause(ctx) != ErrClosed { // else the answer, or the end of the pool, is the reason
			if s.proc != nil {
				readRest(s.proc, conn)
			}
			err = d.died(err, s.proc)
		}
		conn.Close()
		switch {
		case s.proc == nil:
		case conn.InitializeAnswered():
			s.proc.Stop()
		default:
			s.proc.Abort()
		}
		return nil, conn, err
	}
	return s, conn, nil
}

// handshake does the handshake over a transport.
func (d *dialer) handshake(ctx context.Context, s *session, over mcp.Transport, e era) (err error) {
	s.log = d.opts.Logger.With("server", d.cfg.Name)
	defer s.recovered(methodInitialize, &err)
	var o *mcp.ClientSessionOptions
	if e == eraLegacy {
		o = &mcp.ClientSessionOptions{ProtocolVersion: legacyVersion}
	}
	s.promised, s.logs = d.opts.Capabilities, d.stderr
	s.asked = func() {
		if d.asked != nil {
			d.asked(s)
		}
	}
	ms, err := s.client(d.opts.Implementation, func() { d.changed(s) }).Connect(ctx, over, o)
	if err != nil {
		return err
	}
	s.mcp = ms
	s.era = eraLegacy
	if init := ms.InitializeResult(); init != nil && init.ProtocolVersion >= modernSince {
		s.era = eraModern
	}
	d.era = s.era
	return nil
}

// restTime is the time to read what a process wrote before it ended. A child of it may
// keep its stdout open.
const restTime = 200 * time.Millisecond

// readRest waits until the stdout of a process that has ended is read, since the cause of
// its end may be the last line.
func readRest(p *launch.Process, conn *transport.Stdio) {
	if _, ended := p.Ended(); !ended {
		return
	}
	select {
	case <-conn.Ended():
	case <-time.After(restTime):
	}
}

// died adds how the process ended to err, if that is the cause.
func (d *dialer) died(err error, p *launch.Process) error {
	if p == nil {
		return err
	}
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok && rpc.Code > -32000 {
		return err // an answer
	}
	status, ended := p.Ended()
	if !ended {
		return &dialError{err: err, said: d.said()}
	}
	return &processError{status: status, said: d.said()}
}

// dialRemote opens a session to a URL.
func (d *dialer) dialRemote(ctx context.Context, t *target) (*session, error) {
	kind := d.cfg.kind()
	if kind == "" {
		kind = d.transport
	}
	if kind == "sse" {
		return d.openSSE(ctx, t)
	}
	s, status, err := d.openHTTP(ctx, t, d.era)
	if err != nil && ctx.Err() == nil && errors.Is(err, errProbeSilent) {
		d.era = eraLegacy
		s, status, err = d.openHTTP(ctx, t, eraLegacy)
	}
	if err == nil {
		d.transport = "http"
		return s, nil
	}
	if kind == "" && (status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		if s, sseErr := d.openSSE(ctx, t); sseErr == nil {
			d.transport = "sse"
			return s, nil
		}
	}
	return nil, err
}

var errProbeSilent = errors.New("no answer to server/discover")

// remote is the HTTP side of a connection that is about to be opened.
func (d *dialer) remote(t *target, sse bool) (*transport.HTTP, error) {
	signer, err := d.oauth(t)
	if err != nil {
		return nil, err
	}
	r, err := transport.NewHTTP(t.url, transport.HTTPOptions{
		SSE: sse, Headers: t.headers, Auth: signer, StartTimeout: d.cfg.StartTimeout, MaxIdle: defaultMaxInFlight,
	})
	if err != nil {
		return nil, &dialError{err: err, hint: `correct "url"`}
	}
	return r, nil
}

// openHTTP opens a session over Streamable HTTP and returns the last status
// seen with an error.
func (d *dialer) openHTTP(ctx context.Context, t *target, e era) (*session, int, error) {
	r, err := d.remote(t, false)
	if err != nil {
		return nil, 0, err
	}
	s := newSession(t.hide)
	s.transport, s.hangUp, s.cleanup = "http", r.HangUp, r.Close
	attempt := ctx
	if e == eraUnknown {
		var cancel context.CancelFunc
		attempt, cancel = context.WithTimeout(ctx, d.cfg.StartTimeout/2)
		defer cancel()
	}
	defer context.AfterFunc(attempt, r.HangUp)() // or closing would wait for answers
	err = d.handshake(attempt, s, r, e)
	if err == nil {
		r.Opened()
		return s, 0, nil
	}
	r.Close()
	if attempt.Err() != nil && ctx.Err() == nil {
		return nil, 0, errProbeSilent
	}
	return nil, r.Status(), signInError(r, err)
}

// openSSE opens a session over the transport of protocol 2024-11-05.
func (d *dialer) openSSE(ctx context.Context, t *target) (*session, error) {
	r, err := d.remote(t, true)
	if err != nil {
		return nil, err
	}
	s := newSession(t.hide)
	s.transport, s.hangUp = "sse", r.HangUp
	// The stream lives as long as the context that it was opened with, so that
	// must not be the attempt's. An attempt that is given up ends it.
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	s.cleanup = func() { end(context.Canceled); r.Close() }
	err = d.handshake(life, s, r, eraLegacy)
	if err == nil && !stop() {
		err = context.Cause(ctx)
	}
	r.Opened()
	if err != nil {
		if s.mcp != nil {
			s.mcp.Close()
		}
		s.cleanup()
		return nil, signInError(r, err)
	}
	return s, nil
}

// An httpStatusError is an HTTP answer that ended an attempt.
type httpStatusError struct{ status int }

func (e *httpStatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the server answered HTTP %d %s", e.status, http.StatusText(e.status)))
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
	return &dialError{err: &httpStatusError{status: status}, signIn: status == http.StatusUnauthorized}
}
