package tables

import (
	"context"
	"strings"
)

// A pending is what is to be inserted into one table.
type pending struct {
	table, columns string
	rows           [][]any
}

// insert adds a row to one of three tables, at once or with others at the end of
// the transaction.
func (w *writer) insert(ctx context.Context, table, columns string, row ...any) error {
	if w.d.Insert == nil {
		return w.exec(ctx, "INSERT INTO "+table+" ("+columns+") VALUES (?"+strings.Repeat(", ?", len(row)-1)+")", row...)
	}
	for i := range w.rows {
		if p := &w.rows[i]; p.table == table || p.table == "" {
			p.table, p.columns, p.rows = table, columns, append(p.rows, row)
			return nil
		}
	}
	panic("a fourth table: " + table)
}

// insertAll inserts what is pending.
func (w *writer) insertAll(ctx context.Context) error {
	for i := range w.rows {
		p := &w.rows[i]
		if len(p.rows) == 0 {
			continue
		}
		if err := w.d.Insert(ctx, w.conn.Conn, p.table, strings.Split(p.columns, ", "), p.rows); err != nil {
			return err
		}
		p.rows = nil // payloads must not stay in memory
	}
	return nil
}

// reconnect opens another connection.
func (w *writer) reconnect(ctx context.Context) {
	_ = w.conn.Close() // it is broken
	for _, stmt := range w.statements {
		_ = stmt.Close()
	}
	clear(w.statements)
	err := w.d.reopen(func() error {
		conn, err := w.db.Conn(ctx)
		if err != nil {
			return err
		}
		w.conn = &Conn{conn, w.d}
		if w.registered {
			return w.owners.Register(ctx, w.conn, w.owner)
		}
		return nil
	})
	if err != nil {
		w.log.Error("audit: connect again", "err", w.d.Explain(err))
	}
}

// arrived reports whether the transaction whose outcome is not known was committed.
func (w *writer) arrived(ctx context.Context) (bool, error) {
	var yes bool
	err := w.conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM chain WHERE n = ? AND hash = ?)", w.inDoubt.N, []byte(w.inDoubt.Hash)).Scan(&yes)
	return yes, err
}
