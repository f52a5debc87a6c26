package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Hello is the payload of the first frame: what the runner has to know before
// it contains itself.
type Hello struct {
	// Version is the protocol's, see [Version].
	Version int `json:"version"`
	// MemoryBytes is what the program may use.
	MemoryBytes int64 `json:"memory_bytes"`
	// Warm asks the runner to do, while it waits for the program, what makes
	// the first program slow. Without it the program is about to come.
	Warm bool `json:"warm,omitempty"`
	// Prepare asks for the program made ready for another engine, the JSON of a
	// nodejs.Bundle as its value, instead of its run. Globals are the global
	// names of that engine.
	Prepare bool     `json:"prepare,omitempty"`
	Globals []string `json:"globals,omitempty"`
	// Timeout and FrameBytes tell a relay the time that the program gets, pauses
	// left out, and the longest frame of its runner.
	Timeout    time.Duration `json:"timeout_ns,omitempty"`
	FrameBytes int           `json:"frame_bytes,omitempty"`
}

// Load is what a relay says of itself.
type Load struct {
	// Version is the protocol's, see [Version], and Build that of the program.
	Version int    `json:"version"`
	Build   string `json:"build"`
	// Running is how many programs run there, of Most.
	Running int `json:"running"`
	Most    int `json:"most"`
	// Layers are what contains them.
	Layers []sandbox.Layer `json:"layers,omitempty"`
}

// Killed is how the process of a program ended.
type Killed struct {
	Cause  Cause  `json:"cause,omitempty"` // empty if the program has ended
	Detail string `json:"detail,omitempty"`
	// CPU is the processor time that it had used, Peak the most memory of its own
	// that was seen.
	CPU  time.Duration `json:"cpu_ns"`
	Peak int64         `json:"peak,omitempty"`
}

// A Cause is why a process ended before its program had.
type Cause string

// The causes.
const (
	CauseTime      Cause = "time"      // its time limit
	CauseMemory    Cause = "memory"    // its memory limit
	CauseNesting   Cause = "nesting"   // its stack
	CauseForbidden Cause = "forbidden" // a system call that scripts may not make
	CauseProtocol  Cause = "protocol"  // it broke the protocol, as Detail says
	CauseDied      Cause = "died"      // anything else, as Detail says
	CauseEnded     Cause = "ended"     // the relay ends, or a limit of its own, as Detail says
)

// Ready is the payload of the runner's answer to hello. A runner that has
// nothing to tell sends an empty one.
type Ready struct {
	// Layers are what contains the runner by now, and what does not.
	Layers []sandbox.Layer `json:"layers,omitempty"`
}

// DecodeReady reads the payload of a ready frame, which may be empty.
func DecodeReady(p []byte) (Ready, error) {
	var r Ready
	if len(p) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(p, &r); err != nil {
		return Ready{}, fmt.Errorf("ready: %w", err)
	}
	return r, nil
}

// Exec is the program to run and the limits that the runner should know of.
type Exec struct {
	Language    sandbox.Language `json:"language"`
	Code        string           `json:"code"`
	File        string           `json:"file,omitempty"`
	Modules     []sandbox.Module `json:"modules,omitempty"`
	ModuleNames []string         `json:"module_names,omitempty"`
	Scope       string           `json:"scope,omitempty"`
	// Timeout and Grace are sandbox.Limits'.
	Timeout time.Duration `json:"timeout_ns"`
	Grace   time.Duration `json:"grace_ns"`
	// ResultBytes is the largest result, and the largest argument of a call.
	ResultBytes int `json:"result_bytes"`
	// Check asks for a survey frame if the program has anything to check, and
	// CheckSource for one with its source in any case.
	Check       bool `json:"check,omitempty"`
	CheckSource bool `json:"check_source,omitempty"`
	// Lines asks for the lines of calls of tools.
	Lines bool `json:"lines,omitempty"`
	// FilesDir is sandbox.Files.Dir, if the program has files.
	FilesDir string `json:"files_dir,omitempty"`
	// Bundle is a program that was made ready, see Hello. It is run in the place
	// of Code.
	Bundle json.RawMessage `json:"bundle,omitempty"`
	// Journal is sandbox.Request's.
	Journal *sandbox.Journal `json:"journal,omitempty"`
}

