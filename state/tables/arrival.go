package tables

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// A lock is a mutex with a context-aware Lock.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

func (l lock) Lock() { l <- struct{}{} }

func (l lock) Unlock() { <-l }

func (l lock) TryLock() bool {
	select {
	case l <- struct{}{}:
		return true
	default:
		return false
	}
}

// LockContext is Lock, but returns an error when ctx is done.
func (l lock) LockContext(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxArrived bounds the bytes of calls that wait while the connection is busy; further
// calls wait for it.
const maxArrived = 8 << 20

// An arrival is a call on its way into its journal. The next holder of the connection
// commits all calls of all runs that arrived while it was busy.
type arrival struct {
	journal *journal
	call    state.RunCall
	wait    bool // a caller waits until it is committed

	// Guarded by the lock of the Runs, for arrivals with a waiting caller:
	accepted bool // in its journal
	done     bool // committed, or impossible to accept
	err      error
	before   *state.RunCall // the call that it replaced
}

// arrive leaves a call for the next holder of the lock, and reports whether there was
// room.
func (r *Runs) arrive(a *arrival) bool {
	r.arriving.Lock()
	defer r.arriving.Unlock()
	if !a.wait && r.bytes > maxArrived {
		return false
	}
	r.arrived = append(r.arrived, a)
	r.bytes += a.call.Size()
	if !a.wait && len(r.arrived) == 1 {
		time.AfterFunc(batchDelay, func() { // in case no further call arrives
			r.mu.Lock()
			defer r.mu.Unlock()
			r.accept()
		})
	}
	return true
}

// accept moves the calls that have arrived into their journals; r.mu is held.
func (r *Runs) accept() {
	r.arriving.Lock()
	list := r.arrived
	r.arrived, r.bytes = nil, 0
	r.arriving.Unlock()
	for _, a := range list {
		if a.wait {
			r.hold(a)
		} else if err := r.take(a); err != nil {
			r.log.Error("write journal", "run", a.journal.run.ID, "err", r.d.Explain(err))
		}
	}
}

// take accepts a call without a waiting caller; r.mu is held.
func (r *Runs) take(a *arrival) error {
	j := a.journal
	if err := j.add(a); err != nil {
		return err
	}
	if len(j.calls) < journalBatch || r.back != nil {
		r.scheduleFlush()
		return nil
	}
	if err := r.commit(); err != nil {
		j.remove(a)
		return r.d.Explain(err)
	}
	return j.held()
}

// hold accepts a call with a waiting caller; r.mu is held.
func (r *Runs) hold(a *arrival) {
	if a.err = a.journal.add(a); a.err != nil {
		a.done = true
		return
	}
	a.accepted = true
	r.settling = append(r.settling, a)
}

// unsettle removes the calls that were not committed. Their callers do not send them,
// so they must not be written later. r.mu must be held.
func (r *Runs) unsettle() {
	for _, a := range slices.Backward(r.settling) {
		a.journal.remove(a)
		a.accepted = false
	}
	r.settling = nil
}

// commit writes what is queued; r.mu is held.
func (r *Runs) commit() error {
	err := r.ready(true)
	if err == nil {
		err = r.flush()
	}
	if err != nil {
		r.unsettle()
	}
	return err
}

// settle commits a call, unless another caller has; r.mu is held.
func (r *Runs) settle(a *arrival) error {
	r.accept()
	if a.done {
		return errors.Join(a.err, a.journal.held())
	}
	if !a.accepted {
		r.hold(a)
	}
	others := len(r.settling) > 1
	if a.done {
		return a.err
	}
	err := r.commit()
	_, lost := r.d.Again(err)
	if err != nil && !lost && others && r.back == nil { // another call may be the cause
		if r.hold(a); a.done {
			return a.err
		}
		err = r.commit()
	}
	switch {
	case errors.Is(err, state.ErrNotApproved):
		return err
	case err != nil:
		return r.d.Explain(err)
	}
	return a.journal.held()
}

// add puts a call into the journal.
func (j *journal) add(a *arrival) error {
	if err := j.held(); err != nil {
		return err
	}
	c := a.call
	if err := j.limitSize(&c); err != nil {
		return err
	}
	a.before = nil
	if at := j.queueIndex(c.Ordinal); at >= 0 {
		before := j.calls[at]
		a.before, j.calls[at] = &before, c
	} else {
		j.calls = append(j.calls, c)
	}
	if c.State == state.RunAsked {
		j.watch(c.Ordinal)
	}
	j.enqueue()
	return nil
}

// remove removes a call that was not written.
func (j *journal) remove(a *arrival) {
	at := j.queueIndex(a.call.Ordinal)
	switch {
	case at < 0:
	case a.before != nil:
		j.calls[at] = *a.before
	default:
		j.calls = slices.Delete(j.calls, at, at+1)
	}
}

// queueIndex returns the index of a call in the queue of the journal, or a negative number.
func (j *journal) queueIndex(ordinal int) int {
	return slices.IndexFunc(j.calls, func(c state.RunCall) bool { return c.Ordinal == ordinal })
}

// locked runs f with the file open. If the file does not exist and create is false, it
// returns the error for a missing record. It waits for its turn until ctx is done; then
// f has changeTime regardless of ctx, since interrupting a statement would lose the
// connection for all runs.
func (r *Runs) locked(ctx context.Context, create bool, f func(ctx context.Context) error) error {
	err := r.patiently(ctx, func() error {
		r.accept()
		err := r.ready(create || len(r.queue) > 0)
		if errors.Is(err, fs.ErrNotExist) && !create {
			return state.ErrNotFound
		}
		if err == nil {
			err = r.flush()
		}
		if err != nil {
			r.unsettle()
			return err
		}
		ctx, cancel := r.d.within(changeTime)
		defer cancel()
		if err = f(ctx); err != nil && r.retryable(err) {
			err = f(ctx)
		}
		return err
	})
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return err
	case err == nil, errors.Is(err, state.ErrNotFound), errors.Is(err, state.ErrRunning), errors.Is(err, state.ErrNotApproved), errors.Is(err, state.ErrClosed):
		return err
	}
	return r.failed(err)
}

