// Package host is what every runner does on the host's side of a program,
// whatever runs it: make its calls within the limits, count and cap its
// output, and put into words why it ended.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// ErrTimeout is the cause with which a run ends when its time is up.
var ErrTimeout error = timeoutError{}

type timeoutError struct{}

func (timeoutError) Error() string        { return "time limit reached" }
func (timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// ErrEnded is the cause with which the calls that are still running end when
// the program has ended.
var ErrEnded = errors.New("the program has ended")

// ErrClosed is the error of a run after its runner was closed, and the cause
// with which closing ends the runs in progress.
var ErrClosed = errors.New("the sandbox is closed")

// Refuse returns the result for a request that is not worth starting a runner
// for: too long, or in none of the languages.
func Refuse(req *sandbox.Request, limits sandbox.Limits, languages ...sandbox.Language) (sandbox.Result, bool) {
	refuse := func(format string, args ...any) (sandbox.Result, bool) {
		return sandbox.Result{ExitCode: sandbox.ExitRefused, Error: fmt.Sprintf(format, args...)}, true
	}
	if n := len(req.Code); n > limits.CodeBytes {
		return refuse("code of %s is over the limit of %s (config: sandbox.maxCode): pass data through tool calls instead of writing it into the program; 0 tools called",
			Size(int64(n)), Size(int64(limits.CodeBytes)))
	}
	language := req.Language
	if language == "" {
		language = sandbox.TypeScript
	}
	if !slices.Contains(languages, language) {
		known := make([]string, len(languages))
		for i, l := range languages {
			known[i] = string(l)
		}
		return refuse("language %q does not run in this sandbox: use %s; 0 tools called", language, strings.Join(known, " or "))
	}
	return sandbox.Result{}, false
}

// Timeout returns the text for a program that ran out of time. said is the text of the
// runtime, if any, which knows the line, or what was waited for, but not always the
// exact limit. cpu is the processor time that the program has used, negative if
// unknown: it distinguishes a loop from a slow wait.
func Timeout(language sandbox.Language, limits sandbox.Limits, calls, inFlight int, cpu time.Duration, said string) string {
	gather := "make calls at the same time with Promise.all"
	if language == sandbox.Python {
		gather = "make calls at the same time with asyncio.gather"
	}
	idle := cpu >= 0 && cpu < limits.Timeout/4 // a loop on a busy machine gets more
	text, hint := timeout(limits, calls, inFlight, idle, said, gather)
	if cpu < 0 {
		return text + "\nhint: " + hint
	}
	text += fmt.Sprintf(" (processor time: %.2f s)", cpu.Seconds())
	switch {
	case cpu > limits.Timeout/2:
		hint = "it was computing: look for a loop that does not end, or do less in one run"
	case inFlight > 0:
		hint = "it was waiting, not computing: " + gather + ", or give a longer timeout"
	}
	return text + "\nhint: " + hint
}

// timeout is where the program was, and what to do if no more is known; gather
// says how its language has calls run at the same time. An idle program has
// hardly used the processor.
func timeout(limits sandbox.Limits, calls, inFlight int, idle bool, said, gather string) (text, hint string) {
	text = fmt.Sprintf("time limit of %s reached", Seconds(limits.Timeout))
	if _, where, ok := strings.Cut(said, " reached"); ok && strings.HasPrefix(said, "time limit of ") {
		where, hint, _ = strings.Cut(where, "\nhint: ")
		if hint != "" {
			return text + where, hint
		}
		text += where
	} else {
		switch {
		case inFlight > 0:
			text += fmt.Sprintf(" while %s running", count(inFlight, "call was", "calls were"))
		case calls == 0:
			text += " before any call was made"
		default:
			text += fmt.Sprintf(" after %s", count(calls, "call", "calls"))
		}
	}
	switch {
	case inFlight > 0:
		return text, "give a longer timeout, " + gather + ", or split the work"
	case idle:
		return text, "it was waiting, not computing: wait for less, or give a longer timeout"
	case calls == 0:
		return text, "look for a loop that does not end, or give a longer timeout"
	}
	return text, "give a longer timeout, or split the work"
}

// Memory returns the text for a program that used up its memory.
func Memory(limits sandbox.Limits) string {
	return fmt.Sprintf("memory limit of %s reached (config: sandbox.memory): keep less at one time, such as one page of results, and print or return only what is needed", Size(limits.MemoryBytes))
}

// Nesting returns the text for a program that overflowed the stack of its
// runner.
func Nesting(limits sandbox.Limits) string {
	return fmt.Sprintf("memory limit of %s reached by nesting (config: sandbox.memory): brackets, arrays or native calls are nested too deeply", Size(limits.MemoryBytes))
}

// ResultTooLarge returns the text for a result of n bytes.
func ResultTooLarge(limits sandbox.Limits, n int64) string {
	return fmt.Sprintf("result of %s is over the limit of %s (config: sandbox.maxResult): return a summary, or print what is needed", Size(n), Size(int64(limits.ResultBytes)))
}

// limitFields are the fields of the error of a call that is over a limit.
func limitFields(code string) json.RawMessage {
	return json.RawMessage(`{"code":"` + code + `","retryable":false}`)
}

// ArgumentTooLarge returns the error that a call with a large argument is
// answered with, and nil if it is not over max bytes.
func ArgumentTooLarge(call sandbox.Call, max int) error {
	n := len(call.Args)
	if n <= max {
		return nil
	}
	return &sandbox.CallError{
		Name: "ToolError",
		Message: fmt.Sprintf("argument of %s for %s is over the limit of %s (config: sandbox.maxResult): send it in parts",
			Size(int64(n)), Cut(sandbox.ShownTarget(call.Target), 200), Size(int64(max))),
		Fields: limitFields(sandbox.CodeArgumentTooLarge),
	}
}

// Canceled returns the code and the text for a run after its context ended with cause.
func Canceled(cause error) (int, string) {
	if errors.Is(cause, context.DeadlineExceeded) {
		return sandbox.ExitTimeout, "the caller's time limit was reached before the program had ended"
	}
	if cause == nil || errors.Is(cause, context.Canceled) {
		return sandbox.ExitCanceled, "cancelled by the caller before the program had ended"
	}
	return sandbox.ExitCanceled, "cancelled before the program had ended: " + cause.Error()
}

// Finish writes what a program says of its own end into r, within limits. The
// program is not trusted: a failure without a reason gets one.
func Finish(r *sandbox.Result, limits sandbox.Limits, e End) {
	r.ExitCode, r.Error = e.ExitCode, Cut(e.Error, MaxErrorBytes)
	r.Notes, r.Reads, r.Absent, r.Diverged = boundNotes(e.Notes), boundNotes(e.Reads), boundNotes(e.Absent), e.Diverged
	switch {
	case len(e.Value) > limits.ResultBytes:
		if r.ExitCode == sandbox.ExitOK {
			r.ExitCode, r.Error = sandbox.ExitThrew, ResultTooLarge(limits, int64(len(e.Value)))
		}
	default:
		r.Value = e.Value
	}
	if r.ExitCode == sandbox.ExitOK {
		r.Error = ""
	} else if r.Error == "" {
		r.Error = fmt.Sprintf("the program ended with exit code %d", r.ExitCode)
	}
}

// boundNotes bounds the notes of a program.
func boundNotes(list []string) []string {
	if more := len(list) - maxNotes; more > 0 {
		list = append(slices.Clip(list[:maxNotes]), fmt.Sprintf("… and %d more notes", more))
	}
	for i, n := range list {
		list[i] = Cut(n, maxNoteBytes)
	}
	return list
}

// What a program may say of its own end.
const (
	MaxErrorBytes = 64 << 10
	maxNotes      = 100
	maxNoteBytes  = 500
)

// Cut returns s, or as much of its beginning as max bytes hold and a mark that
// it was cut.
func Cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max] + "…"
}

