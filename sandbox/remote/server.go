package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// ServerOptions adjust a Server. Files are required.
type ServerOptions struct {
	Files Files
	// Executions is how many programs run at one time, at most; zero means
	// sandbox.DefaultExecutions.
	Executions int
	// MemoryBytes is the most memory that a broker may ask for, and Timeout the
	// most time; zero means 1 GiB and 10 minutes.
	MemoryBytes int64
	Timeout     time.Duration
	// Worker is how processes are started; nil is fine.
	Worker *worker.Options
	// Build is the program's version.
	Build string
	// Logger receives failures; nil discards them.
	Logger *slog.Logger
}

const (
	// maxStreams is how many brokers' streams may be open, and maxHandshakes how
	// many of them by somebody who has shown no certificate yet.
	maxStreams    = 1024
	maxHandshakes = 128
	// handshakeTime bounds TLS, and each write of our own.
	handshakeTime = 5 * time.Second
	// idleTime is how long a stream may wait for its program.
	idleTime = 10 * time.Minute
)

// A Server starts processes for brokers, and copies frames between the two. It
// trusts neither. It is safe for concurrent use, and must be closed.
type Server struct {
	opts    ServerOptions
	log     *slog.Logger
	workers *worker.Lender
	layers  []sandbox.Layer
	tls     *tls.Config

	ending context.Context // done when programs are killed
	kill   context.CancelCauseFunc

	mu       sync.Mutex
	stats    Stats
	draining bool
	idle     map[net.Conn]bool // streams without a program
	streams  sync.WaitGroup
	runs     sync.WaitGroup
}

// Stats count what a Server has done.
type Stats struct {
	Running, Most int
	Streams       int
	Ended         map[string]int // programs, by how: "done" or a wire.Cause
	Refused       map[string]int // programs that were not started, by why
}

// NewServer starts the first process, to see that it is contained.
func NewServer(ctx context.Context, o ServerOptions) (*Server, error) {
	if o.Executions <= 0 {
		o.Executions = sandbox.DefaultExecutions()
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = 1 << 30
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Minute
	}
	if o.Worker == nil {
		o.Worker = new(worker.Options)
	}
	s := &Server{opts: o, log: o.Logger, idle: make(map[net.Conn]bool)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.stats = Stats{Most: o.Executions, Ended: make(map[string]int), Refused: make(map[string]int)}
	var err error
	if s.tls, err = (&certificates{files: o.Files}).server(); err != nil {
		return nil, err
	}
	s.workers = worker.NewLender(o.Worker)
	if s.layers, err = s.workers.Layers(ctx); err != nil {
		s.workers.Close()
		return nil, err
	}
	s.ending, s.kill = context.WithCancelCause(context.Background())
	return s, nil
}

// Layers are what contains the programs.
func (s *Server) Layers() []sandbox.Layer { return s.layers }

// Stats returns what was counted until now.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.stats
	now.Ended, now.Refused = maps.Clone(now.Ended), maps.Clone(now.Refused)
	return now
}

// Draining says whether Drain was called.
func (s *Server) Draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// Serve takes streams from l until it is closed.
func (s *Server) Serve(l net.Listener) error {
	room, shaking := make(chan struct{}, maxStreams), make(chan struct{}, maxHandshakes)
	for {
		room <- struct{}{}
		shaking <- struct{}{}
		c, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
				continue
			}
			return err
		}
		s.streams.Go(func() {
			defer func() { <-room }()
			s.serve(c, sync.OnceFunc(func() { <-shaking }))
		})
	}
}

// Drain takes no more programs and returns when those that run have ended, or
// kills them when ctx is done.
func (s *Server) Drain(ctx context.Context) {
	s.mu.Lock()
	s.draining = true
	for c := range s.idle {
		_ = c.Close() // their brokers go elsewhere
	}
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { s.kill(errors.New("sandboxd was ended")) })
	defer stop()
	s.runs.Wait()
}

// Close kills what runs.
func (s *Server) Close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Drain(ctx)
	s.streams.Wait()
	s.workers.Close()
}

// load returns the load for a broker that connects.
func (s *Server) load() wire.Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return wire.Load{Version: wire.Version, Build: s.opts.Build, Running: s.stats.Running, Most: s.stats.Most, Layers: s.layers}
}

// waits registers a stream that waits for its program, unless there will be none.
func (s *Server) waits(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.draining {
		s.idle[c] = true
		s.stats.Streams++
	}
	return !s.draining
}

func (s *Server) left(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.idle, c)
	s.stats.Streams--
}

// admit says why a program is not started; nil if there is a place for it, which
// leave gives back. s.runs is done when its stream is closed.
func (s *Server) admit(c net.Conn, h wire.Hello) (leave func(how string), refused *sandbox.CallError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.idle, c)
	refuse := func(name, format string, args ...any) (func(string), *sandbox.CallError) {
		s.stats.Refused[name]++
		return nil, &sandbox.CallError{Name: name, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case s.draining:
		return refuse(refusedAway, "it is ending")
	case h.Version != wire.Version:
		return refuse(refusedVersion, "%s", mismatch(wire.Version, s.opts.Build, h.Version))
	case h.Prepare:
		return refuse(refusedLimits, "it prepares no programs for other engines")
	case h.MemoryBytes <= 0 || h.MemoryBytes > s.opts.MemoryBytes:
		return refuse(refusedLimits, "it gives a program at most %d MiB of memory (--max-memory), and the broker asks for %d MiB (config: sandbox.memory)", s.opts.MemoryBytes>>20, h.MemoryBytes>>20)
	case h.Timeout <= 0 || h.Timeout > s.opts.Timeout:
		return refuse(refusedLimits, "it gives a program at most %s (--max-timeout), and the broker asks for %s", s.opts.Timeout, h.Timeout)
	case s.stats.Running >= s.stats.Most:
		return refuse(refusedBusy, "it is busy with %d programs, which is the most (--max-executions)", s.stats.Most)
	}
	s.stats.Running++
	s.runs.Add(1)
	return func(how string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stats.Running--
		s.stats.Ended[how]++
	}, nil
}

// The names of errors with which hello is answered.
const (
	refusedBusy    = "busy"
	refusedAway    = "away"
	refusedVersion = "version"
	refusedLimits  = "limits"
	refusedStart   = "start"
)

// mismatch words that two sides speak different versions of the protocol.
func mismatch(theirs int, build string, ours int) string {
	return fmt.Sprintf("sandboxd %s speaks version %d of the sandbox protocol, and the broker version %d: install the same release of both", build, theirs, ours)
}
