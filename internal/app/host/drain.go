// Package host serves many clients with an app.App: the daemon and its tenants for those on
// stdio, HTTP with replicas and the console, and scripts of brokers elsewhere. It reloads
// what changes meanwhile, and ends without losing what is in progress.
package host

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// ServeOptions say how a server ends. With the zero value, its requests end at once.
type ServeOptions struct {
	// Limit is how long requests may take to finish.
	Limit time.Duration
	// Waiting, if not nil, is called before Serve waits for that many requests.
	Waiting func(requests int)
	// Running counts what else has to finish; it may be nil.
	Running *Running
	// Balanced means that others answer in its place: no request that is on its way is
	// lost.
	Balanced bool
}

// idleTime is how long a connection stays open that a balancer keeps for its next
// request: one that is closed under a request is an error for its client. Balancers
// are to close theirs sooner.
const idleTime = 5 * time.Second

// shutdownGrace is how long handlers may take to return once their requests are
// canceled.
const shutdownGrace = 500 * time.Millisecond

// Serve serves l until ctx is done. It then accepts no more connections, waits for
// the requests in progress, and cancels those that remain: it kills scripts of clients
// that are gone.
func Serve(ctx context.Context, l net.Listener, handler http.Handler, o ServeOptions) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	r := o.Running
	if r == nil {
		r = NewRunning()
	}
	conns := &connections{}
	handler = r.Wrap(handler)
	if o.Balanced {
		handler = conns.last(handler)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ConnState: conns.note,
		BaseContext: func(net.Listener) context.Context { return base }}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	ctx = context.WithoutCancel(ctx)
	limit, end := context.WithTimeout(ctx, o.Limit)
	defer end()
	if o.Balanced && o.Limit > 0 {
		stopAccepting(l)
		r.endStreams()
		if n := r.count(); n > 0 && o.Waiting != nil {
			o.Waiting(n)
		}
		conns.leave(limit, r)
	} else if n, none := r.wait(); n > 0 && o.Limit > 0 {
		if o.Waiting != nil {
			o.Waiting(n)
		}
		ended := make(chan struct{})
		go func() { // it closes the listener, and connections as they become idle
			defer close(ended)
			_ = server.Shutdown(limit) // what is left is closed below
		}()
		select {
		case <-none:
		case <-limit.Done():
		}
		end()
		<-ended
	}
	cancel()
	grace, end := context.WithTimeout(ctx, shutdownGrace)
	defer end()
	if server.Shutdown(grace) != nil {
		_ = server.Close() // streams that clients keep open end here
	}
	<-done
	return nil
}

// stopAccepting closes a listener, once it has accepted the connections that others
// have begun.
func stopAccepting(l net.Listener) {
	if refuse(l) {
		time.Sleep(acceptTime)
	}
	_ = l.Close() // the server closes it again
}

// acceptTime is how long a connection takes to be accepted that has begun.
const acceptTime = 50 * time.Millisecond

// connections are those of a server.
type connections struct {
	mu      sync.Mutex
	open    int
	used    time.Time // when a request ended last
	leaving bool
}

func (c *connections) note(_ net.Conn, now http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch now {
	case http.StateNew:
		c.open++
	case http.StateClosed, http.StateHijacked:
		c.open--
	case http.StateIdle:
		c.used = time.Now()
	}
}

// last makes each request the last one of its connection when the server leaves.
func (c *connections) last(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { next.ServeHTTP(&lastAnswer{w, c}, req) })
}

// A lastAnswer is one after which the connection is closed, whatever the handler says
// about that, if its server leaves by the time of its first byte.
type lastAnswer struct {
	http.ResponseWriter
	conns *connections
}

func (l *lastAnswer) begin() {
	l.conns.mu.Lock()
	defer l.conns.mu.Unlock()
	if l.conns.leaving {
		l.Header().Set("Connection", "close")
	}
}

func (l *lastAnswer) WriteHeader(status int) {
	l.begin()
	l.ResponseWriter.WriteHeader(status)
}

func (l *lastAnswer) Write(p []byte) (int, error) {
	l.begin() // of no effect after the first byte
	return l.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (l *lastAnswer) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// Flush implements http.Flusher.
func (l *lastAnswer) Flush() {
	l.begin()
	_ = http.NewResponseController(l.ResponseWriter).Flush() // the next write has the error
}

// leave waits until no request is in progress, and connections are closed or have been
// idle for a while.
func (c *connections) leave(ctx context.Context, r *Running) {
	c.mu.Lock()
	c.leaving, c.used = true, time.Now()
	c.mu.Unlock()
	quiet := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return r.count() == 0 && (c.open == 0 || time.Since(c.used) >= idleTime)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !quiet() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Running counts the requests that end by themselves: all but the streams on which
// clients wait for news.
type Running struct {
	mu     sync.Mutex
	n      int
	none   chan struct{} // closed when n falls to 0; nil if no goroutine waits
	leave  sync.Once
	closed chan struct{} // when streams are to end
}

// NewRunning counts from 0.
func NewRunning() *Running { return &Running{closed: make(chan struct{})} }

// Wrap returns a handler whose requests are counted, and whose streams end
// when the server leaves.
func (r *Running) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet || req.Header.Get("Mcp-Method") == "subscriptions/listen" {
			ctx, cancel := context.WithCancel(req.Context())
			defer cancel()
			go func() {
				select {
				case <-r.closed:
					cancel()
				case <-ctx.Done():
				}
			}()
			next.ServeHTTP(w, req.WithContext(ctx))
			return
		}
		defer r.Begin()()
		next.ServeHTTP(w, req)
	})
}

// Begin counts one more, until done is called.
func (r *Running) Begin() (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.n--; r.n == 0 && r.none != nil {
			close(r.none)
			r.none = nil
		}
	}
}

// endStreams ends the streams of clients, who open them again elsewhere.
func (r *Running) endStreams() { r.leave.Do(func() { close(r.closed) }) }

// count returns the number of requests in progress.
func (r *Running) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// wait returns how many requests run, and what is closed when none does.
func (r *Running) wait() (n int, none <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := make(chan struct{})
	r.none = c
	return r.n, c
}
