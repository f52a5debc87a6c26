package host

import (
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// Forbidden is the text for a program that its filter has killed.
const Forbidden = "the sandbox process was killed: it made a system call that is forbidden to scripts"

// Killed puts into words why a process ended before its program had. calls were
// made, of which inFlight were running.
func Killed(k wire.Killed, language sandbox.Language, limits sandbox.Limits, calls, inFlight int) (code int, text string) {
	switch k.Cause {
	case wire.CauseMemory:
		return sandbox.ExitMemory, Memory(limits)
	case wire.CauseNesting:
		return sandbox.ExitMemory, Nesting(limits)
	case wire.CauseTime:
		return sandbox.ExitTimeout, Timeout(language, limits, calls, inFlight, k.CPU, "")
	case wire.CauseForbidden:
		return sandbox.ExitMemory, Forbidden
	case wire.CauseProtocol, wire.CauseEnded:
		return sandbox.ExitMemory, "the sandbox process was killed: " + Cut(k.Detail, maxNoteBytes)
	}
	return sandbox.ExitMemory, fmt.Sprintf("the sandbox process died before the program had ended (%s): the system may be short of memory; run it again, with less data at one time", Cut(k.Detail, maxNoteBytes))
}

// Done is the result of a program that has told how it ended, in a process of
// which k is known.
func Done(res *sandbox.Result, done wire.Done, k wire.Killed, language sandbox.Language, limits sandbox.Limits, calls, inFlight int) {
	if done.ExitCode == sandbox.ExitTimeout {
		done.Value, done.Error = nil, Timeout(language, limits, calls, inFlight, k.CPU, done.Error)
	}
	Finish(res, limits, End(done))
}

// NearMemory is what a timeout says more when the program's memory had come near
// its limit, where it mostly collects garbage.
func NearMemory(peak, limit int64) string {
	if peak < limit/5*4 {
		return ""
	}
	return fmt.Sprintf("\nit had come to %d MiB of the %d MiB of memory that it may use: keep less at one time", peak>>20, limit>>20)
}

// KillMargin is how long after its time limit a process is killed. It knows the
// limit too, and a program that can be interrupted is then reported with the
// line it was at.
const KillMargin = 250 * time.Millisecond
