package link

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/listing"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
)

// What the SDK gets to decode in place of a result that was captured. A list is
// not quite empty sometimes, see listForSDK.
const (
	standInCall = `{"content":[],"resultType":"complete"}`
	standInList = `{"tools":[],"resultType":"complete"}`
)

// captureCall captures the result of a call. One that asks for input is not kept:
// answering it is the SDK's work, and the retry that follows is captured again.
func captureCall() *transport.Capture {
	c := transport.NewCapture(func(result json.RawMessage) (json.RawMessage, bool) {
		if asksForInput(result) {
			return result, false
		}
		return json.RawMessage(standInCall), true
	})
	c.Undecoded = true
	return c
}

// captureList captures a page of tools. An invalid number in a schema must not make all
// tools unavailable.
func captureList() *transport.Capture {
	c := transport.NewCapture(func(page json.RawMessage) (json.RawMessage, bool) { return listForSDK(page), true })
	c.AllowNaN = true
	return c
}

// captureError captures the error of a request with a result that the SDK decodes.
func captureError() *transport.Capture {
	return transport.NewCapture(func(result json.RawMessage) (json.RawMessage, bool) { return result, false })
}

// answerError returns the error of a request that was sent with c and failed with err:
// c's error if the answer could not be read, or err with the HTTP status of the answer.
func answerError(c *transport.Capture, err error) error {
	if e := c.Err(); e != nil {
		return e
	}
	if e := c.Refusal(); e != nil {
		err = e
	}
	if status := c.Status(); status >= 400 {
		return &refusedError{status: status, err: err}
	}
	return err
}

// A refusedError is a JSON-RPC error that came with an HTTP status.
type refusedError struct {
	status int
	err    error
}

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// asksForInput reports whether a tool result is one of protocol 2026-07-28
// that wants the client to answer something first.
func asksForInput(result json.RawMessage) bool {
	if !bytes.Contains(result, []byte(`"input_required"`)) {
		return false
	}
	asks := false
	transport.EachMember(result, func(key string, value json.RawMessage) {
		if key == "resultType" {
			asks = string(value) == `"input_required"`
		}
	})
	return asks
}

// listForSDK returns a substitute for a page of tools. The SDK needs the tools whose
// schemas mirror arguments in HTTP headers; it gets their names and schemas, so that
// nothing else in them can fail the page.
func listForSDK(page json.RawMessage) json.RawMessage {
	if !bytes.Contains(page, []byte(`"x-mcp-header"`)) {
		return json.RawMessage(standInList)
	}
	type tool struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	out := struct {
		Tools      []tool `json:"tools"`
		ResultType string `json:"resultType"`
	}{Tools: []tool{}, ResultType: "complete"}
	raw, _, _ := listing.Split(page)
	for _, r := range raw {
		var t tool
		if bytes.Contains(r, []byte(`"x-mcp-header"`)) && json.Unmarshal(r, &t) == nil && json.Unmarshal(r, new(mcp.Tool)) == nil {
			out.Tools = append(out.Tools, t)
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(standInList)
	}
	return b
}
