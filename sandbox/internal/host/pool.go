package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrStillborn is the error of Pool.Take for a unit that was ready and ended
// before it was told anything.
var ErrStillborn = errors.New("the sandbox ended before it had the program")

// A Maker is how a Pool makes what it keeps: units of type T, such as processes
// or containers, each for one run. A fit is what a unit is started with, and
// which programs it therefore suits.
type Maker[F, T any] struct {
	// Start starts a unit and returns when it is ready; it gives up when ctx is
	// done. One that will wait for its run may be warmed.
	Start func(ctx context.Context, fit F, waits bool) (T, error)
	// Suits says whether a unit that was started with fit suits what a run wants.
	Suits func(fit, want F) bool
	// Alive reports whether a unit was still alive just now; nil means that only its
	// use can tell.
	Alive func(T) bool
	// End ends a unit and returns when it is gone.
	End func(T)
	// Most is how many spares there may be while runs come faster than units are
	// started; less than the pool's size means never more than that.
	Most int
}

// A Pool keeps units that have been started, or are being started, for the runs
// to come, because starting one takes longer than many a program. It suits the
// spares that it starts to the last run. Its methods are safe for concurrent
// use; Close must be called.
type Pool[F, T any] struct {
	maker  Maker[F, T]
	rest   int             // spares when it is quiet
	closed context.Context // done when Close is called
	close  context.CancelCauseFunc

	mu     sync.Mutex
	size   int         // spares now
	missed bool        // a run had to wait for its unit since quiet was set
	quiet  *time.Timer // nil while there is nothing to give back
	want   F           // what spares are started with
	spares []*spare[F, T]
	active sync.WaitGroup // runs, starts and ends; added to under mu, while not closed, or by one of them
}

// A spare is a unit that has been started, or is being started.
type spare[F, T any] struct {
	options F
	ready   chan struct{} // closed when unit or err is set
	unit    T
	err     error
}

// NewPool returns a pool of size spares, of which the first are started with
// want, by the first Fill.
func NewPool[F, T any](maker Maker[F, T], size int, want F) *Pool[F, T] {
	p := &Pool[F, T]{maker: maker, rest: size, size: size, want: want}
	p.closed, p.close = context.WithCancelCause(context.Background())
	return p
}

// PoolSize is the number of spares that Options ask for: zero means one, a
// negative number none.
func PoolSize(asked int) int {
	if asked == 0 {
		return 1
	}
	return max(asked, 0)
}

// Enter registers a run, which Close waits for. Its context is done, with the
// cause ErrClosed, when the pool is closed. leave must be called. The only error
// is ErrClosed.
func (p *Pool[F, T]) Enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Err() != nil {
		return nil, nil, ErrClosed
	}
	p.active.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.closed, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		p.active.Done()
	}, nil
}

// Go calls f in the background, with a context that is done when the pool is
// closed; Close waits for f. The caller is a run that has entered, a start, or
// another f.
func (p *Pool[F, T]) Go(f func(context.Context)) {
	p.active.Go(func() { f(p.closed) })
}

// Take returns a unit that is ready for one run that has entered: a spare, one
// that is being started, or one that is started for the run, which it is in any
// case if fresh is set; own says so. The caller ends it.
func (p *Pool[F, T]) Take(ctx context.Context, want F, fresh bool) (unit T, own bool, err error) {
	p.mu.Lock()
	p.want = want
	p.mu.Unlock()
	for {
		s, own := p.next(want, fresh)
		if !fresh && !s.started() {
			p.miss()
		}
		if err := p.await(ctx, s); err != nil {
			return unit, own, err
		}
		if unit, again, err := p.settle(s, own); !again {
			return unit, own, err
		}
	}
}

// settle says what becomes of a spare that a run waited for: its unit, an error,
// or that another one is to be tried. own says that it was started for the run.
func (p *Pool[F, T]) settle(s *spare[F, T], own bool) (unit T, again bool, err error) {
	if s.err == nil && p.alive(s) {
		return s.unit, false, nil
	}
	p.discard(s)
	switch {
	case !own: // says nothing about the next one
		return unit, true, nil
	case s.err != nil:
		return unit, false, s.err
	default: // the next one would go the same way
		return unit, false, ErrStillborn
	}
}

// Look calls f with the unit that the next run will take, if it wants what the
// last one did. The caller has entered.
func (p *Pool[F, T]) Look(ctx context.Context, f func(T)) error {
	p.mu.Lock()
	want := p.want
	p.mu.Unlock()
	s, _ := p.next(want, false)
	if err := p.await(ctx, s); err != nil {
		return err
	}
	if s.err != nil {
		return s.err
	}
	f(s.unit)
	p.giveBack(s)
	return nil
}

