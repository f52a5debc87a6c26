package main

import (
	"bufio"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// upstream is an MCP server on stdio with a tool that reads and one that writes. Each
// call takes delay.
func upstream(r io.Reader, w io.Writer) error {
	var mu sync.Mutex
	answer := func(id json.RawMessage, result any) {
		b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
		if err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		_, _ = w.Write(append(b, '\n')) // the broker may be gone
	}
	tool := func(name string, readOnly bool) map[string]any {
		return map[string]any{"name": name, "description": "Takes a few milliseconds.", "annotations": map[string]any{"readOnlyHint": readOnly, "destructiveHint": false},
			"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}}
	}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ProtocolVersion string `json:"protocolVersion"`
			} `json:"params"`
		}
		if json.Unmarshal(scan.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			answer(m.ID, map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "meter", "version": "1"}})
		case "tools/list":
			answer(m.ID, map[string]any{"tools": []any{tool("read", true), tool("write", false)}})
		case "tools/call":
			time.AfterFunc(delay*time.Millisecond, func() {
				answer(m.ID, map[string]any{"content": []any{map[string]any{"type": "text", "text": "{\"ok\":true}"}}})
			})
		case "ping":
			answer(m.ID, map[string]any{})
		default:
			mu.Lock()
			b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "unknown method"}})
			_, _ = w.Write(append(b, '\n'))
			mu.Unlock()
		}
	}
	return scan.Err()
}
