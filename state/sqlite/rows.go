package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// part is a pattern for what has text in it.
func part(text string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(text) + "%"
}

// Calls implements state.Rows.
func (s *Store) Calls(ctx context.Context, f state.CallFilter) (list []state.Call, err error) {
	where, args := "c.n < ? AND c.started >= ?", []any{int64(1) << 62, unixNano(f.Since)}
	if f.Before > 0 {
		args[0] = f.Before
	}
	if !f.Until.IsZero() {
		where, args = where+" AND c.started < ?", append(args, unixNano(f.Until))
	}
	for _, is := range []struct{ column, value string }{{"c.server", f.Server}, {"c.tool", f.Tool}, {"c.status", f.Status}, {"c.class", f.Class}} {
		if is.value != "" {
			where, args = where+" AND "+is.column+" = ?", append(args, is.value)
		}
	}
	if f.Client != "" {
		where, args = where+" AND ? IN (e.client, e.client_info)", append(args, f.Client)
	}
	if f.Text != "" {
		where, args = where+" AND (c.tool_id || ' ' || c.decision || ' ' || c.error || ' ' || coalesce(c.args, '')) LIKE ? ESCAPE '!'", append(args, part(f.Text))
	}
	err = s.read(ctx, "list calls of", func(conn *sql.Conn, _ []int64) error {
		list, err = numbered(ctx, conn, where+" ORDER BY c.n DESC LIMIT ?", append(args, orUsual(f.Limit))...)
		return err
	})
	return list, err
}

// numbered reads calls with their numbers and clients.
func numbered(ctx context.Context, conn *sql.Conn, where string, args ...any) ([]state.Call, error) {
	rows, err := conn.QueryContext(ctx, `SELECT c.n, coalesce(e.client, ''), c.execution, c.seq, c.server, c.tool, c.tool_id, c.started, c.duration, c.status, c.class, c.decision,
		c.arg_bytes, c.result_bytes, c.error, c.args, c.result FROM calls c LEFT JOIN executions e ON e.id = c.execution WHERE `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []state.Call
	for rows.Next() {
		var c state.Call
		var started int64
		if err := rows.Scan(&c.N, &c.Client, &c.ExecutionID, &c.Seq, &c.Server, &c.Tool, &c.ID, &started, &c.Duration, &c.Status, &c.Class, &c.Decision,
			&c.ArgBytes, &c.ResultBytes, &c.Error, &c.Args, &c.Result); err != nil {
			return nil, err
		}
		c.Started = time.Unix(0, started)
		list = append(list, c)
	}
	return list, rows.Err()
}

const (
	// newsOverlap is how long after its start or end an execution may be committed.
	newsOverlap = 300 * time.Millisecond
	// newsReach is how long an execution may run and still be news when it ends: it
	// bounds what is looked through.
	newsReach = 3 * time.Hour
)

// News implements state.Rows.
func (s *Store) News(ctx context.Context, after state.Position) (n state.News, err error) {
	now := time.Now()
	err = s.read(ctx, "follow", func(conn *sql.Conn, living []int64) error {
		n.At.Time = now
		if err := conn.QueryRowContext(ctx, "SELECT coalesce((SELECT max(n) FROM calls), 0), coalesce((SELECT max(n) FROM events), 0)").Scan(&n.At.Call, &n.At.Event); err != nil {
			return err
		}
		if after.Time.IsZero() {
			return nil
		}
		since := after.Time
		if since.After(now) { // the clock was set back
			since = now
		}
		since = since.Add(-newsOverlap)
		if n.Executions, err = scanExecutions(conn.QueryContext(ctx, "SELECT "+strings.Replace(executionColumns, "coalesce(code, '')", "''", 1)+" FROM "+executionsAs(living)+
			" WHERE started >= ? AND (started > ? OR ended > ?) ORDER BY started DESC LIMIT ?", since.Add(-newsReach).UnixNano(), since.UnixNano(), since.UnixNano(), state.MaxNews)); err != nil {
			return err
		}
		n.Missed = n.At.Call-after.Call > state.MaxNews || n.At.Event-after.Event > state.MaxNews || len(n.Executions) == state.MaxNews
		if n.Missed {
			return nil
		}
		if n.At.Call > after.Call {
			if n.Calls, err = numbered(ctx, conn, "c.n > ? ORDER BY c.n", after.Call); err != nil {
				return err
			}
		}
		if n.At.Event > after.Event {
			n.Events, err = eventsOf(conn.QueryContext(ctx, "SELECT "+eventColumns+" FROM events WHERE n > ? ORDER BY n", after.Event))
		}
		return err
	})
	return n, err
}
