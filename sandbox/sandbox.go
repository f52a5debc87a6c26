// Package sandbox is the contract for running one untrusted program under
// limits. It knows nothing of MCP: a program reaches the outside only through
// the host functions that its Request names, and the modules it can import are
// handed in as text.
//
// The implementations are in the subpackages: worker (the default: a hardened
// child process, one execution each), docker (a container for each, also for
// Python and Node), inproc (for tests and trusted code). sandboxtest has the suite
// that every one of them passes, attack the hostile programs that they contain,
// jsrun the JavaScript runtime that they share, wire the frames between host and
// child.
package sandbox

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"
)

// A Runner executes untrusted programs. Run must be safe for concurrent use,
// must return soon after ctx is done, and must leave no goroutine, process or
// container behind. A program that fails is a Result with a non-zero ExitCode;
// an error means that the runner itself could not do its work.
type Runner interface {
	Run(ctx context.Context, req Request) (Result, error)
	// Close ends what the runner keeps ready, such as spare processes. Runs
	// in progress are killed. Run must not be called afterwards.
	Close() error
}

// A Language names how a program's text is read.
type Language string

// The languages. A runner that does not know one refuses the program with
// ExitRefused.
const (
	TypeScript Language = "typescript"
	JavaScript Language = "javascript"
	Python     Language = "python"
)

// Exit codes of an execution.
const (
	ExitOK       = 0   // the program ended
	ExitThrew    = 1   // it threw, or a promise was rejected and not caught
	ExitRefused  = 2   // it did not start: syntax, unknown import, too large
	ExitApproval = 3   // it waits for nothing but calls that are withheld, see ErrWithheld
	ExitStuck    = 13  // its promise can never settle
	ExitTimeout  = 124 // its time was up
	ExitCanceled = 130 // the caller's context was cancelled
	ExitMemory   = 137 // its memory was used up, or the process was killed
)

// A Request is one program to run. The zero value of every optional field
// means the default named beside it.
type Request struct {
	// Language of Code; empty means TypeScript.
	Language Language
	// Isolation is where it is to run; empty means where the runner is set up to
	// run it. Only Places looks at it.
	Isolation Isolation
	// Code is the program's text, and File its name in messages, as FileName returns
	// it; empty means agent.ts or the like.
	Code, File string
	// Modules are the modules that the program may import, and the
	// namespaces that are in scope without import. Only those that the
	// program may use need to be here; ModuleNames completes suggestions.
	Modules []Module
	// ModuleNames are all importable paths, those of Modules among them, for
	// "did you mean" answers.
	ModuleNames []string
	// Scope describes what limits the program, such as a profile, for errors about
	// unknown servers, functions and names. It may be empty.
	Scope string
	// Call performs host calls. It is called from many goroutines, up to
	// Limits.InFlight at a time, with a context that ends when the program
	// does; one that does not return within seconds after that is left behind.
	// Nil answers every call with an error.
	Call CallFunc
	// Check judges the program between parsing and running it. It is called
	// only if there is something to judge, unless CheckSource is set. Nil
	// refuses nothing; so does a runner that cannot say what a program calls.
	Check CheckFunc
	// CheckSource asks for Parsed.Source of programs in TypeScript.
	CheckSource bool
	// Files are what the program finds in its file system, if the runner gives
	// it one; nil is nothing.
	Files *Files
	// Stdout and Stderr receive what the program prints, as it prints it, at
	// most Limits.OutputBytes each (what is beyond is counted, not written).
	// Nil discards. Writes come from one goroutine at a time per writer.
	Stdout, Stderr io.Writer
	// Limits bounds the run.
	Limits Limits
	// Journal makes the run repeatable, and repeats earlier ones; nil does neither.
	Journal *Journal
	// Owner owns the program. A queue lets owners take turns.
	Owner string
}

// A Module is a virtual module: TypeScript source that the program can import
// as "./PATH", and, when Global is set, find in scope under that name.
type Module struct {
	// Path is canonical: no "./" in front, no extension: "servers/github".
	Path string `json:"path"`
	// Source is the module's text. It may import other modules by
	// "./helpers/callMCPTool" or any Path.
	Source string `json:"source"`
	// Exports are the names that Source exports.
	Exports []string `json:"exports"`
	// Withheld says of names that the program may expect here why they are
	// not among Exports.
	Withheld map[string]string `json:"withheld,omitempty"`
	// Unusable is the reason the program cannot have the module, which then has no
	// Source.
	Unusable string `json:"unusable,omitempty"`
	// Global is the identifier that is bound to the module's namespace in the
	// program's scope if the program uses it without declaring it.
	Global string `json:"global,omitempty"`
}

// A Call is one call from the program to its host.
type Call struct {
	// Func is what is asked for: "call" for callMCPTool, or FuncAgain; others, such as
	// "tools.search", belong to the host that defines them.
	Func string
	// Target is the first string argument, such as the tool id, or what JoinTarget
	// makes of a server and a tool. A host refuses one of more than MaxNameBytes, or
	// MaxQueryBytes for "tools.search".
	Target string
	// Args is the JSON argument; nil when there was none.
	Args json.RawMessage
	// Seq numbers the calls of a run with a Journal, from 1, in the order in which
	// the program made them; 0 means that the runner does not say.
	Seq int
	// Steps is what came to the program since the call before. Its journal keeps it
	// for a replay.
	Steps []byte
	// Line is the line of the program that makes the call, from 1; 0 where the
	// runner does not say.
	Line int
}

