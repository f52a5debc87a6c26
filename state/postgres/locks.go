package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"time"
)

// locks are those that this broker has of documents, all in one session of the
// database, which ends with the process: however many there are and however long
// they are held, they take one connection.
type locks struct {
	d    *Database
	mu   sync.Mutex
	conn *sql.Conn           // nil while no lock is held or wanted
	held map[string]struct{} // in this process; the database would give one twice to one session
}

const (
	// lockFirst and lockMost are how long to wait before a lock is tried again that
	// somebody else has.
	lockFirst = 5 * time.Millisecond
	lockMost  = 100 * time.Millisecond
	// lockTime is how long one try may take.
	lockTime = 10 * time.Second
	// lockKey is the number of a lock, by its name.
	lockKey = "(hashtextextended($1, 5))"
)

func (l *locks) lock(ctx context.Context, name string) (unlock func(), err error) {
	for wait := lockFirst; ; wait = min(2*wait, lockMost) {
		unlock, err := l.try(name)
		if unlock != nil || err != nil {
			return unlock, l.d.failed("lock in", err)
		}
		select {
		case <-ctx.Done():
			return nil, l.d.failed("lock in", context.Cause(ctx))
		case <-time.After(wait):
		}
	}
}

// try returns nil while somebody else has the lock.
func (l *locks) try(name string) (unlock func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, mine := l.held[name]; mine {
		return nil, nil
	}
	// A query that is cancelled takes the session with it, and all the locks.
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	if l.conn == nil {
		if l.conn, err = l.d.db.Conn(ctx); err != nil {
			return nil, err
		}
	}
	conn, got := l.conn, false
	if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock"+lockKey, name).Scan(&got); err != nil {
		l.end(conn)
		return nil, err
	}
	if !got {
		if len(l.held) == 0 {
			l.release(conn)
		}
		return nil, nil
	}
	l.held[name] = struct{}{}
	return sync.OnceFunc(func() { l.unlock(conn, name) }), nil
}

func (l *locks) unlock(conn *sql.Conn, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, name)
	if conn == l.conn { // else the session has ended, and the lock with it
		ctx, cancel := context.WithTimeout(context.Background(), lockTime)
		defer cancel()
		if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock"+lockKey, name); err != nil {
			l.d.log.Warn("unlock", "err", explain(err))
			l.end(conn)
		}
	}
	if len(l.held) == 0 {
		l.release(l.conn)
	}
}

// end ends a session that does not answer, with the locks that it had; l.mu is held.
func (l *locks) end(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which closes it
	l.release(conn)
}

// release gives a connection back; l.mu is held.
func (l *locks) release(conn *sql.Conn) {
	if conn == nil || conn != l.conn {
		return
	}
	l.conn = nil
	if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		l.d.log.Warn("unlock", "err", explain(err))
	}
}
