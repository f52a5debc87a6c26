// Package tables implements the contracts of package state in the tables of any SQL
// database: the record of executions, calls and events with its chain, learned types,
// and journals of runs. A [Dialect] describes a database; packages sqlite and postgres
// define the tables.
//
// A Store has one goroutine that writes in batches.
package tables

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// Options are what a Store is made of.
type Options struct {
	// Name is what errors call the record, such as the path of a file.
	Name string
	// DB is for reading, and for the connection that writes. Dialect is its own.
	DB      *sql.DB
	Dialect *Dialect
	Owners  Owners
	// ReadOnly stores write nothing.
	ReadOnly bool
	// Keep selects what is recorded of executions, Age for how long; 0 means forever.
	Keep state.Keep
	Age  time.Duration
	// Size, if not nil, is how many bytes the record has, and MaxBytes how many it
	// may have.
	Size     func(ctx context.Context, conn *Conn) (int64, error)
	MaxBytes int64
	// Anchor is a file to which the head of the chain is added; it may be empty.
	Anchor string
	// Spool, if not nil, is where rows wait while the database is away. It is closed
	// with the Store.
	Spool  Spool
	Logger *slog.Logger
}

// A Store is an open record. It implements state.Audit, state.Types and
// state.Verifier. It must be closed, or its last records may be lost.
type Store struct {
	o      Options
	d      *Dialect
	owners Owners
	db     *sql.DB
	log    *slog.Logger

	ops       chan op
	quit      chan struct{} // closed by Close, which ends the writer
	done      chan struct{} // closed by the writer when it has ended
	closeOnce sync.Once
	closeErr  error

	// What Spool and Full say.
	spoolRows, spoolBytes atomic.Int64
	away                  atomic.Bool
	full                  atomic.Pointer[error]
}

var (
	_ state.Audit    = (*Store)(nil)
	_ state.Types    = (*Store)(nil)
	_ state.Verifier = (*Store)(nil)
)

// New returns the store of a database that has all tables, and takes over conn,
// which it writes with; nil for a store that is ReadOnly. Close closes the
// connection and not the database.
func New(o Options, conn *sql.Conn) *Store {
	s := &Store{o: o, d: o.Dialect, owners: o.Owners, db: o.DB, log: o.Logger,
		ops: make(chan op, queueSize), quit: make(chan struct{}), done: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.Spool != nil {
		s.measure(nil)
	}
	if !o.ReadOnly {
		go s.write(NewConn(conn, s.d))
	}
	return s
}

// Begin implements state.Journal.
func (s *Store) Begin(e state.Execution) string {
	if e.ID == "" {
		e.ID = state.NewID()
	}
	e.Prepare(s.o.Keep)
	s.send(op{entry: &entry{Begin: (*execution)(&e)}})
	return e.ID
}

// Record implements state.Journal. With payloads it takes the time to redact
// them.
func (s *Store) Record(c state.Call) {
	c.Prepare(s.o.Keep)
	s.send(op{entry: &entry{Call: (*call)(&c)}})
}

// Finish implements state.Journal.
func (s *Store) Finish(e state.Execution) error {
	e.Finish(s.o.Keep)
	return s.ask(context.Background(), op{entry: &entry{Finish: (*execution)(&e)}})
}

// Note implements state.Journal.
func (s *Store) Note(e state.Event) {
	e.Prepare()
	s.send(op{entry: &entry{Event: (*event)(&e)}})
}

// Prune implements state.Audit.
func (s *Store) Prune(ctx context.Context, before time.Time) (removed int, err error) {
	for more := true; more; {
		n := 0
		err := s.ask(ctx, op{alone: true, long: true, write: func(ctx context.Context, w *writer) (err error) {
			n, more, err = w.pruneSome(ctx, before)
			return err
		}})
		if err != nil {
			return removed, err
		}
		removed += n
	}
	return removed, nil
}

// send hands o to the writer.
func (s *Store) send(o op) bool {
	if s.o.ReadOnly {
		return false
	}
	select {
	case <-s.quit:
		return false
	default:
	}
	select {
	case s.ops <- o:
		return true
	case <-s.quit:
		return false
	}
}

// ask hands o to the writer and waits until it is committed.
func (s *Store) ask(ctx context.Context, o op) error {
	if s.o.ReadOnly {
		return errors.New("audit record is open for reading only")
	}
	o.answer = make(chan error, 1)
	if !s.send(o) {
		return state.ErrClosed
	}
	select {
	case err := <-o.answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.done:
	}
	select { // the writer may have answered just before it ended
	case err := <-o.answer:
		return err
	default:
		return state.ErrClosed
	}
}

// Lag is how many records wait to be written.
func (s *Store) Lag() int { return len(s.ops) }

// Tidy removes what is too old or too much; the store does so by itself from time
// to time.
func (s *Store) Tidy(ctx context.Context) error {
	return s.ask(ctx, op{alone: true, long: true, write: func(_ context.Context, w *writer) error {
		for w.tidy() {
		}
		return nil
	}})
}

// Close implements state.Audit.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		if !s.o.ReadOnly {
			close(s.quit)
			<-s.done
		}
	})
	return s.closeErr
}
