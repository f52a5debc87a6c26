package surface

import (
	"bytes"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// The SDK answers some requests before any middleware sees them, with errors that quote
// the request in full.
const (
	// maxQuoting bounds the message of an SDK error, in characters, and its data, in
	// bytes.
	maxQuoting = 4_000
	// maxWhole is the size of a message up to which it is not examined, in bytes.
	maxWhole = 8 << 10
)

// shortError returns m. If m is an error, its message is cut, and long data is removed.
func shortError(m jsonrpc.Message) jsonrpc.Message {
	resp, ok := m.(*jsonrpc.Response)
	if !ok || resp.Error == nil {
		return m
	}
	e, ok := resp.Error.(*jsonrpc.Error)
	if !ok { // the SDK sends the text of another error, with the code of the one in it
		e = &jsonrpc.Error{Message: resp.Error.Error()}
		if coded, ok := errors.AsType[*jsonrpc.Error](resp.Error); ok {
			e.Code = coded.Code
		}
	}
	if len(e.Message) <= maxQuoting && len(e.Data) <= maxQuoting {
		return m
	}
	short := &jsonrpc.Error{Code: e.Code, Message: gate.Cut(e.Message, maxQuoting)}
	if len(e.Data) <= maxQuoting {
		short.Data = e.Data
	}
	return &jsonrpc.Response{ID: resp.ID, Error: short}
}

// shortRefusal returns the output of the SDK with errors cut: a plain text, a message
// or an event.
func shortRefusal(h http.Header, p []byte) []byte {
	if len(p) <= maxWhole {
		return p
	}
	if strings.HasPrefix(h.Get("Content-Type"), "text/plain") {
		return []byte(gate.Cut(string(p), maxQuoting) + "\n")
	}
	// Quotes within texts are escaped, so this is the structure of the message.
	failed, ok := bytes.Index(p, []byte(`,"error":{"code":`)), bytes.Index(p, []byte(`,"result":`))
	if failed < 0 || ok >= 0 && ok < failed {
		return p
	}
	begin, end := bytes.IndexByte(p, '{'), bytes.LastIndexByte(p, '}')+1
	m, err := jsonrpc.DecodeMessage(p[begin:end])
	if err != nil {
		return p
	}
	message, err := jsonrpc.EncodeMessage(shortError(m))
	if err != nil {
		return p
	}
	return bytes.Join([][]byte{p[:begin], message, p[end:]}, nil)
}
