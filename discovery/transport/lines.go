package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
	"github.com/mcpbroker/mcpbroker/internal/lines"
)

// Reasons for which a line is rejected.
var (
	ErrNotJSON    = errors.New("invalid JSON")
	ErrNotRPC     = errors.New("not a JSON-RPC message")
	ErrEmptyBatch = errors.New("empty batch")
	ErrTooLong    = errors.New("message too long")
)

// Lines receives JSON-RPC messages that come as lines, each a message or, in
// protocol 2025-03-26, a batch of them. It is the receiving half of MCP's stdio
// transport, for the client's end and for the server's. Unlike the SDK's own it
// survives lines that are not messages.
type Lines struct {
	// MaxBytes bounds one line. A longer one is read to its end and rejected.
	MaxBytes int
	// Reject is called with what is not a message, by the goroutine that reads: a
	// line, a part of a batch or, with ErrTooLong, the beginning of a line that has
	// so many bytes. If it returns an error, reading ends with it.
	Reject func(text []byte, size int, why error) error
	// Accept is called with each message that comes, before Read returns it. Nil is
	// fine.
	Accept func(m jsonrpc.Message)

	once   sync.Once
	closed chan struct{}
	in     chan jsonrpc.Message
	ended  chan struct{} // closed when reading ended
	err    error         // why; set before
}

// NewLines returns Lines for messages of at most maxBytes.
func NewLines(maxBytes int, reject func(text []byte, size int, why error) error) *Lines {
	return &Lines{MaxBytes: maxBytes, Reject: reject,
		closed: make(chan struct{}), ended: make(chan struct{}), in: make(chan jsonrpc.Message, 16)}
}

// Ended returns a channel that is closed once From has read everything.
func (l *Lines) Ended() <-chan struct{} { return l.ended }

// From reads messages from r until it ends or l is closed. It must be called
// once. A read of r that has begun is not ended by Close.
func (l *Lines) From(r io.Reader) {
	defer close(l.ended)
	br := bufio.NewReaderSize(r, 64<<10)
	for l.err == nil {
		line, size, err := lines.Read(br, l.MaxBytes)
		if size > l.MaxBytes {
			l.err = l.Reject(line, size, ErrTooLong)
		} else if line = trimLine(line); len(line) > 0 {
			l.err = l.line(line)
		}
		if l.err == nil {
			l.err = err
		}
	}
}

// trimLine returns line without white space and a byte order mark.
func trimLine(line []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), utf8BOM))
}

func (l *Lines) line(line []byte) error {
	if !jsonscan.Valid(line) {
		return l.Reject(line, len(line), ErrNotJSON)
	}
	batch := []json.RawMessage{line}
	if line[0] == '[' {
		batch = nil // else the first part is written over line
		if err := json.Unmarshal(line, &batch); err != nil || len(batch) == 0 {
			return l.Reject(line, len(line), ErrEmptyBatch)
		}
	}
	messages := make([]jsonrpc.Message, len(batch))
	bad := 0
	for i, raw := range batch {
		if messages[i] = decodeMessage(raw); messages[i] == nil {
			bad++
		}
	}
	if bad == len(batch) { // more of a line of output than a batch
		return l.Reject(line, len(line), ErrNotRPC)
	}
	for i, m := range messages {
		if err := l.pass(m, batch[i]); err != nil {
			return err
		}
	}
	return nil
}

// pass delivers m, which was decoded from raw, or rejects raw if m is nil.
func (l *Lines) pass(m jsonrpc.Message, raw []byte) error {
	if m == nil {
		return l.Reject(raw, len(raw), ErrNotRPC)
	}
	if l.Accept != nil {
		l.Accept(m)
	}
	return l.Deliver(m)
}

// Deliver makes Read return m, as if it had come. The error is io.EOF if l is
// closed.
func (l *Lines) Deliver(m jsonrpc.Message) error {
	select {
	case l.in <- m:
		return nil
	case <-l.closed:
		return io.EOF
	}
}

// Read returns the next message. At the end of the input the error is io.EOF.
func (l *Lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-l.in:
		return m, nil
	case <-l.ended:
		select {
		case m := <-l.in: // came before the end
			return m, nil
		default:
			return nil, l.err
		}
	case <-l.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// SessionID returns "": stdio has no session ids.
func (l *Lines) SessionID() string { return "" }

// Close makes Read return io.EOF. The reader that From has stays open.
func (l *Lines) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Closed is closed by Close.
func (l *Lines) Closed() <-chan struct{} { return l.closed }
