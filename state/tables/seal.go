package tables

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// sealedText begins a text that is sealed. One that is not is JSON, or a script.
const sealedText = "\x01sealed:"

func callName(run string, ordinal int) string { return fmt.Sprintf("%s/%d", run, ordinal) }

// seal is what is kept of bytes.
func (r *Runs) seal(name string, b []byte) []byte {
	if r.Sealed == nil || b == nil {
		return b
	}
	return r.Sealed.Seal(name, b)
}

// A runReader reads runs through one connection.
type runReader struct {
	*Runs
	conn  *Conn
	stale bool // read a record that is not sealed with the first key
}

// reader returns a runReader for the connection that writes; r.mu is held.
func (r *Runs) reader() *runReader { return &runReader{Runs: r, conn: r.conn} }

// unseal is what seal was called with.
func (r *runReader) unseal(name string, b []byte) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	if r.Sealed == nil {
		return nil, fmt.Errorf("open %s: %w, and there is no \"stateKey\"", name, state.ErrSealed)
	}
	b, key, err := r.Sealed.Open(name, b)
	r.stale = r.stale || key > 0
	return b, err
}

// sealText is what is kept of a text.
func (r *Runs) sealText(name, text string) string {
	if r.Sealed == nil {
		return text
	}
	return sealedText + base64.StdEncoding.EncodeToString(r.seal(name, []byte(text)))
}

// openText is what sealText was called with, and whether it was sealed.
func (r *runReader) openText(name, text string) (string, bool, error) {
	data, sealed := strings.CutPrefix(text, sealedText)
	if !sealed {
		r.stale = r.stale || r.Sealed != nil
		return text, false, nil
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err == nil {
		b, err = r.unseal(name, b)
	}
	return string(b), true, err
}

// readCalls reads the calls of a run.
func (r *runReader) readCalls(ctx context.Context, id string) ([]state.RunCall, error) {
	rows, err := r.conn.QueryContext(ctx, "SELECT ordinal, body, value, steps FROM run_calls WHERE run = ? ORDER BY ordinal", id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var calls []state.RunCall
	for rows.Next() {
		var c state.RunCall
		var n int
		var body string
		var value, steps []byte
		if err := rows.Scan(&n, &body, &value, &steps); err != nil {
			return nil, err
		}
		name := callName(id, n)
		body, sealed, err := r.openText(name, body)
		if err == nil && sealed {
			value, err = r.unseal(name+"/value", value)
		}
		if err == nil && sealed {
			steps, err = r.unseal(name+"/steps", steps)
		}
		if err == nil {
			err = json.Unmarshal([]byte(body), &c)
		}
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", id, err)
		}
		c.Value, c.Steps, c.Expires = value, steps, shifted(c.Expires, -r.o.Skew())
		calls = append(calls, c)
	}
	return calls, rows.Err()
}

// columns returns the columns of a run.
func (r *Runs) columns(run state.Run) (body, code string, err error) {
	b, err := json.Marshal(r.stored(run))
	return r.sealText(run.ID, string(b)), r.sealText(run.ID+"/code", r.d.text(run.Code)), err
}

// update writes the columns of a run; its owner stays.
func (r *Runs) update(ctx context.Context, run state.Run, at time.Time) error {
	body, code, err := r.columns(run)
	if err == nil {
		_, err = r.conn.ExecContext(ctx, "UPDATE runs SET body = ?, code = ?, updated = ? WHERE id = ?", body, code, at.UnixNano(), run.ID)
	}
	return err
}

// Rekey encrypts with the first key the runs that other keys, or none, have encrypted,
// one at a time, while any number of brokers execute them. All of them must have the
// same first key.
func (r *Runs) Rekey(ctx context.Context) (done state.Rekeyed, err error) {
	list, err := r.Runs(ctx, -1)
	for i := 0; i < len(list) && err == nil; i++ {
		stale, failed := r.rekey(ctx, list[i].ID)
		switch {
		case errors.Is(failed, state.ErrNotFound): // it was removed
		case errors.Is(failed, state.ErrSealed):
			done.Unopened = append(done.Unopened, list[i].ID)
		case failed != nil:
			err = failed
		case stale:
			done.Sealed++
		default:
			done.Kept++
		}
		err = cmp.Or(err, ctx.Err())
	}
	return done, err
}

// rekey seals one run again, if it has to be.
func (r *Runs) rekey(ctx context.Context, id string) (stale bool, err error) {
	err = r.locked(ctx, false, func(ctx context.Context) error {
		return Transaction(ctx, r.conn, "", func() error {
			if err := r.lock(ctx, id); err != nil {
				return err
			}
			from := r.reader()
			run, calls, err := from.readRun(ctx, id)
			if stale = from.stale; err != nil || !stale {
				return err
			}
			for i := range calls {
				if err := r.putCall(ctx, id, &calls[i]); err != nil {
					return err
				}
			}
			return r.update(ctx, run, run.Updated)
		})
	})
	return stale, err
}
