package fair_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fair"
)

// work enters, holds a place for a second, and says when it had it.
func work(t *testing.T, p *fair.Slots, owner string, start time.Time) (entered time.Duration) {
	if err := p.Acquire(t.Context(), owner); err != nil {
		t.Errorf("%s: %v", owner, err)
		return 0
	}
	defer p.Release(owner)
	entered = time.Since(start)
	time.Sleep(time.Second)
	return entered
}

func TestNobodyWaitsForMoreThanOneOfEachOther(t *testing.T) {
	for _, tt := range []struct {
		name     string
		n, more  int
		busy     int // owners who want fifty each
		newcomer time.Duration
	}{
		{"beside one, a place is kept", 8, 2, 1, 0},
		{"beside two, a place is kept", 8, 2, 2, 0},
		{"beside more than there are places", 2, 1, 9, 4 * time.Second},
		{"without a place that is kept", 4, 0, 1, time.Second},
		{"with one place, after the one that runs and one of each", 1, 0, 3, 4 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := fair.New(tt.n, tt.more, 0)
				var all sync.WaitGroup
				for i := range tt.busy {
					for range 50 {
						all.Go(func() { work(t, p, strconv.Itoa(i), time.Now()) })
					}
					synctest.Wait()
				}
				for range 5 {
					if got := work(t, p, "newcomer", time.Now()); got > tt.newcomer {
						t.Errorf("a newcomer waited %v, want at most %v", got, tt.newcomer)
					}
					if taken, _ := p.Count(); taken > tt.n+tt.more {
						t.Errorf("%d places are taken, want at most %d", taken, tt.n+tt.more)
					}
				}
				all.Wait()
				if taken, waiting := p.Count(); taken != 0 || waiting != 0 {
					t.Errorf("%d places stay taken, %d wait", taken, waiting)
				}
			})
		})
	}
}

func TestBusyOwnersHaveEqualShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fair.New(8, 2, 0)
		var all sync.WaitGroup
		var mu sync.Mutex
		last := map[string]time.Duration{}
		start := time.Now()
		for owner, n := range map[string]int{"a": 400, "b": 40} {
			for range n {
				all.Go(func() {
					entered := work(t, p, owner, start)
					mu.Lock()
					defer mu.Unlock()
					last[owner] = max(last[owner], entered)
				})
			}
		}
		all.Wait()
		if b := last["b"]; b > 12*time.Second { // 40 in four places of eight
			t.Errorf("the one with a tenth of the work had its last place after %v, the other after %v", b, last["a"])
		}
		if a := last["a"]; a > 56*time.Second {
			t.Errorf("all of it took %v: places were left free", a)
		}
	})
}

func TestOnlyAFullQueueRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fair.New(1, 0, 3)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		enter := func(owner string) {
			all.Go(func() { _ = p.Acquire(ctx, owner) }) // it is cancelled
			synctest.Wait()
		}
		for range 4 {
			enter("a")
		}
		if err := p.Acquire(t.Context(), "a"); !errors.Is(err, fair.ErrFull) {
			t.Errorf("the fifth of one owner: %v, want ErrFull", err)
		}
		for i := range 100 { // each has room for one, however many there are
			enter("owner " + strconv.Itoa(i))
		}
		if _, waiting := p.Count(); waiting != 103 {
			t.Errorf("%d wait, want 103", waiting)
		}
		if err := p.Acquire(t.Context(), "owner 7"); !errors.Is(err, fair.ErrFull) {
			t.Errorf("the second of an owner in a crowd: %v, want ErrFull", err)
		}
		cancel()
		all.Wait()
		p.Release("a")
		if taken, waiting := p.Count(); taken != 0 || waiting != 0 {
			t.Errorf("%d places stay taken, %d wait", taken, waiting)
		}
	})
}

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fair.New(1, 0, 0)
		var all sync.WaitGroup
		var order []string
		for _, name := range []string{"a1", "a2", "a3", "b1", "b2", "c1"} {
			all.Go(func() {
				owner := name[:1]
				if err := p.Acquire(t.Context(), owner); err != nil {
					t.Error(err)
				}
				order = append(order, name)
				time.Sleep(time.Second)
				p.Release(owner)
			})
			synctest.Wait()
		}
		all.Wait()
		if want := []string{"a1", "a2", "b1", "c1", "a3", "b2"}; !slices.Equal(order, want) {
			t.Errorf("entered in the order %v, want %v", order, want)
		}
	})
}
