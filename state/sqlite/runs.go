package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/state/tables"
)

// runsName is the file of journals. They contain the values that scripts got, so they
// are separate from the record, which has none.
const runsName = "runs.db"

const runsVersion = 1

// A run that has ended may be resumed too, when its script is changed.
const runsSchema = `
CREATE TABLE IF NOT EXISTS runs (
	id        TEXT PRIMARY KEY,
	principal TEXT NOT NULL,
	status    TEXT NOT NULL,
	owner     TEXT NOT NULL,
	started   INTEGER NOT NULL,
	updated   INTEGER NOT NULL,
	seed      BLOB,
	epoch     INTEGER NOT NULL,
	code      TEXT NOT NULL,
	body      TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_started ON runs (started);
CREATE TABLE IF NOT EXISTS run_calls (
	run     TEXT NOT NULL,
	ordinal INTEGER NOT NULL,
	state   TEXT NOT NULL,
	expires INTEGER NOT NULL,
	body    TEXT NOT NULL,
	value   BLOB,
	steps   BLOB,
	PRIMARY KEY (run, ordinal)
) WITHOUT ROWID;
`

// Runs keeps journals in the file runs.db of a state directory. The file is made
// with the first call that is recorded.
type Runs = tables.Runs

// NewRuns returns the journals of a state directory. It opens nothing yet.
func NewRuns(dir string, log *slog.Logger) *Runs {
	path := filepath.Join(dir, runsName)
	var db *sql.DB
	return tables.NewRuns(tables.RunsOptions{
		Name: path, Dialect: dialect, Logger: log, Owner: ownerText,
		Open: func(_ context.Context, create bool) (conn *sql.Conn, err error) {
			if _, err := os.Stat(path); err != nil && (!create || !errors.Is(err, fs.ErrNotExist)) {
				return nil, err
			}
			db, conn, err = openTables(path, migrateRuns)
			return conn, explainAt(path, err)
		},
		Close: func() error {
			if db == nil {
				return nil
			}
			return db.Close()
		},
		Read:     func(ctx context.Context) (*sql.Conn, error) { return db.Conn(ctx) },
		Executed: func(context.Context, *tables.Conn) (func(string, time.Time) bool, error) { return executed, nil },
	})
}

func migrateRuns(ctx context.Context, conn *sql.Conn) error {
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version == runsVersion {
		return err
	}
	if version > runsVersion {
		return fmt.Errorf("its schema %d is of a newer broker (this one knows %d): update the broker, or move the file away", version, runsVersion)
	}
	if _, err := conn.ExecContext(ctx, "PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	return tables.Transaction(ctx, tables.NewConn(conn, dialect), "", func() error {
		_, err := conn.ExecContext(ctx, runsSchema+fmt.Sprintf("PRAGMA user_version = %d", runsVersion))
		return err
	})
}

// ownerText describes this process for the column owner.
var ownerText = sync.OnceValue(func() string {
	p := self()
	text, _ := json.Marshal([]any{p.pid, p.start, p.boot, p.space, p.host}) // texts and a number: no error
	return string(text)
})

// executed reports whether the process that has a run is alive.
func executed(owner string, updated time.Time) bool {
	var p process
	if owner == "" || json.Unmarshal([]byte(owner), &[]any{&p.pid, &p.start, &p.boot, &p.space, &p.host}) != nil {
		return false
	}
	return p.alive(updated)
}
