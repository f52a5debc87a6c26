package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/mcpbroker/mcpbroker/state"
)

// Value implements state.Values.
func (k *Kept) Value(ctx context.Context, client, key string) (json.RawMessage, error) {
	var v []byte
	err := k.d.patiently(ctx, func() error {
		return k.d.db.QueryRowContext(ctx, "SELECT value FROM vals WHERE client = $1 AND key = $2 AND set_at >= now() - make_interval(secs => $3)",
			clean(client), []byte(key), age(k.limits.MaxValueAge)).Scan(&v)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, state.ErrNotFound
	}
	return v, k.d.failed("read a value from", err)
}

// SetValue implements state.Values.
func (k *Kept) SetValue(ctx context.Context, client, key string, v json.RawMessage) error {
	var no error
	err := k.d.transaction(ctx, func(c *sql.Conn) error {
		// One of a client at a time: the limits hold for all brokers together.
		if _, err := c.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 4))", clean(client)); err != nil {
			return err
		}
		var keys int
		var bytes int64
		if err := c.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(length(value)), 0)::bigint FROM vals WHERE client = $1 AND key <> $2
			AND set_at >= now() - make_interval(secs => $3)`, clean(client), []byte(key), age(k.limits.MaxValueAge)).Scan(&keys, &bytes); err != nil {
			return err
		}
		if no = k.limits.CheckValue(key, v, keys, bytes); no != nil {
			return no
		}
		_, err := c.ExecContext(ctx, `INSERT INTO vals (client, key, value) VALUES ($1, $2, $3)
			ON CONFLICT (client, key) DO UPDATE SET value = excluded.value, set_at = clock_timestamp()`, clean(client), []byte(key), []byte(v))
		return err
	})
	if no != nil {
		return no
	}
	return k.d.failed("keep a value in", err)
}

// DeleteValue implements state.Values.
func (k *Kept) DeleteValue(ctx context.Context, client, key string) (bool, error) {
	r, err := k.d.db.ExecContext(ctx, "DELETE FROM vals WHERE client = $1 AND key = $2", clean(client), []byte(key))
	if err != nil {
		return false, k.d.failed("delete a value from", err)
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// Keys implements state.Values.
func (k *Kept) Keys(ctx context.Context, client string) ([]string, error) {
	list, err := texts(k.d.db.QueryContext(ctx, "SELECT key FROM vals WHERE client = $1 AND set_at >= now() - make_interval(secs => $2) ORDER BY key",
		clean(client), age(k.limits.MaxValueAge)))
	return list, k.d.failed("list values in", err)
}
