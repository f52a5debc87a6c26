package main

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// drainOptions say how a server ends. With the zero value, its requests end at once.
type drainOptions struct {
	limit   time.Duration      // how long requests may take to finish
	waiting func(requests int) // is called before it waits for that many
}

// shutdownGrace is how long handlers may take to return once their requests are
// canceled.
const shutdownGrace = 500 * time.Millisecond

// serveUntil serves until ctx is done. It then takes no more connections, waits for
// the requests that run, and cancels those that remain: a script whose client is gone
// is killed.
func serveUntil(ctx context.Context, l net.Listener, handler http.Handler, o drainOptions) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var r running
	server := &http.Server{Handler: r.count(handler), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return base }}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	ctx = context.WithoutCancel(ctx)
	limit, end := context.WithTimeout(ctx, o.limit)
	defer end()
	if n, none := r.wait(); n > 0 && o.limit > 0 {
		if o.waiting != nil {
			o.waiting(n)
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

// running counts the requests that end by themselves: all but the streams on which
// clients wait for news.
type running struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n falls to 0; nil if nobody waits
}

func (r *running) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet || req.Header.Get("Mcp-Method") == "subscriptions/listen" {
			next.ServeHTTP(w, req)
			return
		}
		r.mu.Lock()
		r.n++
		r.mu.Unlock()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.n--; r.n == 0 && r.none != nil {
				close(r.none)
				r.none = nil
			}
		}()
		next.ServeHTTP(w, req)
	})
}

// wait returns how many requests run, and what is closed when none does.
func (r *running) wait() (n int, none <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := make(chan struct{})
	r.none = c
	return r.n, c
}
