package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Pool holds the connections to all configured servers. It is safe for
// concurrent use. Close must be called, or server processes are left behind.
type Pool struct {
	opts     Options
	cache    cache.Dir
	roster   atomic.Pointer[roster] // replaced by Update
	updating sync.Mutex
	started  atomic.Bool

	ctx    context.Context // done when the pool is closed
	cancel context.CancelCauseFunc

	mu     sync.Mutex // guards wg against Add after Wait
	closed bool
	wg     sync.WaitGroup

	announcing sync.Mutex // held while OnListing runs
	learnt     atomic.Uint64
	news       news // see Changed

	sharing struct { // pools with this one as Base
		mu   sync.Mutex
		with map[*Pool]bool
	}

	personal   sync.Mutex    // held while a personal process gets its slot; locked before instances.mu
	grace      time.Duration // failedGrace, or less in tests
	installing *turns        // of servers that may be installing
	programs   link.Programs // Packages is nil without a PackageDir
}

// NewPool returns a pool of the configured servers, which must have different names. It
// reads their cached listings, calls o.OnListing for each, and starts nothing. Nil
// options mean the zero value.
func NewPool(configs []Config, o *Options) *Pool {
	p := &Pool{opts: o.withDefaults(), grace: failedGrace}
	p.cache = cache.Dir(p.opts.CacheDir)
	if base := p.opts.Base; base != nil {
		p.installing, p.programs = base.installing, base.programs
	} else {
		p.installing, p.programs.Guard = &turns{free: maxInstalls()}, launch.NewGuard(p.opts.Guard, p.opts.Logger)
		if p.opts.PackageDir != "" {
			p.programs.Packages = packages.Open(p.opts.PackageDir, p.opts.Logger)
			p.programs.Runners = packages.NewRunnerFolder(filepath.Join(p.opts.PackageDir, "runner"))
		} else {
			p.programs.Runners = packages.NewRunnerFolder("")
		}
	}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	p.roster.Store(&roster{})
	if p.opts.Base != nil {
		p.opts.Base.share(p, true)
	}
	p.follow() // first: what changes from now on is heard of
	p.Update(configs)
	return p
}

// announce calls OnListing with the newest listing of s. Concurrent calls may announce
// the same listing twice, but never an older one.
func (p *Pool) announce(s *server) {
	for _, o := range p.sharers() {
		if o.roster.Load().byName[s.cfg.Name] == s {
			o.announce(s)
		}
	}
	p.announcing.Lock()
	defer p.announcing.Unlock()
	if p.closing() || s.pool != p && p.roster.Load().byName[s.cfg.Name] != s {
		return
	}
	s.mu.Lock()
	l := s.shown
	s.mu.Unlock()
	p.opts.OnListing(l)
}

// run runs f in a goroutine that Close waits for, with a context that Close
// cancels. It reports false, and does nothing, if the pool is closed.
func (p *Pool) run(f func(ctx context.Context)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.wg.Go(func() { f(p.ctx) })
	return true
}

func (p *Pool) closing() bool { return p.ctx.Err() != nil }

// Start connects, in the background and in parallel, the servers that have no
// cached listing and those that are kept alive, and returns at once. ctx does
// not end what was started; Close does.
func (p *Pool) Start(ctx context.Context) {
	if ctx.Err() != nil || p.started.Swap(true) {
		return
	}
	if p.opts.Base == nil {
		p.run(func(context.Context) { launch.KillOrphans() })
	}
	for _, s := range p.roster.Load().servers {
		s.start()
	}
}

// Refresh connects to the named servers, or to all, in parallel and lists them
// anew, also those that failed a moment ago. It returns when each is done, has
// failed, or ctx is done, with their status in config order. A name that is not
// configured gets a failed status.
func (p *Pool) Refresh(ctx context.Context, names ...string) []Status {
	var wg sync.WaitGroup
	wanted := make(map[string]bool)
	for _, n := range names {
		wanted[n] = true
	}
	for _, s := range p.roster.Load().servers {
		if len(names) == 0 || wanted[s.cfg.Name] {
			wg.Go(func() { s.refresh(ctx) })
		}
	}
	wg.Wait()
	var out []Status
	for _, s := range p.roster.Load().servers {
		if len(names) == 0 || wanted[s.cfg.Name] {
			out = append(out, s.status())
		}
	}
	for _, n := range names {
		if p.roster.Load().byName[n] == nil {
			out = append(out, Status{Name: n, State: StateFailed, Err: ErrUnknownServer})
		}
	}
	return out
}

