package transport

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// The SDK decodes request ids and progress tokens as a string or a float64. An id that
// it would not return byte for byte, such as an integer beyond 2^53, is replaced by a
// string when it is received and restored when it is sent: by MarkIDs and RestoreIDs in
// messages, and by decodeMessage and EncodeMessage while coding.

// idMark begins the strings that replace ids. The bytes of the JSON follow, two letters
// each, so that the string looks like neither a number nor a secret.
const idMark = "broker:json:"

// maxPlainID is the number of digits up to which a float64 is exact.
const maxPlainID = 15

// marked returns the JSON string that replaces an id or token, or false if the SDK
// returns it unchanged or does not accept it.
func marked(raw json.RawMessage) (json.RawMessage, bool) {
	switch {
	case len(raw) == 0:
		return nil, false
	case raw[0] == '"':
		var text string
		if json.Unmarshal(raw, &text) != nil || !strings.HasPrefix(text, idMark) && bytes.Equal(plainJSON(text), raw) {
			return nil, false
		}
	case raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9':
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && len(raw) <= maxPlainID && strconv.FormatInt(n, 10) == string(raw) {
			return nil, false
		}
	default:
		return nil, false
	}
	b := append(make([]byte, 0, len(idMark)+2*len(raw)+2), '"')
	b = append(b, idMark...)
	for _, c := range raw {
		b = append(b, 'a'+c>>4, 'a'+c&15)
	}
	return append(b, '"'), true
}

// restored is the inverse of marked.
func restored(raw json.RawMessage) (json.RawMessage, bool) {
	letters, ok := bytes.CutPrefix(raw, []byte(`"`+idMark))
	letters, closed := bytes.CutSuffix(letters, []byte(`"`))
	if !ok || !closed || len(letters)%2 != 0 {
		return nil, false
	}
	b := make([]byte, len(letters)/2)
	for i := range b {
		high, low := letters[2*i]-'a', letters[2*i+1]-'a'
		if high > 15 || low > 15 {
			return nil, false
		}
		b[i] = high<<4 | low
	}
	return b, jsonscan.Valid(b)
}

// plainJSON encodes a string as the SDK does.
func plainJSON(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// MarkIDs returns a message, or a batch, with the ids and tokens of requests replaced
// by strings. Invalid JSON is returned unchanged.
func MarkIDs(message []byte) []byte {
	if !jsonscan.Valid(message) {
		return message
	}
	if i := jsonscan.Space(message, 0); message[i] == '[' {
		var batch []json.RawMessage
		if json.Unmarshal(message, &batch) != nil {
			return message
		}
		same := true
		for i, m := range batch {
			batch[i] = MarkIDs(m)
			same = same && bytes.Equal(m, batch[i])
		}
		if joined, err := json.Marshal(batch); err == nil && !same {
			return joined
		}
		return message
	}
	e := scanEnvelope(message)
	if e.method == nil {
		return message
	}
	return convertIDs(message, e, marked)
}

// convertIDs converts the id and the tokens of a message with the members e.
func convertIDs(message []byte, e envelope, convert func(json.RawMessage) (json.RawMessage, bool)) []byte {
	id, odd := convert(e.id)
	params, changed := convertParams(e.method, e.params, convert)
	if !odd && !changed {
		return message
	}
	return replaceMembers(message, func(key string, value json.RawMessage) json.RawMessage {
		switch {
		case key == "id" && odd:
			return id
		case key == "params" && changed:
			return params
		}
		return value
	})
}

// HasMarkedIDs reports whether a text contains strings of MarkIDs.
func HasMarkedIDs(text []byte) bool { return bytes.Contains(text, []byte(`"`+idMark)) }

// RestoreIDs returns a message with the ids and tokens that MarkIDs replaced.
func RestoreIDs(message []byte) []byte {
	if !HasMarkedIDs(message) || !jsonscan.Valid(message) {
		return message
	}
	return convertIDs(message, scanEnvelope(message), restored)
}

// EncodeMessage encodes a message and restores its ids and tokens.
func EncodeMessage(m jsonrpc.Message) ([]byte, error) {
	frame, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return nil, err
	}
	var id any
	var params json.RawMessage
	switch m := m.(type) {
	case *jsonrpc.Request:
		id, params = m.ID.Raw(), m.Params
	case *jsonrpc.Response:
		id = m.ID.Raw()
	}
	if text, ok := id.(string); ok && strings.HasPrefix(text, idMark) || bytes.Contains(params, []byte(idMark)) {
		frame = RestoreIDs(frame)
	}
	return frame, nil
}

// convertParams converts the ids and tokens in the parameters of a request. It returns
// false if nothing changes.
func convertParams(method, params json.RawMessage, convert func(json.RawMessage) (json.RawMessage, bool)) (json.RawMessage, bool) {
	switch string(method) {
	case `"notifications/progress"`:
		return convertMember(params, "progressToken", convert)
	case `"notifications/cancelled"`:
		return convertMember(params, "requestId", convert)
	}
	if !bytes.Contains(params, []byte(`"progressToken"`)) {
		return nil, false
	}
	return convertMember(params, "_meta", func(meta json.RawMessage) (json.RawMessage, bool) {
		return convertMember(meta, "progressToken", convert)
	})
}

// convertMember converts one member of an object.
func convertMember(object json.RawMessage, member string, convert func(json.RawMessage) (json.RawMessage, bool)) (json.RawMessage, bool) {
	var converted json.RawMessage
	changed := false
	EachMember(object, func(key string, value json.RawMessage) {
		if key == member {
			converted, changed = convert(value)
		}
	})
	if !changed {
		return nil, false
	}
	return replaceMembers(object, func(key string, value json.RawMessage) json.RawMessage {
		if key == member {
			return converted
		}
		return value
	}), true
}

// replaceMembers rewrites an object.
func replaceMembers(object []byte, replace func(key string, value json.RawMessage) json.RawMessage) []byte {
	b := make([]byte, 0, len(object))
	EachMember(object, func(key string, value json.RawMessage) {
		if len(b) > 0 {
			b = append(b, ',')
		} else {
			b = append(b, '{')
		}
		b = append(append(b, plainJSON(key)...), ':')
		b = append(b, replace(key, value)...)
	})
	return append(b, '}')
}

// restoreBody restores the ids in the body of a request. It skips calls and lists,
// which have a capture and ids of our own.
func restoreBody(req *http.Request) {
	if req.Method != http.MethodPost || req.GetBody == nil || captureFrom(req.Context()) != nil {
		return
	}
	body, err := req.GetBody()
	if err != nil {
		return
	}
	message, err := io.ReadAll(body)
	if err != nil || !bytes.Contains(message, []byte(idMark)) {
		return
	}
	message = RestoreIDs(message)
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(message)), nil }
}
