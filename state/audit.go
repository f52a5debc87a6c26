package state

import (
	"context"
	"time"
)

// A Journal receives what the broker does. It is safe for concurrent use.
//
// What Begin, Record and Note were given is committed at most 50 ms later, in
// the order in which one goroutine handed it over. Texts are redacted and cut
// before they are kept, whoever hands them over.
type Journal interface {
	// Begin records that an execution has begun and returns its ID, which is
	// made if e has none. It does not wait for the commit.
	Begin(e Execution) string
	// Record records a call that has ended. It does not wait for the commit, and
	// keeps none of c's bytes.
	Record(c Call)
	// Finish records how an execution ended; e has the ID that Begin returned.
	// It returns when that, and all that was recorded before, is committed.
	Finish(e Execution) error
	// Note records an event; a zero time means now. It does not wait for the
	// commit.
	Note(e Event)
}

// A History reads what a Journal was given, by this process or another. It is
// safe for concurrent use, and delays no writer.
//
// An execution is running for as long as its owner lives: the process that
// began it, known by its number and its start. One whose owner is gone counts
// as interrupted, also before anything has been written about that.
type History interface {
	// List returns executions, the latest first.
	List(ctx context.Context, f Filter) ([]Execution, error)
	// Show returns the execution whose ID is id or, if it is the only one, begins
	// with id, and its calls in order. An unknown one is an ErrNoRecord.
	Show(ctx context.Context, id string) (Execution, []Call, error)
	// Export calls f for every execution with its calls, the oldest first. Calls
	// that no execution made come last, one at a time, with a zero Execution. An
	// error of f ends it and is returned.
	Export(ctx context.Context, f func(Execution, []Call) error) error
	// Events returns the events since then, the latest first, at most limit,
	// which is as in Filter.
	Events(ctx context.Context, since time.Time, limit int) ([]Event, error)
}

// A Summary sums up what a History has.
type Summary interface {
	// Stats sums up what began since then; the zero time means everything.
	Stats(ctx context.Context, since time.Time) (Stats, error)
	// SkillStats sums up the events about skills since then, by name of skill and
	// of client; the zero time means everything. Installing and switching a skill
	// does not count as use.
	SkillStats(ctx context.Context, since time.Time) ([]SkillStats, error)
}

// Audit is the whole record of executions, calls and events.
type Audit interface {
	Journal
	History
	Rows
	Summary
	// Prune removes the executions that began before t with their calls, and the
	// events before t, and returns how many executions that were. Those that are
	// running stay.
	Prune(ctx context.Context, before time.Time) (int, error)
	// Close commits what was recorded, marks the executions that were begun here
	// and still run as interrupted, and releases the record. Later calls return
	// the same error.
	Close() error
}
