package state

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/redact"
)

// The states of an execution.
const (
	StatusRunning     = "running"     // it has begun, and its owner lives
	StatusDone        = "done"        // it ended with exit code 0
	StatusFailed      = "failed"      // it ended with another exit code
	StatusRefused     = "refused"     // it did not start
	StatusTimeout     = "timeout"     // its time was up
	StatusCancelled   = "cancelled"   // its caller gave up
	StatusInterrupted = "interrupted" // its broker ended first
)

// The states of a call.
const (
	CallOK        = "ok"
	CallError     = "error"     // the tool or its server answered with an error
	CallDenied    = "denied"    // policy did not let it be sent
	CallCancelled = "cancelled" // the program or its caller gave up
	CallTimeout   = "timeout"   // no answer in time
)

// An Execution is one run of a program.
type Execution struct {
	// ID is "e_" and a random text that sorts by time. Begin makes one if it
	// is empty.
	ID string
	// Client is who asked for it, as the broker knows its clients.
	Client string
	// ClientInfo is what the client called itself when it connected, if it did.
	ClientInfo string
	// Language of the program.
	Language string
	// CodeHash is the SHA-256 of the program in hexadecimal. Begin fills it in
	// from Code if it is empty.
	CodeHash string
	// Code is the program. It is kept, redacted and cut to 64 KiB, with Keep.Code.
	Code string
	// Started and Ended are when it ran; Ended is zero while it runs. Begin
	// and Finish fill them in if they are zero.
	Started, Ended time.Time
	// ExitCode is its exit code, which has a meaning once it has ended.
	ExitCode int
	// Status is one of the Status constants.
	Status string
	// Duration is its wall-clock time, CPU the processor time of its sandbox
	// where it is known.
	Duration, CPU time.Duration
	// Prepared, Queued and Opened are the beginning of Duration, one after the other:
	// until the program could run, until it had a place, and until it had a sandbox.
	// The hashes of the record do not cover them.
	Prepared, Queued, Opened time.Duration
	// Calls is the number of its calls. For one that has not ended, reading
	// counts what was recorded.
	Calls int
	// BytesIn is the size of the results that came into the sandbox, BytesOut
	// that of the answer that went to the model.
	BytesIn, BytesOut int64
	// Error is the reason it failed; recorded cut and redacted.
	Error string
	// Answer is the JSON that went to the model. It is recorded, redacted and cut to 64
	// KiB, only with payloads. Lists do not contain it, and the hashes of the record do
	// not cover it.
	Answer []byte
}

// A Call is one tool call. Its size fields count bytes of JSON.
type Call struct {
	// ExecutionID is empty for a call that no program made.
	ExecutionID string
	// Seq numbers the calls of an execution in the order they were made.
	Seq int
	// Server is the configured name, Tool the server's own name of the tool,
	// ID the name that the model uses.
	Server, Tool, ID string
	// Started is when it was made; Record fills it in from Duration if zero.
	Started time.Time
	// Duration is the time until its answer. Waited is the beginning of it, until the
	// request was on its way to the server; all of it if it never was. The hashes of
	// the record do not cover Waited and Line.
	Duration, Waited time.Duration
	// Line is the line of the program that made the call, from 1; 0 if it is not known.
	Line int
	// Status is one of the Call constants.
	Status string
	// Class is what the tool can do, such as "write"; empty if it is not known.
	// Decision is what the policy said, such as "deny rule servers.json:7:5"; empty
	// if it was not asked.
	Class, Decision string
	// ArgBytes and ResultBytes are the sizes of arguments and result.
	ArgBytes, ResultBytes int64
	// Error is what went wrong; recorded in short, and redacted.
	Error string
	// Args and Result are the JSON itself. They are recorded, redacted and cut
	// to 64 KiB each, only with payloads.
	Args, Result []byte
	// N numbers the calls of a record, and Client is who asked for the execution.
	// Rows fills them in; they are not recorded.
	N      int64
	Client string
}

// ErrNoRecord means that the record or the execution does not exist.
var ErrNoRecord = errors.New("no audit record")

// BytesKept is what e kept out of the model: what came in beyond what went out, and
// nothing of one that was interrupted.
func (e *Execution) BytesKept() int64 {
	if e.Status == StatusInterrupted {
		return 0
	}
	return max(e.BytesIn-e.BytesOut, 0)
}

// HashCode is the CodeHash of a program.
func HashCode(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

// MarshalJSON writes e as the audit commands show it: durations in
// milliseconds, times in RFC 3339, without fields that say nothing.
func (e Execution) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID         string     `json:"id"`
		Client     string     `json:"client,omitempty"`
		ClientInfo string     `json:"client_info,omitempty"`
		Language   string     `json:"language,omitempty"`
		Status     string     `json:"status"`
		ExitCode   int        `json:"exit_code"`
		Started    time.Time  `json:"started"`
		Ended      *time.Time `json:"ended,omitempty"`
		DurationMS float64    `json:"duration_ms"`
		CPUMS      float64    `json:"cpu_ms,omitempty"`
		PreparedMS float64    `json:"prepared_ms,omitempty"`
		QueuedMS   float64    `json:"queued_ms,omitempty"`
		OpenedMS   float64    `json:"opened_ms,omitempty"`
		Calls      int        `json:"calls"`
		BytesIn    int64      `json:"bytes_in"`
		BytesOut   int64      `json:"bytes_out"`
		CodeHash   string     `json:"code_hash,omitempty"`
		Code       string     `json:"code,omitempty"`
		Error      string     `json:"error,omitempty"`

		Answer json.RawMessage `json:"answer,omitempty"`
	}{
		e.ID, e.Client, e.ClientInfo, e.Language, e.Status, e.ExitCode, e.Started.UTC(), timeOrNil(e.Ended), milliseconds(e.Duration),
		milliseconds(e.CPU), milliseconds(e.Prepared), milliseconds(e.Queued), milliseconds(e.Opened), e.Calls, e.BytesIn, e.BytesOut, e.CodeHash, e.Code, e.Error,
		e.Answer,
	})
}

