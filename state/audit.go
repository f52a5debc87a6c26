package state

import (
	"context"
	"time"
)

// A Journal records the broker's activity. It is safe for concurrent use.
//
// Entries of Begin, Record and Note are committed at most 50 ms later, in the order in
// which one goroutine added them. Texts are redacted and cut before they are stored.
type Journal interface {
	// Begin records that an execution has begun and returns its ID, which is generated
	// if e has none. It does not wait for the commit.
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

// A History reads the entries of a Journal, written by this process or another. It is
// safe for concurrent use, and does not delay writers.
//
// An execution is running while its owner lives: the process that began it, identified
// by its number and start time. After the end of its owner it counts as interrupted,
// even before that is recorded.
type History interface {
	// List returns executions, the latest first.
	List(ctx context.Context, f Filter) ([]Execution, error)
	// Show returns the execution with the given ID or, if it is the only one, with an
	// ID that begins with id, and its calls in order. The error for an unknown one is
	// ErrNoRecord.
	Show(ctx context.Context, id string) (Execution, []Call, error)
	// Export calls f for every execution with its calls, the oldest first. Calls
	// that no execution made come last, one at a time, with a zero Execution. An
	// error of f ends it and is returned.
	Export(ctx context.Context, f func(Execution, []Call) error) error
	// Events returns the events since then, the latest first, at most limit,
	// which is as in Filter.
	Events(ctx context.Context, since time.Time, limit int) ([]Event, error)
}

// A Summary summarizes a History.
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
