package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/mcpbroker/mcpbroker/state/tables"
)

// chainSchema is what version 6 adds: a chain of hashes over all rows, one link
// for each row that is written, and two for an execution, which is written twice.
// The link of a call or event has its number, so that no number is used again;
// that of an execution has its id as ref. A link outlives a row that is pruned
// until all before it are pruned too.
const chainSchema = `
CREATE TABLE chain (
	n      INTEGER PRIMARY KEY,
	time   INTEGER NOT NULL, -- the row is pruned with what is older than this
	kind   TEXT NOT NULL,
	ref    TEXT NOT NULL,
	digest BLOB NOT NULL,
	hash   BLOB NOT NULL
);
CREATE TABLE head (
	id        INTEGER PRIMARY KEY CHECK (id = 1),
	n         INTEGER NOT NULL, -- of the last link
	hash      BLOB NOT NULL,
	base      INTEGER NOT NULL, -- of the last link that was removed
	base_hash BLOB NOT NULL,
	start     INTEGER NOT NULL, -- the highest number that rows had before there was a chain
	migrated  INTEGER NOT NULL  -- when that was; 0 if there were no rows
);
ALTER TABLE executions ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;    -- their links
ALTER TABLE executions ADD COLUMN finished INTEGER NOT NULL DEFAULT 0;
`

// beginChain makes the head of a chain that has no links. What a file of an older
// version has stays outside of it.
func beginChain(ctx context.Context, conn *sql.Conn, older bool) error {
	var start, migrated int64
	if older {
		migrated = time.Now().UnixNano()
		err := conn.QueryRowContext(ctx, "SELECT max(coalesce((SELECT max(n) FROM calls), 0), coalesce((SELECT max(n) FROM events), 0))").Scan(&start)
		if err != nil {
			return err
		}
	}
	_, err := conn.ExecContext(ctx, "INSERT INTO head (id, n, hash, base, base_hash, start, migrated) VALUES (1, ?1, ?2, ?1, ?2, ?1, ?3)", start, tables.Genesis(start, migrated), migrated)
	return err
}
