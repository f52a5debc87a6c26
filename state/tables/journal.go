package tables

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// A journal is one run that this process executes. What it has to write waits in
// it; a call that is recorded again before that is written once. It is guarded by
// the lock of its Runs.
type journal struct {
	runs    *Runs
	run     state.Run
	written bool // the run is in the file
	dirty   bool // the stored run differs
	bytes   int  // of its calls
	calls   []state.RunCall
	sizes   map[int]int // of calls, by ordinal
	// decided are the ordinals of calls that somebody may decide about.
	decided map[int]bool
	queued  bool
	taken   bool // by another broker: nothing more is written
	ended   bool // the run is not being executed any more
}

const (
	// journalBatch is how many calls wait at most.
	journalBatch = 256
	// maxWaiting is how many bytes of a run are kept while the database is away.
	maxWaiting = 1 << 20
)

// Record implements state.RunJournal. It does not wait for writes of other runs, unless
// c has to be committed; then it is committed with theirs.
func (j *journal) Record(c state.RunCall, wait bool) error {
	a := &arrival{journal: j, call: c, wait: wait}
	if wait {
		j.runs.arrive(a)
		return j.runs.patiently(context.Background(), func() error { return j.runs.settle(a) })
	}
	if !j.runs.mu.TryLock() {
		if j.runs.arrive(a) {
			return nil
		}
		j.runs.mu.Lock()
	}
	defer j.runs.mu.Unlock()
	j.runs.accept()
	return j.runs.take(a)
}

// held is an error if another broker has taken the run over.
func (j *journal) held() error {
	if j.taken {
		return state.ErrRunning
	}
	return nil
}

// limitSize keeps the run within its bytes: what is beyond is not kept, and the run cannot
// be replayed.
func (j *journal) limitSize(c *state.RunCall) error {
	if j.runs.closed {
		return state.ErrClosed
	}
	if j.sizes == nil {
		j.sizes = make(map[int]int)
	}
	size, most := c.Size(), state.MaxRunBytes
	if j.runs.back != nil { // all of it waits in memory
		most = maxWaiting
	}
	if j.bytes+size-j.sizes[c.Ordinal] > most {
		j.run.Full, j.dirty = true, true
		c.Shorten()
		size = 0
	}
	j.bytes += size - j.sizes[c.Ordinal]
	j.sizes[c.Ordinal] = size
	return nil
}

func (j *journal) watch(ordinal int) {
	if j.decided == nil {
		j.decided = make(map[int]bool)
	}
	j.decided[ordinal] = true
}

func (j *journal) enqueue() {
	if !j.queued {
		j.queued = true
		j.runs.queue = append(j.runs.queue, j)
	}
}

// scheduleFlush writes what is queued soon; r.mu is held.
func (r *Runs) scheduleFlush() {
	if r.timer == nil {
		r.timer = time.AfterFunc(batchDelay, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.timer = nil
			r.accept()
			r.write()
		})
	}
}

// write writes what is queued; r.mu is held.
func (r *Runs) write() {
	err := r.commit()
	if err != nil && !errors.Is(err, state.ErrClosed) && !errors.Is(err, errAway) {
		r.log.Error("write journal", "err", r.d.Explain(err))
	}
}

