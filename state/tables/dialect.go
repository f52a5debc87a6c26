package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Dialect is how a database differs from others. Statements are written with ?
// and ?1 for their arguments.
type Dialect struct {
	// Numbered means that arguments are $1 in place of ?.
	Numbered bool
	// Like is the operator that compares with a pattern and ignores case.
	Like string
	// Begin begins a transaction that writes; Snapshot one that reads one state of
	// the database.
	Begin, Snapshot string
	// LockTable, if not empty, is a statement that keeps others from writing to the
	// table %s until the end of the transaction. LockRun, if not empty, is a query
	// for the owner of the run ? that keeps others from locking it.
	LockTable, LockRun string
	// Durable and Usual, if not empty, are statements that turn on that a commit
	// waits for the disk, and off again.
	Durable, Usual string
	// Vacuum, if not empty, is a statement that gives n pages back, %d.
	Vacuum string
	// Again reports whether a transaction that failed may be tried once more; with
	// lost, on another connection, for which it is worth to wait for Patience.
	Again    func(error) (again, lost bool)
	Patience time.Duration
	// Release, if not empty, is a statement that gives back what an owner holds.
	Release string
	// Keeper, if not empty, is a query for whether this connection is the one, of all
	// that write the record, that removes what is old: one at a time is, until it ends.
	Keeper string
	// Explain adds to an error what its user can do.
	Explain func(error) error
	// Clean, if not nil, takes out of a text what the database cannot keep.
	Clean func(string) string
	// Insert, if not nil, adds many rows at once.
	Insert func(ctx context.Context, conn *sql.Conn, table string, columns []string, rows [][]any) error
	// Tend is the interval at which the connection that writes is checked; 0 means
	// never.
	Tend time.Duration
}

// Owners know who writes a record. A living one holds what it has begun.
type Owners interface {
	// Register notes that the owner id writes through conn; it may be called again
	// on another connection.
	Register(ctx context.Context, conn *Conn, id int64) error
	// Living returns the registered owners that are alive, and those that are gone.
	Living(ctx context.Context, conn *Conn) (living, dead []int64, err error)
}

// A Conn is a connection to a database with statements in a Dialect.
type Conn struct {
	*sql.Conn
	d       *Dialect
	control map[string]*sql.Stmt // what begins and ends transactions; nil: not prepared
}

// NewConn returns a connection of a dialect.
func NewConn(conn *sql.Conn, d *Dialect) *Conn { return &Conn{Conn: conn, d: d} }

// prepares lets c prepare what begins and ends its transactions, of which there will be
// many, unless the driver does that by itself. Close must be called.
func (c *Conn) prepares() *Conn {
	if !c.d.Numbered && c.control == nil {
		c.control = map[string]*sql.Stmt{}
	}
	return c
}

// begins executes a statement that begins or ends a transaction.
func (c *Conn) begins(ctx context.Context, text string) error {
	if c.control == nil {
		_, err := c.ExecContext(ctx, text)
		return err
	}
	stmt := c.control[text]
	if stmt == nil {
		var err error
		if stmt, err = c.PrepareContext(ctx, text); err != nil {
			return err
		}
		c.control[text] = stmt
	}
	_, err := stmt.ExecContext(ctx)
	return err
}

// Close is that of sql.Conn.
func (c *Conn) Close() error {
	var errs []error
	for _, stmt := range c.control {
		errs = append(errs, stmt.Close())
	}
	c.control = nil
	return errors.Join(append(errs, c.Conn.Close())...)
}

// ExecContext is that of sql.Conn.
func (c *Conn) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	return c.Conn.ExecContext(ctx, c.d.bind(text), args...)
}

// QueryContext is that of sql.Conn.
func (c *Conn) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return c.Conn.QueryContext(ctx, c.d.bind(text), args...)
}

// QueryRowContext is that of sql.Conn.
func (c *Conn) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	return c.Conn.QueryRowContext(ctx, c.d.bind(text), args...)
}

// bind writes the arguments of a statement as the database wants them: ? is the
// next one, ?2 the second. A statement uses one of the two.
func (d *Dialect) bind(text string) string {
	if !d.Numbered || !strings.Contains(text, "?") {
		return text
	}
	parts := strings.Split(text, "?")
	var b strings.Builder
	b.WriteString(parts[0])
	for i, part := range parts[1:] {
		b.WriteByte('$')
		if part == "" || part[0] < '0' || part[0] > '9' {
			b.WriteString(strconv.Itoa(i + 1))
		}
		b.WriteString(part)
	}
	return b.String()
}

// clean takes out of the texts of a row what the database cannot keep.
func (d *Dialect) clean(row []any) {
	if d.Clean == nil {
		return
	}
	for i, v := range row {
		if s, ok := v.(string); ok {
			row[i] = d.Clean(s)
		}
	}
}

// text is a text as the database keeps it.
func (d *Dialect) text(s string) string {
	if d.Clean == nil {
		return s
	}
	return d.Clean(s)
}

// within is the time that a database has which may be away.
func (d *Dialect) within(most time.Duration) (context.Context, context.CancelFunc) {
	if d.Patience == 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), most)
}

// Transaction runs f while no other transaction writes to a table, or to the database
// if its transactions work that way.
func Transaction(ctx context.Context, conn *Conn, table string, f func() error) error {
	begin := conn.d.Begin
	if table != "" && conn.d.LockTable != "" {
		begin += "; " + fmt.Sprintf(conn.d.LockTable, table)
	}
	err := conn.begins(ctx, begin)
	if err == nil {
		err = f()
	}
	if err == nil {
		err = conn.begins(ctx, "COMMIT")
	}
	if err != nil {
		// The first error is what matters; without a transaction this one says so.
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return err
}

// reopen calls open until it succeeds, for as long as patience lasts.
func reopen(patience time.Duration, open func() error) error {
	deadline := time.Now().Add(patience)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := open()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(wait)
	}
}
