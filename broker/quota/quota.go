// Package quota limits the calls of tools, and the executions, of users, teams, servers
// and tools per unit of time.
//
// Each quota counts in buckets, one for each user, tool or other subject. A bucket
// fills evenly, so that no caller waits for the next hour. On one machine buckets are
// in memory. Brokers that share a state take tokens out of shared buckets ahead of the
// calls, for about a second each time, and spend them locally: most calls need no
// query, and together they never spend more tokens than the bucket had.
package quota

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Dimension is what has a bucket of its own.
type Dimension string

// The dimensions.
const (
	User   Dimension = "user"
	Team   Dimension = "team"
	Server Dimension = "server"
	Tool   Dimension = "tool"
)

// A Rule is one quota.
type Rule struct {
	// Executions counts executions of scripts, and not calls of tools.
	Executions bool
	// Per are the dimensions that a bucket is for; none is one bucket for all.
	Per []Dimension
	// Tools are the tools with counted calls; nil means all. Names are their configured
	// names.
	Tools policy.Patterns
	Names []string
	// Profile is that of the clients which it is for; empty is all.
	Profile string
	// Amount is how many there may be in the time Every, and Burst how many of them at
	// once.
	Amount int
	Every  time.Duration
	Burst  int
	// Where says where it is configured.
	Where string

	id string
}

// ID tells the buckets of a rule from those of others. It stays when the amount is
// changed.
func (r *Rule) ID() string {
	text := fmt.Sprintf("%t\n%q\n%q\n%q\n%d", r.Executions, r.Per, r.Names, r.Profile, r.Every)
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// String is the rule in words: "1000 calls per user and server in 1h".
func (r *Rule) String() string {
	var b strings.Builder
	what := "call"
	if r.Executions {
		what = "execution"
	}
	fmt.Fprintf(&b, "%d %s", r.Amount, what)
	if r.Amount != 1 {
		b.WriteByte('s')
	}
	if len(r.Names) > 0 {
		b.WriteString(" of " + strings.Join(r.Names, ", "))
	}
	for i, d := range r.Per {
		b.WriteString([]string{" per ", " and "}[min(i, 1)] + string(d))
	}
	every := r.Every.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if short, ok := strings.CutSuffix(every, zero); ok {
			every = short + zero[:1]
		}
	}
	return b.String() + " in " + every
}

// Bounds are the least and the most that a Rule can say.
const (
	MaxAmount = 1_000_000_000
	MinEvery  = time.Second
	MaxEvery  = 31 * 24 * time.Hour
)

// A Call is what is counted: a call of Tool, or an execution if that is nil.
type Call struct {
	User, Team string
	Profiles   []string
	Tool       *discovery.Tool
	Write      bool // the call may change something
}

// A Spent error means that a quota has nothing left.
type Spent struct {
	Rule *Rule
	// Wait is when to try again, a second at least.
	Wait time.Duration
}

func (e *Spent) Error() string {
	return fmt.Sprintf("the quota of %s is spent", e.Rule)
}

// An Unknown error means that the buckets cannot be asked, and that the call may
// change something.
type Unknown struct{ Err error }

func (e *Unknown) Error() string { return "its quota cannot be counted now: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Unknown) Unwrap() error { return e.Err }

// A Limiter counts. It is safe for concurrent use, and must be closed.
type Limiter struct {
	rules atomic.Pointer[[]*Rule]
	counter
}

// A counter has the buckets of a Limiter.
type counter interface {
	// take takes one token, for a call that may write or only reads.
	take(ctx context.Context, b state.Bucket, write bool) (got bool, wait time.Duration, err error)
	// back puts one back that was not used.
	back(b state.Bucket)
	close()
}

// alone is the counter of one process.
type alone struct{ m state.MemoryBuckets }

func (a *alone) take(ctx context.Context, b state.Bucket, _ bool) (bool, time.Duration, error) {
	got, wait, err := a.m.TakeTokens(ctx, b, 1)
	return got > 0, wait, err
}

func (a *alone) back(b state.Bucket) { _ = a.m.ReturnTokens(context.Background(), b, 1) } // of a bucket that there was

func (a *alone) close() {}

// New returns a limiter for the brokers that share buckets, or with nil buckets for a
// single process. A nil logger discards.
func New(rules []*Rule, buckets state.Buckets, log *slog.Logger) *Limiter {
	l := &Limiter{counter: &alone{}}
	if buckets != nil {
		l.counter = newLeases(buckets, log)
	}
	l.Set(rules)
	return l
}

// Set replaces the rules. Buckets keep what is in them.
func (l *Limiter) Set(rules []*Rule) {
	for _, r := range rules {
		r.id = r.ID()
	}
	l.rules.Store(&rules)
}

// Close gives back what was taken and not used. A nil l is fine.
func (l *Limiter) Close() error {
	if l != nil {
		l.close()
	}
	return nil
}

// Take counts one call for all quotas that are for it. The error is a *Spent or an
// *Unknown, and then nothing is counted. Undo takes it back. A nil l counts nothing.
func (l *Limiter) Take(ctx context.Context, c Call) (undo func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	var taken []state.Bucket
	undo = func() {
		for _, b := range taken {
			l.back(b)
		}
	}
	for _, r := range *l.rules.Load() {
		if !r.counts(&c) {
			continue
		}
		b := r.bucket(&c)
		got, wait, err := l.take(ctx, b, c.Write)
		if err == nil && !got {
			err = &Spent{r, max(wait, time.Second)}
		}
		if err != nil {
			undo()
			return nil, err
		}
		taken = append(taken, b)
	}
	return undo, nil
}

// counts reports whether a rule is for a call.
func (r *Rule) counts(c *Call) bool {
	return r.Executions == (c.Tool == nil) &&
		(r.Profile == "" || slices.Contains(c.Profiles, r.Profile)) &&
		(r.Tools == nil || r.Tools.Match(c.Tool))
}

// bucket is that of a rule in which a call counts.
func (r *Rule) bucket(c *Call) state.Bucket {
	key := r.id
	for _, d := range r.Per {
		switch d {
		case User:
			key += "\n" + c.User
		case Team:
			key += "\n" + c.Team
		case Server:
			key += "\n" + c.Tool.Server
		case Tool:
			key += "\n" + c.Tool.ID
		}
	}
	if len(key) > state.MaxBucketKey {
		sum := sha256.Sum256([]byte(key))
		key = r.id + "\n" + hex.EncodeToString(sum[:])
	}
	return state.Bucket{Key: key, Rate: float64(r.Amount) / r.Every.Seconds(), Burst: r.Burst}
}

// Seconds is a wait in whole seconds.
func Seconds(wait time.Duration) int { return int(math.Ceil(wait.Seconds())) }
