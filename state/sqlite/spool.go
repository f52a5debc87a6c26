package sqlite

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpbroker/mcpbroker/state/tables"
)

// MaxSpool is how many bytes a spool may have.
const MaxSpool = 256 << 20

const (
	spoolVersion = 1
	spoolSchema  = `
CREATE TABLE waiting (n INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL);
CREATE TABLE spool (id TEXT NOT NULL);
`
	// nextRows and nextBytes are how much Next returns, about.
	nextRows, nextBytes = 1024, 4 << 20
)

// A Spool is a file in the state directory of a broker in which rows of the record
// wait while a database is away. Several processes may use one file, each for
// itself. It implements tables.Spool, which one goroutine uses. The file is made
// with the first row.
type Spool struct {
	path string
	max  int64
	id   string
	db   *sql.DB
	conn *sql.Conn // nil until the file is open
}

// OpenSpool returns the spool for one database, called name, in a state directory.
// 0 bytes are MaxSpool.
func OpenSpool(dir, name string, maxBytes int64) *Spool {
	if maxBytes == 0 {
		maxBytes = MaxSpool
	}
	sum := sha256.Sum256([]byte(name))
	return &Spool{path: filepath.Join(dir, fmt.Sprintf("spool-%x.db", sum[:6])), max: maxBytes}
}

// open opens the file; without create, a file that is not there is fs.ErrNotExist.
func (s *Spool) open(create bool) error {
	if s.conn != nil {
		return nil
	}
	if _, err := os.Stat(s.path); err != nil && (!create || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	ctx := context.Background()
	db, conn, err := openTables(s.path, migrateSpool)
	if err == nil {
		_, err = conn.ExecContext(ctx, dialect.Durable)
		if err == nil {
			err = conn.QueryRowContext(ctx, "SELECT id FROM spool").Scan(&s.id)
		}
		if err != nil {
			err = errors.Join(err, conn.Close(), db.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", s.path, explain(err))
	}
	s.db, s.conn = db, conn
	return nil
}

func migrateSpool(ctx context.Context, conn *sql.Conn) error {
	version := func() (n int, err error) {
		err = conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&n)
		if err == nil && n > spoolVersion {
			err = fmt.Errorf("its schema %d is of a newer broker (this one knows %d): update the broker", n, spoolVersion)
		}
		return n, err
	}
	if n, err := version(); n > 0 || err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	return tables.Transaction(ctx, tables.NewConn(conn, dialect), "", func() error {
		if n, err := version(); n > 0 || err != nil { // another process was faster
			return err
		}
		if _, err := conn.ExecContext(ctx, spoolSchema+fmt.Sprintf("PRAGMA user_version = %d", spoolVersion)); err != nil {
			return err
		}
		_, err := conn.ExecContext(ctx, "INSERT INTO spool (id) VALUES (?)", rand.Text())
		return err
	})
}

// Append implements tables.Spool.
func (s *Spool) Append(rows [][]byte) error {
	if err := s.open(true); err != nil {
		return err
	}
	used, err := s.Usage()
	if err != nil {
		return err
	}
	for _, row := range rows {
		used.Bytes += int64(len(row))
	}
	if used.Bytes > s.max {
		return fmt.Errorf("%s has %d MB already", s.path, s.max>>20)
	}
	ctx := context.Background()
	err = tables.Transaction(ctx, tables.NewConn(s.conn, dialect), "", func() error {
		add, err := s.conn.PrepareContext(ctx, "INSERT INTO waiting (body) VALUES (?)")
		if err != nil {
			return err
		}
		defer add.Close()
		for _, row := range rows {
			if _, err := add.ExecContext(ctx, row); err != nil {
				return err
			}
		}
		return nil
	})
	return s.failed("write to", err)
}

// Next implements tables.Spool.
func (s *Spool) Next(after int64) (list []tables.Spooled, err error) {
	if err := s.open(false); err != nil {
		return nil, orNoFile(err)
	}
	rows, err := s.conn.QueryContext(context.Background(), "SELECT n, body FROM waiting WHERE n > ? ORDER BY n LIMIT ?", after, nextRows)
	if err != nil {
		return nil, s.failed("read", err)
	}
	defer rows.Close()
	for size := 0; size < nextBytes && rows.Next(); {
		var r tables.Spooled
		if err := rows.Scan(&r.N, &r.Row); err != nil {
			return nil, s.failed("read", err)
		}
		size += len(r.Row)
		list = append(list, r)
	}
	return list, s.failed("read", rows.Err())
}

// Drop implements tables.Spool.
func (s *Spool) Drop(through int64) error {
	if err := s.open(false); err != nil {
		return orNoFile(err)
	}
	ctx := context.Background()
	_, err := s.conn.ExecContext(ctx, "DELETE FROM waiting WHERE n <= ?", through)
	if err == nil {
		_, err = s.conn.ExecContext(ctx, fmt.Sprintf(dialect.Vacuum, nextBytes>>12))
	}
	return s.failed("remove rows of", err)
}

// Usage implements tables.Spool.
func (s *Spool) Usage() (u tables.SpoolUsage, err error) {
	u.Max = s.max
	if err := s.open(false); err != nil {
		return u, orNoFile(err)
	}
	u.ID = s.id
	ctx := context.Background()
	if err = s.conn.QueryRowContext(ctx, "SELECT coalesce(max(n) - min(n) + 1, 0) FROM waiting").Scan(&u.Rows); err == nil && u.Rows > 0 {
		u.Bytes, err = size(ctx, tables.NewConn(s.conn, dialect))
	}
	return u, s.failed("read", err)
}

// Close closes the file, which stays with what waits in it.
func (s *Spool) Close() error {
	if s.conn == nil {
		return nil
	}
	return errors.Join(s.conn.Close(), s.db.Close())
}

func (s *Spool) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, s.path, explain(err))
}

// orNoFile returns nil if the file does not exist, so that nothing waits in it.
func orNoFile(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
