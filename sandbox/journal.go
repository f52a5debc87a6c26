package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// ErrWithheld is the error of a CallFunc for a call that is not made now, and has
// no answer in this run: a person is to decide first. The rest of the program runs
// on; when it waits for nothing else, its run ends with ExitApproval. Only a run
// with a Journal may be told so, and only of calls that have a Seq.
var ErrWithheld = errors.New("the call is withheld")

// A Journal makes a program repeatable: its calls are numbered, and what the
// program can see of the outside comes with them, so that a later run can be
// brought to the same point without making them again. A runner that cannot do
// this ignores it, and numbers no call.
type Journal struct {
	// Seed is of all random numbers of the program: 32 bytes.
	Seed []byte `json:"seed"`
	// Epoch is where its clock starts, in microseconds since 1970.
	Epoch int64 `json:"epoch"`
	// Calls are those of the runs before, in their order. They are answered with
	// what they were answered with then. Those without an answer are made when all
	// have been repeated, and only then is any other call made.
	Calls []Recorded `json:"calls,omitempty"`
	// Lenient lets a program be another one than that of the runs before: it goes
	// its own way from the first call that differs. Otherwise that ends it, and the
	// Result has Diverged.
	Lenient bool `json:"lenient,omitempty"`
	// Made hears of each call that has a Seq, in order and before it is made, and
	// returns what hears of its answer, once: not of the failure of a call that ends
	// with the run, nor of one that is withheld. It must not block for long.
	Made func(Call) (answered func(value json.RawMessage, err error)) `json:"-"`
	// Replayed hears how many of Calls the program has repeated, before any call
	// is made. It is called only if there are Calls.
	Replayed func(n int) `json:"-"`
}

// A Recorded is a call of a run before.
type Recorded struct {
	Func   string `json:"func"`
	Target string `json:"target"`
	// Args is HashArgs of the arguments.
	Args string `json:"args"`
	// Answered is its place among the answers; 0 means that there was none.
	Answered int             `json:"answered,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	Error    *CallError      `json:"error,omitempty"`
	// Steps are Call.Steps.
	Steps []byte `json:"steps,omitempty"`
}

// HashArgs identifies the arguments of a call, as they are written, whether < and
// such are escaped or not: a journal escapes them.
func HashArgs(args json.RawMessage) string {
	var b bytes.Buffer
	json.HTMLEscape(&b, args)
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:16])
}
