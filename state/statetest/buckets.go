package statetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// Buckets is the suite of state.Buckets.
type Buckets struct {
	// Open returns new handles of one place without buckets.
	Open func(t testing.TB) func() state.Buckets
}

// slow is a bucket that gets nothing while a test runs.
func slow(key string, burst int) state.Bucket {
	return state.Bucket{Key: key, Rate: 1.0 / 3600, Burst: burst}
}

// Run runs the suite.
func (s Buckets) Run(t *testing.T) {
	t.Run("holds its burst and no more", s.burst)
	t.Run("fills with time", s.fills)
	t.Run("takes back what was not used", s.back)
	t.Run("never gives what it has not, to any number at once", s.atOnce)
	t.Run("rejects what is no bucket", s.rejects)
}

// drain takes all that a bucket has.
func drain(t testing.TB, s state.Buckets, b state.Bucket, want int) (n int, wait time.Duration) {
	t.Helper()
	for {
		got, w, err := s.TakeTokens(context.Background(), b, want)
		if err != nil {
			t.Error(err)
			return n, 0
		}
		if got == 0 {
			return n, w
		}
		if got > want || w != 0 {
			t.Errorf("%d tokens for %d, wait %v", got, want, w)
		}
		n += got
	}
}

func (s Buckets) burst(t *testing.T) {
	open := s.Open(t)
	for _, want := range []int{1, 7, 1000} {
		b := slow(fmt.Sprintf("burst\né %d", want), 100)
		if n, wait := drain(t, open(), b, want); n != 100 || wait < 59*time.Minute || wait > time.Hour {
			t.Errorf("%d at once: %d tokens, wait %v; want 100 and an hour", want, n, wait)
		}
		if got, _, err := open().TakeTokens(t.Context(), b, 1); got != 0 || err != nil {
			t.Errorf("another one got %d tokens, %v", got, err)
		}
		b.Burst = 200 // the quota was raised: what it holds comes with time
		if got, _, err := open().TakeTokens(t.Context(), b, 1); got != 0 || err != nil {
			t.Errorf("after the burst was raised: %d tokens, %v", got, err)
		}
	}
}

func (s Buckets) fills(t *testing.T) {
	b, buckets := state.Bucket{Key: "fills", Rate: 500, Burst: 5}, s.Open(t)()
	began := time.Now()
	n, wait := drain(t, buckets, b, 1)
	for range 20 {
		if wait <= 0 || wait > 2*time.Millisecond {
			t.Fatalf("wait %v for a token of 500 per second", wait)
		}
		time.Sleep(wait) // what it says must be enough
		more, w := drain(t, buckets, b, 1)
		if more == 0 {
			t.Fatal("no token after the wait")
		}
		n, wait = n+more, w
	}
	if most := 5 + int(time.Since(began).Seconds()*500) + 1; n > most {
		t.Errorf("%d tokens in %v; want at most %d", n, time.Since(began), most)
	}
}

func (s Buckets) back(t *testing.T) {
	buckets, b := s.Open(t)(), slow("back", 10)
	for _, n := range []int{1, 3, 50} { // 50 overflow
		drain(t, buckets, b, 10)
		if err := buckets.ReturnTokens(t.Context(), b, n); err != nil {
			t.Fatal(err)
		}
		if got, _ := drain(t, buckets, b, 10); got != min(n, 10) {
			t.Errorf("%d were put back, %d are there", n, got)
		}
	}
	full := slow("full", 10)
	if err := buckets.ReturnTokens(t.Context(), full, 5); err != nil {
		t.Fatal(err)
	}
	if got, _ := drain(t, buckets, full, 10); got != 10 {
		t.Errorf("a full bucket to which 5 were added has %d; want 10", got)
	}
}

func (s Buckets) atOnce(t *testing.T) {
	open, b := s.Open(t), slow("at once", 500)
	var n atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			buckets := open()
			for {
				want := 1 + rand.IntN(20)
				got, _, err := buckets.TakeTokens(context.Background(), b, want)
				if err != nil {
					t.Error(err)
				}
				if got == 0 {
					return
				}
				if n.Add(int64(got)); got > 1 {
					n.Add(-1)
					if err := buckets.ReturnTokens(context.Background(), b, 1); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	rest, _ := drain(t, open(), b, 1)
	if got := int(n.Load()) + rest; got != 500 {
		t.Errorf("%d tokens of a bucket of 500", got)
	}
}

func (s Buckets) rejects(t *testing.T) {
	buckets := s.Open(t)()
	for _, b := range []state.Bucket{{Rate: 1, Burst: 1}, {Key: "k", Burst: 1}, {Key: "k", Rate: 1}, {Key: strings.Repeat("k", state.MaxBucketKey+1), Rate: 1, Burst: 1}} {
		if _, _, err := buckets.TakeTokens(t.Context(), b, 1); err == nil {
			t.Errorf("%+v is a bucket", b)
		}
	}
	if _, _, err := buckets.TakeTokens(t.Context(), slow("k", 1), 0); err == nil {
		t.Error("0 tokens can be taken")
	}
}
