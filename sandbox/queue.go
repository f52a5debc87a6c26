package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fair"
)

// NewQueue returns a Runner that runs at most n programs of r at a time; n of zero or
// less means DefaultExecutions. Further programs wait, those of one owner in the order
// of their arrival. A free slot goes to the owner with the fewest running programs, and
// an owner without any gets one at once while fewer than n and a quarter run (none
// beyond a single one). Waiting does not count as running time. A program is refused
// only if 100 of its owner wait already, or one of them while 1,000 wait in all.
//
// A run that waits for a person (see Pause) gives its slot to another one meanwhile,
// and resumes at once, even if that exceeds the limit by one; at most n do so at a
// time.
//
// Close closes r. The queue is Layered if r is, and has the methods Running() int and
// Waiting() int, which return numbers of programs.
func NewQueue(r Runner, n int) Runner {
	if n <= 0 {
		n = DefaultExecutions()
	}
	return &queue{runner: r, n: n, slots: fair.New(n, fair.More(n), maxWaiting)}
}

// DefaultExecutions is how many programs a queue runs at one time: enough to
// have all processors busy while most programs wait for the answers of their
// calls.
func DefaultExecutions() int { return min(max(4*runtime.GOMAXPROCS(0), 8), 64) }

type queue struct {
	runner Runner
	n      int
	slots  *fair.Slots
}

const (
	// maxWaiting is how many programs of one owner may wait.
	maxWaiting = 100
	// waitNoted is how long a program must have waited for it to be noted.
	waitNoted = time.Second
)

// Run implements Runner.
func (q *queue) Run(ctx context.Context, req Request) (Result, error) {
	start := time.Now()
	if err := q.slots.Acquire(ctx, req.Owner); err != nil {
		res := Result{ExitCode: ExitCanceled, Error: "cancelled by the caller before the program had begun", Duration: time.Since(start)}
		if errors.Is(err, fair.ErrFull) {
			res.ExitCode = ExitRefused
			res.Error = fmt.Sprintf("too many scripts of yours wait already for one of %d places for executions (config: sandbox.maxExecutions): try again when some have ended; 0 tools called", q.n)
		}
		return res, nil
	}
	s := &slotUse{slots: q.slots, owner: req.Owner}
	defer s.end()
	waited := time.Since(start)
	if call := req.Call; call != nil {
		req.Call = func(ctx context.Context, c Call) (json.RawMessage, error) {
			return call(WithPause(ctx, s.pausing(ctx)), c)
		}
	}
	res, err := q.runner.Run(ctx, req)
	res.Duration, res.Queued = time.Since(start), waited
	if waited >= waitNoted && err == nil {
		res.Notes = append(res.Notes, fmt.Sprintf("waited %.1f s until one of %d places for executions was free (config: sandbox.maxExecutions)", waited.Seconds(), q.n))
	}
	return res, err
}

// Running says how many programs have a place.
func (q *queue) Running() int {
	taken, _ := q.slots.Count()
	return taken
}

// Waiting says how many programs wait for a place.
func (q *queue) Waiting() int {
	_, waiting := q.slots.Count()
	return waiting
}

// A slotUse is the use of one place by one run.
type slotUse struct {
	slots *fair.Slots
	owner string

	mu     sync.Mutex
	pauses int // calls that wait for a person
	lent   bool
	ended  bool
}

// pausing is Pause for a call of a queued run: the run's own pause, and its
// place lent to another one until the last of its calls has what it waits for.
func (s *slotUse) pausing(ctx context.Context) func() func() {
	return func() func() {
		resume := Pause(ctx)
		s.pause(1)
		return sync.OnceFunc(func() {
			s.pause(-1)
			resume()
		})
	}
}

func (s *slotUse) pause(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pauses += n
	switch {
	case n > 0 && s.pauses == 1 && !s.ended:
		s.lent = s.slots.Lend(s.owner)
	case s.pauses == 0:
		s.back()
	}
}

// back takes the place again if it is lent; s.mu is held.
func (s *slotUse) back() {
	if s.lent {
		s.slots.Reclaim(s.owner)
		s.lent = false
	}
}

func (s *slotUse) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back()
	s.ended = true
	s.slots.Release(s.owner)
}

// Close implements Runner. Programs that still wait find the runner closed when
// their turn comes.
func (q *queue) Close() error { return q.runner.Close() }

// Layers implements Layered.
func (q *queue) Layers(ctx context.Context) ([]Layer, error) { return LayersOf(ctx, q.runner) }
