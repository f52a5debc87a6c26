package postgres

import (
	"context"
	"errors"
	"fmt"
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
		w.object = state.NewRunID() // which nobody can guess, and is no reference
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
