package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// queueSize is how many records may wait for the writer before handing over
// one more has to wait itself.
const queueSize = 4096

// A Store is an open audit file. Its methods may be called from many
// goroutines. It must be closed, or its last records may be lost.
type Store struct {
	path     string
	payloads bool
	keep     time.Duration // 0: for ever
	log      *slog.Logger
	readOnly bool

	db   *sql.DB   // for reading, and for the writer's connection
	conn *sql.Conn // the writer's; nil if readOnly

	ops       chan op
	quit      chan struct{} // closed by Close: the writer shall end
	done      chan struct{} // closed by the writer when it has
	closeOnce sync.Once
	closeErr  error
}

// Open opens audit.db in dir, and makes it if it is not there. It is quick:
// what is old is removed in the background.
func Open(dir string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	s := &Store{
		path:     filepath.Join(dir, fileName),
		payloads: o.Payloads,
		log:      o.Logger,
		ops:      make(chan op, queueSize),
		quit:     make(chan struct{}),
		done:     make(chan struct{}),
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
	s.db, err = sql.Open("sqlite", dataSource(path, "synchronous(NORMAL)", "auto_vacuum(incremental)", "journal_mode(WAL)"))
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

// retryBusy repeats f while the file is locked. Turning a new file into a
// write-ahead log does not wait by itself when two processes do it at once.
func retryBusy(f func() error) error {
	deadline := time.Now().Add(busyTimeout)
	for wait := time.Millisecond; ; wait *= 2 {
		err := f()
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(min(wait, 50*time.Millisecond))
	}
}

// OpenReadOnly opens audit.db in dir for reading alone, which a broker that is
// writing to it does not notice. Without a record, the error is ErrNoRecord.
func OpenReadOnly(dir string) (*Store, error) {
	s := &Store{path: filepath.Join(dir, fileName), readOnly: true, log: slog.New(slog.DiscardHandler)}
	path, err := filepath.Abs(s.path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s: nothing was run with this state directory yet", ErrNoRecord, dir)
	}
	if err == nil {
		s.db, err = sql.Open("sqlite", dataSource(path, "query_only(1)"))
	}
	if err != nil {
		return nil, fmt.Errorf("open audit record: %w", err)
	}
	conn, err := s.db.Conn(context.Background())
	if err == nil {
		var version int
		version, err = schemaVersion(context.Background(), conn)
		if err == nil && version == 0 {
			err = fmt.Errorf("%w in %s: nothing was run with this state directory yet", ErrNoRecord, dir)
		}
		err = errors.Join(err, conn.Close())
		if err == nil && version < len(migrations) {
			err = update(dir)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open audit record %s: %w", s.path, explain(err)), s.db.Close())
	}
	return s, nil
}

// update brings a record that an older broker wrote to the schema that is read
// here.
func update(dir string) error {
	s, err := Open(dir, &Options{Days: -1})
	if err != nil {
		return err
	}
	return s.Close()
}

// Begin records that an execution has begun and returns its ID, which is made
// if e has none. It does not wait for the file.
func (s *Store) Begin(e Execution) string {
	if e.ID == "" {
		e.ID = NewID()
	}
	s.complete(&e)
	e.Status = StatusRunning
	e.Ended = time.Time{}
	s.send(op{kind: opBegin, execution: &e})
	return e.ID
}

// Record records a call that has ended. It does not wait for the file; with
// payloads it takes the time to redact them, and keeps none of c's bytes.
func (s *Store) Record(c Call) {
	if c.Started.IsZero() {
		c.Started = time.Now().Add(-c.Duration)
	}
	c.Error = short(c.Error)
	cutNames(&c.ExecutionID, &c.Server, &c.Tool, &c.ID, &c.Status)
	if s.payloads {
		c.Args, c.Result = payload(c.Args), payload(c.Result)
	} else {
		c.Args, c.Result = nil, nil
	}
	s.send(op{kind: opCall, call: c})
}

// Finish records how an execution ended, e having the ID that Begin gave. It
// returns when that, and all that was recorded before, is committed.
func (s *Store) Finish(e Execution) error {
	s.complete(&e)
	if e.Ended.IsZero() {
		e.Ended = time.Now()
	}
	if e.Status == "" || e.Status == StatusRunning {
		e.Status = StatusDone
		if e.ExitCode != 0 {
			e.Status = StatusFailed
		}
	}
	return s.ask(context.Background(), op{kind: opFinish, execution: &e}).err
}

// complete fills in what follows from other fields and redacts the texts.
func (s *Store) complete(e *Execution) {
	if e.CodeHash == "" && e.Code != "" {
		e.CodeHash = HashCode(e.Code)
	}
	if s.payloads {
		e.Code = long(e.Code)
	} else {
		e.Code = ""
	}
	if e.Started.IsZero() {
		e.Started = time.Now().Add(-e.Duration)
	}
	e.Error = short(e.Error)
	cutNames(&e.ID, &e.Client, &e.Language, &e.CodeHash, &e.Status)
}

// Prune removes the executions that began before t, and their calls, and
// returns how many they were. Those that are running stay.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	r := s.ask(ctx, op{kind: opPrune, before: before})
	return r.pruned, r.err
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
func (s *Store) ask(ctx context.Context, o op) reply {
	if s.readOnly {
		return reply{err: errors.New("audit record is open for reading only")}
	}
	o.answer = make(chan reply, 1)
	if !s.send(o) {
		return reply{err: ErrClosed}
	}
	select {
	case r := <-o.answer:
		return r
	case <-ctx.Done():
		return reply{err: context.Cause(ctx)}
	case <-s.done:
	}
	select { // the writer may have answered just before it ended
	case r := <-o.answer:
		return r
	default:
		return reply{err: ErrClosed}
	}
}

// Close writes what was recorded, marks the executions that this store began
// and that are still running as interrupted, and closes the file. Later calls
// return the same error.
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

// idEncoding is Crockford's, in lower case: its order is the order of the bytes.
var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID makes the ID of an execution: "e_" and 22 letters and digits, the first
// ten of which are its time.
func NewID() string {
	var b [14]byte
	binary.BigEndian.PutUint64(b[:8], uint64(time.Now().UnixMilli())<<14) // 50 bits: ten characters
	var r [8]byte
	_, _ = rand.Read(r[:]) // never fails
	b[6] = b[6]&^0x3f | r[7]&0x3f
	copy(b[7:], r[:7])
	return "e_" + idEncoding.EncodeToString(b[:])[:22]
}
