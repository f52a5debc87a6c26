package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// fileName is the audit file in the state directory.
const fileName = "audit.db"

// busyTimeout is how long a statement waits for another process's write.
const busyTimeout = 5 * time.Second

// migrations turn the schema from version i into i+1; the version is the
// file's user_version. Times are nanoseconds since 1970, durations nanoseconds.
var migrations = []string{`
CREATE TABLE owners (
	id    INTEGER PRIMARY KEY,
	pid   INTEGER NOT NULL,
	start TEXT NOT NULL,
	boot  TEXT NOT NULL,
	space TEXT NOT NULL,
	host  TEXT NOT NULL,
	since INTEGER NOT NULL
);
CREATE TABLE executions (
	id        TEXT PRIMARY KEY,
	owner     INTEGER NOT NULL,
	client    TEXT NOT NULL,
	language  TEXT NOT NULL,
	code_hash TEXT NOT NULL,
	code      TEXT,
	started   INTEGER NOT NULL,
	ended     INTEGER NOT NULL DEFAULT 0,
	exit_code INTEGER NOT NULL DEFAULT 0,
	status    TEXT NOT NULL,
	duration  INTEGER NOT NULL DEFAULT 0,
	cpu       INTEGER NOT NULL DEFAULT 0,
	calls     INTEGER NOT NULL DEFAULT 0,
	bytes_in  INTEGER NOT NULL DEFAULT 0,
	bytes_out INTEGER NOT NULL DEFAULT 0,
	error     TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX executions_started ON executions (started);
CREATE INDEX executions_running ON executions (owner) WHERE status = 'running';
CREATE TABLE calls (
	n            INTEGER PRIMARY KEY,
	execution    TEXT NOT NULL,
	seq          INTEGER NOT NULL,
	server       TEXT NOT NULL,
	tool         TEXT NOT NULL,
	tool_id      TEXT NOT NULL,
	started      INTEGER NOT NULL,
	duration     INTEGER NOT NULL,
	status       TEXT NOT NULL,
	arg_bytes    INTEGER NOT NULL,
	result_bytes INTEGER NOT NULL,
	error        TEXT NOT NULL,
	args         TEXT,
	result       TEXT
);
CREATE INDEX calls_execution ON calls (execution, seq);
CREATE TABLE events (
	n      INTEGER PRIMARY KEY,
	time   INTEGER NOT NULL,
	kind   TEXT NOT NULL,
	server TEXT NOT NULL,
	detail TEXT NOT NULL
);
CREATE INDEX events_time ON events (time);
`, `
ALTER TABLE events ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN client TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN digest TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
`}

// dataSource names the file for the driver. The timeout comes first, so that
// the pragmas after it wait too.
func dataSource(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	q := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}, pragmas...)}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}

// migrate brings the schema to the newest version. Several processes may do so
// at once.
func migrate(ctx context.Context, conn *sql.Conn) error {
	version, err := schemaVersion(ctx, conn)
	if err != nil || version == len(migrations) {
		return err
	}
	return transaction(ctx, conn, func() error {
		version, err := schemaVersion(ctx, conn) // another process may have been faster
		if err != nil {
			return err
		}
		for ; version < len(migrations); version++ {
			if _, err := conn.ExecContext(ctx, migrations[version]); err != nil {
				return err
			}
		}
		_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version))
		return err
	})
}

func schemaVersion(ctx context.Context, conn *sql.Conn) (int, error) {
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if version > len(migrations) {
		return 0, fmt.Errorf("its schema %d is of a newer broker (this one knows %d): update the broker, or move the file away", version, len(migrations))
	}
	return version, nil
}

// transaction runs f with the write lock held, so that f cannot fail for a
// write of another process in between.
func transaction(ctx context.Context, conn *sql.Conn, f func() error) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		// The first error is what matters; without a transaction this one says so.
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return err
}

// isBusy reports whether another process kept the file locked.
func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

// explain adds to an error of SQLite what its user can do.
func explain(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: the file is damaged; move it away to start a new one", err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w: another process holds the file for more than %s", err, busyTimeout)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: the disk is full", err)
	}
	return err
}
