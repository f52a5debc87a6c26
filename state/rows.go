package state

import (
	"context"
	"fmt"
	"time"
)

// A CallFilter chooses calls. Its zero value chooses the last 50.
type CallFilter struct {
	// Limit is how many are listed at most: 0 means 50, below 0 all. Before, if not
	// 0, leaves out the call of that number and what was recorded after it, After
	// that call and what was recorded before it.
	Limit         int
	Before, After int64
	// Since and Until, if not zero, are when the calls began: Until is exclusive.
	Since, Until time.Time
	// These, if not empty, leave out what is different. Client is Client or
	// ClientInfo of the execution.
	Server, Tool, Status, Class, Client string
	// Text is part of the tool, the decision, the error or the arguments, whatever
	// the case of its letters in ASCII.
	Text string
}

// Rows reads calls across executions, and what is new. It is safe for concurrent
// use, and delays no writer.
type Rows interface {
	// Calls returns calls, the latest recorded first, with N and Client.
	Calls(ctx context.Context, f CallFilter) ([]Call, error)
	// News returns what was recorded after a position, and the position after it.
	// The zero Position is the end: nothing is new there yet. An execution is news
	// when it begins and when it ends, without its code, and may be given twice.
	News(ctx context.Context, after Position) (News, error)
}

// MaxNews is how many calls or events one News has at most.
const MaxNews = 500

// News is what was recorded after a position.
type News struct {
	At         Position
	Executions []Execution
	Calls      []Call
	Events     []Event
	// Missed means that there was more than MaxNews: read everything again.
	Missed bool
}

// A Position is a place in what was recorded. It holds across restarts.
type Position struct {
	Call, Event int64 // numbers of the last ones
	Time        time.Time
}

// String is what ParsePosition reads.
func (p Position) String() string { return fmt.Sprintf("%d-%d-%d", p.Call, p.Event, p.Time.UnixNano()) }

// ParsePosition reads a Position. What is none is the zero Position.
func ParsePosition(s string) Position {
	var p Position
	var at int64
	if n, err := fmt.Sscanf(s, "%d-%d-%d", &p.Call, &p.Event, &at); err != nil || n != 3 || p.Call < 0 || p.Event < 0 {
		return Position{}
	}
	p.Time = time.Unix(0, at)
	return p
}
