// Package sqlite keeps the record of executions, calls and events, and learned
// types, in the SQLite file audit.db of a state directory.
//
// What it writes and reads is that of package tables. No commit waits for the disk
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
	"time"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/tables"
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
	// Anchor is a file to which the head of the chain is added every hour, with each
	// prune, and when the Store is closed; it may be empty.
	Anchor string
	// Logger receives what goes wrong in the background; nil discards it.
	Logger *slog.Logger
}

// A Store is an open file. It implements state.Audit and state.Types. It must be
// closed, or its last records may be lost.
type Store struct {
	*tables.Store
	db *sql.DB
}

// dialect describes SQLite for package tables.
var dialect = &tables.Dialect{
	Like:     "LIKE",
	Begin:    "BEGIN IMMEDIATE",
	Snapshot: "BEGIN",
	Durable:  "PRAGMA synchronous = FULL",
	Usual:    "PRAGMA synchronous = NORMAL",
	Vacuum:   "PRAGMA incremental_vacuum(%d)",
	Again:    func(err error) (again, lost bool) { return isBusy(err), false },
	Explain:  explain,
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
	path := filepath.Join(dir, fileName)
	db, conn, err := openTables(path, migrate)
	if err != nil {
		return nil, fmt.Errorf("open audit record %s: %w", path, explainAt(path, err))
	}
	t := tables.Options{
		Name: path, DB: db, Dialect: dialect, Owners: owners{}, Size: size,
		Keep:     state.Keep{Code: !o.NoCode, Payloads: o.Payloads},
		MaxBytes: max(0, cmp.Or(o.MaxBytes, defaultMaxBytes)), Anchor: o.Anchor, Logger: o.Logger,
	}
	if days := cmp.Or(o.Days, 30); days > 0 {
		t.Age = time.Duration(days) * 24 * time.Hour
	}
	return &Store{tables.New(t, conn), db}, nil
}

// size is how many bytes of the file are in use.
func size(ctx context.Context, conn *tables.Conn) (n int64, err error) {
	err = conn.QueryRowContext(ctx, `SELECT ((SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count))
		* (SELECT page_size FROM pragma_page_size)`).Scan(&n)
	return n, err
}

// Close implements state.Audit.
func (s *Store) Close() error { return errors.Join(s.Store.Close(), s.db.Close()) }

// openTables opens a file, and creates it if it is not there.
func openTables(path string, migrate func(context.Context, *sql.Conn) error) (db *sql.DB, conn *sql.Conn, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, err
	}
	if err := create(path); err != nil {
		return nil, nil, err
	}
	db, err = sql.Open("sqlite", dataSource(path, "synchronous(NORMAL)"))
	if err != nil {
		return nil, nil, err
	}
	ctx := context.Background()
	err = retryBusy(func() error {
		one, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		if err := migrate(ctx, one); err != nil {
			return errors.Join(err, one.Close())
		}
		conn = one
		return nil
	})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, conn, nil
}

// create makes an empty file that only its user can read, unless it exists. SQLite
// gives the files beside it the same mode. The file is made elsewhere and linked:
// opening and closing it here would, by the rules of POSIX, drop the locks that another
// Store of this process has on it.
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
	name := filepath.Join(dir, fileName)
	none := fmt.Errorf("%w in %s: nothing was run with this state directory yet", state.ErrNoRecord, dir)
	path, err := filepath.Abs(name)
	if err == nil {
		_, err = os.Stat(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, none
	}
	var db *sql.DB
	if err == nil {
		db, err = sql.Open("sqlite", dataSource(path, "query_only(1)"))
	}
	if err != nil {
		return nil, fmt.Errorf("open audit record: %w", err)
	}
	version, err := fileVersion(db)
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
		return nil, errors.Join(fmt.Errorf("open audit record %s: %w", name, explain(err)), db.Close())
	}
	return &Store{tables.New(tables.Options{Name: name, DB: db, Dialect: dialect, Owners: owners{}, ReadOnly: true}, nil), db}, nil
}
