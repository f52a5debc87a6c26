package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
)

// An Error is the failure of a call in the script: its fields are the properties of the ToolError
// that is thrown there.
type Error struct {
	Server    string `json:"server"`
	Tool      string `json:"tool"`
	Code      Code   `json:"code"`
	Message   string `json:"-"`
	Retryable bool   `json:"retryable"`
	Hint      string `json:"hint,omitempty"`
	// MayHaveRun is set when the call was sent and its outcome is unknown.
	MayHaveRun bool `json:"mayHaveRun,omitempty"`
	// RetryAfterMS is the time to wait before another call, in milliseconds; 0 if
	// unknown.
	RetryAfterMS int64 `json:"retryAfterMs,omitempty"`
	// Decision is the recorded decision about a call that a quota refused.
	Decision string `json:"-"`
	// FromText is set if only the text of the server's error reports the rate limit.
	FromText bool `json:"-"`
}

func (e *Error) Error() string { return e.Message }

const (
	// MaxMessage bounds an error message that a script gets, and maxField each of its
	// other texts, in bytes.
	MaxMessage = 64 << 10
	maxField   = 2 << 10
)

// CutMessage returns the beginning of an error message, with a note if it is cut.
func CutMessage(s string) string { return cutText(s, MaxMessage) }

func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	note := fmt.Sprintf("… [cut: %d bytes in all]", len(s))
	for n -= len(note); n > 0 && !utf8.RuneStart(s[n]); n-- {
	}
	return s[:n] + note
}

// bound cuts the texts of e to the sizes that scripts, journals and records accept.
func (e *Error) bound() {
	e.Message = CutMessage(e.Message)
	for _, text := range []*string{&e.Server, &e.Tool, &e.Hint} {
		*text = cutText(*text, maxField)
	}
}

// Fields returns the properties of the ToolError without its message, as JSON.
func (e *Error) Fields() json.RawMessage {
	b, err := json.Marshal(e)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return b
}

// hintMayHaveRun is the default hint of an error with MayHaveRun.
const hintMayHaveRun = "the tool may have run: check before you call it again"

// A Code classifies an Error.
type Code string

// The codes that scripts can tell apart.
const (
	CodeTool        Code = "tool_error"        // the tool ran and reported an error
	CodeArguments   Code = "invalid_arguments" // refused before the call was sent
	CodeUnknownTool Code = "unknown_tool"      // no such tool
	CodeDenied      Code = "denied"            // not allowed here
	CodeApproval    Code = "needs_approval"    // a person must allow it, and none could be asked
	CodeToken       Code = "token_not_allowed" // a token is not allowed there
	CodeCallLimit   Code = "call_limit"        // too many calls in one execution
	CodeQuota       Code = "quota_exceeded"    // too many calls in a time; Hint says when to try again
	CodeRateLimited Code = "rate_limited"      // the server, or the service behind it, asks for fewer calls
	CodeUnavailable Code = "unavailable"       // the server cannot be reached
	CodeProtocol    Code = "protocol_error"    // the server answered with a JSON-RPC error
	CodeTimeout     Code = "timeout"           // no answer in time
	CodeCancelled   Code = "cancelled"         // the execution ended first
	CodeNeedsInput  Code = "needs_input"       // a question of the server was not answered
)

// maxName is the length of the longest name that is looked up, in bytes.
const maxName = 512

// CheckName rejects a name that is too long for any tool, before it is looked up.
// The error is an *Error.
func CheckName(name string) error {
	if len(name) <= maxName {
		return nil
	}
	return &Error{Code: CodeUnknownTool, Message: fmt.Sprintf("unknown tool: its name has %d bytes; at most %d, which is fixed", len(name), maxName)}
}

// Hints that name a tool of the broker. ForShell replaces them with commands.
const (
	HintSearch  = "search_tools finds tools by what they do"
	HintServers = "list_servers says how the server is"
)

// ForShell returns e for a user at a terminal.
func (e *Error) ForShell() *Error {
	hint := ""
	switch e.Hint {
	case HintSearch:
		hint = "broker search WORDS finds tools by what they do"
	case HintServers:
		hint = "broker servers test " + gate.Name(e.Server)
	default:
		return e
	}
	told := *e
	told.Hint = hint
	return &told
}

