package remote

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

const (
	// dialTime bounds a connection with TLS and what the server says of itself.
	dialTime = 3 * time.Second
	// readyTime is how long a server may take to have a process ready.
	readyTime = 5 * time.Second
	// lookEvery is how old the addresses of names may be.
	lookEvery = 5 * time.Second
	// A server that fails is tried again after restShort, and up to restLong.
	restShort, restLong = time.Second, 15 * time.Second
)

// keepAlive finds peers that are gone without a word.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}

// A backend is one server.
type backend struct {
	r        *runner
	address  string // "ip:port"
	name     string // that its certificate has to be for
	sessions tls.ClientSessionCache
	pool     *host.Pool[struct{}, *stream]

	mu         sync.Mutex
	running    int   // programs of ours
	others     int   // programs of others, as it last said
	failed     error // why it is not used; nil if it is
	rest       time.Duration
	retryTimer *time.Timer
	closed     bool
}

func (r *runner) newBackend(address, name string) *backend {
	b := &backend{r: r, address: address, name: name, sessions: tls.NewLRUClientSessionCache(16)}
	b.pool = host.NewPool(host.Maker[struct{}, *stream]{
		Start: func(ctx context.Context, _ struct{}, _ bool) (*stream, error) { return b.dial(ctx) },
		Suits: func(struct{}, struct{}) bool { return true },
		Alive: (*stream).alive, End: (*stream).end,
		Most: 4 * (runtime.GOMAXPROCS(0) + 2),
	}, host.PoolSize(r.opts.Spares), struct{}{})
	b.pool.Fill()
	return b
}

func (b *backend) close() {
	b.mu.Lock()
	b.closed = true
	if b.retryTimer != nil {
		b.retryTimer.Stop()
	}
	b.mu.Unlock()
	b.pool.Close()
}

// score is how many programs run there, as far as is known.
func (b *backend) score() (n int, failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running + b.others, b.failed != nil
}

// pick takes two servers that were not tried, and returns the one that has less to
// do. Those that failed are the last resort.
func (r *runner) pick(tried map[*backend]error) *backend {
	r.mu.Lock()
	defer r.mu.Unlock()
	var good, bad []*backend
	scores := make(map[*backend]int, len(r.backends))
	for _, b := range r.backends {
		if _, was := tried[b]; was {
			continue
		}
		n, failed := b.score()
		scores[b] = n
		if failed {
			bad = append(bad, b)
		} else {
			good = append(good, b)
		}
	}
	if len(good) == 0 {
		good = bad
	}
	switch len(good) {
	case 0:
		return nil
	case 1:
		return good[0]
	}
	i := rand.IntN(len(good))
	j := (i + 1 + rand.IntN(len(good)-1)) % len(good)
	if scores[good[j]] < scores[good[i]] {
		i = j
	}
	return good[i]
}

// refresh looks names up if that is due: it waits for it only if there is nothing
// to go to.
func (r *runner) refresh(ctx context.Context) {
	r.mu.Lock()
	due, none := time.Since(r.looked) > lookEvery && !r.looking, len(r.backends) == 0
	r.mu.Unlock()
	switch {
	case none:
		r.lookUp(ctx)
	case due:
		r.active.Go(func() { r.lookUp(r.closed) }) // the caller has entered
	}
}

