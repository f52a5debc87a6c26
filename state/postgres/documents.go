package postgres

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// Documents implements state.Documents with the rows of one kind. The version of a row
// is the time of its change, in microseconds, and higher than the one before, so that a
// deleted row and a later one never have the same version.
type Documents struct {
	d    *Database
	kind string
}

var (
	_ state.Documents = Documents{}
	_ state.Swapper   = Documents{}
)

// Documents returns the documents of a kind.
func (d *Database) Documents(kind string) Documents { return Documents{d, kind} }

// Document implements state.Documents.
func (o Documents) Document(ctx context.Context, name string) ([]byte, error) {
	var body []byte
	err := o.d.patiently(ctx, func() error {
		return o.d.db.QueryRowContext(ctx, "SELECT body FROM documents WHERE kind = $1 AND name = $2 AND body IS NOT NULL", o.kind, clean(name)).Scan(&body)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, state.ErrNotFound
	}
	return body, o.d.failed("read from", err)
}

// now is a version.
const now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// SetDocument implements state.Documents.
func (o Documents) SetDocument(ctx context.Context, name string, body []byte) error {
	if body == nil {
		_, err := o.d.db.ExecContext(ctx, "WITH gone AS (DELETE FROM documents WHERE kind = $1 AND name = $2 RETURNING name) SELECT pg_notify($3, $4) FROM gone",
			o.kind, clean(name), o.d.channel(), o.notice(name))
		return o.d.failed("write to", err)
	}
	_, err := o.d.db.ExecContext(ctx, "WITH kept AS (INSERT INTO documents (kind, name, version, body) VALUES ($1, $2, "+now+`, $3)
		ON CONFLICT (kind, name) DO UPDATE SET version = greatest(documents.version + 1, excluded.version), body = excluded.body RETURNING name)
		SELECT pg_notify($4, $5) FROM kept`, o.kind, clean(name), body, o.d.channel(), o.notice(name))
	return o.d.failed("write to", err)
}

// notice is what other brokers hear of a change.
func (o Documents) notice(name string) string {
	return notice(state.TopicDocuments, o.kind+"/"+name)
}

// SwapDocument implements state.Swapper. It keeps the version of the previous writer.
func (o Documents) SwapDocument(ctx context.Context, name string, old, body []byte) (swapped bool, err error) {
	r, err := o.d.db.ExecContext(ctx, "UPDATE documents SET version = version + 1, body = $4 WHERE kind = $1 AND name = $2 AND body = $3", o.kind, clean(name), old, body)
	if err != nil {
		return false, o.d.failed("write to", err)
	}
	n, err := r.RowsAffected()
	return n == 1, err
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

// ListDocuments implements state.Documents.
func (o Documents) ListDocuments(ctx context.Context, prefix string) (list []state.DocumentInfo, err error) {
	rows, err := o.d.db.QueryContext(ctx, `SELECT name, version, length(body) FROM documents
		WHERE kind = $1 AND name >= $2 AND starts_with(name, $2) AND body IS NOT NULL ORDER BY name`, o.kind, clean(prefix))
	if err != nil {
		return nil, o.d.failed("list documents in", err)
	}
	defer rows.Close()
	for rows.Next() {
		var one state.DocumentInfo
		var version int64
		if err := rows.Scan(&one.Name, &version, &one.Bytes); err != nil {
			return nil, o.d.failed("list documents in", err)
		}
		one.Version, one.Changed = strconv.FormatInt(version, 10), time.UnixMicro(version)
		list = append(list, one)
	}
	return list, o.d.failed("list documents in", rows.Err())
}

// LockDocument implements state.Locks.
func (o Documents) LockDocument(ctx context.Context, name string) (unlock func(), err error) {
	return o.d.locks.lock(ctx, o.kind+"\n"+clean(name))
}
