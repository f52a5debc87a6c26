// Package wire is the protocol between a host and the runner that executes
// one program for it: frames over a pair of byte streams. The runner's
// standard input carries host to runner, its standard output runner to host;
// its standard error is no part of the protocol but the text of a crash. The
// same frames serve a child process, a container's attached streams, and a
// runner that is not written in Go.
//
// # Frames
//
// A frame is
//
//	type(1) id(4, big endian) length(4, big endian) payload(length)
//
// The id is zero but for call, result and error, where it says which call is
// meant. It is chosen by the runner and unique within the execution.
//
//	H hello   host → runner   JSON of [Hello]: version and limits known early
//	Y ready   runner → host   empty or JSON of [Ready]: the runner is contained
//	E exec    host → runner   JSON of [Exec]: the program
//	S survey  runner → host   JSON of sandbox.Parsed: what the program says of itself, if exec asked for it
//	V verdict host → runner   JSON of sandbox.Verdict: the answer
//	C call    runner → host   one host call, see below
//	R result  host → runner   the call's value as raw JSON; empty is undefined
//	X error   host → runner   JSON of sandbox.CallError; without a name it is a plain error
//	B steps   runner → host   sandbox.Call.Steps of the call frame that comes next, if exec has a journal
//	J replayed runner → host  no payload: as many of the journal's calls as the id says were repeated
//	W withheld host → runner  empty: the call has no answer in this run
//	P pause   host → runner   empty: the time limit's clock stands still
//	U resume  host → runner   empty: it goes on
//	O stdout  runner → host   bytes that the program printed
//	e stderr  runner → host   bytes that the program printed
//	D done    runner → host   how the program ended, see below
//	L load    relay → host    JSON of [Load]: before hello, what stands between a host and its runners elsewhere
//	K killed  relay → host    JSON of [Killed]: the runner's process is gone; before done, or in its place
//
// A call's payload is the function and the target, each with its length in
// front, and the argument as it is: JSON is never put into a JSON string.
//
//	length(2, big endian) func  length(4, big endian) target  args(rest)
//
// No args at all means that the call had none. The payload of done is
//
//	length(4, big endian) JSON of [Done]'s fields but Value  value(rest)
//
// No value means that the program had no result.
//
// # Order
//
// The host speaks first: hello, then the runner answers ready, and may wait
// for the program as long as it takes. (What a container says before somebody
// attaches to it is lost.) Exec follows once. If it asks for a survey, the
// runner may send one before the program begins, and waits for the verdict. Then calls, their answers and
// output are mixed in any order until done, after which the runner sends
// nothing more. A relay speaks first, with load, and answers hello with an error
// frame if it has no runner to give. A runner whose input ends must exit at once. Pause and resume
// alternate, beginning with pause; a runner that keeps no time ignores them.
//
// # Trust
//
// The program may have taken over its runner. The host therefore caps every
// frame, counts output and calls itself, checks that JSON is JSON, and ends
// the runner at the first frame that does not belong. What the runner checks
// is courtesy: it gives better messages.
package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Version is the protocol's version; a runner that is asked for another one
// must exit.
const Version = 1

// A Type says what a frame is.
type Type byte

// The frame types.
const (
	TypeHello  Type = 'H'
	TypeReady  Type = 'Y'
	TypeExec   Type = 'E'
	TypeCall   Type = 'C'
	TypeResult Type = 'R'
	TypeError  Type = 'X'
	TypeStdout Type = 'O'
	TypeStderr Type = 'e'
	TypeDone   Type = 'D'
	TypePause  Type = 'P'
	TypeResume Type = 'U'

	TypeSurvey  Type = 'S'
	TypeVerdict Type = 'V'

	TypeSteps    Type = 'B'
	TypeReplayed Type = 'J'
	TypeWithheld Type = 'W'

	TypeLoad   Type = 'L'
	TypeKilled Type = 'K'
)

// String returns the type's name, or its byte for one that is not known.
func (t Type) String() string {
	switch t {
	case TypeHello:
		return "hello"
	case TypeReady:
		return "ready"
	case TypeExec:
		return "exec"
	case TypeCall:
		return "call"
	case TypeResult:
		return "result"
	case TypeError:
		return "error"
	case TypeStdout:
		return "stdout"
	case TypeStderr:
		return "stderr"
	case TypeDone:
		return "done"
	case TypePause:
		return "pause"
	case TypeResume:
		return "resume"
	case TypeSurvey:
		return "survey"
	case TypeVerdict:
		return "verdict"
	case TypeSteps:
		return "steps"
	case TypeReplayed:
		return "replayed"
	case TypeWithheld:
		return "withheld"
	case TypeLoad:
		return "load"
	case TypeKilled:
		return "killed"
	}
	return fmt.Sprintf("type 0x%02x", byte(t))
}

