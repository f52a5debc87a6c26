package upstream

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// errNotRPC means that a line is no JSON-RPC message.
var errNotRPC = errors.New("not a JSON-RPC message")

var utf8BOM = []byte("\xef\xbb\xbf")

// decodeFrame decodes what stood on one line: a message or, in protocol
// 2025-03-26, a batch of them. The messages share memory with line. It is much
// cheaper than the SDK's decoder: the line is checked once, and results and
// parameters are cut out of it, not decoded.
func decodeFrame(line []byte) ([]jsonrpc.Message, error) {
	line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), utf8BOM))
	if len(line) == 0 || (line[0] != '{' && line[0] != '[') || !json.Valid(line) {
		return nil, errNotRPC
	}
	if line[0] == '{' {
		m, err := decodeMessage(line)
		if err != nil {
			return nil, err
		}
		return []jsonrpc.Message{m}, nil
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(line, &batch); err != nil || len(batch) == 0 {
		return nil, errNotRPC
	}
	messages := make([]jsonrpc.Message, 0, len(batch))
	for _, raw := range batch {
		if raw[0] != '{' {
			return nil, errNotRPC
		}
		m, err := decodeMessage(raw)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// decodeMessage decodes one valid JSON object.
func decodeMessage(object []byte) (jsonrpc.Message, error) {
	e := scanEnvelope(object)
	if string(e.version) != `"2.0"` {
		return nil, errNotRPC
	}
	var idValue any
	if e.id != nil {
		if err := json.Unmarshal(e.id, &idValue); err != nil {
			return nil, errNotRPC
		}
	}
	id, err := jsonrpc.MakeID(idValue)
	if err != nil {
		return nil, errNotRPC
	}
	if e.method != nil {
		var method string
		if json.Unmarshal(e.method, &method) != nil {
			return nil, errNotRPC
		}
		return &jsonrpc.Request{ID: id, Method: method, Params: e.params}, nil
	}
	if !id.IsValid() || (e.result == nil && e.err == nil) {
		return nil, errNotRPC
	}
	resp := &jsonrpc.Response{ID: id, Result: e.result}
	if e.err != nil {
		resp.Error = decodeError(e.err)
	}
	return resp, nil
}

// decodeError decodes the error member of a response; one that is not shaped
// as the protocol has it is kept as the message.
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

// An envelope is the outermost members of a message; nil where there is none.
// A null error or result beside the other one counts as none.
type envelope struct {
	version, id, method, params, result, err json.RawMessage
}

// scanEnvelope cuts the members out of a valid JSON object.
func scanEnvelope(object []byte) envelope {
	var e envelope
	eachMember(object, func(key string, value json.RawMessage) {
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

// eachMember calls f with the members of a valid JSON object, whose values
// share memory with it.
func eachMember(object []byte, f func(key string, value json.RawMessage)) {
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

// skipSpace returns the index of the first byte from i on that is no white
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
				return i // the end of what the value stands in
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
