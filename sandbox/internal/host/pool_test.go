package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A unit is what the pools of these tests keep.
type unit struct {
	fit   int
	warm  bool
	dead  bool
	ended bool
}

// A yard makes units, and knows all that it has made.
type yard struct {
	mu    sync.Mutex
	units []*unit
	fail  error                // of starts
	hold  chan struct{}        // starts wait until it is closed
	dead  func(start int) bool // which ones end as soon as they are ready
}

func (y *yard) pool(t *testing.T, size int) *Pool[int, *unit] {
	p := NewPool(Maker[int, *unit]{
		Start: y.start,
		Suits: func(fit, want int) bool { return fit == want },
		Alive: func(u *unit) bool { return !u.dead },
		End: func(u *unit) {
			y.mu.Lock()
			defer y.mu.Unlock()
			if u.ended {
				t.Errorf("%+v is ended twice", *u)
			}
			u.ended = true
		},
	}, size, 1)
	t.Cleanup(p.Close)
	return p
}

func (y *yard) start(ctx context.Context, fit int, warm bool) (*unit, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.hold != nil {
		select {
		case <-y.hold:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if y.fail != nil {
		return nil, y.fail
	}
	u := &unit{fit: fit, warm: warm, dead: y.dead != nil && y.dead(len(y.units))}
	y.units = append(y.units, u)
	return u, nil
}

func enter(t *testing.T, p *Pool[int, *unit]) context.Context {
	t.Helper()
	ctx, leave, err := p.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(leave)
	return ctx
}

func take(t *testing.T, p *Pool[int, *unit], want int, fresh bool) (*unit, bool) {
	t.Helper()
	ctx, leave, err := p.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	u, own, err := p.Take(ctx, want, fresh)
	if err != nil {
		t.Fatal(err)
	}
	return u, own
}

func TestPoolHandsOutWhatWaits(t *testing.T) {
	p := new(yard).pool(t, 2)
	if u, own := take(t, p, 1, false); !own || u.warm {
		t.Errorf("an empty pool hands out %+v, own %t", *u, own)
	}
	p.Fill()
	waiting, _ := p.Waiting()
	if len(waiting) != 2 || !waiting[0].warm || !waiting[1].warm {
		t.Fatalf("%d wait, want two that may be warmed", len(waiting))
	}
	if u, own := take(t, p, 1, true); !own || slices.Contains(waiting, u) {
		t.Error("a fresh one has waited")
	}
	for range 2 {
		if u, own := take(t, p, 1, false); own || !slices.Contains(waiting, u) {
			t.Error("one of its own is started while others wait")
		}
	}
	if left, _ := p.Waiting(); len(left) != 0 {
		t.Errorf("%d wait when all are taken", len(left))
	}
}

func TestPoolSuitsTheLastRun(t *testing.T) {
	y := new(yard)
	p := y.pool(t, 2)
	p.Fill()
	first, _ := p.Waiting()
	if u, own := take(t, p, 7, false); !own || u.fit != 7 {
		t.Errorf("handed out %+v, own %t; want one of its own for 7", *u, own)
	}
	p.Fill()
	now, fits := p.Waiting()
	if !slices.Equal(fits, []int{7, 7}) || now[0].fit != 7 || now[1].fit != 7 {
		t.Errorf("those that wait are for %v, want 7", fits)
	}
	p.Close()
	for _, u := range slices.Concat(first, now) {
		if !u.ended {
			t.Errorf("%+v is not ended", *u)
		}
	}
}

// The first one and the third that are started end when they are ready.
func TestPoolDoesNotHandOutTheDead(t *testing.T) {
	y := &yard{dead: func(start int) bool { return start == 0 || start == 2 }}
	p := y.pool(t, 1)
	p.Fill()
	dead, _ := p.Waiting()
	if u, own := take(t, p, 1, false); !own || u == dead[0] || !dead[0].ended {
		t.Errorf("handed out %+v, own %t; the dead one is %+v", *u, own, *dead[0])
	}
	if _, own, err := p.Take(enter(t, p), 1, false); err != ErrStillborn || !own {
		t.Errorf("one of its own that is dead: own %t, error %v, want %v", own, err, ErrStillborn)
	}
}

func TestPoolTellsWhyNothingStarts(t *testing.T) {
	y := &yard{fail: errors.New("no more processes")}
	p := y.pool(t, 1)
	p.Fill()
	p.Waiting()
	ctx := enter(t, p)
	if _, own, err := p.Take(ctx, 1, false); err != y.fail || !own {
		t.Errorf("own %t, error %v; want that of the second start", own, err)
	}
	if err := p.Look(ctx, func(*unit) { t.Error("shown what there is not") }); err != y.fail {
		t.Errorf("Look: %v", err)
	}
	p.Fill()
	p.Waiting()
	y.mu.Lock()
	y.fail = nil
	y.mu.Unlock()
	p.Fill()
	if waiting, _ := p.Waiting(); len(waiting) != 1 {
		t.Errorf("%d wait once they can be started, want 1", len(waiting))
	}
}

func TestPoolShowsWhatTheNextRunTakes(t *testing.T) {
	for size := range 2 {
		p := new(yard).pool(t, size)
		var shown *unit
		if err := p.Look(enter(t, p), func(u *unit) { shown = u }); err != nil || shown == nil {
			t.Fatalf("shown %v, error %v", shown, err)
		}
		if u, own := take(t, p, 1, false); (u == shown) != (size == 1) || own != (size == 0) {
			t.Errorf("size %d: the next run gets what was shown: %t, one of its own: %t", size, u == shown, own)
		}
	}
}

func TestPoolGivesUpWaiting(t *testing.T) {
	y := &yard{hold: make(chan struct{})}
	p := y.pool(t, 1)
	stopped, stop := context.WithCancelCause(enter(t, p))
	reason := errors.New("the client has gone")
	stop(reason)
	if _, _, err := p.Take(stopped, 1, false); err != reason {
		t.Errorf("error %v, want %v", err, reason)
	}
	close(y.hold)
	waiting, _ := p.Waiting()
	if len(waiting) != 1 || waiting[0].ended {
		t.Errorf("what was started for the run that gave up is not kept: %d wait", len(waiting))
	}
}

func TestClosingAPoolEndsRunsAndStarts(t *testing.T) {
	y := &yard{hold: make(chan struct{})}
	p := y.pool(t, 1)
	ctx, leave, err := p.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Fill()
	over := make(chan error)
	go func() {
		defer leave()
		_, _, err := p.Take(ctx, 1, false)
		over <- err
	}()
	closed := make(chan struct{})
	go func() { p.Close(); close(closed) }()
	if err := <-over; err != ErrClosed {
		t.Errorf("a run in progress ends with %v, want %v", err, ErrClosed)
	}
	<-closed
	if _, _, err := p.Enter(t.Context()); err != ErrClosed {
		t.Errorf("Enter after Close: %v, want %v", err, ErrClosed)
	}
	p.Fill()
	if waiting, _ := p.Waiting(); len(waiting) != 0 {
		t.Error("a closed pool is filled")
	}
}

// Runs that come faster than units are started have more spares wait for them,
// which are given back when it is quiet.
func TestPoolGrowsWithTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const startTime = 10 * time.Millisecond
		var ended atomic.Int32
		p := NewPool(Maker[int, *unit]{
			Start: func(context.Context, int, bool) (*unit, error) { time.Sleep(startTime); return new(unit), nil },
			Suits: func(int, int) bool { return true },
			End:   func(*unit) { ended.Add(1) },
			Most:  3,
		}, 1, 1)
		defer p.Close()
		run := func(pause time.Duration, want int) {
			t.Helper()
			for range 5 {
				time.Sleep(pause)
				take(t, p, 1, false)
				p.Fill()
			}
			if units, _ := p.Waiting(); len(units) != want {
				t.Errorf("%d spares wait after runs with a pause of %v, want %d", len(units), pause, want)
			}
		}
		p.Fill()
		run(2*startTime, 1)
		run(0, 3)
		run(quietFor, 1)
		run(0, 3)
		before := ended.Load()
		time.Sleep(5 * quietFor)
		if units, _ := p.Waiting(); len(units) != 1 || ended.Load() != before+2 {
			t.Errorf("%d spares wait when it is quiet, want 1; %d were ended, want 2", len(units), ended.Load()-before)
		}
	})
}
