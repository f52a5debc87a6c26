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

	"github.com/mcpbroker/mcpbroker/state/tables"
)

// fileName is the audit file in the state directory.
const fileName = "audit.db"

// busyTimeout is how long a statement waits for another process's write.
const busyTimeout = 5 * time.Second

// schemaVersion is the user_version of files that this package writes. Version 2 lacks
// learned types, version 3 the names of clients, version 4 decisions, version 5 the
// chain, version 6 parts of times, version 7 answers; earlier versions were never
// released.
const schemaVersion = 8

// baseSchema is version 2. Times are nanoseconds since 1970, durations
// nanoseconds.
const baseSchema = `
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
	detail TEXT NOT NULL,
	name   TEXT NOT NULL DEFAULT '',
	client TEXT NOT NULL DEFAULT '',
	digest TEXT NOT NULL DEFAULT '',
	failed INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX events_time ON events (time);
`

// typeSchema is what version 3 adds.
const typeSchema = `
CREATE TABLE type_key (id INTEGER PRIMARY KEY CHECK (id = 1), secret BLOB NOT NULL);
CREATE TABLE types (
	server  TEXT NOT NULL,
	tool    TEXT NOT NULL,
	version INTEGER NOT NULL,
	body    BLOB NOT NULL,
	PRIMARY KEY (server, tool)
) WITHOUT ROWID;
`

// clientSchema is what version 4 adds.
const clientSchema = `
ALTER TABLE executions ADD COLUMN client_info TEXT NOT NULL DEFAULT '';
`

// decisionSchema is what version 5 adds.
const decisionSchema = `
ALTER TABLE calls ADD COLUMN class TEXT NOT NULL DEFAULT '';
ALTER TABLE calls ADD COLUMN decision TEXT NOT NULL DEFAULT '';
`

// partSchema is what version 7 adds.
const partSchema = `
ALTER TABLE executions ADD COLUMN prepared INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN queued INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN opened INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN waited INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN line INTEGER NOT NULL DEFAULT 0;
`

// answerSchema is the schema that version 8 adds.
const answerSchema = `
ALTER TABLE executions ADD COLUMN answer TEXT;
`

// changes are what each version adds to the one before; the first is version 2.
var changes = []string{baseSchema, typeSchema, clientSchema, decisionSchema, chainSchema, partSchema, answerSchema}

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
	version, err := versionOf(ctx, conn)
	if err != nil || version == schemaVersion {
		return err
	}
	if version == 0 {
		// Both stay with the file. To set them in each connection would take the
		// lock for writing.
		if _, err := conn.ExecContext(ctx, "PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = WAL"); err != nil {
			return err
		}
	}
	return tables.Transaction(ctx, tables.NewConn(conn, dialect), "", func() error {
		version, err := versionOf(ctx, conn) // another process may have been faster
		if err != nil || version == schemaVersion {
			return err
		}
		added := strings.Join(changes[max(0, version-1):], "")
		if _, err = conn.ExecContext(ctx, added+fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)); err != nil {
			return err
		}
		if version > 5 { // it has a chain
			return nil
		}
		return beginChain(ctx, conn, version > 0)
	})
}

// versionOf returns the version of the schema; 0 means that the file is empty.
func versionOf(ctx context.Context, conn *sql.Conn) (version int, err error) {
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	switch {
	case version > schemaVersion:
		return 0, fmt.Errorf("its schema %d is of a newer broker (this one knows %d): update the broker, or move the file away", version, schemaVersion)
	case version == 1:
		return 0, errors.New("its schema 1 is of a broker that was never released: move the file away to start a new one")
	}
	return version, nil
}

func fileVersion(db *sql.DB) (int, error) {
	conn, err := db.Conn(context.Background())
	if err != nil {
		return 0, err
	}
	version, err := versionOf(context.Background(), conn)
	return version, errors.Join(err, conn.Close())
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
