package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/state"
)

// Key implements state.Types.
func (s *Store) Key(ctx context.Context, proposed []byte) (key []byte, err error) {
	read := func(from interface {
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}) error {
		err := from.QueryRowContext(ctx, "SELECT secret FROM type_key").Scan(&key)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}
	if err := read(s.db); err != nil {
		return nil, fmt.Errorf("read learned types: %w", s.d.Explain(err))
	}
	if key != nil || proposed == nil {
		return key, nil
	}
	err = s.ask(ctx, op{alone: true, write: func(ctx context.Context, w *writer) error {
		return Transaction(ctx, w.conn, "type_key", func() error {
			if _, err := w.conn.ExecContext(ctx, "INSERT INTO type_key (id, secret) VALUES (1, ?) ON CONFLICT (id) DO NOTHING", proposed); err != nil {
				return err
			}
			return read(w.conn)
		})
	}})
	if err != nil {
		return nil, err
	}
	return key, nil
}

// All implements state.Types.
func (s *Store) All(ctx context.Context) ([]state.TypeRow, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT server, tool, version, body FROM types ORDER BY server, tool")
	if err != nil {
		return nil, fmt.Errorf("read learned types: %w", s.d.Explain(err))
	}
	defer rows.Close()
	var list []state.TypeRow
	for rows.Next() {
		var r state.TypeRow
		if err := rows.Scan(&r.Server, &r.Tool, &r.Version, &r.Body); err != nil {
			return nil, fmt.Errorf("read learned types: %w", err)
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// Change implements state.Types.
func (s *Store) Change(ctx context.Context, tools []state.ToolName, f func(state.TypeRow) ([]byte, error)) (changed []state.TypeRow, err error) {
	err = s.ask(ctx, op{alone: true, write: func(ctx context.Context, w *writer) error {
		var list []state.TypeRow
		err := Transaction(ctx, w.conn, "types", func() error {
			for _, t := range tools {
				r, err := w.changeType(ctx, t, f)
				if err != nil {
					return err
				}
				list = append(list, r)
			}
			return nil
		})
		changed = list
		return err
	}})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

func (w *writer) changeType(ctx context.Context, t state.ToolName, f func(state.TypeRow) ([]byte, error)) (state.TypeRow, error) {
	r := state.TypeRow{ToolName: t}
	t = state.ToolName{Server: w.d.text(t.Server), Tool: w.d.text(t.Tool)}
	err := w.conn.QueryRowContext(ctx, "SELECT version, body FROM types WHERE server = ? AND tool = ?", t.Server, t.Tool).Scan(&r.Version, &r.Body)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return r, err
	}
	body, err := f(r)
	if err != nil || body == nil {
		return r, err
	}
	r.Version, r.Body = r.Version+1, body
	return r, w.exec(ctx, `INSERT INTO types (server, tool, version, body) VALUES (?, ?, ?, ?)
		ON CONFLICT (server, tool) DO UPDATE SET version = excluded.version, body = excluded.body`, t.Server, t.Tool, r.Version, body)
}

// Forget implements state.Types.
func (s *Store) Forget(ctx context.Context, server, tool string) error {
	return s.ask(ctx, op{alone: true, write: func(ctx context.Context, w *writer) error {
		return w.exec(ctx, "DELETE FROM types WHERE (?1 = '' OR server = ?1) AND (?2 = '' OR tool = ?2)", server, tool)
	}})
}
