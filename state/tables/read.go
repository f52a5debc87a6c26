package tables

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// orUsual replaces a limit of 0 by the usual one, and one below 0 by none.
func orUsual(limit int) int {
	if limit < 0 {
		return math.MaxInt64
	}
	return cmp.Or(limit, 50)
}

const executionColumns = `id, client, client_info, language, code_hash, coalesce(code, ''), started, ended, exit_code, state, duration, cpu,
	CASE WHEN status = 'running' THEN (SELECT count(*) FROM calls WHERE execution = e.id) ELSE calls END,
	CASE WHEN status = 'running' THEN (SELECT coalesce(sum(result_bytes), 0) FROM calls WHERE execution = e.id) ELSE bytes_in END,
	bytes_out, error, prepared, queued, opened, answer`

// listedColumns are executionColumns without the answers, which may be long.
var listedColumns = strings.TrimSuffix(executionColumns, "answer") + "NULL"

// executionsAs is the table of executions with their states: a running one without a
// living owner was interrupted.
func executionsAs(living []int64) string {
	return `(SELECT *, CASE WHEN status = 'running' AND owner NOT IN (` + idList(living) + `) THEN 'interrupted' ELSE status END AS state FROM executions) e`
}

// List implements state.History.
func (s *Store) List(ctx context.Context, f state.Filter) ([]state.Execution, error) {
	var list []state.Execution
	err := s.read(ctx, "list", func(conn *Conn, living []int64) error {
		query := "SELECT " + listedColumns + " FROM " + executionsAs(living) + " WHERE started >= ?"
		args := []any{unixNano(f.Since)}
		if f.Status != "" {
			query, args = query+" AND state = ?", append(args, f.Status)
		}
		if f.Client != "" {
			query, args = query+" AND ? IN (client, client_info)", append(args, f.Client)
		}
		if !f.Until.IsZero() {
			query, args = query+" AND started < ?", append(args, unixNano(f.Until))
		}
		if f.Text != "" {
			query, args = query+" AND (id || ' ' || client || ' ' || client_info || ' ' || error || ' ' || coalesce(code, '')) "+s.d.Like+" ? ESCAPE '!'", append(args, part(f.Text))
		}
		if f.Server != "" {
			query, args = query+" AND EXISTS (SELECT 1 FROM calls WHERE execution = e.id AND server = ?)", append(args, f.Server)
		}
		var err error
		list, err = scanExecutions(conn.QueryContext(ctx, query+" ORDER BY started DESC, id DESC LIMIT ?", append(args, orUsual(f.Limit))...))
		return err
	})
	return list, err
}

// Show implements state.History.
func (s *Store) Show(ctx context.Context, id string) (state.Execution, []state.Call, error) {
	var e state.Execution
	var calls []state.Call
	err := s.read(ctx, "show", func(conn *Conn, living []int64) error {
		found, err := scanExecutions(conn.QueryContext(ctx, "SELECT "+executionColumns+" FROM "+executionsAs(living)+
			" WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", id, id+"\x7f"))
		switch {
		case err != nil:
			return err
		case id == "", len(found) == 0:
			return fmt.Errorf("%w of execution %q: broker audit list shows what there is", state.ErrNoRecord, id)
		case len(found) > 1 && found[0].ID != id:
			return fmt.Errorf("%q is the beginning of several executions, such as %s and %s: type more of it", id, found[0].ID, found[1].ID)
		}
		e = found[0]
		calls, err = callsOf(ctx, conn, e.ID)
		return err
	})
	return e, calls, err
}

// Export implements state.History.
func (s *Store) Export(ctx context.Context, f func(state.Execution, []state.Call) error) error {
	return s.read(ctx, "export", func(conn *Conn, living []int64) error {
		const page = 200
		for started, id := int64(-1), ""; ; {
			list, err := scanExecutions(conn.QueryContext(ctx, "SELECT "+executionColumns+" FROM "+executionsAs(living)+
				" WHERE (started, id) > (?, ?) ORDER BY started, id LIMIT ?", started, id, page))
			if err != nil {
				return err
			}
			for _, e := range list {
				calls, err := callsOf(ctx, conn, e.ID)
				if err != nil {
					return err
				}
				if err := f(e, calls); err != nil {
					return err
				}
				started, id = e.Started.UnixNano(), e.ID
			}
			if len(list) < page {
				break
			}
		}
		direct, err := callsOf(ctx, conn, "")
		for _, c := range direct {
			if err := f(state.Execution{}, []state.Call{c}); err != nil {
				return err
			}
		}
		return err
	})
}

// Events implements state.History.
func (s *Store) Events(ctx context.Context, since time.Time, limit int) ([]state.Event, error) {
	var list []state.Event
	err := s.read(ctx, "list events of", func(conn *Conn, _ []int64) error {
		var err error
		list, err = eventsOf(conn.QueryContext(ctx, "SELECT "+eventColumns+" FROM events WHERE time >= ? ORDER BY time DESC, n DESC LIMIT ?", unixNano(since), orUsual(limit)))
		return err
	})
	return list, err
}

func eventsOf(rows *sql.Rows, err error) (list []state.Event, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e state.Event
		var at int64
		if err := rows.Scan(&at, &e.Kind, &e.Server, &e.Name, &e.Client, &e.Digest, &e.Failed, &e.Detail); err != nil {
			return nil, err
		}
		e.Time = time.Unix(0, at).UTC()
		list = append(list, e)
	}
	return list, rows.Err()
}

// read runs f on one state of the file, with the owners that are alive in it.
func (s *Store) read(ctx context.Context, what string, f func(conn *Conn, living []int64) error) (err error) {
	sc, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("%s audit record: %w", what, s.d.Explain(err))
	}
	defer sc.Close()
	conn := NewConn(sc, s.d)
	if _, err := conn.ExecContext(ctx, s.d.Snapshot); err != nil {
		return fmt.Errorf("%s audit record: %w", what, s.d.Explain(err))
	}
	defer func() {
		// Nothing was written: the end of the transaction cannot lose anything.
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}()
	living, _, err := s.owners.Living(ctx, conn)
	if err == nil {
		err = f(conn, living)
	}
	if err != nil {
		return fmt.Errorf("%s audit record: %w", what, s.d.Explain(err))
	}
	return nil
}

func scanExecutions(rows *sql.Rows, err error) ([]state.Execution, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []state.Execution
	for rows.Next() {
		var e state.Execution
		var started, ended int64
		if err := rows.Scan(&e.ID, &e.Client, &e.ClientInfo, &e.Language, &e.CodeHash, &e.Code, &started, &ended, &e.ExitCode, &e.Status,
			&e.Duration, &e.CPU, &e.Calls, &e.BytesIn, &e.BytesOut, &e.Error, &e.Prepared, &e.Queued, &e.Opened, &e.Answer); err != nil {
			return nil, err
		}
		e.Started = time.Unix(0, started)
		if ended != 0 {
			e.Ended = time.Unix(0, ended)
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// callsOf reads the calls of an execution, without repeating its client in each.
func callsOf(ctx context.Context, conn *Conn, execution string) ([]state.Call, error) {
	list, err := numbered(ctx, conn, "c.execution = ? ORDER BY c.seq, c.n", execution)
	for i := range list {
		list[i].N, list[i].Client = 0, ""
	}
	return list, err
}

// unixNano is t for a comparison; the zero time is before everything.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// idList writes ids for IN (…).
func idList(ids []int64) string {
	if len(ids) == 0 {
		return "-1" // an id that does not exist: not every database accepts an empty list
	}
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(id, 10))
	}
	return b.String()
}
