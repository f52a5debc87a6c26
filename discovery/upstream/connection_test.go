package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A lab is a pool with one server in the same process, made with the SDK, so
// that time can be faked. starts counts its connections.
type lab struct {
	*Pool
	server *server
	mcp    *mcp.Server
	starts atomic.Int32
	broken atomic.Bool // connecting fails
}

func newLab(t *testing.T, cfg Config, o *Options) *lab {
	t.Helper()
	cfg.Name = "s"
	l := &lab{Pool: NewPool([]Config{cfg}, o), mcp: fakeupstream.NewGood()}
	l.server = l.roster.Load().servers[0]
	l.server.dial.Pipes = func() (*transport.Stdio, error) {
		l.starts.Add(1)
		if l.broken.Load() {
			return nil, errors.New("broken")
		}
		theirIn, ourOut := io.Pipe()
		ourIn, theirOut := io.Pipe()
		go l.mcp.Run(context.Background(), &mcp.IOTransport{Reader: theirIn, Writer: theirOut})
		return transport.NewStdio(ourIn, ourOut, transport.StdioOptions{Dropped: l.server.out.Dropped.Add, MaxBytes: 1 << 20, ProbeWait: probeWait}), nil
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func (l *lab) echo(t *testing.T) {
	t.Helper()
	if _, err := l.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Error(err)
	}
}

func (l *lab) state() State { return l.Status()[0].State }

func TestIdleServerStopsAndStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Config{}, nil)
		defer l.Close()
		l.echo(t)
		<-time.After(defaultIdleTimeout - time.Minute)
		l.echo(t)
		<-time.After(defaultIdleTimeout - time.Minute)
		if got := l.state(); got != StateReady {
			t.Errorf("%s one minute before it was idle for long enough", got)
		}
		<-time.After(2 * time.Minute)
		if got := l.state(); got != StateStopped {
			t.Errorf("%s after ten idle minutes", got)
		}
		l.echo(t)
		if n := l.starts.Load(); n != 2 {
			t.Errorf("connected %d times, want 2", n)
		}
	})
}

func TestBusyServerIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Config{IdleTimeout: time.Minute, CallTimeout: time.Hour}, nil)
		defer l.Close()
		if _, err := l.Call(t.Context(), "s", "wait", json.RawMessage(`{"ms":600000}`), nil); err != nil {
			t.Errorf("a call of ten minutes: %v", err)
		}
		<-time.After(61 * time.Second)
		if got := l.state(); got != StateStopped {
			t.Errorf("%s a minute after the call", got)
		}
	})
}

func TestKeptAliveServerStaysAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Config{KeepAlive: true}, nil)
		defer l.Close()
		l.Start(t.Context())
		<-time.After(time.Hour)
		if got := l.state(); got != StateReady || l.starts.Load() != 1 {
			t.Fatalf("%s after an idle hour, connected %d times", got, l.starts.Load())
		}
		for s := range l.mcp.Sessions() {
			s.Close()
		}
		<-time.After(time.Minute)
		if got := l.state(); got != StateReady || l.starts.Load() != 2 {
			t.Errorf("%s a minute after it was lost, connected %d times", got, l.starts.Load())
		}
	})
}

func TestFailedServerBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Config{}, nil)
		defer l.Close()
		l.broken.Store(true)
		l.Start(t.Context())
		<-time.After(24 * time.Hour)
		if n := l.starts.Load(); n < 24 || n > 24*60*2 {
			t.Errorf("%d attempts in a day", n)
		}
		before := l.starts.Load()
		var ce *ConnectError
		if _, err := l.Call(t.Context(), "s", "echo", nil, nil); !errors.As(err, &ce) || ce.RetryIn <= 0 || ce.Hint == "" {
			t.Errorf("call: %v", err)
		}
		if n := l.starts.Load(); n != before {
			t.Error("a call within the back-off connected")
		}
		l.broken.Store(false)
		if st := l.Refresh(t.Context())[0]; st.State != StateReady {
			t.Errorf("Refresh does not try at once: %+v", st)
		}
		l.echo(t)
	})
}