// headerLen is the length of type, id and length.
const headerLen = 9

// A Frame is one message.
type Frame struct {
	Type    Type
	ID      uint32
	Payload []byte
}

// A SizeError is a frame that is longer than its reader accepts. The stream
// cannot be read any further.
type SizeError struct {
	Type      Type
	Size, Max int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s frame of %d bytes is over the limit of %d", e.Type, e.Size, e.Max)
}

// A Reader reads frames. It is for one goroutine.
type Reader struct {
	r   *bufio.Reader
	max int64
}

// NewReader returns a Reader of frames from r with payloads of at most maxPayload
// bytes.
func NewReader(r io.Reader, maxPayload int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 32<<10), max: int64(maxPayload)}
}

// SetMax changes the longest payload that is accepted.
func (r *Reader) SetMax(maxPayload int) { r.max = int64(maxPayload) }

// Next returns the next frame; its payload is the caller's to keep. The error
// is io.EOF at the end of the stream, io.ErrUnexpectedEOF when it ends inside
// a frame, and a *SizeError for a frame that is too long.
func (r *Reader) Next() (Frame, error) {
	var h [headerLen]byte
	if _, err := io.ReadFull(r.r, h[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{Type: Type(h[0]), ID: binary.BigEndian.Uint32(h[1:5])}
	size := int64(binary.BigEndian.Uint32(h[5:9]))
	if size > r.max {
		return Frame{}, &SizeError{Type: f.Type, Size: size, Max: r.max}
	}
	p, err := r.payload(int(size))
	f.Payload = p
	return f, err
}

// Forward copies the next frame to w as it comes, without holding it. It asks
// check first, of the type and the size alone.
func (r *Reader) Forward(w io.Writer, check func(t Type, size int64) error) error {
	h, err := r.r.Peek(headerLen)
	if err != nil {
		return err
	}
	t, size := Type(h[0]), int64(binary.BigEndian.Uint32(h[5:9]))
	if size > r.max {
		return &SizeError{Type: t, Size: size, Max: r.max}
	}
	if err := check(t, size); err != nil {
		return err
	}
	if size += headerLen; size <= int64(r.r.Size()) { // in one write
		p, err := r.r.Peek(int(size))
		if err == nil {
			if _, err = w.Write(p); err == nil {
				_, err = r.r.Discard(int(size))
			}
		}
		return err
	}
	_, err = io.CopyN(w, r.r, size)
	return err
}

// payload reads n bytes. The buffer grows with the data, so that a large size in a
// header alone allocates nothing.
func (r *Reader) payload(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	const step = 256 << 10
	p := make([]byte, 0, min(n, step))
	for len(p) < n {
		if len(p) == cap(p) {
			p = slices.Grow(p, min(n-len(p), len(p)))
		}
		next := p[len(p):min(n, cap(p))]
		m, err := io.ReadFull(r.r, next)
		p = p[:len(p)+m]
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return p, nil
}

// A Writer writes frames. It is safe for concurrent use; a frame is never
// mixed with another one.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

// NewWriter returns a Writer of frames to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// maxJoined is the longest payload that is copied to leave with its header in
// one write.
const maxJoined = 64 << 10

// Write writes one frame with the parts as its payload, one after the other. It blocks
// until all is written, so a slow reader delays its callers. After an error the stream
// is useless.
func (w *Writer) Write(t Type, id uint32, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if int64(size) > 1<<32-1 {
		return &SizeError{Type: t, Size: int64(size), Max: 1<<32 - 1}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b := append(w.buf[:0], byte(t))
	b = binary.BigEndian.AppendUint32(b, id)
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	for _, p := range parts {
		if len(b)+len(p) <= maxJoined {
			b = append(b, p...)
			continue
		}
		if err := w.write(b); err != nil {
			return err
		}
		b = b[:0]
		if err := w.write(p); err != nil {
			return err
		}
	}
	w.buf = b[:0]
	return w.write(b)
}

func (w *Writer) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := w.w.Write(p)
	return err
}
