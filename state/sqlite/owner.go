package sqlite

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/state/tables"
)

// A process owns executions. It is described so that another process that gets
// the same number later is not taken for it.
type process struct {
	pid   int
	start string // when it started, in the system's own terms; empty if unknown
	boot  string // which run of the system; empty if unknown
	space string // in which namespace its number counts; empty if there are none
	host  string
}

// self describes this process.
var self = sync.OnceValue(func() process {
	p := process{pid: os.Getpid(), boot: bootID(), space: pidSpace()}
	p.start, _ = processStart(p.pid)
	p.host, _ = os.Hostname()
	return p
})

// foreignGrace is how long an owner that cannot be seen from here, because it is
// in another container or on another machine, counts as alive after it began an
// execution.
const foreignGrace = time.Hour

// alive reports whether p still runs. last is when it last began an execution.
func (p process) alive(last time.Time) bool {
	me := self()
	switch {
	case p.boot != me.boot && p.host == me.host:
		return false // the system was restarted
	case p.boot != me.boot, p.space != me.space:
		return time.Since(last) < foreignGrace
	}
	start, exists := processStart(p.pid)
	return exists && start == p.start
}

// owners are the processes that write a record. It implements tables.Owners.
type owners struct{}

// Register implements tables.Owners.
func (owners) Register(ctx context.Context, conn *tables.Conn, id int64) error {
	p := self()
	_, err := conn.ExecContext(ctx, "INSERT OR IGNORE INTO owners (id, pid, start, boot, space, host, since) VALUES (?, ?, ?, ?, ?, ?, ?)",
		id, p.pid, p.start, p.boot, p.space, p.host, time.Now().UnixNano())
	return err
}

// Living implements tables.Owners.
func (owners) Living(ctx context.Context, conn *tables.Conn) (living, dead []int64, err error) {
	rows, err := conn.QueryContext(ctx, `SELECT id, pid, start, boot, space, host,
		max(since, coalesce((SELECT max(started) FROM executions WHERE owner = owners.id AND status = 'running'), 0)) FROM owners`)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, last int64
		var p process
		if err := rows.Scan(&id, &p.pid, &p.start, &p.boot, &p.space, &p.host, &last); err != nil {
			return nil, nil, err
		}
		if p.alive(time.Unix(0, last)) {
			living = append(living, id)
		} else {
			dead = append(dead, id)
		}
	}
	return living, dead, rows.Err()
}