// A server that is connected and then dies, again and again, is left alone for
// longer and longer.
func TestServerThatDoesNotStayBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Config{KeepAlive: true}, nil)
		defer l.Close()
		l.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if session := req.GetSession().(*mcp.ServerSession); method == "tools/list" {
					time.AfterFunc(time.Second, func() { session.Close() })
				}
				return next(ctx, method, req)
			}
		})
		l.Start(t.Context())
		<-time.After(6 * time.Hour)
		if n := l.starts.Load(); n < 6*60/3 || n > 6*60*2 {
			t.Errorf("connected %d times in six hours", n)
		}
	})
}

// It does not matter how long a session lasted that was never listed.
func TestServerThatIsNeverListedFails(t *testing.T) {
	p := newPool(t, nil, remoteConfig("http://127.0.0.1:1"))
	s := p.roster.Load().servers[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt = &attempt{done: make(chan struct{})} // so that none is made
	defer close(s.attempt.done)
	for range maxQuickDeaths {
		sess := newSession(new(link.Session), s.lister)
		sess.Transport = "http"
		s.sess, sess.since = sess, time.Now().Add(-time.Minute)
		s.lostLocked(sess, io.EOF)
	}
	if s.state != StateFailed || s.retryAt.IsZero() {
		t.Errorf("state %s, to be tried again at %v", s.state, s.retryAt)
	}
}

func TestCallTriesAgainAfterTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Config{}, nil) // not started: nothing is retried in the background
		defer l.Close()
		l.broken.Store(true)
		if err := l.Wait(t.Context(), "s"); err == nil {
			t.Error("Wait on a broken server returned nil")
		}
		l.broken.Store(false)
		<-time.After(maxBackoff)
		l.echo(t)
	})
}

func TestChangedToolsAreListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var heard []int
		l := newLab(t, Config{}, &Options{OnListing: func(l discovery.Listing) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, len(l.Tools))
		}})
		defer l.Close()
		l.Refresh(t.Context())
		l.mcp.AddTool(&mcp.Tool{Name: "new", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		<-time.After(2 * time.Second)
		if got := len(l.Listings()[0].Tools); got != 7 {
			t.Errorf("%d tools, want 7", got)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(heard) != 2 || heard[0] != 6 || heard[1] != 7 {
			t.Errorf("OnListing heard of %v tools, want 6 and 7", heard)
		}
	})
}

func TestStormOfChangesIsFewListings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Config{}, nil)
		defer l.Close()
		var lists atomic.Int32
		l.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					lists.Add(1)
				}
				return next(ctx, method, req)
			}
		})
		l.Refresh(t.Context())
		for range 1000 { // five minutes
			l.mcp.RemoveTools("new")
			l.mcp.AddTool(&mcp.Tool{Name: "new", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
			<-time.After(300 * time.Millisecond)
		}
		if n := lists.Load(); n < 5 || n > 40 {
			t.Errorf("%d listings in five minutes of changes", n)
		}
	})
}

func TestClosedPoolRefusesCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Config{}, nil)
		l.echo(t)
		done := make(chan error)
		go func() {
			_, err := l.Call(t.Context(), "s", "wait", json.RawMessage(`{"ms":60000}`), nil)
			done <- err
		}()
		synctest.Wait()
		l.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("call in flight: %v", err)
		}
		if _, err := l.Call(t.Context(), "s", "echo", nil, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("call after Close: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestInFlightLimitQueuesCallsWithoutTheirClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Config{MaxInFlight: 2, CallTimeout: 90 * time.Second}, nil)
		defer l.Close()
		start := time.Now()
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if _, err := l.Call(t.Context(), "s", "wait", json.RawMessage(`{"ms":60000}`), nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start).Round(time.Second); took != 3*time.Minute {
			t.Errorf("six calls of a minute, two at a time, took %s", took)
		}
	})
}

func TestTooBigAResultCostsOnlyItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Config{}, nil)
		defer l.Close()
		var rpc *RPCError
		if _, err := l.Call(t.Context(), "s", "big", json.RawMessage(`{"N":2000000}`), nil); !errors.As(err, &rpc) || !strings.Contains(err.Error(), "result too large") {
			t.Errorf("err = %v", err)
		}
		l.echo(t)
		if n := l.starts.Load(); n != 1 {
			t.Errorf("connected %d times, want 1", n)
		}
		if dropped := l.Status()[0].Dropped; len(dropped) != 1 {
			t.Errorf("dropped = %q", dropped)
		}
	})
}
