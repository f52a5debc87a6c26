package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// queueSize is how many ops may wait for the writer before handing over one
	// more has to wait itself.
	queueSize = 4096
	// batchDelay is how long a record waits for others to be committed with;
	// what is left of the promised 50 ms is for the commit itself.
	batchDelay = 15 * time.Millisecond
	// maxBatch is how many records are committed at once, so that other
	// processes get their turn.
	maxBatch = 1024
	// pruneDelay keeps pruning out of the start of a broker.
	pruneDelay = time.Second
	// pruneBreak is how long records may pass between two steps of pruning, and
	// pruneInterval how long it is before there is something to remove again.
	pruneBreak    = 10 * time.Millisecond
	pruneInterval = 6 * time.Hour
	// pruneStep is how many executions are removed in one transaction.
	pruneStep = 500
)

// An op is one thing for the writer to do.
type op struct {
	write  func(context.Context, *writer) error
	alone  bool       // it makes its own transaction; else it shares one with others
	answer chan error // if somebody waits for the commit
}

// A writer is the state of the goroutine that writes.
type writer struct {
	*Store
	owner      int64
	registered bool
	statements map[string]*sql.Stmt // by their text
	batch      []op                 // the last one's memory, for the next
}

// write is the goroutine that has the writing connection.
func (s *Store) write() {
	defer close(s.done)
	w := &writer{Store: s, owner: newOwnerID(), statements: map[string]*sql.Stmt{}}
	defer w.end()
	if err := w.markInterrupted(); err != nil {
		s.log.Warn("audit: look for interrupted executions", "err", err)
	}
	tidy := time.NewTimer(pruneDelay)
	defer tidy.Stop()
	for {
		select {
		case o := <-s.ops:
			w.handle(o)
		case <-tidy.C:
			if w.tidy() {
				tidy.Reset(pruneBreak)
			} else {
				tidy.Reset(pruneInterval)
			}
		case <-s.quit:
			for {
				select {
				case o := <-s.ops:
					w.handle(o)
				default:
					return
				}
			}
		}
	}
}

// handle commits first and what comes soon after it.
func (w *writer) handle(first op) {
	var alone *op
	if first.alone {
		alone = &first
	} else {
		var batch []op
		batch, alone = w.gather(first)
		err := w.committed(func(ctx context.Context) error { return w.commit(ctx, batch) })
		if err != nil {
			w.log.Error("audit: records are lost", "records", len(batch), "err", err)
		}
		for _, o := range batch {
			if o.answer != nil {
				o.answer <- err
			}
		}
		clear(batch) // payloads must not stay in memory
	}
	if alone != nil {
		alone.answer <- w.committed(func(ctx context.Context) error { return alone.write(ctx, w) })
	}
}

// committed runs f, twice if another process kept the file locked.
func (w *writer) committed(f func(context.Context) error) error {
	ctx := context.Background()
	err := f(ctx)
	if err != nil && isBusy(err) {
		err = f(ctx)
	}
	if err != nil {
		return fmt.Errorf("write audit record %s: %w", w.path, explain(err))
	}
	return nil
}

// gather collects the records to commit with first: for batchDelay, or until
// somebody waits. An op that is alone ends it and is returned.
func (w *writer) gather(first op) (batch []op, alone *op) {
	batch = append(w.batch[:0], first)
	defer func() { w.batch = batch }()
	timer := time.NewTimer(batchDelay)
	defer timer.Stop()
	urgent := first.answer != nil
	for len(batch) < maxBatch {
		var o op
		if urgent {
			select {
			case o = <-w.ops:
			default:
				return batch, nil
			}
		} else {
			select {
			case o = <-w.ops:
			case <-timer.C:
				return batch, nil
			case <-w.quit:
				return batch, nil
			}
		}
		if o.alone {
			return batch, &o
		}
		urgent = urgent || o.answer != nil
		batch = append(batch, o)
	}
	return batch, nil
}

