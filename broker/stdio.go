package broker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/lines"
)

// maxLineBytes bounds one message of the client; a longer one is refused.
const maxLineBytes = 16 << 20

// A lineTransport speaks newline-delimited JSON-RPC with the client. The SDK's
// own ends the session, and with it every script, at the first line that is no
// message; this one answers such a line with an error and goes on.
type lineTransport struct {
	in  io.Reader
	out io.Writer
}

func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{out: t.out, in: make(chan jsonrpc.Message), closed: make(chan struct{})}
	// The goroutine ends with its input, or when the connection is closed and
	// one more line comes. Nothing can end a read of stdin.
	go c.readLines(t.in)
	return c, nil
}

type lineConn struct {
	in     chan jsonrpc.Message // closed when reading ended, see err
	err    error                // set before in is closed
	closed chan struct{}
	once   sync.Once

	mu  sync.Mutex // guards out
	out io.Writer
}

// SessionID returns "": there are no session ids on stdio.
func (c *lineConn) SessionID() string { return "" }

// Close makes Read end. It does not close the streams, which are the process's.
func (c *lineConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Read returns the client's next message, and io.EOF when its input ended.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-c.in:
		if !ok {
			return nil, c.err
		}
		return m, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends one message.
func (c *lineConn) Write(_ context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	return c.writeLine(line)
}

func (c *lineConn) writeLine(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(line, '\n'))
	return err
}

// refuse answers a line that is no message. JSON-RPC 2.0 §5 wants the id null
// where it could not be made out.
func (c *lineConn) refuse(code int, format string, args ...any) error {
	return c.writeLine(compactJSON(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": fmt.Sprintf(format, args...)},
	}))
}

func (c *lineConn) readLines(in io.Reader) {
	defer close(c.in)
	br := bufio.NewReaderSize(in, 64<<10)
	for {
		line, size, err := lines.Read(br, maxLineBytes)
		line = bytes.TrimSpace(line)
		switch {
		case size > maxLineBytes:
			c.err = c.refuse(jsonrpc.CodeInvalidRequest, "a message may have at most %d bytes", maxLineBytes)
		case len(line) > 0:
			c.err = c.accept(line)
		}
		if c.err == nil {
			c.err = err
		}
		if c.err != nil {
			return
		}
	}
}

// accept hands the messages of one line on, or answers that it has none. Only
// an error of the connection is returned.
func (c *lineConn) accept(line []byte) error {
	if !json.Valid(line) {
		return c.refuse(jsonrpc.CodeParseError, "this line is not JSON: %s", clipLine(line))
	}
	batch := []json.RawMessage{line}
	if line[0] == '[' { // a batch of protocol 2025-03-26
		if err := json.Unmarshal(line, &batch); err != nil {
			return c.refuse(jsonrpc.CodeParseError, "this line is not JSON: %s", clipLine(line))
		}
		if len(batch) == 0 {
			return c.refuse(jsonrpc.CodeInvalidRequest, "an empty batch")
		}
	}
	for _, raw := range batch {
		m, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			if err := c.refuse(jsonrpc.CodeInvalidRequest, "this is no JSON-RPC message: %s", clipLine(raw)); err != nil {
				return err
			}
			continue
		}
		select {
		case c.in <- m:
		case <-c.closed:
			return io.EOF
		}
	}
	return nil
}

func clipLine(line []byte) string {
	const most = 80
	if r := []rune(string(line)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(line)
}
