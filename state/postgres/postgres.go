// Package postgres keeps the state of any number of brokers in one PostgreSQL database,
// version 15 or later: the record of executions, calls and events, learned types,
// journals of runs, pins, results, values and documents.
//
// Brokers share nothing else. Each writes the record in batches, by COPY, and all write
// one chain of hashes, one batch after another. A broker holds a lock in the database
// while it is connected, which shows others that it lives, independent of clocks. Data
// expires by the clock of the database.
//
// The connection must keep its session: a pooler that gives each transaction another
// connection does not work.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/tables"
)

// DefaultSchema is where the tables are if the address has no search_path.
const DefaultSchema = "broker"

// maxConns is how many connections one broker has at most.
const maxConns = 12

// A Database is one broker's connection to the database. It must be closed.
type Database struct {
	db     *sql.DB
	cfg    *pgx.ConnConfig
	name   string // for errors, without a password
	schema string
	knows  int // the newest schema that this broker knows
	now    func() time.Time
	log    *slog.Logger
	locks  locks

	// When the server was lost, and when something has noticed that last; 0 if it is there.
	lost, failing atomic.Int64
}

// Connect returns the database at an address such as
// postgres://USER:PASSWORD@HOST:PORT/DATABASE. It connects when it is used first.
// A nil logger discards.
func Connect(address string, log *slog.Logger) (*Database, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		if file, ok := errors.AsType[*fs.PathError](err); ok { // of a certificate or a key
			return nil, fmt.Errorf("the address of the database: %w", file)
		}
		// The error of the parser may have parts of the address, and of a password.
		return nil, errors.New("the address of the database cannot be read: write postgres://USER:PASSWORD@HOST:PORT/DATABASE, and special characters of a password as in URLs (%40 for @)")
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	d := &Database{name: fmt.Sprintf("%s on %s", cfg.Database, net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port))), knows: Version, now: time.Now, log: log}
	d.locks = locks{d: d, held: make(map[string]struct{})}
	params := map[string]string{
		"application_name": "broker", "search_path": DefaultSchema,
		// How soon the server notices that a broker's machine is gone: 25 s.
		"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
		// Time after which the server ends a transaction of a broker that has stopped,
		// so that others get its locks. A transaction that waits for something other
		// than the server begins with unlimited.
		"idle_in_transaction_session_timeout": "5000",
	}
	for name, value := range params {
		if cfg.RuntimeParams[name] == "" {
			cfg.RuntimeParams[name] = value
		}
	}
	d.schema = cfg.RuntimeParams["search_path"]
	if strings.ContainsAny(d.schema, `,"$ `) {
		return nil, errors.New("search_path in the address of the database must be one plain name")
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 5 * time.Second
	}
	if cfg.ValidateConnect == nil { // of several hosts, the one that can be written to
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	d.cfg = cfg
	d.db = stdlib.OpenDB(*cfg)
	d.db.SetMaxOpenConns(maxConns - 1) // and one that listens
	d.db.SetMaxIdleConns(4)
	d.db.SetConnMaxIdleTime(5 * time.Minute)
	return d, nil
}

// Name is the database without user and password.
func (d *Database) Name() string { return d.name }

// Place tells the tables of the database from all others, without user and password.
func (d *Database) Place() string { return d.name + " " + d.schema }

// Server is the version of the PostgreSQL server.
func (d *Database) Server(ctx context.Context) (version string, err error) {
	if err = d.db.QueryRowContext(ctx, "SHOW server_version").Scan(&version); err != nil {
		return "", d.failed("ask", err)
	}
	return version, nil
}

// Close closes all connections. Stores of the database are closed before.
func (d *Database) Close() error { return d.db.Close() }

// Options changes how a record is kept. The zero value is good.
type Options struct {
	// NoCode keeps no programs, Payloads keeps arguments and results too, both
	// without what looks like a secret.
	NoCode, Payloads bool
	// Days is how long records are kept: 0 means 30, below 0 for ever.
	Days int
	// Anchor is a file to which the head of the chain is added every hour, with each
	// prune, and when the record is closed; it may be empty.
	Anchor string
	// Spool, if not nil, is where rows wait while the server is away; without one they
	// are lost after 10 s. It is closed with the record.
	Spool tables.Spool
	// ReadOnly writes nothing.
	ReadOnly bool
}

// Record opens the record of the database, with its learned types. It must be
// closed.
func (d *Database) Record(ctx context.Context, o *Options) (*tables.Store, error) {
	if o == nil {
		o = &Options{}
	}
	t := tables.Options{Name: d.name, DB: d.db, Dialect: dialect, Owners: owners{}, ReadOnly: o.ReadOnly,
		Keep: state.Keep{Code: !o.NoCode, Payloads: o.Payloads}, Anchor: o.Anchor, Spool: o.Spool, Logger: d.log}
	if days := cmp.Or(o.Days, 30); days > 0 {
		t.Age = time.Duration(days) * 24 * time.Hour
	}
	if o.ReadOnly {
		return tables.New(t, nil), nil
	}
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, d.failed("open", err)
	}
	return tables.New(t, conn), nil
}

