package tables

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
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
	// announceInterval is how often the head of the chain goes out.
	announceInterval = time.Hour
)

// An op is one thing for the writer to do: to add an entry, in one transaction with
// others, or alone what makes its own.
type op struct {
	entry  *entry
	write  func(context.Context, *writer) error
	alone  bool
	long   bool       // write may take changeTime, and not only commitTime
	answer chan error // if somebody waits for the commit
}

// A writer is the state of the goroutine that writes.
type writer struct {
	*Store
	owner      int64
	registered bool
	conn       *Conn
	statements map[string]*sql.Stmt // by their text
	rows       [3]pending           // to insert at the end of the transaction
	doubt      *state.Head          // the last link of a transaction that may have been committed
	inDoubt    *state.Head          // the same, when it is tried again
	batch      []op                 // the last one's memory, for the next
	head       head                 // of the chain, in a transaction
	last       state.Head           // of the chain, as it was committed
	announced  int64                // the number of the head that went out last
	started    map[string]int64     // when the executions began that have not ended
	spooled    bool                 // there are rows in the spool, and new ones come after them
	seeking    sync.WaitGroup       // for a connection, while the database is away
	back       chan *Conn           // what it finds
	pause      time.Duration        // before it
}

// write is the goroutine that has the writing connection.
func (s *Store) write(conn *Conn) {
	defer close(s.done)
	w := &writer{Store: s, conn: conn.prepares(), owner: NewOwnerID(), statements: map[string]*sql.Stmt{}, started: map[string]int64{}, back: make(chan *Conn, 1)}
	defer w.end()
	w.spooled = s.spoolRows.Load() > 0
	if err := w.markInterrupted(context.Background()); err != nil {
		s.log.Warn("audit: look for interrupted executions", "err", err)
	}
	tidy := time.NewTimer(pruneDelay)
	defer tidy.Stop()
	hourly := time.NewTicker(announceInterval)
	defer hourly.Stop()
	var tend <-chan time.Time // nil: never
	if s.d.Tend > 0 {
		ticker := time.NewTicker(s.d.Tend)
		defer ticker.Stop()
		tend = ticker.C
	}
	always := make(chan struct{})
	close(always)
	for {
		var waiting <-chan struct{} // nil: nothing does
		if w.spooled && !s.away.Load() {
			waiting = always
		}
		select {
		case o := <-s.ops:
			w.handle(o)
		case conn := <-w.back:
			w.returned(conn)
		case <-waiting:
			w.drain()
		case <-tidy.C:
			if !s.away.Load() && w.removesOld() && w.tidy() {
				tidy.Reset(pruneBreak)
			} else {
				tidy.Reset(pruneInterval)
			}
		case <-hourly.C:
			w.announce()
		case <-tend:
			if !s.away.Load() {
				w.tend()
			}
		case <-s.quit:
			for {
				select {
				case o := <-s.ops:
					w.handle(o)
				default:
					w.drainAll()
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
		err := w.commitOrSpool(batch)
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
		most := commitTime // all others wait for it
		if alone.long {
			most = changeTime
		}
		alone.answer <- w.committed(most, func(ctx context.Context) error { return alone.write(ctx, w) })
	}
}

// committed runs f, twice if another process kept the file locked or the
// connection was lost.
func (w *writer) committed(most time.Duration, f func(context.Context) error) error {
	if w.away.Load() {
		return fmt.Errorf("write audit record %s: %w", w.o.Name, errAway)
	}
	once := f
	if w.o.Spool != nil { // else there is nowhere to go from a database that does not answer
		once = func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, most)
			defer cancel()
			return f(ctx)
		}
	}
	ctx := context.Background()
	w.doubt = nil
	err := once(ctx)
	if err != nil {
		again, lost := w.d.Again(err)
		if lost {
			if again = w.reconnect(ctx); !again {
				w.leave(err)
			}
		}
		if again {
			w.inDoubt = w.doubt
			err = once(ctx)
			w.inDoubt = nil
		}
	}
	if err != nil {
		return fmt.Errorf("write audit record %s: %w", w.o.Name, w.d.Explain(err))
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
	err := w.chained(ctx, func() error {
		for _, o := range batch {
			if err := o.entry.write(ctx, w); err != nil {
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

// replaceExecution makes an execution that begins again a new one.
const replaceExecution = ` ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, client = excluded.client, client_info = excluded.client_info,
	language = excluded.language, code_hash = excluded.code_hash, code = excluded.code, started = excluded.started, status = excluded.status, begun = excluded.begun,
	ended = 0, exit_code = 0, duration = 0, cpu = 0, calls = 0, bytes_in = 0, bytes_out = 0, error = '', finished = 0, prepared = 0, queued = 0, opened = 0, answer = NULL`

func (w *writer) begin(ctx context.Context, e state.Execution, owner int64) error {
	if err := w.register(ctx); err != nil {
		return err
	}
	at := e.Started.UnixNano()
	row := []any{e.ID, owner, e.Client, e.ClientInfo, e.Language, e.CodeHash, textOrNull(e.Code), at}
	if err := w.link(ctx, linkBegun, e.ID, at, row...); err != nil {
		return err
	}
	if owner == w.owner { // else it came from the spool of a broker that is gone
		w.started[e.ID] = at
	}
	return w.exec(ctx, "INSERT INTO executions ("+beginColumns+", status, begun) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"+replaceExecution,
		append(row, state.StatusRunning, w.head.n)...)
}

// finish inserts an execution as a whole, after its beginning was pruned or lost.
func (w *writer) finish(ctx context.Context, e state.Execution, owner int64) error {
	at, err := w.startOf(ctx, e.ID)
	if errors.Is(err, sql.ErrNoRows) {
		at, err = e.Started.UnixNano(), w.begin(ctx, e, owner)
	}
	if err != nil {
		return err
	}
	row := []any{e.ID, e.Status, e.Ended.UnixNano(), e.ExitCode, int64(e.Duration), int64(e.CPU), e.Calls, e.BytesIn, e.BytesOut, e.Error}
	if err := w.link(ctx, linkFinished, e.ID, at, row...); err != nil {
		return err
	}
	delete(w.started, e.ID)
	return w.exec(ctx, `UPDATE executions SET status = ?2, ended = ?3, exit_code = ?4, duration = ?5, cpu = ?6, calls = ?7,
		bytes_in = ?8, bytes_out = ?9, error = ?10, finished = ?11, prepared = ?12, queued = ?13, opened = ?14, answer = ?15 WHERE id = ?1`,
		append(row, w.head.n, int64(e.Prepared), int64(e.Queued), int64(e.Opened), textOrNull(w.d.text(string(e.Answer))))...)
}

// startOf is when an execution began.
func (w *writer) startOf(ctx context.Context, id string) (int64, error) {
	var at int64
	err := w.queryRow(ctx, "SELECT started FROM executions WHERE id = ?", w.d.text(id)).Scan(&at)
	return at, err
}

func (w *writer) call(ctx context.Context, c state.Call) error {
	// A call is pruned with its execution.
	at, known := w.started[c.ExecutionID]
	if !known {
		at = c.Started.UnixNano()
		if c.ExecutionID != "" {
			switch began, err := w.startOf(ctx, c.ExecutionID); {
			case err == nil:
				at = began
			case !errors.Is(err, sql.ErrNoRows):
				return err
			}
		}
	}
	row := []any{c.ExecutionID, c.Seq, c.Server, c.Tool, c.ID, c.Started.UnixNano(), int64(c.Duration), c.Status, c.Class, c.Decision,
		c.ArgBytes, c.ResultBytes, c.Error, textOrNull(string(c.Args)), textOrNull(string(c.Result))}
	if err := w.link(ctx, linkCall, "", at, row...); err != nil {
		return err
	}
	return w.insert(ctx, "calls", callColumns+", n, waited, line", append(row, w.head.n, int64(c.Waited), c.Line)...)
}

func (w *writer) event(ctx context.Context, e state.Event) error {
	if e.Kind == state.EventConfig {
		if err := w.insertAll(ctx); err != nil { // the last one may be among these
			return err
		}
		var digest string
		if err := w.queryRow(ctx, "SELECT digest FROM events WHERE kind = ? ORDER BY n DESC LIMIT 1", e.Kind).Scan(&digest); err == nil && digest == e.Digest {
			return nil // as it was
		} else if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	row := []any{e.Time.UnixNano(), e.Kind, e.Server, e.Name, e.Client, e.Digest, e.Failed, e.Detail}
	if err := w.link(ctx, linkEvent, "", e.Time.UnixNano(), row...); err != nil {
		return err
	}
	return w.insert(ctx, "events", eventColumns+", n", append(row, w.head.n)...)
}

// register writes down who owns the executions of this store.
func (w *writer) register(ctx context.Context) error {
	if w.registered {
		return nil
	}
	err := w.owners.Register(ctx, w.conn, w.owner)
	w.registered = err == nil
	return err
}

// NewOwnerID makes the id of an owner.
func NewOwnerID() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) >> 1)
}

// interrupt ends running executions, at the latest time that is known of each.
func (w *writer) interrupt(ctx context.Context, which string, args ...any) error {
	rows, err := w.conn.QueryContext(ctx, `UPDATE executions SET status = 'interrupted',
		ended = coalesce((SELECT max(c.started + c.duration) FROM calls c WHERE c.execution = executions.id AND c.started + c.duration > executions.started), started),
		calls = (SELECT count(*) FROM calls WHERE execution = executions.id),
		bytes_in = (SELECT coalesce(sum(result_bytes), 0) FROM calls WHERE execution = executions.id)
		WHERE status = 'running' AND `+which+" RETURNING started, "+endColumns, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var ended [][]any
	for rows.Next() {
		row := make([]any, 11)
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		ended = append(ended, row)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, row := range ended {
		at, _ := row[0].(int64)
		id, _ := row[1].(string)
		if err := w.link(ctx, linkFinished, id, at, row[1:]...); err != nil {
			return err
		}
		if err := w.exec(ctx, "UPDATE executions SET finished = ? WHERE id = ?", w.head.n, id); err != nil {
			return err
		}
	}
	return nil
}

// markInterrupted ends the executions without a living owner, and forgets those owners.
func (w *writer) markInterrupted(ctx context.Context) error {
	living, dead, err := w.owners.Living(ctx, w.conn)
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
	return w.chained(ctx, func() error {
		// The owners are read again, since one may have come in the meantime.
		living, dead, err := w.owners.Living(ctx, w.conn)
		if err != nil {
			return err
		}
		if err := w.interrupt(ctx, "owner NOT IN ("+idList(living)+")"); err != nil {
			return err
		}
		_, err = w.conn.ExecContext(ctx, "DELETE FROM owners WHERE id IN ("+idList(dead)+")")
		return err
	})
}

// tend ends executions of others that are gone.
func (w *writer) tend() {
	if err := w.committed(commitTime, w.markInterrupted); err != nil {
		w.log.Warn("audit: look for interrupted executions", "err", err)
	}
}

// end marks what this store began and did not finish.
func (w *writer) end() {
	if w.o.Spool != nil {
		w.seeking.Wait()
		select {
		case conn := <-w.back:
			w.returned(conn)
		default:
		}
		defer func() { w.closeErr = errors.Join(w.closeErr, w.o.Spool.Close()) }()
		if w.away.Load() { // the server sees by the end of the connection what is interrupted
			return
		}
	}
	var errs []error
	if w.registered {
		ctx := context.Background()
		errs = append(errs, w.chained(ctx, func() error {
			if err := w.interrupt(ctx, "owner = ?", w.owner); err != nil {
				return err
			}
			_, err := w.conn.ExecContext(ctx, "DELETE FROM owners WHERE id = ?", w.owner)
			return err
		}))
	}
	w.announce()
	for _, stmt := range w.statements {
		errs = append(errs, stmt.Close())
	}
	if w.d.Release != "" {
		_, err := w.conn.ExecContext(context.Background(), w.d.Release)
		errs = append(errs, err)
	}
	errs = append(errs, w.conn.Close())
	if err := errors.Join(errs...); err != nil {
		w.closeErr = fmt.Errorf("close audit record %s: %w", w.o.Name, w.d.Explain(err))
	}
}
