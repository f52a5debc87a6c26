package postgres

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/tables"
)

// Replicas implements state.Replicas. As with owners, a replica lives for as long as
// a session of the database has its lock.
type Replicas struct{ d *Database }

var _ state.Replicas = Replicas{}

// Replicas returns the brokers that use the database.
func (d *Database) Replicas() Replicas { return Replicas{d} }

const (
	// replicaTend is how often a replica makes sure that its session is still there.
	replicaTend = 2 * time.Second
	// replicaTime is how long that may take.
	replicaTime = 5 * time.Second
)

// Join implements state.Replicas.
func (r Replicas) Join(ctx context.Context, one state.Replica) (leave func(), err error) {
	m := &member{d: r.d, id: tables.NewOwnerID(), replica: one}
	if err := m.acquire(ctx); err != nil {
		return nil, r.d.failed("join the replicas of", err)
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { m.stay(quit) })
	return sync.OnceFunc(func() {
		close(quit)
		wg.Wait()
		m.leave()
	}), nil
}

// A member is a replica that has joined, with the session that has its lock.
type member struct {
	d       *Database
	id      int64
	replica state.Replica
	conn    *sql.Conn
}

// acquire takes the lock, and then the row of the previous owner of the name.
func (m *member) acquire(ctx context.Context) error {
	conn, err := m.d.db.Conn(ctx)
	if err != nil {
		return err
	}
	c := tables.NewConn(conn, dialect)
	err = lock(ctx, c, m.id)
	if err == nil {
		_, err = c.ExecContext(ctx, "DELETE FROM replicas WHERE lock NOT IN ("+heldLocks+")")
	}
	if err == nil {
		_, err = c.ExecContext(ctx, `INSERT INTO replicas (name, lock, address, certificate) VALUES (?, ?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET lock = excluded.lock, address = excluded.address, certificate = excluded.certificate, since = now()`,
			m.replica.Name, m.id, m.replica.Address, m.replica.Certificate)
	}
	if err != nil {
		_, _ = c.ExecContext(ctx, dialect.Release) // the first error is what matters
		_ = conn.Close()
		return err
	}
	m.conn = conn
	return nil
}

// stay enters again when the session was lost.
func (m *member) stay(quit <-chan struct{}) {
	tick := time.NewTicker(replicaTend)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), replicaTime)
		if m.conn != nil && m.conn.PingContext(ctx) != nil {
			_ = m.conn.Close() // it is broken
			m.conn = nil
		}
		if m.conn == nil {
			if err := m.acquire(ctx); err != nil {
				m.d.log.Warn("join the replicas again", "err", explain(err))
			}
		}
		cancel()
	}
}

// leave gives the lock back.
func (m *member) leave() {
	if m.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), replicaTime)
	defer cancel()
	c := tables.NewConn(m.conn, dialect)
	_, err := c.ExecContext(ctx, "DELETE FROM replicas WHERE name = ? AND lock = ?", m.replica.Name, m.id)
	if err == nil {
		_, err = c.ExecContext(ctx, dialect.Release)
	}
	if err != nil {
		m.d.log.Warn("leave the replicas", "err", explain(err)) // the end of the session does it
	}
	_ = m.conn.Close()
}

// Living implements state.Replicas.
func (r Replicas) Living(ctx context.Context) (list []state.Replica, err error) {
	rows, err := r.d.db.QueryContext(ctx, "SELECT name, address, certificate FROM replicas WHERE lock IN ("+heldLocks+")")
	if err != nil {
		return nil, r.d.failed("read the replicas of", err)
	}
	defer rows.Close()
	for rows.Next() {
		var one state.Replica
		if err := rows.Scan(&one.Name, &one.Address, &one.Certificate); err != nil {
			return nil, r.d.failed("read the replicas of", err)
		}
		list = append(list, one)
	}
	return list, r.d.failed("read the replicas of", rows.Err())
}
