package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// Kept keeps results and values. It implements state.Results and state.Values.
type Kept struct {
	d       *Database
	limits  state.Limits
	objects state.Objects // nil keeps all in the database
	since   atomic.Int64  // bytes written since the last sweep; below 0 before the first
}

var (
	_ state.Results = (*Kept)(nil)
	_ state.Values  = (*Kept)(nil)
)

// Kept returns the results and values of the database. Nil limits are the defaults.
func (d *Database) Kept(limits *state.Limits) *Kept {
	if limits == nil {
		limits = &state.Limits{}
	}
	k := &Kept{d: d, limits: limits.WithDefaults()}
	k.since.Store(k.limits.MaxBytes)
	return k
}

// In stores long results as objects. Call it before the first use.
func (k *Kept) In(objects state.Objects) *Kept {
	k.objects = objects
	return k
}

// partBytes is how much of a result is in one row.
const partBytes = 256 << 10

// age is how old something may be, for make_interval.
func age(d time.Duration) float64 { return d.Seconds() }

// Clients implements state.Results.
func (k *Kept) Clients(ctx context.Context) ([]string, error) {
	list, err := texts(k.d.db.QueryContext(ctx, "SELECT client FROM results WHERE ready UNION SELECT client FROM vals ORDER BY client"))
	return list, k.d.failed("list clients in", err)
}

func texts(rows *sql.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []string{}
	for rows.Next() {
		var s []byte
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, string(s))
	}
	return list, rows.Err()
}

// A resultWriter is a state.ResultWriter: parts of a row that cannot be read before
// Commit.
type resultWriter struct {
	k     *Kept
	ctx   context.Context // of its making: a writer has no other
	ref   string
	part  bytes.Buffer
	parts int
	size  int64

	object  string // the name of its objects, of which there are so many
	objects int
}

// Create implements state.Results.
func (k *Kept) Create(ctx context.Context, client, mime string) (state.ResultWriter, error) {
	w := &resultWriter{k: k, ctx: context.WithoutCancel(ctx), ref: state.NewRunID()} // 128 random bits too
	_, err := k.d.db.ExecContext(ctx, "INSERT INTO results (ref, client, mime) VALUES ($1, $2, $3)", w.ref, clean(client), clean(mime))
	if err != nil {
		return nil, k.d.failed("keep a result in", err)
	}
	return w, nil
}

