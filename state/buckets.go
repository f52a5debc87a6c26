package state

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"
)

// A Bucket is what a quota is counted in. It holds Burst tokens at first and at most,
// and gets Rate of them each second. Two are one if they have the same key.
type Bucket struct {
	Key   string
	Rate  float64
	Burst int
}

// MaxBucketKey is the longest key of a bucket, in bytes.
const MaxBucketKey = 1000

// Buckets hold the tokens of quotas. They are safe for concurrent use, by several
// brokers too, and their time is that of one clock.
type Buckets interface {
	// TakeTokens takes at most want tokens out of a bucket. It leaves half of a shared
	// bucket to others, except for the last token. If there is no whole token, got is
	// 0, and wait is the time until there will be one.
	TakeTokens(ctx context.Context, b Bucket, want int) (got int, wait time.Duration, err error)
	// ReturnTokens puts back what was taken and not used.
	ReturnTokens(ctx context.Context, b Bucket, n int) error
}

// CheckBucket is the error of a bucket that there cannot be, or of that many tokens.
func CheckBucket(b Bucket, n int) error {
	if b.Key == "" || len(b.Key) > MaxBucketKey || !(b.Rate > 0) || math.IsInf(b.Rate, 1) || b.Burst < 1 || n < 1 {
		return fmt.Errorf("no bucket: a key of %d bytes, %g tokens per second, %d at most, %d at once", len(b.Key), b.Rate, b.Burst, n)
	}
	return nil
}

// MemoryBuckets are Buckets of one process, lost at its end. They are not shared, so
// one call may take all tokens. The zero value is empty.
type MemoryBuckets struct {
	mu    sync.Mutex
	byKey map[string]*level
	sweep int // how many there may be before the full ones are forgotten
}

// A level is how much a bucket held at a time.
type level struct {
	tokens float64
	at     time.Time
	full   time.Time
}

var _ Buckets = (*MemoryBuckets)(nil)

// minSweep is how many buckets are never too many.
const minSweep = 1000

// TakeTokens implements Buckets.
func (m *MemoryBuckets) TakeTokens(_ context.Context, b Bucket, want int) (int, time.Duration, error) {
	if err := CheckBucket(b, want); err != nil {
		return 0, 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.now(b)
	if l.tokens < 1 {
		return 0, time.Duration(math.Ceil((1 - l.tokens) / b.Rate * float64(time.Second))), nil
	}
	got := min(want, int(l.tokens))
	l.add(b, float64(-got))
	return got, 0, nil
}

// ReturnTokens implements Buckets.
func (m *MemoryBuckets) ReturnTokens(_ context.Context, b Bucket, n int) error {
	if err := CheckBucket(b, n); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now(b).add(b, float64(n))
	return nil
}

// Len is how many buckets are kept.
func (m *MemoryBuckets) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.byKey)
}

// now is the level of a bucket at this moment.
func (m *MemoryBuckets) now(b Bucket) *level {
	now := time.Now()
	l := m.byKey[b.Key]
	if l == nil {
		m.forget(now)
		l = &level{tokens: float64(b.Burst), at: now}
		m.byKey[b.Key] = l
	}
	l.tokens += now.Sub(l.at).Seconds() * b.Rate
	l.at = now
	l.add(b, 0)
	return l
}

func (l *level) add(b Bucket, n float64) {
	l.tokens = min(l.tokens+n, float64(b.Burst))
	l.full = l.at.Add(time.Duration((float64(b.Burst) - l.tokens) / b.Rate * float64(time.Second)))
}

// forget removes the buckets that are full, which is what they would be without it.
func (m *MemoryBuckets) forget(now time.Time) {
	if m.byKey == nil {
		m.byKey, m.sweep = make(map[string]*level), minSweep
	}
	if len(m.byKey) < m.sweep {
		return
	}
	for key, l := range m.byKey {
		if !now.Before(l.full) {
			delete(m.byKey, key)
		}
	}
	m.sweep = max(minSweep, 2*len(m.byKey))
}
