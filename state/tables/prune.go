package tables

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// removesOld reports whether it is this broker that removes what is old. Others would find
// nothing to remove, but wait for the chain.
func (w *writer) removesOld() (yes bool) {
	if w.d.Keeper == "" {
		return true
	}
	err := w.committed(commitTime, func(ctx context.Context) error { return w.conn.QueryRowContext(ctx, w.d.Keeper).Scan(&yes) })
	if err != nil {
		w.log.Warn("audit: ask who removes old records", "err", err)
	}
	return err == nil && yes
}

// tidy removes some of what is older than is kept, or too much, and reports
// whether there is more.
func (w *writer) tidy() bool {
	ctx := context.Background()
	var before time.Time
	if w.o.Age > 0 {
		before = time.Now().Add(-w.o.Age)
	}
	more, err := false, error(nil)
	if full, e := w.tooLarge(ctx); e != nil || !full.IsZero() {
		before, err, more = latest(before, full), e, !full.IsZero()
	}
	if err == nil && !before.IsZero() {
		var rest bool
		_, rest, err = w.pruneSome(ctx, before)
		more = more || rest
	}
	if err != nil {
		w.log.Warn("audit: remove old records", "err", err)
		return false
	}
	return more
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tooLarge is a time before which there is something to remove because the record
// is too large, an eighth of all the time that it is about; zero if it is not.
func (w *writer) tooLarge(ctx context.Context) (time.Time, error) {
	if w.o.MaxBytes == 0 || w.o.Size == nil {
		return time.Time{}, nil
	}
	var oldest sql.NullInt64
	size, err := w.o.Size(ctx, w.conn)
	if err == nil && size > w.o.MaxBytes {
		err = w.conn.QueryRowContext(ctx, `SELECT min(at) FROM (SELECT min(started) AS at FROM executions WHERE status <> 'running'
			UNION ALL SELECT min(started) FROM calls WHERE execution = '' UNION ALL SELECT min(time) FROM events) o`).Scan(&oldest)
	}
	if err != nil || !oldest.Valid {
		return time.Time{}, err
	}
	first := time.Unix(0, oldest.Int64)
	return first.Add(max(time.Since(first)/8, time.Second)), nil
}

// pruneSome removes at most pruneStep executions that began before t, and as
// many calls without one. It returns how many executions that were, and whether
// there is more of either.
func (w *writer) pruneSome(ctx context.Context, t time.Time) (executions int, more bool, err error) {
	direct, events := 0, 0 // calls without an execution
	const old = `SELECT id FROM executions WHERE started < ? AND status <> 'running' ORDER BY started LIMIT ?`
	err = w.chained(ctx, func() error {
		if _, err := w.conn.ExecContext(ctx, "DELETE FROM calls WHERE execution IN ("+old+")", t.UnixNano(), pruneStep); err != nil {
			return err
		}
		var err error
		if events, err = deleted(w.conn.ExecContext(ctx, "DELETE FROM events WHERE time < ?", t.UnixNano())); err != nil {
			return err
		}
		executions, err = deleted(w.conn.ExecContext(ctx, "DELETE FROM executions WHERE id IN ("+old+")", t.UnixNano(), pruneStep))
		if err != nil {
			return err
		}
		direct, err = deleted(w.conn.ExecContext(ctx,
			"DELETE FROM calls WHERE n IN (SELECT n FROM calls WHERE execution = '' AND started < ? LIMIT ?)", t.UnixNano(), pruneStep))
		if err != nil || executions+direct+events == 0 {
			return err
		}
		return w.shorten(ctx, t.UnixNano(), max(executions, direct) == pruneStep)
	})
	if err == nil && executions+direct+events > 0 {
		w.announce()
		if w.d.Vacuum != "" {
			_, err = w.conn.ExecContext(ctx, fmt.Sprintf(w.d.Vacuum, 256))
		}
	}
	return executions, max(executions, direct) == pruneStep, err
}

func deleted(r sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	return int(n), err
}