// flush writes what is queued, in one transaction; r.mu is held, the file open.
func (r *Runs) flush() error {
	if len(r.queue) == 0 {
		return nil
	}
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	ctx, cancel := r.d.within(commitTime)
	defer cancel()
	write := func() error {
		// The promise not to repeat what destroys something holds beyond a power cut.
		if r.d.Durable != "" && (r.Full || slices.ContainsFunc(r.queue, (*journal).destroys)) {
			if err := r.exec(ctx, r.d.Durable); err != nil {
				return err
			}
			defer func() { _ = r.exec(ctx, r.d.Usual) }() // it has no way to fail
		}
		return Transaction(ctx, r.conn, "", func() error {
			for _, j := range r.queue {
				err := j.write(ctx)
				if errors.Is(err, state.ErrRunning) {
					j.taken = true // which is not in the way of other runs
					continue
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	done, err := r.flushSingleCall(ctx)
	if err == nil && !done {
		err = write()
	}
	if err != nil && r.retryable(err) {
		err = write()
	}
	if err != nil {
		return err
	}
	for _, a := range r.settling {
		a.done = true
	}
	r.settling = nil
	for _, j := range r.queue {
		if !j.written {
			r.begun++
		}
		j.written, j.dirty, j.queued = true, false, false
		clear(j.calls) // values must not stay in memory
		j.calls = j.calls[:0]
	}
	clear(r.queue)
	r.queue = r.queue[:0]
	if r.begun >= state.MaxRuns/4 {
		r.prune(ctx)
	}
	return nil
}

// flushSingleCall writes what is queued if that is one call of a run that is this broker's,
// with one question to the database instead of four.
func (r *Runs) flushSingleCall(ctx context.Context) (done bool, err error) {
	j := r.queue[0]
	if r.d.LockRun == "" || len(r.queue) > 1 || len(j.calls) != 1 || !j.written || j.dirty || j.decided[j.calls[0].Ordinal] {
		return false, nil
	}
	return r.putOwn(ctx, j.run.ID, &j.calls[0])
}

// destroys reports whether a call that destroys something is about to be sent.
func (j *journal) destroys() bool {
	return slices.ContainsFunc(j.calls, func(c state.RunCall) bool { return c.State == state.RunIntent && c.Class == "destructive" })
}

// write writes what waits in j.
func (j *journal) write(ctx context.Context) error {
	if j.written {
		if err := j.checkOwner(ctx); err != nil {
			return err
		}
	}
	if !j.written || j.dirty {
		if j.written {
			if err := j.loadGrants(ctx); err != nil {
				return err
			}
		}
		if err := j.runs.put(ctx, &j.run); err != nil {
			return err
		}
	}
	for i := range j.calls {
		if j.calls[i].State == state.RunIntent && j.decided[j.calls[i].Ordinal] {
			if err := j.approved(ctx, j.calls[i].Ordinal); err != nil {
				return err
			}
		}
		if err := j.runs.putCall(ctx, j.run.ID, &j.calls[i]); err != nil {
			return err
		}
	}
	return nil
}

// approved is an error if the call waits in the file, was denied there, or has an
// approval that has expired.
func (j *journal) approved(ctx context.Context, ordinal int) error {
	var was string
	var expires int64
	err := j.runs.conn.QueryRowContext(ctx, "SELECT state, expires FROM run_calls WHERE run = ? AND ordinal = ?", j.run.ID, ordinal).Scan(&was, &expires)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	case was == state.RunMade, was == state.RunIntent:
		return nil
	case (&state.RunCall{State: was, Expires: time.Unix(0, expires)}).Approved(j.runs.o.Now().Add(j.runs.o.Skew())):
		return nil
	}
	return state.ErrNotApproved
}

// checkOwner returns an error if another broker has taken the run over because it could no
// longer see that this one lives. On one machine that cannot be wrong. A run without an
// owner was ended by its last owner.
func (j *journal) checkOwner(ctx context.Context) error {
	owner, err := j.runs.owner(ctx, j.run.ID)
	if err != nil || j.runs.d.LockRun == "" || owner == j.runs.o.Owner() || owner == "" && j.ended {
		return err
	}
	return state.ErrRunning
}

// loadGrants takes over what was approved for the run while it is executed.
func (j *journal) loadGrants(ctx context.Context) error {
	list, err := j.runs.reader().readRuns(ctx, "WHERE id = ?", j.run.ID)
	if err == nil && len(list) == 1 {
		j.run.Granted = list[0].Granted
	}
	return err
}

// Cut implements state.RunJournal.
func (j *journal) Cut(after int) (receipts []state.RunCall, err error) {
	err = j.runs.locked(context.Background(), true, func(ctx context.Context) error {
		_, calls, err := j.runs.reader().readRun(ctx, j.run.ID)
		if err != nil {
			return err
		}
		lowest := 0
		for _, c := range calls {
			lowest = min(lowest, c.Ordinal)
		}
		return Transaction(ctx, j.runs.conn, "", func() error {
			if err := j.checkOwner(ctx); err != nil {
				return err
			}
			receipts = nil
			for _, c := range calls {
				if c.Ordinal <= 0 && c.State != state.RunUsed {
					receipts = append(receipts, c)
				}
				if c.Ordinal <= after {
					continue
				}
				if err := j.runs.exec(ctx, "DELETE FROM run_calls WHERE run = ? AND ordinal = ?", j.run.ID, c.Ordinal); err != nil {
					return err
				}
				if !j.isReceipt(&c) {
					continue
				}
				lowest--
				c.Ordinal, c.Steps = lowest, nil
				if err := j.runs.putCall(ctx, j.run.ID, &c); err != nil {
					return err
				}
				receipts = append(receipts, c)
			}
			return nil
		})
	})
	return receipts, err
}

// isReceipt reports whether a call is of use to another script: it has done something,
// or in a run with a plan, it has read something or may be made.
func (j *journal) isReceipt(c *state.RunCall) bool {
	switch c.State {
	case state.RunMade, state.RunApproved:
		return j.run.Plan != "" && c.Plan > 0
	case state.RunAsked:
		return false
	}
	return c.Changes() || j.run.Plan != ""
}

// End implements state.RunJournal.
func (j *journal) End(run state.Run) error {
	r := j.runs
	if run.Status == state.StatusWaiting {
		return r.patiently(context.Background(), func() error {
			r.accept()
			if yes, err := j.end(run); !yes {
				return err
			}
			if err := r.commit(); err != nil {
				j.discard()
				return r.d.Explain(err)
			}
			return j.held()
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accept()
	yes, err := j.end(run)
	if yes {
		j.discard()
		r.scheduleFlush()
	}
	return err
}

// discard forgets a run of which the database knows nothing while it is away: it has
// sent nothing that changes something, and memory must not fill. r.mu is held.
func (j *journal) discard() {
	if j.runs.back != nil && !j.written {
		j.calls, j.queued = nil, false
		j.runs.queue = slices.DeleteFunc(j.runs.queue, func(o *journal) bool { return o == j })
	}
}

// end queues the end of the run for writing, and reports whether it did: a run that has no
// calls and was never written is not written.
func (j *journal) end(run state.Run) (queued bool, err error) {
	if j.runs.closed {
		return false, state.ErrClosed
	}
	if !j.written && len(j.calls) == 0 {
		return false, nil
	}
	if err := j.held(); err != nil {
		return false, err
	}
	j.ended = true
	full := j.run.Full
	j.run.Plan = run.Plan
	j.run.Status, j.run.ExitCode, j.run.Error, j.run.Expires = run.Status, run.ExitCode, run.Error, run.Expires
	if run.Code != "" {
		j.run.Code = run.Code
	}
	j.run.Full, j.dirty = full, true
	j.enqueue()
	return true, nil
}
