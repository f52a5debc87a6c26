package tables

import (
	"context"
	"fmt"
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
	where, args := "c.n < ? AND c.n > ? AND c.started >= ?", []any{int64(1) << 62, f.After, unixNano(f.Since)}
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
		where, args = where+" AND (c.tool_id || ' ' || c.decision || ' ' || c.error || ' ' || coalesce(c.args, '')) "+s.d.Like+" ? ESCAPE '!'", append(args, part(f.Text))
	}
	err = s.read(ctx, "list calls of", func(conn *Conn, _ []int64) error {
		list, err = numbered(ctx, conn, where+" ORDER BY c.n DESC LIMIT ?", append(args, orUsual(f.Limit))...)
		return err
	})
	return list, err
}

// numbered reads calls with their numbers and clients.
func numbered(ctx context.Context, conn *Conn, where string, args ...any) ([]state.Call, error) {
	rows, err := conn.QueryContext(ctx, `SELECT c.n, coalesce(e.client, ''), c.execution, c.seq, c.server, c.tool, c.tool_id, c.started, c.duration, c.status, c.class, c.decision,
		c.arg_bytes, c.result_bytes, c.error, c.args, c.result, c.waited, c.line FROM calls c LEFT JOIN executions e ON e.id = c.execution WHERE `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []state.Call
	for rows.Next() {
		var c state.Call
		var started int64
		if err := rows.Scan(&c.N, &c.Client, &c.ExecutionID, &c.Seq, &c.Server, &c.Tool, &c.ID, &started, &c.Duration, &c.Status, &c.Class, &c.Decision,
			&c.ArgBytes, &c.ResultBytes, &c.Error, &c.Args, &c.Result, &c.Waited, &c.Line); err != nil {
			return nil, err
		}
		c.Started = time.Unix(0, started)
		list = append(list, c)
	}
	return list, rows.Err()
}

// News implements state.Rows. Whatever is written has a link in the chain, with a
// number: to find what is new does not depend on clocks, or on how much there is.
func (s *Store) News(ctx context.Context, after state.Position) (n state.News, err error) {
	seen := max(after.Call, after.Event)
	n.At.Time = time.Now()
	const last = "SELECT n FROM head"
	var at int64
	// Nearly always there is nothing, and this costs a tenth of a transaction.
	if err := s.db.QueryRowContext(ctx, last).Scan(&at); err != nil {
		return n, fmt.Errorf("follow audit record: %w", s.d.Explain(err))
	}
	if n.At.Call, n.At.Event = at, at; after.Time.IsZero() || at == seen {
		return n, nil
	}
	err = s.read(ctx, "follow", func(conn *Conn, living []int64) error {
		if err := conn.QueryRowContext(ctx, last).Scan(&at); err != nil {
			return err
		}
		n.At.Call, n.At.Event = at, at
		if n.Missed = at-seen > state.MaxNews || at < seen; n.Missed { // it is another file
			return nil
		}
		n.Executions, err = scanExecutions(conn.QueryContext(ctx, "SELECT "+strings.Replace(listedColumns, "coalesce(code, '')", "''", 1)+" FROM "+executionsAs(living)+
			" WHERE id IN (SELECT ref FROM chain WHERE n > ? AND kind IN ('"+linkBegun+"', '"+linkFinished+"')) ORDER BY started DESC", seen))
		if err != nil {
			return err
		}
		if n.Calls, err = numbered(ctx, conn, "c.n > ? ORDER BY c.n", seen); err != nil {
			return err
		}
		n.Events, err = eventsOf(conn.QueryContext(ctx, "SELECT "+eventColumns+" FROM events WHERE n > ? ORDER BY n", seen))
		return err
	})
	return n, err
}
