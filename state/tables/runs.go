package tables

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// RunsOptions are what Runs are made of.
type RunsOptions struct {
	// Name is what errors call the journals, such as the path of a file.
	Name    string
	Dialect *Dialect
	// Open opens a connection to a database that has the tables. If they are not
	// there, and need not be, the error is fs.ErrNotExist.
	Open func(ctx context.Context, create bool) (*sql.Conn, error)
	// Close, if not nil, is called once a connection is closed for good.
	Close func() error
	// Read, if not nil, opens another connection for reads to the database that Open
	// opens. It is closed after each use, and does not wait for writes.
	Read func(ctx context.Context) (*sql.Conn, error)
	// Owner describes who executes runs here. Executed tells owners that are alive,
	// which wrote at a time, from those that are gone.
	Owner    func() string
	Executed func(ctx context.Context, conn *Conn) (func(owner string, at time.Time) bool, error)
	// Now is the clock of this broker; nil is time.Now. Skew, if not nil, is by how much
	// that of the database is ahead of it, by which approvals expire.
	Now  func() time.Time
	Skew func() time.Duration
	// Each keeps state.MaxRuns for each principal, not for all together.
	Each   bool
	Logger *slog.Logger
}

// Runs keeps journals. It implements state.Runs and state.RunHistory. Nothing is
// opened before the first call that is recorded or looked for.
type Runs struct {
	// Full makes every commit survive a power cut, not only those of intents to destroy
	// something. Set it before the first use.
	Full bool
	// Sealed, if not nil, encrypts the texts of runs and calls. Set it before the first
	// use.
	Sealed *state.Sealed

	o   RunsOptions
	d   *Dialect
	log *slog.Logger

	mu     lock // guards the fields below and the use of the connection
	conn   *Conn
	stmts  map[string]*sql.Stmt
	queue  []*journal // those with something to write
	timer  *time.Timer
	closed bool
	begun  int // since the last pruning
	// settling are accepted calls with callers that wait for the commit.
	settling []*arrival

	arriving sync.Mutex // guards the fields below; its holder must not wait for mu
	arrived  []*arrival // calls that are not accepted yet
	bytes    int        // the size of arrived

	lost    time.Time     // when the connection was
	back    chan struct{} // while it is lost: closed when there is another one
	quit    chan struct{} // closed by Close
	seeking sync.WaitGroup
}

var (
	_ state.Runs       = (*Runs)(nil)
	_ state.RunHistory = (*Runs)(nil)
)

// NewRuns returns the journals of a database.
func NewRuns(o RunsOptions) *Runs {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Skew == nil {
		o.Skew = func() time.Duration { return 0 }
	}
	return &Runs{o: o, d: o.Dialect, log: log, mu: newLock(), stmts: map[string]*sql.Stmt{}, quit: make(chan struct{})}
}

// ready opens the connection, and makes what it needs if create is set; r.mu is
// held.
func (r *Runs) ready(create bool) error {
	if r.closed {
		return state.ErrClosed
	}
	if r.conn != nil {
		return nil
	}
	if r.back != nil {
		return errAway
	}
	ctx, cancel := context.WithTimeout(context.Background(), changeTime)
	defer cancel()
	conn, err := r.o.Open(ctx, create)
	if err != nil {
		r.retryable(err)
		return err
	}
	r.conn = NewConn(conn, r.d).prepares()
	r.prune(ctx)
	return nil
}

// release closes the connection; r.mu is held.
func (r *Runs) release() error {
	var errs []error
	for _, s := range r.stmts {
		errs = append(errs, s.Close())
	}
	clear(r.stmts)
	if r.closed && r.d.Release != "" {
		_, err := r.conn.ExecContext(context.Background(), r.d.Release)
		errs = append(errs, err)
	}
	errs = append(errs, r.conn.Close())
	r.conn = nil
	return errors.Join(errs...)
}

