package tables

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// A Spool keeps rows of the record on this machine while the database is away. One
// goroutine uses it.
type Spool interface {
	// Append keeps rows after all others. They are on the disk when it returns.
	Append(rows [][]byte) error
	// Next returns some of the rows that come after number n, in order; none at the end.
	Next(n int64) ([]Spooled, error)
	// Drop removes the rows up to a number, which the database has.
	Drop(through int64) error
	// Usage returns the size of its content.
	Usage() (SpoolUsage, error)
	Close() error
}

// A Spooled is a row in a spool. No two rows have the same number, ever.
type Spooled struct {
	N   int64
	Row []byte
}

// A SpoolUsage is the size of a spool.
type SpoolUsage struct {
	ID string // which no other spool has
	// Rows wait in it. It has so many bytes, and may have Max.
	Rows, Bytes, Max int64
}

const (
	// commitTime is how long a transaction may take before the database counts as
	// away. A step of removing old rows has changeTime.
	commitTime, changeTime = 5 * time.Second, 30 * time.Second
	// spoolReserve is the part of the spool that is for executions that run.
	spoolReserve = 8
)

var errAway = errors.New("the database cannot be reached")

// An entry is the addition of one op to the record. Exactly one of the first four is
// set.
type entry struct {
	Begin  *execution `json:",omitempty"`
	Finish *execution `json:",omitempty"`
	Call   *call      `json:",omitempty"`
	Event  *event     `json:",omitempty"`
	Owner  int64      // of what begins
	// Doubt is the last link of a transaction that has the entry, if it was committed,
	// which was not known.
	Doubt *link `json:",omitempty"`
}

// These have no methods: they are written to a spool unchanged.
type (
	execution state.Execution
	call      state.Call
	event     state.Event
)

// A link of the chain.
type link struct {
	N    int64
	Hash []byte
}

func (e *entry) write(ctx context.Context, w *writer) error {
	switch {
	case e.Begin != nil:
		return w.begin(ctx, state.Execution(*e.Begin), e.Owner)
	case e.Finish != nil:
		return w.finish(ctx, state.Execution(*e.Finish), e.Owner)
	case e.Call != nil:
		return w.call(ctx, state.Call(*e.Call))
	case e.Event != nil:
		return w.event(ctx, state.Event(*e.Event))
	}
	return nil
}

// Spool returns the size of the rows that wait for the database in the spool, and
// whether the database is away.
func (s *Store) Spool() (rows, bytes int64, away bool) {
	return s.spoolRows.Load(), s.spoolBytes.Load(), s.away.Load()
}

// Full returns an error if the spool has no room for more executions.
func (s *Store) Full() error {
	if err := s.full.Load(); err != nil {
		return *err
	}
	return nil
}

// Reached is an error if what was recorded before is not in the database.
func (s *Store) Reached(ctx context.Context) error {
	return s.ask(ctx, op{alone: true, write: func(ctx context.Context, w *writer) error {
		if w.spooled {
			return errAway
		}
		return w.conn.PingContext(ctx)
	}})
}

// commitOrSpool commits a batch, or writes it to the spool.
func (w *writer) commitOrSpool(batch []op) error {
	for _, o := range batch {
		o.entry.Owner = w.owner
	}
	err := errAway
	w.doubt = nil // of another transaction, which was committed
	if !w.spooled && !w.away.Load() {
		err = w.committed(commitTime, func(ctx context.Context) error { return w.commit(ctx, batch) })
	}
	if err == nil || w.o.Spool == nil {
		return err
	}
	w.leave(err)
	rows := make([][]byte, len(batch))
	for i, o := range batch {
		if w.doubt != nil {
			o.entry.Doubt = &link{w.doubt.N, []byte(w.doubt.Hash)}
		}
		rows[i], _ = json.Marshal(o.entry) // texts, times and numbers: no error
	}
	w.doubt = nil
	err = w.o.Spool.Append(rows)
	if err == nil {
		w.spooled = true
	}
	w.measure(err)
	return err
}

