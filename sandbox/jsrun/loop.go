package jsrun

import (
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/dop251/goja"
)

// What ends a turn of the loop other than something that ran.
var (
	errIdle     = errors.New("nothing is pending")
	errOver     = errors.New("the waiting time is over")
	errWithheld = errors.New("nothing is pending but calls that are withheld")
)

// A loop holds what a run waits for. Everything but the mailbox belongs to the
// goroutine of Run.
type loop struct {
	timers  timerHeap
	byID    map[int64]*timer
	nextID  int64
	calls   map[*hostCall]struct{}
	mailbox mailbox
}

// An answer is what a host call came back with.
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

// close drops what came and what comes.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.items = true, nil
}

// A timer is one setTimeout, setInterval or setImmediate.
type timer struct {
	id     int64
	due    time.Time
	every  time.Duration // 0 for a timeout
	kept   bool          // a statement of the program has set it
	f      goja.Callable
	args   []goja.Value
	handle int // place in the heap, -1 when it is not in it
}

// A timerHeap has the timer that is due next in front; equals keep the order
// in which they were set.
type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].id < h[j].id
	}
	return h[i].due.Before(h[j].due)
}
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].handle, h[j].handle = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.handle = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.handle = -1
	return t
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
	t.due = time.Now().Add(delay)
	l.byID[t.id] = t
	heap.Push(&l.timers, t)
}

func (l *loop) removeTimer(id int64) {
	t := l.byID[id]
	if t == nil {
		return
	}
	delete(l.byID, id)
	if t.handle >= 0 {
		heap.Remove(&l.timers, t.handle)
	}
}

// dueTimer takes the next timer off the heap if its time has come. An interval
// goes back onto it, so that its own callback can clear it.
func (l *loop) dueTimer(now time.Time) *timer {
	if len(l.timers) == 0 || l.timers[0].due.After(now) {
		return nil
	}
	return l.takeTimer(l.timers[0], now)
}

// takeTimer takes a timer off the heap.
func (l *loop) takeTimer(t *timer, now time.Time) *timer {
	heap.Remove(&l.timers, t.handle)
	if t.every == 0 {
		delete(l.byID, t.id)
		return t
	}
	t.due = now.Add(t.every)
	heap.Push(&l.timers, t)
	return t
}

// callOf is the call under way whose promise p is, or nil.
func (l *loop) callOf(p *goja.Promise) *hostCall {
	for c := range l.calls {
		if c.promise == p {
			return c
		}
	}
	return nil
}

// timerBefore reports whether a timer is due before end that fires once, or that a
// statement of the program has set.
func (l *loop) timerBefore(end time.Time) bool {
	return slices.ContainsFunc(l.timers, func(t *timer) bool { return (t.every == 0 || t.kept) && t.due.Before(end) })
}

// turn runs what is due: the answers that came, or one timer. With nothing
// due it waits. It returns errIdle when there is nothing to wait for, errOver
// when over fires first, ctx's error when that ends, and otherwise an error
// that a callback threw or that ended the engine.
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
		// The token goes back, for take to find.
		select {
		case r.loop.mailbox.ready <- struct{}{}:
		default:
		}
	case <-due:
	}
	return nil
}
