package transport

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
func scanEnvelope(object []byte) envelope {
	var e envelope
	EachMember(object, func(key string, value json.RawMessage) {
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
	})
	return e
}

// EachMember calls f with the members of a valid JSON object. The values share memory
// with it. Other JSON has no members.
func EachMember(object []byte, f func(key string, value json.RawMessage)) {
	i := skipSpace(object, 0)
	if i >= len(object) || object[i] != '{' {
		return
	}
	i = skipSpace(object, i+1)
	for i < len(object) && object[i] == '"' {
		end := skipString(object, i)
		key := string(object[i+1 : end-1])
		if bytes.IndexByte(object[i:end], '\\') >= 0 {
			_ = json.Unmarshal(object[i:end], &key) // valid by contract
		}
		i = skipSpace(object, end)      // at ':'
		start := skipSpace(object, i+1) // at the value
		i = skipValue(object, start)
		f(key, object[start:i:i])
		i = skipSpace(object, i)
		if i < len(object) && object[i] == ',' {
			i = skipSpace(object, i+1)
		}
	}
}

// skipSpace returns the index of the first byte from i on that is not white
// space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		end := i + n
		slashes := 0
		for k := end - 1; k >= i && b[k] == '\\'; k-- {
			slashes++
		}
		i = end + 1
		if slashes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// skipValue returns the index after the value that starts at i.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	if b[i] == '"' {
		return skipString(b, i)
	}
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i // the end of what the value is in
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}
