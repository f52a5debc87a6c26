package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// NewQueue returns a Runner that runs at most n programs of r at one time; n of
// zero or less means DefaultExecutions. Further programs wait: those of one
// owner in the order in which they came, the owners in turns, so that nobody
// who starts many holds up somebody who starts one. Waiting is no time of the
// run, but a program that has waited as long as it may run is refused.
//
// A run that waits for a person (see Pause) leaves its place to another one
// meanwhile, and comes back to it at once, even if that makes one too many.
//
// Close closes r. The queue is Layered if r is, and has a method Waiting() int that
// says how many programs wait.
func NewQueue(r Runner, n int) Runner {
	if n <= 0 {
		n = DefaultExecutions()
	}
	return &queue{runner: r, places: n, waiting: make(map[string][]chan struct{})}
}

// DefaultExecutions is how many programs a queue runs at one time: enough to
// have all processors busy while most programs wait for the answers of their
// calls.
func DefaultExecutions() int { return min(max(4*runtime.GOMAXPROCS(0), 8), 64) }

type queue struct {
	runner Runner
	places int

	mu      sync.Mutex
	running int
	waiting map[string][]chan struct{} // by owner; each is closed when its turn has come
	turns   []string                   // the owners of waiting, the next one first
}

// waitNoted is how long a program must have waited for it to be told.
const waitNoted = time.Second

// Run implements Runner.
func (q *queue) Run(ctx context.Context, req Request) (Result, error) {
	start := time.Now()
	limits := req.Limits.WithDefaults()
	if err := q.enter(ctx, req.Owner, limits.Timeout); err != nil {
		res := Result{ExitCode: ExitCanceled, Error: "cancelled by the caller before the program had begun", Duration: time.Since(start)}
		if ctx.Err() == nil {
			res.ExitCode = ExitRefused
			res.Error = fmt.Sprintf("all %d places for executions were taken for %g s (config: sandbox.maxExecutions): try again when others have ended; 0 tools called",
				q.places, limits.Timeout.Seconds())
		}
		return res, nil
	}
	defer q.leave()
	waited := time.Since(start)
	if call := req.Call; call != nil {
		req.Call = func(ctx context.Context, c Call) (json.RawMessage, error) {
			return call(WithPause(ctx, q.pausing(ctx)), c)
		}
	}
	res, err := q.runner.Run(ctx, req)
	res.Duration = time.Since(start)
	if waited >= waitNoted && err == nil {
		res.Notes = append(res.Notes, fmt.Sprintf("waited %.1f s until one of %d places for executions was free (config: sandbox.maxExecutions)", waited.Seconds(), q.places))
	}
	return res, err
}

// enter takes a place, which leave gives back, or returns why there is none.
func (q *queue) enter(ctx context.Context, owner string, patience time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	if q.running < q.places {
		q.running++
		q.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	if len(q.waiting[owner]) == 0 {
		q.turns = append(q.turns, owner)
	}
	q.waiting[owner] = append(q.waiting[owner], turn)
	q.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	if !q.withdraw(owner, turn) { // its turn has come just now
		q.leave()
	}
	return ctx.Err()
}

// withdraw takes a waiting program out of the queue, if it is still there.
func (q *queue) withdraw(owner string, turn chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, t := range q.waiting[owner] {
		if t == turn {
			q.waiting[owner] = append(q.waiting[owner][:i:i], q.waiting[owner][i+1:]...)
			if len(q.waiting[owner]) == 0 {
				q.forget(owner)
			}
			return true
		}
	}
	return false
}

// forget removes an owner who has nothing waiting; q.mu is held.
func (q *queue) forget(owner string) {
	delete(q.waiting, owner)
	for i, o := range q.turns {
		if o == owner {
			q.turns = append(q.turns[:i:i], q.turns[i+1:]...)
			return
		}
	}
}

// leave gives a place back, to the next owner's first program.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	for q.running < q.places && len(q.turns) > 0 {
		owner := q.turns[0]
		list := q.waiting[owner]
		close(list[0])
		q.running++
		q.turns = q.turns[1:]
		if list = list[1:]; len(list) > 0 {
			q.waiting[owner] = list
			q.turns = append(q.turns, owner)
		} else {
			delete(q.waiting, owner)
		}
	}
}

// Waiting says how many programs wait for a place.
func (q *queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, list := range q.waiting {
		n += len(list)
	}
	return n
}

// pausing is Pause for a call of a queued run: the run's own pause, and its
// place given to another one. Two calls that pause give up two places, which
// is as harmless as the one too many when they come back.
func (q *queue) pausing(ctx context.Context) func() func() {
	return func() func() {
		resume := Pause(ctx)
		q.leave()
		return sync.OnceFunc(func() {
			q.mu.Lock()
			q.running++
			q.mu.Unlock()
			resume()
		})
	}
}

// Close implements Runner. Programs that still wait find the runner closed when
// their turn comes.
func (q *queue) Close() error { return q.runner.Close() }

// Layers implements Layered.
func (q *queue) Layers(ctx context.Context) ([]Layer, error) { return LayersOf(ctx, q.runner) }