// targetSeparator joins the server and the tool of a target. The runners of other
// languages write it, too.
const targetSeparator = "\x1f"

// JoinTarget returns the target that is a tool of a server, whatever separators both
// names contain.
func JoinTarget(server, tool string) string { return server + targetSeparator + tool }

// ShownTarget returns a target as people write it: "server.tool" for what JoinTarget has
// joined, and any other target as it is.
func ShownTarget(target string) string { return strings.Replace(target, targetSeparator, ".", 1) }

// FuncAgain is the Func of a call of a tool that is meant to be made although the
// program may have made an equal one before it was changed.
const FuncAgain = "call.again"

// CallsTool reports whether Func is that of a call of a tool.
func (c Call) CallsTool() bool { return c.Func == "call" || c.Func == FuncAgain }

// MaxNameBytes is the longest name that a program may give its host, of
// whatever kind, and MaxQueryBytes the longest text to search for.
const (
	MaxNameBytes  = 512
	MaxQueryBytes = 4 << 10
)

// FileName returns the name of a program in messages for the path of its file, or "" if
// a position in a trace could not be told with it.
func FileName(path string) string {
	name := path[strings.LastIndexAny(path, "/\\")+1:]
	plain := func(r rune) bool {
		return r == '.' || r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' && r < 0x80
	}
	if len(name) > 80 || strings.Trim(name, ".") == "" || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return ""
	}
	return name
}

// A CallFunc performs one host call. The answer is raw JSON, handed to the
// program as a value with key order and big integers kept; nil is undefined. An
// error is thrown in the program: a *CallError with its fields, any other
// error with its message alone.
type CallFunc func(ctx context.Context, call Call) (json.RawMessage, error)

// A CallError is thrown in the program as an Error of class Name with the properties
// Message and the fields.
type CallError struct {
	// Name is the error's class, such as "ToolError".
	Name string `json:"name"`
	// Message is its message.
	Message string `json:"message"`
	// Fields are further own properties, in a JSON object.
	Fields json.RawMessage `json:"fields,omitempty"`
}

// Codes of calls that are not made, or not answered, because of a limit: what
// the field "code" of their errors says.
const (
	CodeCallLimit        = "call_limit"         // too many calls in one run
	CodeNameTooLong      = "name_too_long"      // over MaxNameBytes
	CodeArgumentTooLarge = "argument_too_large" // over Limits.ResultBytes
	CodeAnswerTooLarge   = "answer_too_large"   // over half of Limits.MemoryBytes
)

func (e *CallError) Error() string { return e.Message }

// Limits bounds one run. A zero field means the default.
type Limits struct {
	// Timeout is the wall-clock time for the run; default 30 s.
	Timeout time.Duration
	// MemoryBytes is what the program may use; default 256 MiB.
	MemoryBytes int64
	// CodeBytes is the longest program; default 256 KiB.
	CodeBytes int
	// Calls is the number of host calls in one run; default 500.
	Calls int
	// InFlight is the number of host calls at one time; default 16. Further
	// calls wait in order.
	InFlight int
	// OutputBytes is how much of stdout, and of stderr, reaches the writers;
	// default 64 MiB.
	OutputBytes int64
	// ResultBytes is the largest result; default 16 MiB.
	ResultBytes int
	// Grace is how long calls that are still running when the program has
	// ended are waited for; default 5 s, never beyond Timeout.
	Grace time.Duration
}

// A Result is how a program ended.
type Result struct {
	// ExitCode is one of the Exit constants, or the program's own.
	ExitCode int
	// Value is the program's result as JSON; nil when it has none.
	Value json.RawMessage
	// Error says, for every non-zero ExitCode, why the program ended and what
	// to do about it: the thrown error with its trace, or the limit that was
	// hit, or the syntax errors. It is not part of what went to Stderr.
	Error string
	// Notes are notes that do not change the exit code, one line each, such
	// as calls that were still running at the end.
	Notes []string
	// Reads are the program's reads of unknown properties (see Shape) that gave
	// undefined, one line each, with the likely name.
	Reads []string
	// Absent are the reads of UnwrapNames that found nothing in an answer: "content", or
	// "string.text" if the value is a text. It is nil if the runner does not notice them.
	Absent []string
	// Diverged means that the program did not do what the runs before did, and was
	// ended before it made a call of its own. Error says which call differs.
	Diverged bool
	// StdoutBytes and StderrBytes count what the program printed, also what
	// was over the limit.
	StdoutBytes, StderrBytes int64
	// Calls is the number of host calls that were made.
	Calls int
	// Duration is the wall-clock time from the start of Run. Queued is the part of it
	// in which the program waited for a place, and Opened the part after that until
	// there was a sandbox for it; both are 0 where the runner does not say.
	Duration, Queued, Opened time.Duration
	// CPU is the processor time that the program used, where it is known.
	CPU time.Duration
}

// WithDefaults returns l with every zero field set to its default.
func (l Limits) WithDefaults() Limits {
	or := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	or(&l.Timeout, 30*time.Second)
	or(&l.Grace, 5*time.Second)
	if l.MemoryBytes == 0 {
		l.MemoryBytes = 256 << 20
	}
	if l.CodeBytes == 0 {
		l.CodeBytes = 256 << 10
	}
	if l.Calls == 0 {
		l.Calls = 500
	}
	if l.InFlight == 0 {
		l.InFlight = 16
	}
	if l.OutputBytes == 0 {
		l.OutputBytes = 64 << 20
	}
	if l.ResultBytes == 0 {
		l.ResultBytes = 16 << 20
	}
	return l
}
