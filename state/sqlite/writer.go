package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

const (
	// batchDelay is how long a record waits for others to be committed with;
	// what is left of the promised 50 ms is for the commit itself.
	batchDelay = 15 * time.Millisecond
	// maxBatch is how many records are committed at once, so that other
	// processes get their turn.
	maxBatch = 1024
	// pruneDelay keeps the start of a broker free of tidying up.
	pruneDelay = time.Second
	// pruneBreak is how long records may pass between two steps of it, and
	// pruneInterval how long it is before there is something to remove again.
	pruneBreak    = 10 * time.Millisecond
	pruneInterval = 6 * time.Hour
	// pruneStep is how many executions are removed in one transaction.
	pruneStep = 500
)

type opKind int

const (
	opBegin opKind = iota
	opCall
	opFinish
	opEvent
	opPrune
)

// An op is one thing for the writer to do.
type op struct {
	kind      opKind
	execution *Execution // opBegin, opFinish
	call      Call       // opCall
	event     *Event     // opEvent
	before    time.Time  // opPrune
	answer    chan reply // if somebody waits for the commit
}

// A reply is what the writer says when an op is done.
type reply struct {
	pruned int // executions that opPrune removed
	err    error
}

// A writer is the state of the goroutine that writes.
type writer struct {
	*Store
	owner      int64
	registered bool
	statements map[opKind]*sql.Stmt
	batch      []op // the last one's memory, for the next
}

// write is the goroutine that has the writing connection.
func (s *Store) write() {
	defer close(s.done)
	w := &writer{Store: s, owner: newOwnerID(), statements: map[opKind]*sql.Stmt{}}
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
	if first.kind == opPrune {
		w.answerPrune(first)
		return
	}
	batch, prune := w.gather(first)
	err := w.commit(batch)
	if err != nil && isBusy(err) {
		err = w.commit(batch)
	}
	if err != nil {
		err = fmt.Errorf("write audit record %s: %w", w.path, explain(err))
		w.log.Error("audit: records are lost", "records", len(batch), "err", err)
	}
	for _, o := range batch {
		if o.answer != nil {
			o.answer <- reply{err: err}
		}
	}
	clear(batch) // payloads must not stay in memory
	if prune != nil {
		w.answerPrune(*prune)
	}
}

// gather collects the records to commit with first: for batchDelay, or until
// somebody waits. A request to prune ends it and is handed back.
func (w *writer) gather(first op) (batch []op, prune *op) {
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
		if o.kind == opPrune {
			return batch, &o
		}
		urgent = urgent || o.answer != nil
		batch = append(batch, o)
	}
	return batch, nil
}

func (w *writer) commit(batch []op) error {
	ctx := context.Background()
	wasRegistered := w.registered
	err := transaction(ctx, w.conn, func() error {
		for _, o := range batch {
			if err := w.insert(ctx, o); err != nil {
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

// The statement of each kind of record. A finished execution whose beginning
// is not there, because it was pruned or lost, is inserted as a whole.
var statementText = map[opKind]string{
	opBegin: `INSERT OR REPLACE INTO executions (id, owner, client, language, code_hash, code, started, status)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
	opCall: `INSERT INTO calls (execution, seq, server, tool, tool_id, started, duration, status, arg_bytes, result_bytes, error, args, result)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	opEvent: `INSERT INTO events (time, kind, server, name, client, digest, failed, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
	opFinish: `INSERT INTO executions (id, owner, client, language, code_hash, code, started, status, ended, exit_code, duration, cpu, calls, bytes_in, bytes_out, error)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, ended = excluded.ended, exit_code = excluded.exit_code,
			duration = excluded.duration, cpu = excluded.cpu, calls = excluded.calls,
			bytes_in = excluded.bytes_in, bytes_out = excluded.bytes_out, error = excluded.error`,
}

func (w *writer) insert(ctx context.Context, o op) error {
	stmt := w.statements[o.kind]
	if stmt == nil {
		var err error
		if stmt, err = w.conn.PrepareContext(ctx, statementText[o.kind]); err != nil {
			return err
		}
		w.statements[o.kind] = stmt
	}
	var args []any
	switch o.kind {
	case opEvent:
		e := o.event
		args = []any{e.Time.UnixNano(), e.Kind, e.Server, e.Name, e.Client, e.Digest, e.Failed, e.Detail}
	case opCall:
		c := o.call
		args = []any{c.ExecutionID, c.Seq, c.Server, c.Tool, c.ID, c.Started.UnixNano(), int64(c.Duration), c.Status,
			c.ArgBytes, c.ResultBytes, c.Error, textOrNull(string(c.Args)), textOrNull(string(c.Result))}
	default:
		if err := w.register(ctx); err != nil {
			return err
		}
		e := o.execution
		args = []any{e.ID, w.owner, e.Client, e.Language, e.CodeHash, textOrNull(e.Code), e.Started.UnixNano(), e.Status}
		if o.kind == opFinish {
			args = append(args, e.Ended.UnixNano(), e.ExitCode, int64(e.Duration), int64(e.CPU), e.Calls, e.BytesIn, e.BytesOut, e.Error)
		}
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

// interruptedRows sets the end of an interrupted execution to the last that is
// known of it.
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

// end writes the last words of this store.
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

func (w *writer) answerPrune(o op) {
	for total := 0; ; {
		n, more, err := w.pruneSome(context.Background(), o.before)
		total += n
		if err != nil || !more {
			if err != nil {
				err = fmt.Errorf("prune audit record %s: %w", w.path, explain(err))
			}
			o.answer <- reply{total, err}
			return
		}
	}
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