// Write appends p.
func (w *resultWriter) Write(p []byte) (int, error) {
	if most := w.k.limits.MaxBytes; w.size+int64(len(p)) > most {
		return 0, &state.LimitError{Text: fmt.Sprintf("keep result: it is longer than the %d bytes that a client may keep", most)}
	}
	w.size += int64(len(p))
	if w.k.objects != nil {
		return w.writeObjects(p)
	}
	for n := 0; n < len(p); {
		m := min(partBytes-w.part.Len(), len(p)-n)
		w.part.Write(p[n : n+m])
		if n += m; w.part.Len() == partBytes {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
	}
	return len(p), nil
}

func (w *resultWriter) flush() error {
	if w.part.Len() == 0 {
		return nil
	}
	_, err := w.k.d.db.ExecContext(w.ctx, "INSERT INTO result_parts (ref, n, data) VALUES ($1, $2, $3)", w.ref, w.parts, w.part.Bytes())
	w.parts++
	w.part.Reset()
	return w.k.d.failed("keep a result in", err)
}

// Commit makes the result readable.
func (w *resultWriter) Commit() (string, error) {
	flush := w.flush
	if w.k.objects != nil {
		flush = w.flushLast
	}
	if err := flush(); err != nil {
		w.Discard()
		return "", err
	}
	r, err := w.k.d.db.ExecContext(w.ctx, "UPDATE results SET ready = true, bytes = $2, created = clock_timestamp() WHERE ref = $1", w.ref, w.size)
	if err == nil {
		if n, _ := r.RowsAffected(); n == 0 {
			err = errors.New("it was removed while it was written")
		}
	}
	if err != nil {
		return "", w.k.d.failed("keep a result in", err)
	}
	if w.k.since.Add(w.size) > w.k.limits.MaxBytes/16 {
		w.k.since.Store(0)
		if err := w.k.Sweep(w.ctx); err != nil {
			w.k.d.log.Warn("remove old results", "err", err)
		}
	}
	return w.ref, nil
}

// Discard forgets what was written.
func (w *resultWriter) Discard() {
	if _, err := w.k.d.db.ExecContext(w.ctx, "DELETE FROM results WHERE ref = $1", w.ref); err != nil {
		w.k.d.log.Warn("discard a result", "err", explain(err)) // a sweep removes it
	}
	w.k.collect(w.ctx)
}

// Sweep removes what is too old, then each client's oldest results until they fit
// into MaxBytes, and results that were left half written an hour ago.
func (k *Kept) Sweep(ctx context.Context) error {
	_, err := k.d.db.ExecContext(ctx, `DELETE FROM results r WHERE created < now() - make_interval(secs => $1) OR NOT ready AND created < now() - interval '1 hour'
		OR ready AND (SELECT sum(o.bytes) FROM results o WHERE o.client = r.client AND o.ready AND (o.created, o.ref) >= (r.created, r.ref)) > $2`, age(k.limits.MaxAge), k.limits.MaxBytes)
	if err == nil {
		_, err = k.d.db.ExecContext(ctx, "DELETE FROM vals WHERE set_at < now() - make_interval(secs => $1)", age(k.limits.MaxValueAge))
	}
	k.collect(ctx)
	return k.d.failed("remove old results from", err)
}

const resultColumns = "ref, client, mime, bytes, created FROM results WHERE ready AND client = $1 AND created >= now() - make_interval(secs => $2)"

func resultsOf(rows *sql.Rows, err error) ([]state.Result, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []state.Result{}
	for rows.Next() {
		var r state.Result
		if err := rows.Scan(&r.Ref, &r.Client, &r.MIME, &r.Bytes, &r.Created); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// Open implements state.Results.
func (k *Kept) Open(ctx context.Context, client, ref string) (state.Result, io.ReadCloser, error) {
	list, err := resultsOf(k.d.db.QueryContext(ctx, "SELECT "+resultColumns+" AND ref = $3", clean(client), age(k.limits.MaxAge), clean(ref)))
	switch {
	case err != nil:
		return state.Result{}, nil, k.d.failed("read a result from", err)
	case len(list) == 0:
		return state.Result{}, nil, state.ErrNotFound
	}
	r := &resultReader{k: k, ctx: context.WithoutCancel(ctx), ref: ref, left: list[0].Bytes}
	if err := k.d.db.QueryRowContext(ctx, "SELECT coalesce(object, '') FROM results WHERE ref = $1", clean(ref)).Scan(&r.object); err != nil {
		return state.Result{}, nil, k.d.failed("read a result from", err)
	}
	return list[0], r, nil
}

// A resultReader reads one part after another.
type resultReader struct {
	k    *Kept
	ctx  context.Context
	ref  string
	next int
	part []byte
	left int64

	object string // empty for parts in the database
}

// Read reads some of a part.
func (r *resultReader) Read(p []byte) (int, error) {
	if len(r.part) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		if r.object != "" {
			if err := r.nextObject(); err != nil {
				return 0, err
			}
			return r.take(p), nil
		}
		err := r.k.d.db.QueryRowContext(r.ctx, "SELECT data FROM result_parts WHERE ref = $1 AND n = $2", r.ref, r.next).Scan(&r.part)
		if errors.Is(err, sql.ErrNoRows) {
			err = errors.New("it was removed while it was read")
		}
		if err != nil {
			return 0, r.k.d.failed("read a result from", err)
		}
		r.next++
	}
	return r.take(p), nil
}

func (r *resultReader) take(p []byte) int {
	n := copy(p, r.part)
	r.part, r.left = r.part[n:], r.left-int64(n)
	return n
}

// Close has nothing to give back.
func (r *resultReader) Close() error { return nil }

// List implements state.Results.
func (k *Kept) List(ctx context.Context, client string) ([]state.Result, error) {
	list, err := resultsOf(k.d.db.QueryContext(ctx, "SELECT "+resultColumns+" ORDER BY created DESC, ref", clean(client), age(k.limits.MaxAge)))
	return list, k.d.failed("list results in", err)
}

// Remove implements state.Results.
func (k *Kept) Remove(ctx context.Context, client, ref string) error {
	r, err := k.d.db.ExecContext(ctx, "DELETE FROM results WHERE ready AND client = $1 AND ref = $2", clean(client), clean(ref))
	if err != nil {
		return k.d.failed("remove a result from", err)
	}
	if n, _ := r.RowsAffected(); n == 0 {
		return state.ErrNotFound
	}
	k.collect(ctx)
	return nil
}