// failed adds the name of the journals to an error.
func (r *Runs) failed(err error) error {
	return fmt.Errorf("journal %s: %w", r.o.Name, r.d.Explain(err))
}

// reading runs f with its own connection, after all waiting calls were committed. Other
// runs may be written meanwhile.
func (r *Runs) reading(ctx context.Context, f func(from *runReader) error) error {
	if r.o.Read == nil {
		return r.locked(ctx, false, func(context.Context) error { return f(r.reader()) })
	}
	for start, wait := time.Now(), 20*time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := r.settled(ctx)
		if err != nil {
			return err
		}
		if err = r.readOnce(ctx, f); err == nil || errors.Is(err, state.ErrNotFound) {
			return err
		}
		again, lost := r.d.Again(err)
		if ctx.Err() != nil || !again && !lost || time.Since(start) > max(r.d.Patience, time.Second) {
			return r.failed(err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// settled waits until everything recorded so far is committed, or ctx is done. A commit
// in progress then continues.
func (r *Runs) settled(ctx context.Context) error {
	result := make(chan error, 1)
	go func() { result <- r.locked(ctx, false, func(context.Context) error { return nil }) }()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// readOnce runs f with one snapshot of the database.
func (r *Runs) readOnce(ctx context.Context, f func(from *runReader) error) error {
	conn, err := r.o.Read(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	from := &runReader{Runs: r, conn: NewConn(conn, r.d)}
	if _, err := from.conn.ExecContext(ctx, r.d.Snapshot); err != nil {
		return err
	}
	err = f(from)
	_, end := from.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return errors.Join(err, end)
}