// await waits until a spare has been started, or gives it back when ctx is done
// before.
func (p *Pool[F, T]) await(ctx context.Context, s *spare[F, T]) error {
	select {
	case <-s.ready:
		return nil
	case <-ctx.Done():
		p.giveBack(s)
		return context.Cause(ctx)
	}
}

// next removes the best spare from those that wait: one that is ready, else one
// that is being started, which will be ready before a new one is. own says that
// there was none, or none was wanted, and s was started for the caller.
func (p *Pool[F, T]) next(want F, fresh bool) (s *spare[F, T], own bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for i, s := range p.spares {
		if !fresh && p.maker.Suits(s.options, want) && (best < 0 || s.started() && !p.spares[best].started()) {
			best = i
		}
	}
	if best < 0 {
		return p.start(want, false), true
	}
	s = p.spares[best]
	p.spares = slices.Delete(p.spares, best, best+1)
	return s, false
}

// giveBack returns a spare that was not used.
func (p *Pool[F, T]) giveBack(s *spare[F, T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Err() == nil && len(p.spares) < p.size {
		p.spares = append(p.spares, s)
		return
	}
	p.active.Go(func() { p.discard(s) }) // the caller has entered
}

// Fill starts as many spares as are missing, and ends those that suit other
// runs or could not be started.
func (p *Pool[F, T]) Fill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Err() != nil {
		return
	}
	p.spares = slices.DeleteFunc(p.spares, func(s *spare[F, T]) bool {
		useless := !p.maker.Suits(s.options, p.want) || s.started() && s.err != nil
		if useless {
			p.active.Go(func() { p.discard(s) })
		}
		return useless
	})
	for len(p.spares) < p.size {
		// Under load a run takes it as soon as it is ready.
		p.spares = append(p.spares, p.start(p.want, p.size == p.rest))
	}
}

// start begins to start a unit. p.mu is held, and the caller has entered or p is
// not closed.
func (p *Pool[F, T]) start(want F, waits bool) *spare[F, T] {
	s := &spare[F, T]{options: want, ready: make(chan struct{})}
	p.active.Go(func() {
		defer close(s.ready)
		s.unit, s.err = p.maker.Start(p.closed, want, waits)
	})
	return s
}

// quietFor is how long no run must have waited for its unit for there to be one
// spare less again.
const quietFor = time.Second

// miss notes that a run has to wait for its unit. The second one in a short time
// makes room for one more spare.
func (p *Pool[F, T]) miss() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.missed && p.size < p.maker.Most && p.rest > 0 {
		p.size++
	}
	p.missed = true
	if p.quiet == nil && p.closed.Err() == nil {
		p.quiet = time.AfterFunc(quietFor, p.calm)
	}
}

// calm gives a spare back if no run has had to wait lately.
func (p *Pool[F, T]) calm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Err() != nil {
		return
	}
	if !p.missed {
		p.size = max(p.size-1, p.rest)
		for len(p.spares) > p.size {
			last := len(p.spares) - 1
			s := p.spares[last]
			p.spares = p.spares[:last]
			p.active.Go(func() { p.discard(s) })
		}
	}
	if p.quiet = nil; p.missed || p.size > p.rest {
		p.quiet = time.AfterFunc(quietFor, p.calm)
	}
	p.missed = false
}

// Waiting returns the spares, with what each was started with, once all of them
// have been started or have failed to; those are left out. It is for tests: they
// stay in the pool.
func (p *Pool[F, T]) Waiting() (units []T, fits []F) {
	p.mu.Lock()
	spares := slices.Clone(p.spares)
	p.mu.Unlock()
	for _, s := range spares {
		if <-s.ready; s.err == nil {
			units, fits = append(units, s.unit), append(fits, s.options)
		}
	}
	return units, fits
}

// Close ends all spares and, by the contexts of Enter and Go, what goes on, and
// returns when it is over.
func (p *Pool[F, T]) Close() {
	p.mu.Lock()
	p.close(ErrClosed)
	if p.quiet != nil {
		p.quiet.Stop()
	}
	spares := p.spares
	p.spares = nil
	p.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range spares {
		all.Go(func() { p.discard(s) })
	}
	all.Wait()
	p.active.Wait()
}

func (p *Pool[F, T]) alive(s *spare[F, T]) bool { return p.maker.Alive == nil || p.maker.Alive(s.unit) }

func (s *spare[F, T]) started() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// discard ends a spare's unit once it has been started.
func (p *Pool[F, T]) discard(s *spare[F, T]) {
	if <-s.ready; s.err == nil {
		p.maker.End(s.unit)
	}
}
