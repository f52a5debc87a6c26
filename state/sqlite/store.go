// Package sqlite keeps the record of executions, calls and events, and learned
// types, in the SQLite file audit.db of a state directory.
//
// A Store has one goroutine that writes in batches. No commit waits for the disk
// (write-ahead log, synchronous=NORMAL): a process that is killed loses nothing
// that was committed, a crash of the operating system may lose the last moments
// but never the file.
//
// Any number of processes may have the same file open. An execution that is
// still marked as running counts as interrupted once the process that owns it
// is gone.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// Options changes how a Store works. The zero value is good.
type Options struct {
	// NoCode keeps no programs. Otherwise they are kept without what looks like a
	// secret.
	NoCode bool
	// Payloads records arguments and results too, in the same way.
	Payloads bool
	// Days is how long records are kept: 0 means 30, below 0 for ever.
	Days int
	// MaxBytes is how large the record may become before the oldest of it is
	// removed: 0 means 256 MB, below 0 no limit.
	MaxBytes int64
	// Anchor is a file to which the head of the chain is added every hour, with
	// each prune, and when the Store is closed; empty for none.
	Anchor string
	// Logger receives what goes wrong in the background; nil discards it.
	Logger *slog.Logger
}

// A Store is an open file. It implements state.Audit and state.Types. It must be
// closed, or its last records may be lost.
type Store struct {
	path     string
	kept     state.Keep
	keep     time.Duration // 0: for ever
	maxBytes int64         // 0: no limit
	anchor   string
	log      *slog.Logger
	readOnly bool

	db   *sql.DB   // for reading, and for the writer's connection
	conn *sql.Conn // the writer's; nil if readOnly

	ops       chan op
	quit      chan struct{} // closed by Close, which ends the writer
	done      chan struct{} // closed by the writer when it has ended
	closeOnce sync.Once
	closeErr  error
}

// defaultMaxBytes is how large a record may become if nothing is said.
const defaultMaxBytes = 256_000_000

var (
	_ state.Audit    = (*Store)(nil)
	_ state.Types    = (*Store)(nil)
	_ state.Verifier = (*Store)(nil)
)

// Open opens audit.db in dir, and creates it if it is not there. It is quick:
// what is old is removed in the background.
func Open(dir string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	s := &Store{
		path: filepath.Join(dir, fileName),
		kept: state.Keep{Code: !o.NoCode, Payloads: o.Payloads},
		log:  o.Logger, maxBytes: max(0, cmp.Or(o.MaxBytes, defaultMaxBytes)), anchor: o.Anchor,
		ops:  make(chan op, queueSize),
		quit: make(chan struct{}),
		done: make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Days == 0:
		s.keep = 30 * 24 * time.Hour
	case o.Days > 0:
		s.keep = time.Duration(o.Days) * 24 * time.Hour
	}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open audit record %s: %w", s.path, explain(err))
	}
	go s.write()
	return s, nil
}

func (s *Store) open() error {
	path, err := filepath.Abs(s.path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := create(path); err != nil {
		return err
	}
	s.db, err = sql.Open("sqlite", dataSource(path, "synchronous(NORMAL)"))
	if err != nil {
		return err
	}
	ctx := context.Background()
	err = retryBusy(func() error {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return err
		}
		if err := migrate(ctx, conn); err != nil {
			return errors.Join(err, conn.Close())
		}
		s.conn = conn
		return nil
	})
	if err != nil {
		return errors.Join(err, s.db.Close())
	}
	return nil
}

// create makes an empty file that only its user can read, if there is none.
// SQLite gives the files beside it the same mode. The file is made elsewhere
// and linked: to open and close it here would, by the rules of POSIX, take away
// the locks that another Store of this process has on it.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), fileName+"-new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return err
	}
	err = os.Link(f.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// Some file systems have no links.
		if f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
			err = f.Close()
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	return err
}

// OpenReadOnly opens audit.db in dir for reading alone, which a broker that is
// writing to it does not notice. Without a record, the error is
// state.ErrNoRecord.
func OpenReadOnly(dir string) (*Store, error) {
	s := &Store{path: filepath.Join(dir, fileName), readOnly: true, log: slog.New(slog.DiscardHandler)}
	none := fmt.Errorf("%w in %s: nothing was run with this state directory yet", state.ErrNoRecord, dir)
	path, err := filepath.Abs(s.path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, none
	}
	if err == nil {
		s.db, err = sql.Open("sqlite", dataSource(path, "query_only(1)"))
	}
	if err != nil {
		return nil, fmt.Errorf("open audit record: %w", err)
	}
	version, err := s.version()
	switch {
	case err != nil:
	case version == 0:
		err = none
	case version < schemaVersion:
		var writable *Store // which updates the file
		if writable, err = Open(dir, &Options{Days: -1, MaxBytes: -1}); err == nil {
			err = writable.Close()
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open audit record %s: %w", s.path, explain(err)), s.db.Close())
	}
	return s, nil
}

// Begin implements state.Journal.
func (s *Store) Begin(e state.Execution) string {
	if e.ID == "" {
		e.ID = state.NewID()
	}
	e.Prepare(s.kept)
	s.send(op{write: func(ctx context.Context, w *writer) error { return w.begin(ctx, e) }})
	return e.ID
}

// Record implements state.Journal. With payloads it takes the time to redact
// them.
func (s *Store) Record(c state.Call) {
	c.Prepare(s.kept)
	s.send(op{write: func(ctx context.Context, w *writer) error { return w.call(ctx, c) }})
}

// Finish implements state.Journal.
func (s *Store) Finish(e state.Execution) error {
	e.Finish(s.kept)
	return s.ask(context.Background(), op{write: func(ctx context.Context, w *writer) error { return w.finish(ctx, e) }})
}

// Note implements state.Journal.
func (s *Store) Note(e state.Event) {
	e.Prepare()
	s.send(op{write: func(ctx context.Context, w *writer) error { return w.event(ctx, e) }})
}

// Prune implements state.Audit.
func (s *Store) Prune(ctx context.Context, before time.Time) (removed int, err error) {
	for more := true; more; {
		n := 0
		err := s.ask(ctx, op{alone: true, write: func(ctx context.Context, w *writer) (err error) {
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
	if s.readOnly {
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
	if s.readOnly {
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

// Close implements state.Audit.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		if !s.readOnly {
			close(s.quit)
			<-s.done
			s.closeErr = errors.Join(s.closeErr, s.conn.Close())
		}
		s.closeErr = errors.Join(s.closeErr, s.db.Close())
	})
	return s.closeErr
}