// prune removes runs that are too old or too many, but none that is executed.
func (r *Runs) prune(ctx context.Context) {
	r.begun = 0
	old := time.Now().Add(-state.RunAge).UnixNano()
	err := Transaction(ctx, r.conn, "", func() error {
		recent := "SELECT id FROM runs ORDER BY started DESC LIMIT ?2"
		if r.o.Each {
			recent = "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY principal ORDER BY started DESC) AS n FROM runs) r WHERE n <= ?2"
		}
		if _, err := r.conn.ExecContext(ctx, `DELETE FROM runs WHERE (status <> 'running' AND updated < ?1) OR started < ?1
			OR (status <> 'running' AND id NOT IN (`+recent+`))`, old, state.MaxRuns); err != nil {
			return err
		}
		_, err := r.conn.ExecContext(ctx, "DELETE FROM run_calls WHERE run NOT IN (SELECT id FROM runs)")
		return err
	})
	if err == nil && r.d.Vacuum != "" {
		_, err = r.conn.ExecContext(ctx, fmt.Sprintf(r.d.Vacuum, 1024))
	}
	if err != nil {
		r.log.Warn("remove old runs", "err", r.d.Explain(err))
	}
}

func (r *Runs) exec(ctx context.Context, text string, args ...any) error {
	if r.d.Numbered { // whose driver prepares by itself
		_, err := r.conn.ExecContext(ctx, text, args...)
		return err
	}
	stmt := r.stmts[text]
	if stmt == nil {
		var err error
		if stmt, err = r.conn.PrepareContext(ctx, text); err != nil {
			return err
		}
		r.stmts[text] = stmt
	}
	_, err := stmt.ExecContext(ctx, args...)
	return err
}

// put writes a run; its owner is this process while it is running.
func (r *Runs) put(ctx context.Context, run *state.Run) error {
	owner := ""
	if run.Status == state.StatusRunning {
		owner = r.o.Owner()
	}
	run.Updated = time.Now()
	body, code, err := r.columns(*run)
	if err != nil {
		return err
	}
	return r.exec(ctx, `INSERT INTO runs (id, principal, status, owner, started, updated, seed, epoch, code, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET principal = excluded.principal, status = excluded.status, owner = excluded.owner,
		started = excluded.started, updated = excluded.updated, seed = excluded.seed, epoch = excluded.epoch, code = excluded.code, body = excluded.body`,
		run.ID, run.Principal, run.Status, owner, run.Started.UnixNano(), run.Updated.UnixNano(), run.Seed, run.Epoch.UnixNano(), code, body)
}

func (r *Runs) putCall(ctx context.Context, run string, c *state.RunCall) error {
	row, err := r.callRow(run, c)
	if err != nil {
		return err
	}
	return r.exec(ctx, putCallInto+"VALUES (?, ?, ?, ?, ?, ?, ?)"+putCallAgain, row...)
}

