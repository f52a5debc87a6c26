package transport

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// maxFinds bounds the attempts to find a message in one line.
const maxFinds = 64

// messagesIn returns the messages in a line with other content, such as a banner,
// escape codes or another message.
func messagesIn(line []byte) (found []jsonrpc.Message) {
	work := 0 // bytes read so far
	for tries, i := 0, 0; tries < maxFinds && work < 4*len(line); tries++ {
		n := bytes.IndexByte(line[i:], '{')
		if n < 0 {
			break
		}
		start := i + n
		end, ok := jsonscan.Value(line, start)
		work += end - start
		part := line[start:end]
		if ok && bytes.Contains(part, []byte(`"jsonrpc"`)) {
			if m := decodeMessage(part); m != nil {
				if ofServer(m) {
					found = append(found, m)
				}
				i = end
				continue
			}
		}
		i = start + 1
	}
	return found
}

// values returns the JSON values in data: the elements of a batch, or consecutive
// messages. It returns any other data as one value.
func values(data []byte) []json.RawMessage {
	whole := []json.RawMessage{data}
	var list []json.RawMessage
	if jsonscan.Valid(data) {
		if data[jsonscan.Space(data, 0)] == '[' && json.Unmarshal(data, &list) == nil {
			return list
		}
		return whole
	}
	for i := jsonscan.Space(data, 0); i < len(data) && len(list) < maxFinds; {
		end, ok := jsonscan.Value(data, i)
		if !ok || data[i] != '{' {
			return whole
		}
		list = append(list, data[i:end])
		i = jsonscan.Space(data, end)
	}
	if len(list) < 2 {
		return whole
	}
	return list
}

// ofServer reports whether m is a message that servers send. Some servers log the
// messages that they receive.
func ofServer(m jsonrpc.Message) bool {
	req, ok := m.(*jsonrpc.Request)
	if !ok {
		return true
	}
	_, known := paramsOf[req.Method]
	return known
}

// unreadable returns the outermost members of an invalid JSON message. ok reports
// whether it is a message at all.
func unreadable(text []byte) (e envelope, id jsonrpc.ID, ok bool) {
	first := bytes.IndexByte(text, '{')
	key := bytes.Index(text, []byte(`"jsonrpc"`))
	if first < 0 || key < first {
		return e, id, false
	}
	for _, start := range []int{first, bytes.LastIndexByte(text[:key], '{')} {
		if e = roughEnvelope(text[start:]); string(e.version) == `"2.0"` {
			id, ok = decodeID(e.id)
			return e, id, ok
		}
	}
	return e, id, false
}

// maxRequestID bounds the result of RequestID.
const maxRequestID = 1 << 10

// RequestID returns the id, as written, of a request that is cut or cannot be decoded
// as a whole, or nil.
func RequestID(text []byte) json.RawMessage {
	e, id, ok := unreadable(text)
	if !ok || !id.IsValid() || e.method == nil || len(e.id) > maxRequestID {
		return nil
	}
	return e.id
}

// whyUnreadable returns the reason text cannot be read as JSON.
func whyUnreadable(text []byte) string {
	depth, deepest, number := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = jsonscan.RoughString(text, i) - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		case 'N', 'I':
			number = number || bytes.HasPrefix(text[i:], []byte("NaN")) || bytes.HasPrefix(text[i:], []byte("Infinity"))
		}
	}
	switch {
	case deepest > jsonscan.MaxDepth:
		return "it is nested deeper than 10,000 levels"
	case jsonscan.Valid(text):
		if e := scanEnvelope(text); e.result != nil {
			return "its id is not that of a request"
		}
		return "it has neither a result nor an error"
	case number:
		return "it is not valid JSON: it contains NaN or Infinity"
	case depth > 0:
		return "it is not valid JSON: it ends early"
	}
	return "it is not valid JSON"
}

// withoutNaN replaces invalid numbers such as NaN by null, as JavaScript does, and
// reports whether the text is then valid JSON.
func withoutNaN(text []byte) ([]byte, bool) {
	var out []byte
	from := 0
	for i := 0; i < len(text); {
		if text[i] == '"' {
			i = jsonscan.RoughString(text, i)
			continue
		}
		n := 0
		for _, name := range []string{"NaN", "-Infinity", "Infinity"} {
			if bytes.HasPrefix(text[i:], []byte(name)) {
				n = len(name)
				break
			}
		}
		if n == 0 {
			i++
			continue
		}
		out = append(append(out, text[from:i]...), "null"...)
		i += n
		from = i
	}
	if from == 0 {
		return text, false
	}
	out = append(out, text[from:]...)
	return out, jsonscan.Valid(out)
}
