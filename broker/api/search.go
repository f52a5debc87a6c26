package api

import (
	"cmp"
	"context"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// What is rare in a record of a million calls takes longer to find than a person
// wants to wait for the first of it. A search for a page looks through the record in
// steps from the latest on, and stops when time is up; the page then asks for the rest.
const (
	searchTime = 30 * time.Millisecond
	// callStep is how many calls are looked through before it looks at the clock.
	callStep = 4000
	// executionStep is the time of the executions in the first step.
	executionStep = 10 * time.Minute
	// usualListed is how many are listed if nothing is said.
	usualListed = 50
)

// searchCalls looks for calls until it has enough or time is up.
func (r *Reader) searchCalls(ctx context.Context, f state.CallFilter, limit time.Duration) (found Calls, err error) {
	start, want := time.Now(), cmp.Or(f.Limit, usualListed)
	last, err := r.Audit.News(ctx, state.Position{})
	if err != nil {
		return found, err
	}
	if f.Before == 0 || f.Before > last.At.Call { // there is nothing above it
		f.Before = last.At.Call + 1
	}
	for {
		f.After, f.Limit = max(0, f.Before-callStep-1), want-len(found.Calls)
		list, err := r.Audit.Calls(ctx, f)
		found.Calls = append(found.Calls, list...)
		if err != nil || len(found.Calls) >= want || f.After == 0 {
			return found, err
		}
		if f.Before = f.After + 1; time.Since(start) > limit {
			found.Searched = f.Before
			return found, nil
		}
	}
}

// searchExecutions looks for executions until it has enough or time is up.
func (r *Reader) searchExecutions(ctx context.Context, f state.Filter, limit time.Duration) (found Executions, err error) {
	start, want, step := time.Now(), cmp.Or(f.Limit, usualListed), executionStep
	from := f.Until
	if from.IsZero() {
		from = start
	}
	for {
		began, part := time.Now(), f
		part.Limit = want - len(found.Executions)
		if part.Since = from.Add(-step); part.Since.Before(f.Since) {
			part.Since = f.Since
		}
		list, err := r.Audit.List(ctx, part)
		found.Executions = append(found.Executions, list...)
		if err != nil || len(found.Executions) >= want || part.Since.Equal(f.Since) {
			return found, err
		}
		// There may be nothing for days.
		next, err := r.Audit.List(ctx, state.Filter{Limit: 1, Until: part.Since, Since: f.Since})
		if err != nil || len(next) == 0 {
			return found, err
		}
		from = next[0].Started.Add(1)
		if f.Until = from; time.Since(start) > limit {
			found.Searched = &from
			return found, nil
		}
		if time.Since(began) < limit/4 {
			step *= 2
		}
	}
}