// Runs returns the journals of runs. They must be closed.
func (d *Database) Runs() *tables.Runs {
	id := tables.NewOwnerID()
	var skew atomic.Int64 // as it was when the connection was opened
	return tables.NewRuns(tables.RunsOptions{
		Name: d.name, Dialect: dialect, Each: true, Logger: d.log,
		Open: func(ctx context.Context, _ bool) (*sql.Conn, error) {
			conn, err := d.db.Conn(ctx)
			if err != nil {
				return nil, err
			}
			if err = lock(ctx, tables.NewConn(conn, dialect), id); err == nil {
				var there time.Time
				err = conn.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&there)
				skew.Store(int64(there.Sub(d.now())))
			}
			if err != nil {
				conn.Close()
			}
			return conn, err
		},
		Read: d.db.Conn,
		Now:  d.now, Skew: func() time.Duration { return time.Duration(skew.Load()) },
		Owner: func() string { return fmt.Sprint(id) },
		Executed: func(ctx context.Context, conn *tables.Conn) (func(string, time.Time) bool, error) {
			living, err := locked(ctx, conn)
			return func(owner string, _ time.Time) bool { return living[owner] }, err
		},
	})
}

// unlimited removes the time limit of its transaction while it waits for something
// other than the server.
const unlimited = "SET LOCAL idle_in_transaction_session_timeout = 0"

// dialect describes PostgreSQL for package tables.
var dialect = &tables.Dialect{
	Numbered:  true,
	Like:      "ILIKE",
	Begin:     "BEGIN",
	Snapshot:  "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; " + unlimited, // takes no locks
	LockTable: "LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE",
	LockRun:   "SELECT owner FROM runs WHERE id = ? FOR UPDATE",
	Release:   "SELECT pg_advisory_unlock_all()",
	Again:     retryable,
	Patience:  10 * time.Second,
	Keeper:    "SELECT pg_try_advisory_lock(hashtextextended(current_schema(), 9))",
	Explain:   explain,
	Clean:     clean,
	Insert:    insert,
	Tend:      10 * time.Second,
}

// clean removes characters that PostgreSQL does not allow in a text.
func clean(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\ufffd"), "\ufffd")
}

func insert(ctx context.Context, conn *sql.Conn, table string, columns []string, rows [][]any) error {
	return conn.Raw(func(c any) error {
		_, err := c.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
		return err
	})
}

// retryable reports whether a transaction may be tried once more.
func retryable(err error) (again, lost bool) {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01", "55P03": // in the way of another
			return true, false
		case "57P01", "57P02", "57P03", "25006", "25P03": // it shuts down, starts, is now a standby, or ended the transaction
			return true, true
		}
		return false, strings.HasPrefix(e.Code, "08")
	}
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	lost = connect || network || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err) || err != nil && strings.Contains(err.Error(), "conn closed")
	return lost, lost
}

// explain adds to an error what its user can do.
func explain(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "28P01", "28000":
			return fmt.Errorf("the database rejects the user or the password (%s)", e.Message)
		case "3D000":
			return fmt.Errorf("%s: create it, for example with createdb", e.Message)
		case "42501", "3F000": // the latter where the schema must not be used at all
			return fmt.Errorf("%s: the user must own the database, or the schema that the tables are in", e.Message)
		case "53300":
			return fmt.Errorf("%s: each broker needs up to %d connections", e.Message, maxConns)
		}
		return err
	}
	if connect, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return explainConnect(connect)
	}
	return err
}

// explainConnect is about one of what was tried: the error of the driver has all of
// it, some of it twice.
func explainConnect(err error) error {
	text := err.Error()
	if strings.Contains(text, "read only connection") {
		return errors.New("it can only be read, as a standby: name the primary, or all hosts, in the address")
	}
	if strings.Contains(text, "server refused TLS connection") {
		return errors.New("the server has no TLS, which sslmode of the address requires")
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		err = dns
	} else if dial, ok := errors.AsType[*net.OpError](err); ok {
		err = dial
	}
	return fmt.Errorf("%w: check that PostgreSQL runs there and accepts connections", err)
}

// failed is the error of doing something with the database.
func (d *Database) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s the database %s: %w", what, d.name, explain(err))
}

// forgets is how long nothing has to ask for the server before it is taken for one
// that was there.
const forgets = 30 * time.Second

// patiently runs f, again while the server is away, until it was away for as long as a
// journal waits for it.
func (d *Database) patiently(ctx context.Context, f func() error) error {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := f()
		if _, lost := retryable(err); !lost {
			d.failing.Store(0)
			return err
		}
		now := time.Now().UnixNano()
		if last := d.failing.Swap(now); time.Duration(now-last) > forgets {
			d.lost.Store(now)
		}
		if time.Duration(now-d.lost.Load()) > dialect.Patience {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// transaction runs f in a transaction. It returns the error of f unchanged. It waits
// for a server that is away, but does not repeat a transaction that may have been
// committed.
func (d *Database) transaction(ctx context.Context, f func(*sql.Conn) error) error {
	var c *sql.Conn
	err := d.patiently(ctx, func() (err error) {
		c, err = d.db.Conn(ctx)
		return err
	})
	if err != nil {
		return err
	}
	defer c.Close()
	return tables.Transaction(ctx, tables.NewConn(c, dialect), "", func() error { return f(c) })
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