// Learnt counts how often the tools of a server have become known or changed. A
// change is in it no later than in Listings, and before OnListing is called.
func (p *Pool) Learnt() uint64 {
	n := p.learnt.Load()
	if p.opts.Base != nil {
		n += p.opts.Base.Learnt()
	}
	return n
}

// Listings returns what is known of the servers' tools, in config order; servers
// that were never listed are missing.
func (p *Pool) Listings() []discovery.Listing {
	var out []discovery.Listing
	for _, s := range p.roster.Load().servers {
		s.mu.Lock()
		if s.known {
			out = append(out, s.shown)
		}
		s.mu.Unlock()
	}
	return out
}

// Status returns the state of every server, in config order.
func (p *Pool) Status() []Status {
	servers := p.roster.Load().servers
	out := make([]Status, len(servers))
	for i, s := range servers {
		out[i] = s.status()
	}
	return out
}

// Wait waits until the tools of the named server are known or it has failed, connecting
// to it if necessary. It returns nil at once if they are known from the cache.
func (p *Pool) Wait(ctx context.Context, name string) error {
	s := p.roster.Load().byName[name]
	if s == nil {
		return fmt.Errorf("wait for %s: %w", name, ErrUnknownServer)
	}
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	if known {
		return nil
	}
	p.installing.first(name)
	return s.awaitListing(ctx, false)
}

// Call calls a tool, starting its server if need be, and returns the result object
// exactly as the server sent it. For ReadResource and GetPrompt, the broker builds the
// result from the server's answer. args must be a JSON object or empty.
//
// When ctx is done, Call returns at once and cancels the call at the server. The error
// is an *InputError if the server asked for input that no client gave, an *RPCError for
// a protocol error, an *HTTPError for an HTTP status without a message, a *ReplyError
// for an unreadable answer, a *ConnectError if the server could not be reached or was
// lost, a *TimeoutError if it did not answer within its call timeout, and an
// *UnansweredError if the call was given up after it had been sent. A failure of the
// tool is a result. Call repeats a call only if the server did not know the session, so
// that nothing has run.
func (p *Pool) Call(ctx context.Context, server, tool string, args json.RawMessage, o *CallOptions) (json.RawMessage, error) {
	s := p.roster.Load().byName[server]
	if s == nil {
		return nil, fmt.Errorf("call %s/%s: %w", server, tool, ErrUnknownServer)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if !bytes.HasPrefix(bytes.TrimLeft(args, " \t\r\n"), []byte("{")) || !json.Valid(args) {
		return nil, &RPCError{Server: server, Tool: tool, Code: jsonrpc.CodeInvalidParams, Message: "the arguments are not a JSON object"}
	}
	if s.cfg.Credentials == OfUser {
		return s.callConnected(ctx, tool, args, o)
	}
	return s.call(ctx, tool, args, o)
}

// call is Call of a server that is not to be connected by a person first.
func (s *server) call(ctx context.Context, tool string, args json.RawMessage, o *CallOptions) (json.RawMessage, error) {
	s, leave, err := s.instanceFor(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(ErrClosed) })()
	owner := ""
	if o != nil {
		owner = o.Owner
	}
	if err := s.slots.Acquire(ctx, owner); err != nil {
		return nil, fmt.Errorf("call %s/%s: %w", s.cfg.Name, tool, err)
	}
	defer s.slots.Release(owner)
	for tries := 0; ; tries++ {
		raw, err := s.callOnce(ctx, tool, args, o)
		if tries == 0 && errors.Is(err, errNotSent) {
			continue // the session had ended without anyone noticing
		}
		if errors.Is(err, errNotSent) {
			err = &ConnectError{Server: s.cfg.Name, State: StateFailed, Err: err}
		}
		return raw, err
	}
}

// errNotSent means that a call failed before it was sent.
var errNotSent = errors.New("the connection had ended")