// Size writes a number of bytes for people: "200 bytes", "256 KiB", "1.5 MiB".
func Size(n int64) string {
	unit := func(div int64, name string) string {
		s := fmt.Sprintf("%.1f", float64(n)/float64(div))
		return strings.TrimSuffix(s, ".0") + " " + name
	}
	switch {
	case n >= 1<<30:
		return unit(1<<30, "GiB")
	case n >= 1<<20:
		return unit(1<<20, "MiB")
	case n >= 1<<10:
		return unit(1<<10, "KiB")
	}
	return fmt.Sprintf("%d bytes", n)
}

// Seconds writes a time limit for people: "2 s", "0.25 s". The few milliseconds
// that were gone before a program began do not show.
func Seconds(d time.Duration) string {
	s := fmt.Sprintf("%.2f", d.Seconds())
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + " s"
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Output passes on what a program prints to one stream: all is counted, as
// much as the limit allows is written. It is for one goroutine.
type Output struct {
	w     io.Writer
	left  int64
	total int64
}

// NewOutput returns an Output to w, which may be nil, of at most limit bytes.
func NewOutput(w io.Writer, limit int64) *Output {
	if w == nil {
		w = io.Discard
	}
	return &Output{w: w, left: limit}
}

// Print counts p and writes what the limit leaves of it. A writer that fails
// once is not written to again.
func (o *Output) Print(p []byte) {
	o.total += int64(len(p))
	p = p[:min(int64(len(p)), o.left)]
	if len(p) == 0 {
		return
	}
	o.left -= int64(len(p))
	if _, err := o.w.Write(p); err != nil {
		o.left = 0
	}
}

// Bytes returns how much was printed.
func (o *Output) Bytes() int64 { return o.total }

// Dropped returns a note for each of the two streams that was over the limit.
func Dropped(limits sandbox.Limits, stdout, stderr *Output) []string {
	var notes []string
	for _, o := range []struct {
		name string
		*Output
	}{{"stdout", stdout}, {"stderr", stderr}} {
		if o.total > limits.OutputBytes {
			notes = append(notes, fmt.Sprintf("%s of %s is over the limit of %s (config: sandbox.maxOutput): the rest is lost",
				o.name, Size(o.total), Size(limits.OutputBytes)))
		}
	}
	return notes
}
