package tables

import (
	"context"
	"database/sql/driver"
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

// hangUp closes a connection that is broken.
func (w *writer) hangUp() {
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // with its locks, if it is not
	_ = w.conn.Close()
	for _, stmt := range w.statements {
		_ = stmt.Close()
	}
	clear(w.statements)
}

// reconnect opens another connection, and reports whether it could. With a spool, it
// tries once.
func (w *writer) reconnect(ctx context.Context) bool {
	w.hangUp()
	patience := w.d.Patience
	if w.o.Spool != nil {
		patience = 0
	}
	err := reopen(patience, func() error {
		ctx, cancel := context.WithTimeout(ctx, commitTime)
		defer cancel()
		conn, err := w.db.Conn(ctx)
		if err != nil {
			return err
		}
		w.conn = NewConn(conn, w.d).prepares()
		if w.registered {
			return w.owners.Register(ctx, w.conn, w.owner)
		}
		return nil
	})
	if err != nil && w.o.Spool == nil {
		w.log.Error("audit: connect again", "err", w.d.Explain(err))
	}
	return err == nil
}

// arrived reports whether the transaction with the unknown outcome was committed.
func (w *writer) arrived(ctx context.Context) (bool, error) {
	return w.has(ctx, w.inDoubt.N, []byte(w.inDoubt.Hash))
}

// has reports whether a link is in the chain.
func (w *writer) has(ctx context.Context, n int64, hash []byte) (yes bool, err error) {
	err = w.conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM chain WHERE n = ? AND hash = ?)", n, hash).Scan(&yes)
	return yes, err
}
