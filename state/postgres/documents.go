package postgres

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/mcpbroker/mcpbroker/state"
)

// Documents implements state.Documents with the rows of one kind.
type Documents struct {
	d    *Database
	kind string
}

var _ state.Documents = Documents{}

// Documents returns the documents of a kind.
func (d *Database) Documents(kind string) Documents { return Documents{d, kind} }

// Document implements state.Documents.
func (o Documents) Document(ctx context.Context, name string) ([]byte, error) {
	var body []byte
	err := patiently(ctx, func() error {
		return o.d.db.QueryRowContext(ctx, "SELECT body FROM documents WHERE kind = $1 AND name = $2 AND body IS NOT NULL", o.kind, clean(name)).Scan(&body)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, state.ErrNotFound
	}
	return body, o.d.failed("read from", err)
}

// SetDocument implements state.Documents. The row of one that is forgotten stays,
// with its version.
func (o Documents) SetDocument(ctx context.Context, name string, body []byte) error {
	_, err := o.d.db.ExecContext(ctx, `INSERT INTO documents (kind, name, version, body) VALUES ($1, $2, 1, $3)
		ON CONFLICT (kind, name) DO UPDATE SET version = documents.version + 1, body = excluded.body`, o.kind, clean(name), body)
	return o.d.failed("write to", err)
}

// DocumentVersion implements state.Documents.
func (o Documents) DocumentVersion(ctx context.Context, name string) string {
	var version int64
	err := o.d.db.QueryRowContext(ctx, "SELECT version FROM documents WHERE kind = $1 AND name = $2 AND body IS NOT NULL", o.kind, clean(name)).Scan(&version)
	if err != nil {
		if !errors.Is(err, sql.ErrNoRows) {
			o.d.log.Warn("read the version of a document", "err", explain(err))
		}
		return ""
	}
	return strconv.FormatInt(version, 10)
}

// LockDocument implements state.Locks. The lock is that of a session, which ends
// with the process.
func (o Documents) LockDocument(ctx context.Context, name string) (unlock func(), err error) {
	c, err := o.d.db.Conn(ctx)
	if err != nil {
		return nil, o.d.failed("lock in", err)
	}
	const key = "(hashtextextended($1 || chr(10) || $2, 5))"
	if _, err := c.ExecContext(ctx, "SELECT pg_advisory_lock"+key, o.kind, clean(name)); err != nil {
		c.Close()
		return nil, o.d.failed("lock in", err)
	}
	return func() {
		if _, err := c.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock"+key, o.kind, clean(name)); err != nil {
			o.d.log.Warn("unlock", "err", explain(err)) // the session ended, and the lock with it
		}
		c.Close()
	}, nil
}
