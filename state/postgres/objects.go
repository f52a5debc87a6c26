package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// objectBytes is how long one object is, inlineBytes how long a result that is none,
	// and spareBytes one that is none while objects cannot be kept.
	objectBytes, inlineBytes, spareBytes = 4 << 20, 64 << 10, 1 << 20
	// collectTime is how long objects of results that are gone may take to be deleted.
	collectTime = time.Minute
)

func objectName(object string, n int) string { return fmt.Sprintf("%s/%d", object, n) }

// writeObjects is Write where long results are objects.
func (w *resultWriter) writeObjects(p []byte) (int, error) {
	for n := 0; n < len(p); {
		if w.part.Len() == objectBytes {
			if err := w.flushObject(); err != nil {
				return n, err
			}
		}
		m := min(objectBytes-w.part.Len(), len(p)-n)
		w.part.Write(p[n : n+m])
		n += m
	}
	return len(p), nil
}

// flushObject makes an object of what was written. That it may be there is in the
// database before it is.
func (w *resultWriter) flushObject() error {
	if w.object == "" {
		w.object = state.NewRunID() // unpredictable, and not a reference
	}
	r, err := w.k.d.db.ExecContext(w.ctx, "UPDATE results SET object = $2, objects = $3 WHERE ref = $1", w.ref, w.object, w.objects+1)
	if err == nil {
		if n, _ := r.RowsAffected(); n == 0 {
			err = errors.New("it was removed while it was written")
		}
	}
	if err != nil {
		return w.k.d.failed("keep a result in", err)
	}
	if err := w.k.objects.Put(w.ctx, objectName(w.object, w.objects), w.part.Bytes()); err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	w.objects++
	w.part.Reset()
	return nil
}

// flushLast keeps the end of a result, or all of a short one in the database. So it
// does with one that is not very long while objects cannot be kept.
func (w *resultWriter) flushLast() error {
	if w.size > inlineBytes {
		err := w.flushObject()
		if err == nil || w.objects > 0 || w.size > spareBytes {
			return err
		}
		w.k.d.log.Warn("a result is kept in the database", "bytes", w.size, "err", err)
		// The object may have arrived all the same.
		if _, err := w.k.d.db.ExecContext(w.ctx, `WITH one AS (UPDATE results SET object = NULL, objects = 0 WHERE ref = $1)
			INSERT INTO objects_gone (object, objects) VALUES ($2, 1)`, w.ref, w.object); err != nil {
			return w.k.d.failed("keep a result in", err)
		}
	}
	for data := w.part.Bytes(); len(data) > 0; w.parts++ {
		part := data[:min(len(data), partBytes)]
		if _, err := w.k.d.db.ExecContext(w.ctx, "INSERT INTO result_parts (ref, n, data) VALUES ($1, $2, $3)", w.ref, w.parts, part); err != nil {
			return w.k.d.failed("keep a result in", err)
		}
		data = data[len(part):]
	}
	return nil
}

// nextObject reads the next one.
func (r *resultReader) nextObject() (err error) {
	if r.k.objects == nil {
		return errors.New("the result is an object, and \"objects\" of the config does not say where these are")
	}
	r.part, err = r.k.objects.Get(r.ctx, objectName(r.object, r.next))
	switch {
	case errors.Is(err, state.ErrNotFound):
		return errors.New("read a result: its object is gone")
	case err != nil:
		return fmt.Errorf("read a result: %w", err)
	case len(r.part) == 0 || int64(len(r.part)) > r.left:
		return errors.New("read a result: its object was changed")
	}
	r.next++
	return nil
}

// Rekey seals with the first key the objects that others have sealed, one at a time,
// while any number of brokers read and write. The first key of all of them has to be
// the same one. Unopened are references of results.
func (k *Kept) Rekey(ctx context.Context) (r state.Rekeyed, err error) {
	in, sealed := k.objects.(*state.SealedObjects)
	for ref, n := "", 0; sealed; n++ {
		if ref, n, err = k.rekeyNext(ctx, in, ref, n, &r); ref == "" || err != nil {
			break
		}
	}
	return r, err
}

// rekeyNext seals the object n of a result, or the first one of the next result if it
// has no more, and returns which one that was. The row is locked meanwhile, so that
// the object is not deleted before it is put again.
func (k *Kept) rekeyNext(ctx context.Context, in *state.SealedObjects, after string, n int, r *state.Rekeyed) (ref string, at int, err error) {
	tx, err := k.d.db.BeginTx(ctx, nil)
	if err != nil {
		return "", 0, k.d.failed("seal results again in", err)
	}
	defer tx.Rollback()                                       // no effect after Commit
	if _, err := tx.ExecContext(ctx, unlimited); err != nil { // reads and writes objects meanwhile
		return "", 0, k.d.failed("seal results again in", err)
	}
	var object string
	err = tx.QueryRowContext(ctx, `SELECT ref, object, CASE WHEN ref = $1 THEN $2::bigint ELSE 0 END FROM results
		WHERE (ref > $1 OR ref = $1 AND objects > $2) AND objects > 0 ORDER BY ref LIMIT 1 FOR KEY SHARE`, after, n).Scan(&ref, &object, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, k.d.failed("seal results again in", err)
	}
	sealed, err := in.Rekey(ctx, objectName(object, at))
	switch {
	case errors.Is(err, state.ErrNotFound): // it is being written, or somebody has deleted it
	case errors.Is(err, state.ErrSealed):
		if !slices.Contains(r.Unopened, ref) {
			r.Unopened = append(r.Unopened, ref)
		}
	case err != nil:
		return "", 0, fmt.Errorf("seal a result again: %w", err)
	case sealed:
		r.Sealed++
	default:
		r.Kept++
	}
	return ref, at, nil
}

// collect deletes the objects of results that are gone. What cannot be deleted now is
// deleted the next time.
func (k *Kept) collect(ctx context.Context) {
	if k.objects == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectTime)
	defer cancel()
	for more := true; more; {
		var err error
		if more, err = k.collectSome(ctx); err != nil {
			k.d.log.Warn("delete objects of results", "err", explain(err))
			return
		}
	}
}

func (k *Kept) collectSome(ctx context.Context) (more bool, err error) {
	var object string
	var objects int
	rows, err := k.d.db.QueryContext(ctx, "SELECT object, objects FROM objects_gone LIMIT 1")
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	if err := errors.Join(rows.Scan(&object, &objects), rows.Close()); err != nil {
		return false, err
	}
	for n := range objects {
		if err := k.objects.Delete(ctx, objectName(object, n)); err != nil {
			return false, err
		}
	}
	_, err = k.d.db.ExecContext(ctx, "DELETE FROM objects_gone WHERE object = $1", object)
	return true, err
}