func (w *writer) commit(ctx context.Context, batch []op) error {
	wasRegistered := w.registered
	err := transaction(ctx, w.conn, func() error {
		for _, o := range batch {
			if err := o.write(ctx, w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.registered = wasRegistered
	}
	return err
}

func (w *writer) begin(ctx context.Context, e state.Execution) error {
	if err := w.register(ctx); err != nil {
		return err
	}
	return w.exec(ctx, `INSERT OR REPLACE INTO executions (id, owner, client, client_info, language, code_hash, code, started, status)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, w.owner, e.Client, e.ClientInfo, e.Language, e.CodeHash, textOrNull(e.Code), e.Started.UnixNano(), state.StatusRunning)
}

// finish inserts an execution whose beginning is not there, because it was
// pruned or lost, as a whole.
func (w *writer) finish(ctx context.Context, e state.Execution) error {
	if err := w.register(ctx); err != nil {
		return err
	}
	return w.exec(ctx, `INSERT INTO executions (id, owner, client, client_info, language, code_hash, code, started, status,
			ended, exit_code, duration, cpu, calls, bytes_in, bytes_out, error)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, ended = excluded.ended, exit_code = excluded.exit_code,
			duration = excluded.duration, cpu = excluded.cpu, calls = excluded.calls,
			bytes_in = excluded.bytes_in, bytes_out = excluded.bytes_out, error = excluded.error`,
		e.ID, w.owner, e.Client, e.ClientInfo, e.Language, e.CodeHash, textOrNull(e.Code), e.Started.UnixNano(), e.Status,
		e.Ended.UnixNano(), e.ExitCode, int64(e.Duration), int64(e.CPU), e.Calls, e.BytesIn, e.BytesOut, e.Error)
}

func (w *writer) call(ctx context.Context, c state.Call) error {
	return w.exec(ctx, `INSERT INTO calls (execution, seq, server, tool, tool_id, started, duration, status, class, decision, arg_bytes, result_bytes, error, args, result)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ExecutionID, c.Seq, c.Server, c.Tool, c.ID, c.Started.UnixNano(), int64(c.Duration), c.Status, c.Class, c.Decision,
		c.ArgBytes, c.ResultBytes, c.Error, textOrNull(string(c.Args)), textOrNull(string(c.Result)))
}

func (w *writer) event(ctx context.Context, e state.Event) error {
	return w.exec(ctx, `INSERT INTO events (time, kind, server, name, client, digest, failed, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		e.Time.UnixNano(), e.Kind, e.Server, e.Name, e.Client, e.Digest, e.Failed, e.Detail)
}

// exec runs a statement that is prepared once.
func (w *writer) exec(ctx context.Context, text string, args ...any) error {
	stmt := w.statements[text]
	if stmt == nil {
		var err error
		if stmt, err = w.conn.PrepareContext(ctx, text); err != nil {
			return err
		}
		w.statements[text] = stmt
	}
	_, err := stmt.ExecContext(ctx, args...)
	return err
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// register writes down who owns the executions of this store.
func (w *writer) register(ctx context.Context) error {
	if w.registered {
		return nil
	}
	p := self()
	_, err := w.conn.ExecContext(ctx, "INSERT INTO owners (id, pid, start, boot, space, host, since) VALUES (?, ?, ?, ?, ?, ?, ?)",
		w.owner, p.pid, p.start, p.boot, p.space, p.host, time.Now().UnixNano())
	w.registered = err == nil
	return err
}

func newOwnerID() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) >> 1)
}

// interruptedRows sets the end of an interrupted execution to the latest time
// that is known of it.
const interruptedRows = `UPDATE executions SET status = 'interrupted',
	ended = max(started, coalesce((SELECT max(started + duration) FROM calls WHERE execution = executions.id), 0)),
	calls = (SELECT count(*) FROM calls WHERE execution = executions.id),
	bytes_in = (SELECT coalesce(sum(result_bytes), 0) FROM calls WHERE execution = executions.id)
	WHERE status = 'running' AND `

// markInterrupted ends the executions whose owner is gone, and forgets those
// owners.
func (w *writer) markInterrupted() error {
	ctx := context.Background()
	living, dead, err := owners(ctx, w.conn)
	if err != nil {
		return err
	}
	var strays bool
	query := "SELECT EXISTS (SELECT 1 FROM executions WHERE status = 'running' AND owner NOT IN (" + idList(living) + "))"
	if err := w.conn.QueryRowContext(ctx, query).Scan(&strays); err != nil {
		return err
	}
	if len(dead) == 0 && !strays {
		return nil // nearly always: a start writes nothing
	}
	return transaction(ctx, w.conn, func() error {
		// The owners are read again, since one may have come in the meantime.
		living, dead, err := owners(ctx, w.conn)
		if err != nil {
			return err
		}
		if _, err := w.conn.ExecContext(ctx, interruptedRows+"owner NOT IN ("+idList(living)+")"); err != nil {
			return err
		}
		_, err = w.conn.ExecContext(ctx, "DELETE FROM owners WHERE id IN ("+idList(dead)+")")
		return err
	})
}

// end marks what this store began and did not finish.
func (w *writer) end() {
	var errs []error
	for _, stmt := range w.statements {
		errs = append(errs, stmt.Close())
	}
	if w.registered {
		ctx := context.Background()
		errs = append(errs, transaction(ctx, w.conn, func() error {
			if _, err := w.conn.ExecContext(ctx, interruptedRows+"owner = ?", w.owner); err != nil {
				return err
			}
			_, err := w.conn.ExecContext(ctx, "DELETE FROM owners WHERE id = ?", w.owner)
			return err
		}))
	}
	if err := errors.Join(errs...); err != nil {
		w.closeErr = fmt.Errorf("close audit record %s: %w", w.path, explain(err))
	}
}

// tidy removes some of what is older than is kept, and reports whether there
// is more.
func (w *writer) tidy() bool {
	if w.keep == 0 {
		return false
	}
	_, more, err := w.pruneSome(context.Background(), time.Now().Add(-w.keep))
	if err != nil {
		w.log.Warn("audit: remove old records", "err", err)
		return false
	}
	return more
}

// pruneSome removes at most pruneStep executions that began before t, and as
// many calls without one. It returns how many executions that were, and whether
// there is more of either.
func (w *writer) pruneSome(ctx context.Context, t time.Time) (executions int, more bool, err error) {
	direct := 0 // calls without an execution
	const old = `SELECT id FROM executions WHERE started < ? AND status <> 'running' ORDER BY started LIMIT ?`
	err = transaction(ctx, w.conn, func() error {
		if _, err := w.conn.ExecContext(ctx, "DELETE FROM calls WHERE execution IN ("+old+")", t.UnixNano(), pruneStep); err != nil {
			return err
		}
		if _, err := w.conn.ExecContext(ctx, "DELETE FROM events WHERE time < ?", t.UnixNano()); err != nil {
			return err
		}
		var err error
		executions, err = deleted(w.conn.ExecContext(ctx, "DELETE FROM executions WHERE id IN ("+old+")", t.UnixNano(), pruneStep))
		if err != nil {
			return err
		}
		direct, err = deleted(w.conn.ExecContext(ctx,
			"DELETE FROM calls WHERE n IN (SELECT n FROM calls WHERE execution = '' AND started < ? LIMIT ?)", t.UnixNano(), pruneStep))
		return err
	})
	if err == nil && executions+direct > 0 {
		_, err = w.conn.ExecContext(ctx, "PRAGMA incremental_vacuum(256)")
	}
	return executions, max(executions, direct) == pruneStep, err
}

func deleted(r sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	return int(n), err
}
