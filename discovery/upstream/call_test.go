package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

func TestCancelledCallReturnsAndIsCancelledAtTheServer(t *testing.T) {
	p := newPool(t, nil, fake("s", fakeupstream.Hangs))
	p.Refresh(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := p.Call(ctx, "s", "hang", nil, nil)
		done <- err
	}()
	for p.inFlight("s") == 0 { // the call is under way
		if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "call s/hang") {
		t.Errorf("err = %v", err)
	}
	// The notification is sent in the background: ask until it has arrived.
	for {
		got, err := p.Call(t.Context(), "s", "cancelled", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if textOf(t, got) == "1" {
			break
		}
	}
}

// inFlight is the number of calls on a server beside the caller's own.
func (p *Pool) inFlight(name string) int {
	s := p.roster.Load().byName[name]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sess == nil {
		return 0
	}
	return s.sess.inFlight
}

func TestHangingCallTimesOut(t *testing.T) {
	t.Parallel()
	cfg := fake("s", fakeupstream.Hangs)
	cfg.CallTimeout = 100 * time.Millisecond
	p := newPool(t, nil, cfg)
	p.Refresh(t.Context())
	_, err := p.Call(t.Context(), "s", "hang", nil, nil)
	var timeout *TimeoutError
	if !errors.As(err, &timeout) || err.Error() != "call s/hang: no answer for 0.1 s (config: callTimeout)" {
		t.Errorf("err = %v", err)
	}
	if st := p.Status()[0]; st.State != StateReady {
		t.Errorf("the server is %s after a call timed out", st.State)
	}
}

func TestServerThatDiesInACallIsRestartedByTheNext(t *testing.T) {
	t.Parallel()
	p := newPool(t, nil, fake("s", fakeupstream.Dies))
	p.Refresh(t.Context())
	first := p.Status()[0].PID
	_, err := p.Call(t.Context(), "s", "die", nil, nil)
	var ce *ConnectError
	if !errors.As(err, &ce) || !ce.Sent {
		t.Fatalf("err = %v, want a ConnectError with Sent", err)
	}
	for _, want := range []string{"exit status 9", "out of cheese"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Fatal(err)
	}
	if now := p.Status()[0].PID; now == first || now == 0 {
		t.Errorf("process %d, was %d", now, first)
	}
}

func TestServerThatKeepsDyingIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newPool(t, nil, fake("s", fakeupstream.Dies))
	p.Refresh(t.Context())
	var ce *ConnectError
	const patience = 100 // on a slow machine a call may come only when the time to leave the server alone is over
	for i := range maxQuickDeaths + patience {
		_, err := p.Call(t.Context(), "s", "die", nil, nil)
		if !errors.As(err, &ce) || ce.RetryIn > 0 && i < maxQuickDeaths {
			t.Fatalf("after %d deaths in a row: %v", i, err)
		}
		if ce.RetryIn > 0 {
			return
		}
	}
	t.Error("it is started again and again")
}

func TestWriteToServerThatDoesNotReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	cfg := fake("s", fakeupstream.StopsReading)
	cfg.CallTimeout = 200 * time.Millisecond
	p := newPool(t, nil, cfg)
	if _, err := p.Call(t.Context(), "s", "stop", nil, nil); err != nil {
		t.Fatal(err)
	}
	big := json.RawMessage(fmt.Sprintf(`{"x":%q}`, strings.Repeat("x", 128<<10))) // more than a pipe holds
	var wg sync.WaitGroup
	for range 40 { // more than the queue holds
		wg.Go(func() {
			var timeout *TimeoutError
			if _, err := p.Call(t.Context(), "s", "echo", big, nil); !errors.As(err, &timeout) {
				t.Errorf("err = %v, want a TimeoutError", err)
			}
		})
	}
	wg.Wait()
}