// Done is how a program ended.
type Done struct {
	ExitCode int             `json:"exit_code"`
	Value    json.RawMessage `json:"-"`
	Error    string          `json:"error,omitempty"`
	Notes    []string        `json:"notes,omitempty"`
	Reads    []string        `json:"reads,omitempty"`
	Absent   []string        `json:"absent,omitzero"`
	Diverged bool            `json:"diverged,omitempty"`
}

// Slack is what a frame needs besides the JSON that it carries: names, error
// text, notes.
const Slack = 256 << 10

// Marshal returns v as JSON without the escapes that HTML would need.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// WriteCall writes c as a call frame. Its line, if there is one, stands behind the
// function: "call@12".
func (w *Writer) WriteCall(id uint32, c sandbox.Call) error {
	if c.Line > 0 {
		c.Func += "@" + strconv.Itoa(c.Line)
	}
	if len(c.Func) > 1<<16-1 {
		return fmt.Errorf("call: the function's name has %d bytes, at most %d are possible", len(c.Func), 1<<16-1)
	}
	b := make([]byte, 0, 6+len(c.Func)+len(c.Target))
	b = binary.BigEndian.AppendUint16(b, uint16(len(c.Func)))
	b = append(b, c.Func...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.Target)))
	b = append(b, c.Target...)
	return w.Write(TypeCall, id, b, c.Args)
}

// DecodeCall reads the payload of a call frame. Args share memory with p, and
// are checked to be JSON. Of a target that every host refuses there is only the
// beginning, still too long, and no Args.
func DecodeCall(p []byte) (sandbox.Call, error) {
	var c sandbox.Call
	if len(p) < 2 {
		return c, errors.New("call: payload ends inside the function's length")
	}
	n := int(binary.BigEndian.Uint16(p))
	p = p[2:]
	if len(p) < n+4 {
		return c, errors.New("call: payload ends inside the function or the target's length")
	}
	name, line, _ := strings.Cut(string(p[:n]), "@")
	c.Func = name
	if n, err := strconv.ParseUint(line, 10, 31); err == nil { // else it is of no use
		c.Line = int(n)
	}
	m := int64(binary.BigEndian.Uint32(p[n:]))
	p = p[n+4:]
	if int64(len(p)) < m {
		return c, errors.New("call: payload ends inside the target")
	}
	c.Target = string(p[:min(m, sandbox.MaxQueryBytes+1)])
	if p = p[m:]; len(p) > 0 && m <= sandbox.MaxQueryBytes {
		if !json.Valid(p) {
			return c, errors.New("call: the argument is not JSON")
		}
		c.Args = json.RawMessage(p)
	}
	return c, nil
}

// WriteError writes err as the answer to call id.
func (w *Writer) WriteError(id uint32, err error) error {
	ce, ok := errors.AsType[*sandbox.CallError](err)
	if !ok {
		ce = &sandbox.CallError{Message: err.Error()}
	}
	b, merr := Marshal(ce)
	if merr != nil {
		// Only Fields can be at fault: the program gets the rest.
		b, merr = Marshal(&sandbox.CallError{Name: ce.Name, Message: ce.Message})
	}
	if merr != nil {
		return merr
	}
	return w.Write(TypeError, id, b)
}

// DecodeError reads the payload of an error frame into the error that the
// call ended with.
func DecodeError(p []byte) error {
	ce := new(sandbox.CallError)
	if err := json.Unmarshal(p, ce); err != nil {
		return fmt.Errorf("the host's error could not be read: %w", err)
	}
	if ce.Name == "" {
		return errors.New(ce.Message)
	}
	return ce
}

// WriteDone writes d as the done frame.
func (w *Writer) WriteDone(d Done) error {
	h, err := Marshal(d)
	if err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(h)), uint32(len(h)))
	return w.Write(TypeDone, 0, append(b, h...), d.Value)
}

// DecodeDone reads the payload of a done frame. Value shares memory with p,
// and is checked to be JSON.
func DecodeDone(p []byte) (Done, error) {
	var d Done
	if len(p) < 4 {
		return d, errors.New("done: payload ends inside the header's length")
	}
	n := int64(binary.BigEndian.Uint32(p))
	p = p[4:]
	if int64(len(p)) < n {
		return d, errors.New("done: payload ends inside the header")
	}
	if err := json.Unmarshal(p[:n], &d); err != nil {
		return Done{}, fmt.Errorf("done: header: %w", err)
	}
	if p = p[n:]; len(p) > 0 {
		if !json.Valid(p) {
			return Done{}, errors.New("done: the value is not JSON")
		}
		d.Value = json.RawMessage(p)
	}
	return d, nil
}