// putOwn is putCall, with one question to the database, for a run that is this
// broker's; it writes nothing, and says so, if it is not.
func (r *Runs) putOwn(ctx context.Context, run string, c *state.RunCall) (bool, error) {
	row, err := r.callRow(run, c)
	if err != nil {
		return false, err
	}
	res, err := r.conn.ExecContext(ctx, putCallInto+`SELECT id, CAST(?2 AS bigint), CAST(?3 AS text), CAST(?4 AS bigint), CAST(?5 AS text), CAST(?6 AS bytea), CAST(?7 AS bytea)
		FROM runs WHERE id = ?1 AND owner = ?8 FOR UPDATE`+putCallAgain, append(row, r.o.Owner())...)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

const (
	putCallInto  = "INSERT INTO run_calls (run, ordinal, state, expires, body, value, steps) "
	putCallAgain = ` ON CONFLICT (run, ordinal)
		DO UPDATE SET state = excluded.state, expires = excluded.expires, body = excluded.body, value = excluded.value, steps = excluded.steps`
)

// callRow are the columns of a call.
func (r *Runs) callRow(run string, c *state.RunCall) ([]any, error) {
	kept := *c
	kept.Expires = shifted(c.Expires, r.o.Skew())
	body, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	var expires int64
	if !kept.Expires.IsZero() {
		expires = kept.Expires.UnixNano()
	}
	name := callName(run, c.Ordinal)
	return []any{run, c.Ordinal, c.State, expires, r.sealText(name, string(body)), r.seal(name+"/value", c.Value), r.seal(name+"/steps", c.Steps)}, nil
}

// lock keeps others from changing a run until the end of the transaction, where the
// transaction itself does not.
func (r *Runs) lock(ctx context.Context, id string) error {
	_, err := r.owner(ctx, id)
	return err
}

// owner locks a run, and returns its owner if the lock is needed.
func (r *Runs) owner(ctx context.Context, id string) (owner string, err error) {
	if r.d.LockRun == "" {
		return "", nil
	}
	err = r.conn.QueryRowContext(ctx, r.d.LockRun, r.d.text(id)).Scan(&owner)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return owner, err
}

const runColumns = `id, principal, status, owner, updated, seed, epoch, body, (SELECT count(*) FROM run_calls WHERE run = runs.id AND ordinal > 0)`

// readRuns reads the runs that where picks, without code.
func (r *runReader) readRuns(ctx context.Context, where string, args ...any) ([]state.Run, error) {
	executed, err := r.o.Executed(ctx, r.conn)
	if err != nil {
		return nil, err
	}
	rows, err := r.conn.QueryContext(ctx, "SELECT "+runColumns+" FROM runs "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []state.Run
	for rows.Next() {
		var run, head state.Run
		var owner, body string
		var updated, epoch int64
		if err := rows.Scan(&run.ID, &run.Principal, &run.Status, &owner, &updated, &run.Seed, &epoch, &body, &run.Calls); err != nil {
			return nil, err
		}
		if body, _, err = r.openText(run.ID, body); errors.Is(err, state.ErrSealed) {
			head.Error = err.Error() // reading the whole run fails with it
		} else if err = json.Unmarshal([]byte(body), &head); err != nil {
			return nil, fmt.Errorf("run %s: %w", run.ID, err)
		}
		head.ID, head.Principal, head.Status, head.Seed, head.Calls = run.ID, run.Principal, run.Status, run.Seed, run.Calls
		head.Epoch, head.Updated, head.Expires = time.Unix(0, epoch), time.Unix(0, updated), shifted(head.Expires, -r.o.Skew())
		if head.Status == state.StatusRunning && !executed(owner, head.Updated) {
			head.Status = state.StatusInterrupted
		}
		list = append(list, head)
	}
	return list, rows.Err()
}

// readRun returns one run by its id, with its calls.
func (r *runReader) readRun(ctx context.Context, id string) (state.Run, []state.RunCall, error) {
	list, err := r.readRuns(ctx, "WHERE id = ? AND started >= ?", id, time.Now().Add(-state.RunAge).UnixNano())
	if err != nil {
		return state.Run{}, nil, err
	}
	if len(list) == 0 {
		return state.Run{}, nil, state.ErrNotFound
	}
	run := list[0]
	err = r.conn.QueryRowContext(ctx, "SELECT code FROM runs WHERE id = ?", id).Scan(&run.Code)
	if errors.Is(err, sql.ErrNoRows) { // another broker has just removed it
		err = state.ErrNotFound
	}
	if err == nil {
		run.Code, _, err = r.openText(id+"/code", run.Code)
	}
	if err != nil {
		return run, nil, err
	}
	calls, err := r.readCalls(ctx, id)
	return run, calls, err
}

// Runs implements state.RunHistory.
func (r *Runs) Runs(ctx context.Context, limit int) (list []state.Run, err error) {
	err = r.reading(ctx, func(from *runReader) (err error) {
		list, err = from.readRuns(ctx, "ORDER BY started DESC LIMIT ?", orUsual(limit))
		return err
	})
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	return list, err
}

// Run implements state.RunHistory.
func (r *Runs) Run(ctx context.Context, id string) (run state.Run, calls []state.RunCall, err error) {
	err = r.reading(ctx, func(from *runReader) error {
		found, err := from.readRuns(ctx, "WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", id, id+"\x7f")
		switch {
		case err != nil:
			return err
		case id == "" || len(found) == 0 || len(found) > 1 && found[0].ID != id:
			return state.ErrNotFound
		}
		run, calls, err = from.readRun(ctx, found[0].ID)
		return err
	})
	return run, calls, err
}

// Begin implements state.Runs.
func (r *Runs) Begin(run state.Run) state.RunJournal {
	run.ID = cmp.Or(run.ID, state.NewRunID())
	run.Status = state.StatusRunning
	if run.Started.IsZero() {
		run.Started = time.Now()
	}
	return &journal{runs: r, run: run, dirty: true}
}

// Resume implements state.Runs.
func (r *Runs) Resume(ctx context.Context, principal, id string) (run state.Run, calls []state.RunCall, j state.RunJournal, err error) {
	err = r.locked(ctx, false, func(ctx context.Context) error {
		return Transaction(ctx, r.conn, "", func() (err error) {
			if err := r.lock(ctx, id); err != nil {
				return err
			}
			run, calls, err = r.reader().readRun(ctx, id)
			switch {
			case err != nil:
				return err
			case run.Principal != principal:
				return state.ErrNotFound
			case run.Status == state.StatusRunning:
				return state.ErrRunning
			}
			claimed := run
			claimed.Status = state.StatusRunning
			resumed := &journal{runs: r, run: claimed, written: true}
			for i := range calls {
				_ = resumed.limitSize(&calls[i]) // it was within its bytes before
				if calls[i].State != state.RunMade && calls[i].State != state.RunIntent {
					resumed.watch(calls[i].Ordinal)
				}
			}
			j = resumed
			return r.put(ctx, &claimed)
		})
	})
	if err != nil {
		return state.Run{}, nil, nil, err
	}
	return run, calls, j, nil
}

// Change implements state.Runs.
func (r *Runs) Change(ctx context.Context, id string, f func(*state.Run, []state.RunCall) error) error {
	return r.locked(ctx, false, func(ctx context.Context) error {
		return Transaction(ctx, r.conn, "", func() error {
			if err := r.lock(ctx, id); err != nil {
				return err
			}
			run, calls, err := r.reader().readRun(ctx, id)
			if err != nil {
				return err
			}
			before, status := slices.Clone(calls), run.Status
			if err := f(&run, calls); err != nil {
				return err
			}
			if run.Status != status {
				if err := r.exec(ctx, "UPDATE runs SET status = ? WHERE id = ?", run.Status, id); err != nil {
					return err
				}
			}
			for i := range calls {
				if !sameCall(&before[i], &calls[i]) {
					if err := r.putCall(ctx, id, &calls[i]); err != nil {
						return err
					}
				}
			}
			// The owner stays: a run may be decided about while it is executed.
			return r.update(ctx, run, time.Now())
		})
	})
}

// stored returns a run in its stored form: without code, which has its own column, and
// with times of the database's clock.
func (r *Runs) stored(run state.Run) state.Run {
	run.Code, run.Expires = "", shifted(run.Expires, r.o.Skew())
	return run
}

// shifted is a time by another clock.
func shifted(t time.Time, by time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(by)
}

func sameCall(a, b *state.RunCall) bool {
	return a.State == b.State && a.Settled == b.Settled && a.By == b.By && a.Expires.Equal(b.Expires)
}

// Close commits what was recorded and closes the file. Runs that this process
// executes count as interrupted from then on.
func (r *Runs) Close() error {
	defer r.seeking.Wait() // without the lock
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	var errs []error
	r.accept()
	if r.conn != nil {
		errs = append(errs, r.flush())
	}
	r.unsettle()
	r.closed = true
	close(r.quit)
	if r.conn != nil {
		errs = append(errs, r.release())
	}
	if r.o.Close != nil {
		errs = append(errs, r.o.Close())
	}
	return errors.Join(errs...)
}