// Refused returns the error of a call of t that the policy does not allow.
func Refused(t *discovery.Tool, d policy.Decision) *Error {
	e := &Error{Server: t.Server, Tool: t.Name, Code: CodeDenied, Message: t.ID + " " + d.Reason, Hint: d.Hint}
	if d.Effect == policy.Ask {
		e.Code = CodeApproval
		e.Message = t.ID + " needs the approval of a person, and nobody can be asked here: it " + d.Reason
		e.Hint = "do without it, or tell the user: broker policy explain " + t.Server + "." + t.Name + " says why, and which rule would allow it"
	}
	return e
}

// unanswered returns the error of a call of t whose approval form was closed without an
// answer.
func unanswered(t *discovery.Tool, d policy.Decision) *Error {
	e := Refused(t, d)
	e.Message = t.ID + " needs approval, and the person closed the question without an answer: it " + d.Reason
	e.Hint = "the call is not denied: go on without it, or repeat it when the user wants to be asked again"
	return e
}

// about returns e with the names of t, whose server may know it by another name.
func (e *Error) about(t *discovery.Tool) *Error {
	if own := t.OwnName(); own != t.Name {
		e.Message = strings.Replace(e.Message, "call "+t.Server+"/"+own+":", "call "+t.Server+"/"+t.Name+":", 1)
	}
	return e
}

// OfServer reports whether the message of an error with this code is the server's text.
func (c Code) OfServer() bool { return c == CodeTool || c == CodeProtocol || c == CodeRateLimited }

// reachedServer reports whether text of the server may have reached the script, or the person or
// model that the server asked. Calls that the broker refuses never reach a server.
func (e *Error) reachedServer() bool {
	switch e.Code {
	case CodeTool, CodeProtocol, CodeRateLimited, CodeNeedsInput, CodeUnavailable: // their messages contain the server's text
		return true
	case CodeTimeout, CodeCancelled:
		return e.MayHaveRun
	}
	return false
}

func (e *Error) status() Status {
	switch e.Code {
	case CodeDenied, CodeApproval, CodeToken, CodeQuota:
		return StatusDenied
	case CodeTimeout:
		return StatusTimeout
	case CodeCancelled:
		return StatusCancelled
	}
	return StatusError
}

func sortBySeq(records []Record) {
	slices.SortFunc(records, func(a, b Record) int { return a.Seq - b.Seq })
}

// A Row is one line of tools_called: the calls of one tool with the same outcome.
type Row struct {
	Tool   string `json:"tool"`
	Status Status `json:"status"`
	MS     int64  `json:"ms"`          // sum of the merged calls
	N      int    `json:"n,omitempty"` // number of merged calls, when above one
	Error  string `json:"error,omitempty"`
}

const (
	// maxRowError bounds the error in a row. The script got all of it.
	maxRowError = 300
	// maxRowsBytes bounds the rows of an answer, approximately.
	maxRowsBytes = 6000
)

// Rows merges the records of the same tool, status and error, in the order of their
// first record. If there are too many rows, the rest are merged into one for each
// status, with "…" as the tool. The result is never nil.
func Rows(records []Record) []Row {
	type kind struct {
		tool, err string
		status    Status
	}
	rows, at, micros := []Row{}, map[kind]int{}, []int64{}
	for _, r := range records {
		k := kind{r.ID, r.Error, r.Status}
		i, there := at[k]
		if !there {
			i = len(rows)
			at[k] = i
			rows, micros = append(rows, Row{Tool: r.ID, Status: r.Status, Error: r.Error}), append(micros, 0)
		} else {
			rows[i].N = max(rows[i].N, 1) + 1
		}
		micros[i] += r.Duration.Microseconds()
		rows[i].MS = (micros[i] + 500) / 1000
	}
	size := 0
	for i := range rows {
		rows[i].Error = gate.Cut(rows[i].Error, maxRowError)
		if size += len(`{"tool":"","status":"ok","ms":0},`) + len(rows[i].Tool) + len(rows[i].Error); size > maxRowsBytes {
			return append(rows[:i:i], mergeByStatus(rows[i:])...)
		}
	}
	return rows
}

// mergeByStatus merges rows to one for each status.
func mergeByStatus(rows []Row) []Row {
	var merged []Row
	for _, r := range rows {
		i := slices.IndexFunc(merged, func(m Row) bool { return m.Status == r.Status })
		if i < 0 {
			i = len(merged)
			merged = append(merged, Row{Tool: "…", Status: r.Status})
		}
		merged[i].N += max(r.N, 1)
		merged[i].MS += r.MS
	}
	return merged
}
