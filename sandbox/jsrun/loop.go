package jsrun

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/dop251/goja"
)

// The reasons for which a turn of the loop ends without running anything.
var (
	errIdle     = errors.New("nothing is pending")
	errOver     = errors.New("the waiting time is over")
	errWithheld = errors.New("nothing is pending but calls that are withheld")
)

// A loop contains what a run waits for. Everything but the mailbox belongs to the goroutine of
// Run.
type loop struct {
	timers  []*timer // in the order of their due times; equal ones in the order of creation
	byID    map[int64]*timer
	nextID  int64
	calls   map[*hostCall]struct{}
	mailbox mailbox
}

// An answer is the answer to a host call.
type answer struct {
	call  *hostCall
	value json.RawMessage
	err   error
}

// A mailbox carries answers from any goroutine to the loop. put never blocks.
type mailbox struct {
	mu     sync.Mutex
	items  []answer
	closed bool
	ready  chan struct{} // holds one token while items is not empty
}

func (m *mailbox) put(a answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.items = append(m.items, a)
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.ready:
	default:
	}
	items := m.items
	m.items = nil
	return items
}

// close drops all answers, including later ones.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.items = true, nil
}

// A timer is one setTimeout, setInterval or setImmediate.
type timer struct {
	id       int64
	due      time.Time
	every    time.Duration // 0 for a timeout
	floating bool          // set by a statement of the program
	f        goja.Callable
	args     []goja.Value
}

func newLoop() loop {
	return loop{
		byID:    make(map[int64]*timer),
		calls:   make(map[*hostCall]struct{}),
		mailbox: mailbox{ready: make(chan struct{}, 1)},
	}
}

func (l *loop) addTimer(t *timer, delay time.Duration) {
	l.nextID++
	t.id = l.nextID
	l.byID[t.id] = t
	l.queueTimer(t, time.Now().Add(delay))
}

func (l *loop) queueTimer(t *timer, due time.Time) {
	t.due = due
	i, _ := slices.BinarySearchFunc(l.timers, due, func(t *timer, due time.Time) int {
		if t.due.After(due) {
			return 1
		}
		return -1
	})
	l.timers = slices.Insert(l.timers, i, t)
}

func (l *loop) removeTimer(id int64) {
	t := l.byID[id]
	delete(l.byID, id)
	switch i := slices.Index(l.timers, t); {
	case i == 0:
		l.timers = l.timers[1:]
	case i > 0:
		l.timers = slices.Delete(l.timers, i, i+1)
	}
}

// dueTimer removes and returns the next timer if it is due.
func (l *loop) dueTimer(now time.Time) *timer {
	if len(l.timers) == 0 || l.timers[0].due.After(now) {
		return nil
	}
	return l.takeTimer(l.timers[0], now)
}

// takeTimer removes a timer, unless it is an interval, which its own callback can clear.
func (l *loop) takeTimer(t *timer, now time.Time) *timer {
	l.removeTimer(t.id)
	if t.every > 0 {
		l.byID[t.id] = t
		l.queueTimer(t, now.Add(t.every))
	}
	return t
}

// callOf returns the call in progress with the promise p, or nil.
func (l *loop) callOf(p *goja.Promise) *hostCall {
	for c := range l.calls {
		if c.promise == p {
			return c
		}
	}
	return nil
}

// timerBefore reports whether a timer is due before end that is not an interval, or was set by a
// statement of the program.
func (l *loop) timerBefore(end time.Time) bool {
	return slices.ContainsFunc(l.timers, func(t *timer) bool { return (t.every == 0 || t.floating) && t.due.Before(end) })
}

// turn runs what is due: the received answers, or one timer. If nothing is due, it waits. It
// returns errIdle if there is nothing to wait for, errOver if over fires first, ctx's error if
// that ends, and otherwise an error that a callback threw or that ended the engine.
func (r *runtime) turn(ctx context.Context, over <-chan time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.tape.replay != nil {
		return r.repeat()
	}
	if answers := r.loop.mailbox.take(); len(answers) > 0 {
		for _, a := range answers {
			if err := r.deliver(a); err != nil {
				return err
			}
		}
		return nil
	}
	if t := r.loop.dueTimer(time.Now()); t != nil {
		return r.fire(t)
	}
	if r.onlyWithheld() {
		return errWithheld
	}
	if len(r.loop.calls) == 0 && len(r.loop.timers) == 0 {
		return errIdle
	}
	return r.wait(ctx, over)
}

func (r *runtime) fire(t *timer) error {
	r.tape.step(-t.id)
	_, err := t.f(goja.Undefined(), t.args...)
	return err
}

func (r *runtime) wait(ctx context.Context, over <-chan time.Time) error {
	var due <-chan time.Time
	if len(r.loop.timers) > 0 {
		t := time.NewTimer(time.Until(r.loop.timers[0].due))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-over:
		return errOver
	case <-r.loop.mailbox.ready:
		// Return the token, for take to find.
		select {
		case r.loop.mailbox.ready <- struct{}{}:
		default:
		}
	case <-due:
	}
	return nil
}
