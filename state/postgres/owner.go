package postgres

import (
	"context"
	"database/sql"
	"os"
	"strconv"

	"github.com/mcpbroker/mcpbroker/state/tables"
)

// owners are the brokers that write the record. It implements tables.Owners. A
// broker lives for as long as a session has the lock with its id, so that the end
// of a process, of its machine or of the network to it is noticed by the server.
type owners struct{}

// Register implements tables.Owners.
func (owners) Register(ctx context.Context, conn *tables.Conn, id int64) error {
	if err := lock(ctx, conn, id); err != nil {
		return err
	}
	host, _ := os.Hostname()
	_, err := conn.ExecContext(ctx, "INSERT INTO owners (id, host, pid) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING", id, host, os.Getpid())
	return err
}

// lock takes the lock of an owner. It is a shared one: after a connection was lost,
// the server may not know yet that the session before is gone.
func lock(ctx context.Context, conn *tables.Conn, id int64) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock_shared(?)", id)
	return err
}

// Living implements tables.Owners.
func (owners) Living(ctx context.Context, conn *tables.Conn) (living, dead []int64, err error) {
	all, err := numbers(conn.QueryContext(ctx, "SELECT id FROM owners"))
	if err != nil {
		return nil, nil, err
	}
	locks, err := locked(ctx, conn) // after it: every member of all had a lock before
	if err != nil {
		return nil, nil, err
	}
	for _, id := range all {
		if locks[strconv.FormatInt(id, 10)] {
			living = append(living, id)
		} else {
			dead = append(dead, id)
		}
	}
	return living, dead, nil
}

// locked are the ids, as texts, of the locks that sessions have.
func locked(ctx context.Context, conn *tables.Conn) (map[string]bool, error) {
	all, err := numbers(conn.QueryContext(ctx, heldLocks))
	ids := make(map[string]bool, len(all))
	for _, id := range all {
		ids[strconv.FormatInt(id, 10)] = true
	}
	return ids, err
}

// heldLocks selects the ids of the locks that sessions have.
const heldLocks = `SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
	AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

func numbers(rows *sql.Rows, err error) (list []int64, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, rows.Err()
}
