package bridge

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// content is one block of a tool result, of any type.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
	URI      string `json:"uri"`
	Blob     string `json:"blob"`
	err      error  // error of decoding the block
	Resource *struct {
		URI      string `json:"uri"`
		MIMEType string `json:"mimeType"`
		Text     string `json:"text"`
		Blob     string `json:"blob"`
	} `json:"resource"`
}

// Value converts the raw CallToolResult of tool to the value for the script:
// structuredContent, else the only text block if it is JSON (see asValue), else its
// text, else the content array. In the array, references from keep replace the bytes of
// images, audio and blobs. Content that structuredContent does not repeat is in the
// property "content" of the value. If keep is nil, nothing is stored. A result with
// isError set is an *Error with its text.
func Value(tool *discovery.Tool, raw json.RawMessage, keep StoreFunc) (json.RawMessage, error) {
	var res struct {
		IsError           bool              `json:"isError"`
		StructuredContent json.RawMessage   `json:"structuredContent"`
		Content           []json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &res); err != nil {
		return nil, &Error{Code: CodeProtocol, Message: fmt.Sprintf("call %s: the server's answer is not a tool result: %s", tool.ID, gate.Cut(string(raw), 80))}
	}
	blocks := make([]content, len(res.Content))
	for i, c := range res.Content {
		// A block of an unknown kind passes through unchanged.
		blocks[i].err = json.Unmarshal(c, &blocks[i])
	}
	if res.IsError {
		return nil, toolError(tool, blocks, res.StructuredContent)
	}
	if hasStructured(res.StructuredContent, len(blocks)) {
		structured := withoutBinary(res.StructuredContent, keep)
		value := unwrap(tool, structured)
		if rest := unrepeated(tool, res.StructuredContent, blocks); len(rest) > 0 {
			content, err := contentArray(pick(res.Content, rest), pick(blocks, rest), keep)
			return withContent(structured, value, content), err
		}
		return value, nil
	}
	if res.Content == nil {
		if rest, ok := withoutContent(raw); ok {
			return withoutBinary(rest, keep), nil
		}
	}
	if len(blocks) == 1 && blocks[0].Type == "text" && blocks[0].err == nil {
		if value, ok := asValue(blocks[0].Text); ok {
			return unwrap(tool, withoutBinary(value, keep)), nil
		}
		return json.Marshal(blocks[0].Text)
	}
	return contentArray(res.Content, blocks, keep)
}

// withoutContent returns a result without content unchanged if it has members of another
// protocol, such as toolResult. ok is false if it has none.
func withoutContent(raw json.RawMessage) (result json.RawMessage, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil, false
	}
	for _, name := range []string{"content", "structuredContent", "isError", "_meta", "resultType"} {
		delete(members, name)
	}
	return raw, len(members) > 0
}

// pick returns the elements of list at the given indices.
func pick[T any](list []T, indices []int) []T {
	picked := make([]T, len(indices))
	for i, at := range indices {
		picked[i] = list[at]
	}
	return picked
}

// maxErrorStructured bounds the structured content in an error message, in bytes.
const maxErrorStructured = 2 << 10

// toolError returns the error for a result with isError: its texts, and the structured
// content that they do not repeat.
func toolError(tool *discovery.Tool, blocks []content, structured json.RawMessage) *Error {
	var texts []string
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	message := strings.TrimSpace(strings.Join(texts, "\n"))
	switch {
	case message == "" && len(structured) > 0:
		message = string(structured)
	case hasStructured(structured, len(blocks)) && len(unrepeated(tool, structured, blocks)) == len(blocks):
		message += "\n" + gate.Cut(string(structured), maxErrorStructured)
	}
	if message == "" {
		message = "the tool failed and did not say why"
	}
	e := &Error{Code: CodeTool, Message: message}
	e.NoteRateLimit(structured)
	return e
}

