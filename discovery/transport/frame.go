package transport

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

var utf8BOM = []byte("\xef\xbb\xbf")

// decodeMessage decodes one message, which is valid JSON and shares memory with
// what it returns; nil if it is something else. It is much cheaper than the SDK's
// decoder: results and parameters are cut out, not decoded.
func decodeMessage(object []byte) jsonrpc.Message {
	e := scanEnvelope(object)
	if string(e.version) != `"2.0"` {
		return nil
	}
	if e.method != nil {
		if id, odd := marked(e.id); odd {
			e.id = id
		}
		if params, changed := convertParams(e.method, e.params, marked); changed {
			e.params = params
		}
	}
	id, ok := decodeID(e.id)
	if !ok {
		return nil
	}
	if e.method != nil {
		var method string
		if json.Unmarshal(e.method, &method) != nil {
			return nil
		}
		return &jsonrpc.Request{ID: id, Method: method, Params: e.params}
	}
	if !id.IsValid() || fractional(e.id) || (e.result == nil && e.err == nil) {
		return nil
	}
	resp := &jsonrpc.Response{ID: id, Result: e.result}
	if e.err != nil {
		resp.Error = decodeError(e.err)
	}
	return resp
}

// decodeID decodes the id of a message. It returns false if raw is nil.
func decodeID(raw json.RawMessage) (id jsonrpc.ID, ok bool) {
	var value any
	if raw != nil && json.Unmarshal(raw, &value) != nil {
		return id, false
	}
	id, err := jsonrpc.MakeID(value)
	return id, err == nil
}

// fractional reports whether an id is a number with a fraction. The SDK never sends
// one, and would confuse it with another id.
func fractional(id json.RawMessage) bool {
	f, err := strconv.ParseFloat(string(id), 64)
	return err == nil && f != math.Trunc(f)
}

// decodeError decodes the error member of a response; a value of another form becomes
// the message.
func decodeError(raw json.RawMessage) error {
	var e struct {
		Code    json.Number     `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &e) == nil {
		code, err := e.Code.Int64()
		if err != nil {
			code = jsonrpc.CodeInternalError
		}
		return &jsonrpc.Error{Code: code, Message: e.Message, Data: e.Data}
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: text}
}

// An envelope is the outermost members of a message, or nil for missing ones. A null
// error or result beside the other one counts as missing.
type envelope struct {
	version, id, method, params, result, err json.RawMessage
}

// answers reports whether e looks like an answer. Some servers omit the version.
func (e *envelope) answers() bool {
	return string(e.version) == `"2.0"` || e.version == nil && e.id != nil && (e.result != nil || e.err != nil)
}

// unversioned decodes an answer that lacks the version of JSON-RPC, or returns nil.
// object is valid JSON.
func unversioned(object []byte) *jsonrpc.Response {
	e := scanEnvelope(object)
	if e.version != nil || e.method != nil || !e.answers() {
		return nil
	}
	id, ok := decodeID(e.id)
	if !ok || !id.IsValid() || fractional(e.id) {
		return nil
	}
	if e.err != nil {
		return &jsonrpc.Response{ID: id, Error: decodeError(e.err)}
	}
	return &jsonrpc.Response{ID: id, Result: e.result}
}

// sameID reports whether got, the id of an answer, matches the id want of a request.
// Some servers write a number as a string.
func sameID(got, want jsonrpc.ID) bool {
	return got == want || numbered(got) == want
}

// numbered returns the number in an id that is a string, or else id.
func numbered(id jsonrpc.ID) jsonrpc.ID {
	text, ok := id.Raw().(string)
	if !ok {
		return id
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return id
	}
	number, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		return id
	}
	return number
}

// scanEnvelope cuts the members out of a valid JSON object.
func scanEnvelope(object []byte) (e envelope) {
	EachMember(object, e.set)
	return e
}

// roughEnvelope is scanEnvelope for a text that may not be JSON.
func roughEnvelope(text []byte) (e envelope) {
	roughMembers(text, e.set)
	return e
}

func (e *envelope) set(key string, value json.RawMessage) {
	switch key {
	case "jsonrpc":
		e.version = value
	case "id":
		e.id = value
	case "method":
		e.method = value
	case "params":
		e.params = value
	case "result":
		e.result = value
	case "error":
		if string(value) != "null" {
			e.err = value
		}
	}
}

// EachMember calls f with the members of a JSON object, or with those in front of the
// first mistake. The values share memory with it. Other JSON has no members.
func EachMember(object []byte, f func(key string, value json.RawMessage)) {
	jsonscan.Members(object, func(key, value []byte) bool {
		f(string(jsonscan.Unquote(key)), value[:len(value):len(value)])
		return true
	})
}

// roughMembers calls f with what looks like the members of a JSON object in a text that
// is not JSON.
func roughMembers(text []byte, f func(key string, value json.RawMessage)) {
	i := jsonscan.Space(text, 0)
	if i >= len(text) || text[i] != '{' {
		return
	}
	i = jsonscan.Space(text, i+1)
	for i < len(text) && text[i] == '"' {
		end, _, ok := jsonscan.String(text, i)
		if !ok {
			return
		}
		key := jsonscan.Unquote(text[i:end])
		start := jsonscan.Space(text, min(jsonscan.Space(text, end)+1, len(text))) // after the colon
		i = jsonscan.Rough(text, start)
		f(string(key), text[start:i:i])
		if i = jsonscan.Space(text, i); i < len(text) && text[i] == ',' {
			i = jsonscan.Space(text, i+1)
		}
	}
}
