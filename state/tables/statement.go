package tables

import (
	"context"
	"database/sql"
)

// exec runs a statement that is prepared once.
func (w *writer) exec(ctx context.Context, text string, args ...any) error {
	if w.d.Numbered { // whose driver prepares by itself
		_, err := w.conn.ExecContext(ctx, text, args...)
		return err
	}
	stmt, err := w.statement(ctx, text)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx, args...)
	return err
}

func (w *writer) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	stmt := w.statements[text]
	if stmt == nil {
		var err error
		if stmt, err = w.conn.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
		w.statements[text] = stmt
	}
	return stmt, nil
}

func (w *writer) queryRow(ctx context.Context, text string, args ...any) *sql.Row {
	if !w.d.Numbered {
		if stmt, err := w.statement(ctx, text); err == nil {
			return stmt.QueryRowContext(ctx, args...)
		}
	}
	return w.conn.QueryRowContext(ctx, text, args...)
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