// unwrap returns the value in a lone {"result": …} if the tool's output schema declares it as a
// wrapper.
func unwrap(tool *discovery.Tool, value json.RawMessage) json.RawMessage {
	if !bytes.HasPrefix(bytes.TrimSpace(value), []byte("{")) || !tool.WrapsResult() {
		return value
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(value, &o) != nil || len(o) != 1 || o["result"] == nil {
		return value
	}
	return o["result"]
}

// contentArray returns the blocks as JSON, with binary data replaced by its size.
func contentArray(raw []json.RawMessage, blocks []content, keep StoreFunc) (json.RawMessage, error) {
	out := make([]any, len(blocks))
	for i, b := range blocks {
		switch {
		case b.Data != "" && b.Type != "":
			out[i] = binaryOr(raw[i], newBinary(b.Type, b.MIMEType, b.Data, keep))
		case b.Resource != nil && b.Resource.Blob != "":
			resource := newBinary(b.Type, b.Resource.MIMEType, b.Resource.Blob, keep)
			resource.URI = b.Resource.URI
			out[i] = binaryOr(raw[i], resource)
		default:
			out[i] = raw[i]
		}
	}
	return json.Marshal(out)
}

// withoutBinary replaces the content blocks with binary data anywhere in value, like contentArray:
// servers repeat them in their structured content.
func withoutBinary(value json.RawMessage, keep StoreFunc) json.RawMessage {
	if !bytes.Contains(value, []byte(`"data"`)) && !bytes.Contains(value, []byte(`"blob"`)) {
		return value
	}
	changed, ok := replaceBinary(value, keep, 0)
	if !ok {
		return value
	}
	return changed
}

// maxBinaryDepth bounds the depth at which content blocks are found.
const maxBinaryDepth = 8

// replaceBinary returns value with the blocks replaced, and whether there were any. The order of
// keys and the digits of numbers do not change.
func replaceBinary(value json.RawMessage, keep StoreFunc, depth int) (json.RawMessage, bool) {
	if depth > maxBinaryDepth {
		return value, false
	}
	switch trimmed := bytes.TrimLeft(value, " \t\r\n"); {
	case len(trimmed) == 0:
	case trimmed[0] == '[':
		return replaceInList(value, keep, depth)
	case trimmed[0] == '{':
		var b content
		if json.Unmarshal(value, &b) == nil {
			if kind, mimeType, b64, ok := b.binary(); ok {
				found := newBinary(kind, mimeType, b64, keep)
				if found.URI = b.URI; b.Resource != nil {
					found.URI = b.Resource.URI
				}
				return mustMarshal(found), true
			}
		}
		return replaceInObject(value, keep, depth)
	}
	return value, false
}

// binary returns the base64 data of a block. A record that only looks like a block has no valid
// MIME type.
func (b *content) binary() (kind, mimeType, b64 string, ok bool) {
	switch {
	case b.Resource != nil && b.Resource.Blob != "":
		kind, mimeType, b64 = b.Type, b.Resource.MIMEType, b.Resource.Blob
	case b.Blob != "":
		kind, mimeType, b64 = "resource", b.MIMEType, b.Blob
	case b.Data != "" && b.Type != "":
		kind, mimeType, b64 = b.Type, b.MIMEType, b.Data
	}
	if b64 == "" || !strings.Contains(mimeType, "/") {
		return "", "", "", false
	}
	_, err := base64.StdEncoding.DecodeString(b64)
	return kind, mimeType, b64, err == nil
}

func replaceInList(value json.RawMessage, keep StoreFunc, depth int) (json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		return value, false
	}
	found := false
	for i, item := range list {
		changed, ok := replaceBinary(item, keep, depth+1)
		list[i], found = changed, found || ok
	}
	if !found {
		return value, false
	}
	return mustMarshal(list), true
}

func replaceInObject(value json.RawMessage, keep StoreFunc, depth int) (json.RawMessage, bool) {
	d := json.NewDecoder(bytes.NewReader(value))
	if _, err := d.Token(); err != nil {
		return value, false
	}
	var out bytes.Buffer
	found := false
	for d.More() {
		key, err := d.Token()
		var item json.RawMessage
		if err != nil || d.Decode(&item) != nil {
			return value, false
		}
		changed, ok := replaceBinary(item, keep, depth+1)
		found = found || ok
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		out.Write(mustMarshal(key))
		out.WriteByte(':')
		out.Write(changed)
	}
	if !found {
		return value, false
	}
	return json.RawMessage("{" + out.String() + "}"), true
}

// mustMarshal encodes values of this package and valid raw JSON.
func mustMarshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// A StoreFunc stores binary data and returns its reference, or "" if that failed.
type StoreFunc func(mimeType string, data []byte) (ref string)

// binary represents an image, audio or blob in a script's value.
type binary struct {
	Type     string `json:"type"`
	MIMEType string `json:"mimeType,omitempty"`
	URI      string `json:"uri,omitempty"`
	Size     int    `json:"size"`
	Ref      string `json:"ref,omitempty"`

	invalid bool // data is not base64
}

// maxBadData bounds a block with invalid base64 that is passed on unchanged, in bytes.
const maxBadData = 64 << 10

// binaryOr returns b, or the block itself if its data is not base64.
func binaryOr(raw json.RawMessage, b binary) any {
	if b.invalid && len(raw) <= maxBadData {
		return raw
	}
	return b
}

// ofDataURL returns the type and the data in a data URL, which some servers send as data.
func ofDataURL(mimeType, data string) (kind, b64 string) {
	const maxHead = 200
	rest, ok := strings.CutPrefix(data, "data:")
	if comma := strings.IndexByte(rest[:min(len(rest), maxHead)], ','); ok && comma >= 0 {
		if head, ok := strings.CutSuffix(rest[:comma], ";base64"); ok {
			return cmp.Or(mimeType, head), rest[comma+1:]
		}
	}
	return mimeType, data
}

// decodeBase64 decodes base64 of either alphabet, with or without padding.
func decodeBase64(b64 string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(b64)
	if err != nil && len(b64) > 0 {
		plain := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(b64), "=")
		data, err = base64.RawStdEncoding.DecodeString(plain)
	}
	return data, err
}

// newBinary stores data if it is valid base64, or the URL of such data.
func newBinary(kind, mimeType, b64 string, keep StoreFunc) binary {
	mimeType, b64 = ofDataURL(mimeType, b64)
	b := binary{Type: kind, MIMEType: mimeType, Size: base64.StdEncoding.DecodedLen(len(b64)) - padding(b64)}
	data, err := decodeBase64(b64)
	if b.invalid = err != nil; !b.invalid && keep != nil {
		b.Size, b.Ref = len(data), keep(mimeType, data)
	}
	return b
}

func padding(b64 string) int { return strings.Count(b64[max(0, len(b64)-2):], "=") }