// MarshalJSON writes c as the audit commands show it: durations in
// milliseconds, times in RFC 3339, without fields that say nothing.
func (c Call) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ExecutionID string          `json:"execution,omitempty"`
		Seq         int             `json:"seq"`
		Server      string          `json:"server"`
		Tool        string          `json:"tool"`
		ID          string          `json:"id,omitempty"`
		Status      string          `json:"status"`
		Class       string          `json:"class,omitempty"`
		Decision    string          `json:"decision,omitempty"`
		Started     time.Time       `json:"started"`
		DurationMS  float64         `json:"duration_ms"`
		WaitedMS    float64         `json:"waited_ms,omitempty"`
		Line        int             `json:"line,omitempty"`
		ArgBytes    int64           `json:"arg_bytes"`
		ResultBytes int64           `json:"result_bytes"`
		Error       string          `json:"error,omitempty"`
		Args        json.RawMessage `json:"args,omitempty"`
		Result      json.RawMessage `json:"result,omitempty"`
		N           int64           `json:"n,omitempty"`
		Client      string          `json:"client,omitempty"`
	}{
		c.ExecutionID, c.Seq, c.Server, c.Tool, c.ID, c.Status, c.Class, c.Decision, c.Started.UTC(), milliseconds(c.Duration), milliseconds(c.Waited), c.Line,
		c.ArgBytes, c.ResultBytes, c.Error, c.Args, c.Result, c.N, c.Client,
	})
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// milliseconds is d in ms with three decimals, which is what a reader can use.
func milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}

// Limits of what is recorded, in bytes.
const (
	// MaxPayload bounds a program, arguments, a result or an answer, in bytes.
	MaxPayload = 64 << 10
	// MaxError is for an error and for the detail of an event.
	MaxError = 2 << 10
	// MaxName is for any other text.
	MaxName = 512
)

// Keep selects what is recorded of executions besides names, times, sizes and errors.
type Keep struct {
	// Code records programs, and Payloads the arguments and results of calls, and
	// answers.
	Code, Payloads bool
}

// Whole reports whether Code is the program as it ran: nothing is redacted or
// cut, and it was kept at all.
func (e *Execution) Whole() bool { return e.Code != "" && HashCode(e.Code) == e.CodeHash }

// Prepare fills in what follows from other fields, and redacts and cuts the
// texts. What keep does not name is left out. Every Journal does this before it
// keeps an execution.
func (e *Execution) Prepare(keep Keep) {
	if e.CodeHash == "" && e.Code != "" {
		e.CodeHash = HashCode(e.Code)
	}
	if keep.Code {
		e.Code = redact.Cut(e.Code, MaxPayload)
	} else {
		e.Code = ""
	}
	if e.Started.IsZero() {
		e.Started = time.Now().Add(-e.Duration)
	}
	e.Error = redact.Cut(e.Error, MaxError)
	if keep.Payloads {
		e.Answer = redact.JSON(e.Answer, MaxPayload)
	} else {
		e.Answer = nil
	}
	cutNames(&e.ID, &e.Client, &e.ClientInfo, &e.Language, &e.CodeHash, &e.Status)
}

// Finish is Prepare for an execution that has ended: it completes Ended and
// Status too.
func (e *Execution) Finish(keep Keep) {
	e.Prepare(keep)
	if e.Ended.IsZero() {
		e.Ended = time.Now()
	}
	if e.Status == "" || e.Status == StatusRunning {
		e.Status = StatusDone
		if e.ExitCode != 0 {
			e.Status = StatusFailed
		}
	}
}

// Prepare is for a call what Execution.Prepare is for an execution.
func (c *Call) Prepare(keep Keep) {
	if c.Started.IsZero() {
		c.Started = time.Now().Add(-c.Duration)
	}
	c.Error = redact.Cut(c.Error, MaxError)
	c.Tool, c.ID = redact.Text(c.Tool), redact.Text(c.ID) // a script may name anything
	cutNames(&c.ExecutionID, &c.Server, &c.Tool, &c.ID, &c.Status, &c.Class, &c.Decision)
	if keep.Payloads {
		c.Args, c.Result = redact.JSON(c.Args, MaxPayload), redact.JSON(c.Result, MaxPayload)
	} else {
		c.Args, c.Result = nil, nil
	}
}

// cutNames shortens texts that are neither errors nor payloads.
func cutNames(names ...*string) {
	for _, n := range names {
		if len(*n) > MaxName {
			// The rest of the text must not stay in memory.
			*n = strings.Clone(strings.ToValidUTF8((*n)[:MaxName], ""))
		}
	}
}

// idEncoding is Crockford's, in lower case: its order is the order of the bytes.
var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID makes the ID of an execution: "e_" and 22 letters and digits, the first
// ten of which are its time.
func NewID() string {
	var b [14]byte
	binary.BigEndian.PutUint64(b[:8], uint64(time.Now().UnixMilli())<<14) // 50 bits: ten characters
	var r [8]byte
	_, _ = rand.Read(r[:]) // never fails
	b[6] = b[6]&^0x3f | r[7]&0x3f
	copy(b[7:], r[:7])
	return "e_" + idEncoding.EncodeToString(b[:])[:22]
}
