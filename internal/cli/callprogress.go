package cli

import (
	"io"
	"sync/atomic"
	"time"
)

// progressEvery is how often the progress of calls is printed at most, and how long a
// script runs before the first line of it.
const progressEvery = time.Second

// CallProgress returns a broker.ExecuteRequest.Progress that prints what servers report
// about their calls, at most one line each progressEvery. Calls that begin are not
// printed.
func CallProgress(w io.Writer, now func() time.Time) func(calls int, message string) {
	var last atomic.Int64 // since began
	began := now()
	return func(calls int, message string) {
		was, at := last.Load(), int64(now().Sub(began))
		if calls == 0 && at-was >= int64(progressEvery) && last.CompareAndSwap(was, at) {
			Fprintln(w, message)
		}
	}
}