func TestCallErrors(t *testing.T) {
	t.Parallel()
	cfg := fake("s", fakeupstream.Good)
	p := newPool(t, nil, cfg)
	p.Refresh(t.Context())
	var rpc *RPCError
	tests := []struct {
		name, server, tool, args string
		check                    func(error) bool
	}{
		{"unknown server", "x", "echo", "", func(err error) bool { return errors.Is(err, ErrUnknownServer) }},
		{"unknown tool", "s", "nope", "", func(err error) bool { return errors.As(err, &rpc) && rpc.Code == -32602 }},
		{"arguments that are no object", "s", "echo", "[1]", func(err error) bool { return errors.As(err, &rpc) && rpc.Code == -32602 }},
		{"arguments that are no JSON", "s", "echo", "{", func(err error) bool { return errors.As(err, &rpc) && rpc.Code == -32602 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := p.Call(t.Context(), tt.server, tt.tool, json.RawMessage(tt.args), nil); !tt.check(err) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestFailedToolIsAResult(t *testing.T) {
	p := newPool(t, nil, fake("s", fakeupstream.Good))
	got, err := p.Call(t.Context(), "s", "fail", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ IsError bool }
	if err := json.Unmarshal(got, &r); err != nil || !r.IsError || textOf(t, got) != "no luck" {
		t.Errorf("result = %s", got)
	}
}

func TestProgressReachesTheCallThatAsked(t *testing.T) {
	p := newPool(t, nil, fake("s", fakeupstream.Good))
	checkProgress(t, p)
}

// checkProgress calls a tool that reports three steps and then waits until it
// is cancelled.
func checkProgress(t *testing.T, p *Pool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var got []string // written by one goroutine at a time, and not after Call
	o := &CallOptions{OnProgress: func(progress, total float64, message string) {
		got = append(got, fmt.Sprint(progress, total, message))
		if progress == total {
			cancel()
		}
	}}
	if _, err := p.Call(ctx, "s", "progress", nil, o); !errors.Is(err, context.Canceled) {
		t.Errorf("Call = %v", err)
	}
	if diff := cmp.Diff([]string{"1 3step 1", "2 3step 2", "3 3step 3"}, got); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestCallsShareOneConnection(t *testing.T) {
	cfg := fake("s", fakeupstream.Good)
	cfg.MaxInFlight = 4
	var starts atomic.Int32
	p := newPool(t, &Options{Expand: func(s string) (string, error) {
		if s == cfg.Command { // once per connection
			starts.Add(1)
		}
		return s, nil
	}}, cfg)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			args := fmt.Sprintf(`{"i":%d}`, i)
			got, err := p.Call(t.Context(), "s", "echo", json.RawMessage(args), nil)
			if err != nil {
				t.Error(err)
				return
			}
			if text := textOf(t, got); text != args {
				t.Errorf("call %s was answered %s", args, text)
			}
		})
	}
	wg.Wait()
	if n := starts.Load(); n != 1 {
		t.Errorf("%d connections were made, want 1", n)
	}
}

func TestCallsBeyondTheLimitWait(t *testing.T) {
	t.Parallel()
	cfg := fake("s", fakeupstream.Hangs)
	cfg.MaxInFlight = 1
	p := newPool(t, nil, cfg)
	p.Refresh(t.Context())
	first, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = p.Call(first, "s", "hang", nil, nil) // it is cancelled
	}()
	eventually.True(t, "the first call has its place", func() bool { return inFlight(p, "s") == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := p.Call(ctx, "s", "echo", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second call beside the one that is allowed: %v, want that it waits", err)
	}
	end()
	<-ended
	if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Errorf("when the place is free: %v", err)
	}
}

func inFlight(p *Pool, server string) int {
	taken, _ := p.roster.Load().byName[server].slots.Count()
	return taken
}

// An owner whose calls have all the places of a server does not keep out another
// one: where the number is the broker's, a place is kept; where it is the user's,
// the next place is for who has none.
func TestOwnersShareThePlacesOfAServer(t *testing.T) {
	t.Parallel()
	for _, places := range []int{0, 2} {
		cfg := fake("s", fakeupstream.Hangs)
		cfg.MaxInFlight = places
		p := newPool(t, nil, cfg)
		p.Refresh(t.Context())
		first, endFirst := context.WithCancel(t.Context())
		busy, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 30 {
			ctx := busy
			if i == 0 {
				ctx = first
			}
			all.Go(func() { _, _ = p.Call(ctx, "s", "hang", nil, &CallOptions{Owner: "a"}) }) // it is cancelled
			eventually.True(t, "the call is there", func() bool {
				taken, waiting := p.roster.Load().byName["s"].slots.Count()
				return taken+waiting == i+1
			})
		}
		if places > 0 {
			endFirst()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := p.Call(ctx, "s", "echo", nil, &CallOptions{Owner: "b"}); err != nil {
			t.Errorf("with %d places: %v", places, err)
		}
		cancel()
		endFirst()
		end()
		all.Wait()
	}
}