// lookUp finds the servers of all addresses. One of a name that cannot be looked
// up stays as it is.
func (r *runner) lookUp(ctx context.Context) {
	r.mu.Lock()
	r.looking, r.looked = true, time.Now()
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	found := make(map[string]string) // names by address
	failed := make(map[string]bool)  // names
	for _, a := range r.opts.Addresses {
		name, port, err := net.SplitHostPort(a)
		if err != nil {
			continue // the config says so
		}
		ips := []string{name}
		if net.ParseIP(name) == nil {
			if ips, err = r.resolve(ctx, name); err != nil {
				failed[name] = true
				r.log.Warn("look up sandboxd", "name", name, "err", err)
			}
		}
		for _, ip := range ips {
			found[net.JoinHostPort(ip, port)] = name
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looking = false
	if r.closed.Err() != nil {
		return
	}
	for address, name := range found {
		if r.backends[address] == nil {
			r.backends[address] = r.newBackend(address, name)
		}
	}
	for address, b := range r.backends {
		if _, there := found[address]; !there && !failed[b.name] {
			delete(r.backends, address)
			r.active.Go(b.close) // what runs there goes on
		}
	}
}

func (r *runner) resolve(ctx context.Context, name string) ([]string, error) {
	if r.opts.Resolve != nil {
		return r.opts.Resolve(ctx, name)
	}
	return net.DefaultResolver.LookupHost(ctx, name)
}

// dial opens a stream, and reads what the server says of itself.
func (b *backend) dial(ctx context.Context) (*stream, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialTime, fmt.Errorf("no answer within %s", host.Seconds(dialTime)))
	defer cancel()
	st, err := b.connect(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		err = plain(err)
		b.fail(err)
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.others = max(st.load.Running-b.running, 0)
	if b.failed != nil {
		b.r.log.Info("sandboxd answers again", "address", b.address)
	}
	b.failed, b.rest = nil, 0
	return st, nil
}

func (b *backend) connect(ctx context.Context) (*stream, error) {
	config, err := b.r.certs.client(b.name, b.sessions)
	if err != nil {
		return nil, &certError{err.Error(), err}
	}
	d := tls.Dialer{NetDialer: &net.Dialer{KeepAliveConfig: keepAlive}, Config: config}
	c, err := d.DialContext(ctx, "tcp", b.address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	st := &stream{b: b, conn: c, r: wire.NewReader(c, wire.Slack), w: wire.NewWriter(c), first: make(chan heard, 1), over: make(chan struct{})}
	f, err := st.r.Next()
	if err == nil {
		err = st.greeted(f)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	go st.listen()
	return st, nil
}

// fail keeps programs from a server until it answers again.
func (b *backend) fail(err error) {
	if b.r.closed.Err() != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil {
		b.r.log.Warn("sandboxd is not used", "address", b.address, "err", err)
	}
	b.failed = err
	b.rest = min(max(2*b.rest, restShort), restLong)
	if b.retryTimer != nil {
		b.retryTimer.Stop()
	}
	if !b.closed {
		b.retryTimer = time.AfterFunc(b.rest, b.retry)
	}
}

// retry sees whether a server answers again.
func (b *backend) retry() {
	if b.r.opts.Spares >= 0 {
		b.pool.Fill()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = nil // the next program sees
}

// take asks for a process.
func (b *backend) take(ctx context.Context, h helloFrame) (*stream, error) {
	b.count(+1)
	st, err := b.ask(ctx, h)
	if err != nil {
		b.count(-1)
	}
	return st, err
}

func (b *backend) count(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running += n
}

func (b *backend) ask(ctx context.Context, h helloFrame) (*stream, error) {
	// The pool is left at once: it may close while the program runs.
	entered, leave, err := b.pool.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	for fresh := false; ; fresh = true {
		st, own, err := b.pool.Take(entered, struct{}{}, fresh)
		if err != nil {
			return nil, err
		}
		err = st.hello(ctx, h)
		if err == nil {
			st.refill = time.AfterFunc(refillAfter, b.pool.Fill)
			st.backend = b
			return st, nil
		}
		st.end()
		if _, refused := errors.AsType[*sandbox.CallError](err); refused {
			return nil, b.refused(err)
		}
		if _, lacks := errors.AsType[*sandbox.LayerError](err); lacks {
			return nil, err
		}
		if own || ctx.Err() != nil || errors.Is(err, errNotReady) {
			err = plain(err)
			b.fail(err)
			return nil, err
		}
		// One that waited had gone meanwhile.
	}
}

// refused is what becomes of a server's answer that it does not take a program.
func (b *backend) refused(err error) error {
	why, _ := errors.AsType[*sandbox.CallError](err)
	switch why.Name {
	case refusedBusy:
		b.mu.Lock()
		b.others = max(b.others, 1) // until it says more
		b.mu.Unlock()
		return &busyError{why.Message}
	case refusedLimits, refusedVersion:
		return &certError{why.Message, err}
	}
	b.fail(err)
	return err
}

// A busyError means that servers have no place.
type busyError struct{ text string }

func (e *busyError) Error() string { return e.text }

func isHopeless(err error) bool {
	_, ok := errors.AsType[*certError](err)
	return ok
}

func sorted(list []string) []string { slices.Sort(list); return list }

// refillAfter is how long a program may have the machine to itself before the
// stream that it took is replaced.
const refillAfter = 25 * time.Millisecond

// greeted reads what the server says of itself.
func (st *stream) greeted(f wire.Frame) error {
	if f.Type != wire.TypeLoad || json.Unmarshal(f.Payload, &st.load) != nil {
		return &certError{"it is no sandboxd", nil}
	}
	if st.load.Version != wire.Version {
		text := mismatch(st.load.Version, host.Cut(st.load.Build, 40), wire.Version)
		return &certError{text, nil}
	}
	return nil
}