// measure notes what is in the spool, and whether executions may be added to it.
func (s *Store) measure(err error) {
	u, e := s.o.Spool.Usage()
	s.spoolRows.Store(u.Rows)
	s.spoolBytes.Store(u.Bytes)
	if err == nil {
		err = e
	}
	if err == nil && u.Bytes > u.Max-u.Max/spoolReserve {
		err = fmt.Errorf("%d MB wait for it", u.Bytes>>20)
	}
	if err == nil {
		s.full.Store(nil)
		return
	}
	err = fmt.Errorf("the database of the record is away, and what is recorded cannot wait on this machine: %w", err)
	s.full.Store(&err)
}

// leave notes that the database is away, and looks for it until it is back. It does
// nothing if that is known, or while the spool is emptied.
func (w *writer) leave(err error) {
	if w.o.Spool == nil || w.away.Load() || errors.Is(err, errAway) {
		return
	}
	w.away.Store(true)
	if !w.spooled {
		w.log.Error("audit: the database is away, records wait on this machine", "err", w.d.Explain(err))
	}
	w.hangUp()
	w.seeking.Go(w.seek)
}

// seek sends a connection once there is one.
func (w *writer) seek() {
	for {
		w.pause = min(max(20*time.Millisecond, 2*w.pause), time.Second)
		select {
		case <-w.quit:
			return
		case <-time.After(w.pause):
		}
		if conn, err := w.dial(); err == nil {
			w.back <- conn
			return
		}
	}
}

// dial opens a connection with which this store writes.
func (w *writer) dial() (*Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTime)
	defer cancel()
	one, err := w.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	conn := NewConn(one, w.d)
	if err := w.owners.Register(ctx, conn, w.owner); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// returned goes on with a new connection.
func (w *writer) returned(conn *Conn) {
	w.conn, w.registered = conn, true
	w.away.Store(false)
}

// drain moves some rows of the spool to the record.
func (w *writer) drain() {
	n, err := w.drainSome()
	switch {
	case err != nil:
		w.log.Warn("audit: records still wait on this machine", "err", err)
		w.leave(err)
	case n > 0:
		w.pause = 0
	default:
		w.spooled = false
		w.log.Info("audit: the database has the records that waited on this machine")
		w.tend() // a broker that is gone may have begun some of it
	}
	w.measure(nil)
}

// drainSome returns the number of rows that it moved. The database stores the number of
// the last row from a spool, so that no row is there twice, even after a crash.
func (w *writer) drainSome() (moved int, err error) {
	u, err := w.o.Spool.Usage()
	if err != nil || u.Rows == 0 {
		return 0, err
	}
	var done int64
	err = w.committed(changeTime, func(ctx context.Context) error {
		return w.chained(ctx, func() error {
			err := w.queryRow(ctx, "SELECT done FROM spools WHERE id = ?", u.ID).Scan(&done)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			rows, err := w.o.Spool.Next(done) // after it, as another process may empty it too
			if err != nil || len(rows) == 0 {
				return err
			}
			if err := w.unspool(ctx, rows); err != nil {
				return err
			}
			moved, done = len(rows), rows[len(rows)-1].N
			return w.exec(ctx, "INSERT INTO spools (id, done) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET done = excluded.done", u.ID, done)
		})
	})
	if err == nil {
		err = w.o.Spool.Drop(done)
	}
	return moved, err
}

// unspool writes rows that were read from the spool.
func (w *writer) unspool(ctx context.Context, rows []Spooled) error {
	arrived := map[string]bool{} // whether a transaction in doubt was committed, by the hash of its last link
	for _, r := range rows {
		var e entry
		if err := json.Unmarshal(r.Row, &e); err != nil { // somebody has changed the file
			w.log.Error("audit: a record is lost", "spooled", r.N, "err", err)
			continue
		}
		if d := e.Doubt; d != nil {
			yes, known := arrived[string(d.Hash)]
			if !known {
				var err error
				if yes, err = w.has(ctx, d.N, d.Hash); err != nil {
					return err
				}
				arrived[string(d.Hash)] = yes
			}
			if yes {
				continue
			}
		}
		if err := e.write(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// drainAll moves what it can before the store is closed.
func (w *writer) drainAll() {
	for deadline := time.Now().Add(w.d.Patience); w.spooled && !w.away.Load() && time.Now().Before(deadline); {
		w.drain()
	}
	if w.spooled {
		w.log.Warn("audit: records wait on this machine until a broker with this state directory reaches the database", "records", w.spoolRows.Load())
	}
}