func (s *server) callOnce(ctx context.Context, tool string, args json.RawMessage, o *CallOptions) (json.RawMessage, error) {
	sess, err := s.acquire(ctx, false)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("call %s/%s: %w", s.cfg.Name, tool, context.Cause(ctx))
		}
		return nil, err
	}
	defer s.release(sess)
	s.relistIfStale(sess)
	if sess.Transport == "http" && sess.Era == link.EraModern {
		// Arguments that have to be mirrored in headers are known from the list.
		select {
		case <-sess.listed:
		case <-ctx.Done():
		}
	}
	limit := s.cfg.CallTimeout
	callCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := link.NewCall(callCtx, s.cfg.Name, tool, o, limit, func() { cancel(&TimeoutError{Server: s.cfg.Name, Tool: tool, After: limit}) })
	defer c.Stop()
	if s.ctx.Err() != nil {
		cancel(ErrClosed) // the context may not be done yet
	}
	if callCtx.Err() != nil {
		return nil, fmt.Errorf("call %s/%s: %w", s.cfg.Name, tool, context.Cause(callCtx))
	}
	c.Sent()
	raw, err := sess.Send(c, args, tool != ReadResource && tool != GetPrompt || s.hasTool(tool))
	if err == nil {
		s.worked()
		return sess.Hide.FailedResult(raw), nil
	}
	if input, ok := errors.AsType[*InputError](err); ok {
		return nil, input
	}
	if callCtx.Err() != nil {
		cause := context.Cause(callCtx)
		if timeout, ok := errors.AsType[*TimeoutError](cause); ok {
			return nil, timeout
		}
		return nil, &UnansweredError{Server: s.cfg.Name, Tool: tool, Err: cause}
	}
	return nil, s.callError(ctx, sess, tool, err)
}

// worked notes that the server answers calls.
func (s *server) worked() {
	s.mu.Lock()
	s.quickDeaths = 0
	s.mu.Unlock()
}

// callError turns what the SDK returned into one of the errors of Call.
func (s *server) callError(ctx context.Context, sess *session, tool string, err error) error {
	if e := s.authFailed(ctx, sess, err); e != nil {
		return e
	}
	if gone, again := s.forgotten(ctx, sess, err); gone {
		err = errForgotten(err)
		s.retire(ctx, sess, err)
		if !again {
			return &ConnectError{Server: s.cfg.Name, State: StateFailed, Sent: true, Hint: "the next call opens another session", Err: sess.Hide.InErr(err)}
		}
		return fmt.Errorf("call %s/%s: %w: %w", s.cfg.Name, tool, errNotSent, sess.Hide.InErr(err))
	}
	if errors.Is(err, mcp.ErrConnectionClosed) {
		s.endSession(ctx, sess, err)
		return fmt.Errorf("call %s/%s: %w: %w", s.cfg.Name, tool, errNotSent, sess.Hide.InErr(err))
	}
	if e := s.answerFailed(sess, tool, err); e != nil {
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
	return s.lostCall(sess, err)
}

// answerFailed returns the error of a call with an answer that was not a message or
// cannot be read, or nil for any other err. The session continues.
func (s *server) answerFailed(sess *session, tool string, err error) error {
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

// outliveGrace bounds the wait of a call with a lost connection for outlive.
const outliveGrace = 250 * time.Millisecond

// lostCall returns the error of a call with a lost connection.
func (s *server) lostCall(sess *session, err error) error {
	e := &ConnectError{Server: s.cfg.Name, State: StateFailed, Sent: true, Err: sess.Hide.InErr(err)}
	if sess.Ended() {
		e.Err = sess.Cause(nil)
		e.Hint = "the next call starts it again"
	}
	return e
}

// endSession ends a session that a call has found to be over. When it returns, that is
// recorded, or ctx is done.
func (s *server) endSession(ctx context.Context, sess *session, err error) {
	s.pool.run(func(context.Context) { sess.Shut() })
	if sess.Process != nil { // outlive knows more about the reason
		select {
		case <-sess.over:
		case <-ctx.Done():
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sess == sess && !s.retired && !s.pool.closing() {
		s.lostLocked(sess, sess.Hide.InErr(err))
	}
}

// Close ends all connections, in parallel, and returns when every server
// process and what it started is gone: their stdin is closed, they get SIGTERM
// after a second and SIGKILL after another one. Calls in flight fail with
// ErrClosed. It may be called more than once and never fails.
func (p *Pool) Close() error {
	p.cancel(ErrClosed)
	p.tell()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range p.roster.Load().servers {
		if s.pool == p {
			wg.Go(s.close)
		}
	}
	wg.Wait()
	p.wg.Wait()
	if p.opts.Base != nil {
		p.opts.Base.share(p, false)
		p.announcing.Lock() // what the base was about to announce
		defer p.announcing.Unlock()
		return nil
	}
	if p.programs.Packages != nil {
		p.programs.Packages.Close()
	}
	p.programs.Runners.Close()
	p.programs.Guard.Close()
	return nil
}
