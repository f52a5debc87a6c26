package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

// answered returns the response to a call in a form that the SDK can read: one message,
// or a stream of messages.
func (r *HTTP) answered(req *http.Request, m *outgoing, resp *http.Response) (*http.Response, error) {
	if m.method != methodInitialize {
		resp.Header.Del("Mcp-Session-Id") // only the answer to initialize sets it
	}
	c := captureFrom(req.Context())
	if resp.StatusCode == http.StatusOK && outbound.IsEvents(resp) && !r.o.SSE {
		resp.Body = newStream(r, req, resp.Body, m)
		resp.ContentLength = -1
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil && resp.StatusCode < 300 {
		return nil, c.failed(&AnswerError{Why: fmt.Sprintf("it ended early: %v", err)})
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, utf8BOM))
	switch {
	case resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "":
		r.gone.Store(true)
		e := statusError(resp, errorText(body))
		e.SessionGone = true
		return nil, e
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden || r.o.SSE:
		return nil, statusError(resp, errorText(body))
	}
	if resp.StatusCode < 300 {
		r.gone.Store(false)
	}
	messages, answer, unusable := read(body, m.id, c)
	switch {
	case answer == nil && unusable != nil && resp.StatusCode < 300:
		return nil, c.failed(unusable)
	case answer == nil || resp.StatusCode >= 300 && answer.Error == nil:
		return nil, statusError(resp, body)
	}
	if c != nil {
		c.status.Store(int32(resp.StatusCode))
		c.answered(answer)
	}
	return rewrite(resp, append(messages, answer))
}

// read returns the answer to the call id in a body, and the other messages that the SDK
// may see. If the answer has a missing or wrong id, read corrects it, since the body
// cannot contain the answer to another call. unusable is the reason a body that should
// be JSON cannot be read.
func read(body []byte, id jsonrpc.ID, c *Capture) (others []jsonrpc.Message, answer *jsonrpc.Response, unusable *AnswerError) {
	if parts := values(body); len(parts) == 1 && !jsonscan.Valid(body) {
		fixed, ok := c.repair(body)
		if !ok {
			if len(body) > 0 && (body[0] == '{' || body[0] == '[') {
				unusable = &AnswerError{Why: whyUnreadable(body), Text: shown(body)}
			}
			return nil, nil, unusable
		}
		body = fixed
	}
	for _, raw := range values(body) {
		switch m := decodeMessage(raw).(type) {
		case *jsonrpc.Response:
			if answer == nil || m.ID == id {
				answer = m
			}
		case *jsonrpc.Request:
			if v := vet(m); v != nil {
				others = append(others, v)
			}
		default:
			e := scanEnvelope(raw)
			switch {
			case answer != nil || e.method != nil || !e.answers():
			case e.err != nil:
				answer = &jsonrpc.Response{Error: decodeError(e.err)}
			case e.result != nil:
				answer = &jsonrpc.Response{Result: e.result}
			case unusable == nil:
				unusable = &AnswerError{Why: whyUnreadable(raw), Text: shown(raw)}
			}
		}
	}
	if answer != nil {
		answer.ID = id
	}
	return others, answer, unusable
}

// rewrite replaces the body of a response by messages.
func rewrite(resp *http.Response, messages []jsonrpc.Message) (*http.Response, error) {
	var body []byte
	for _, m := range messages {
		frame, err := jsonrpc.EncodeMessage(m)
		if err != nil {
			return nil, &AnswerError{Why: err.Error()}
		}
		if len(messages) == 1 {
			body = frame
			break
		}
		body = append(body, writeEvent("message", frame)...)
	}
	kind := "application/json"
	if len(messages) > 1 {
		kind = "text/event-stream"
	}
	resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	resp.Header.Set("Content-Type", kind)
	resp.Header.Del("Content-Length")
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// errorText returns the message of a JSON-RPC or OAuth error in a body, or else the
// body.
func errorText(body []byte) []byte {
	var rpc struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(body, &rpc) == nil && rpc.Error.Message != "" {
		return []byte(rpc.Error.Message)
	}
	return body
}

// failed records err and returns it.
func (c *Capture) failed(err *AnswerError) error {
	c.fail(err)
	return err
}
