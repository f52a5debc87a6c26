package surface

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// long returns requests that the SDK would quote whole in their errors.
func long() map[string]string {
	text, meta := strings.Repeat("x", 50_000), `"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}`
	return map[string]string{
		"a method":         fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{}}`, text),
		"a notification":   fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{}}`, "notifications/"+text),
		"a type":           fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":%q,"name":"a"},"argument":{"name":"a","value":"b"}}}`, text),
		"a version":        fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{%s}}`, fmt.Sprintf(meta, text)),
		"a method, future": fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s}}`, text, fmt.Sprintf(meta, "2026-07-28")),
		"a prompt":         fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":%q}}`, text),
		"a tool":           fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q}}`, text),
		"a resource":       fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":%q}}`, text),
		"a folder of text": fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":%q}}`, "a:"+text),
		"a cursor":         fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":%q}}`, text),
		"an id":            fmt.Sprintf(`{"jsonrpc":"2.0","id":7.5,"method":%q,"params":{}}`, text),
	}
}

const (
	opening   = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	maxAnswer = 8_000
)

// Errors do not repeat long requests, over lines.
func TestErrorsQuoteLittleOverLines(t *testing.T) {
	s := New(Options{Mode: ModeCode}, slog.New(slog.DiscardHandler))
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- ServeLines(t.Context(), s.Server("test"), Peer{}, in, out); out.Close() }()
	lines := bufio.NewReader(fromServer)
	ask := func(request string) string {
		if _, err := io.WriteString(toServer, request+"\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	ask(opening)
	for name, request := range long() {
		answer := ask(request)
		var m struct{ Error *struct{ Message string } }
		if err := json.Unmarshal([]byte(answer), &m); err != nil || m.Error == nil || m.Error.Message == "" || len(answer) > maxAnswer {
			t.Errorf("%s: %d bytes, %v: %.200s", name, len(answer), err, answer)
		}
	}
	toServer.Close()
	<-done
}

// Errors and refusals do not repeat long requests, over HTTP.
func TestErrorsQuoteLittleOverHTTP(t *testing.T) {
	s := New(Options{Mode: ModeCode}, slog.New(slog.DiscardHandler))
	h, err := s.Handler(HTTPOptions{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	post := func(message, header, value string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/mcp", strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if header == "Host" {
			req.Host = value
		} else if header != "" {
			req.Header.Set(header, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(text)
	}
	resp, _ := post(opening, "", "")
	session := resp.Header.Get(sessionHeader)
	post(initialized, sessionHeader, session)
	for name, request := range long() {
		for _, of := range []string{session, ""} {
			resp, text := post(request, sessionHeader, of)
			if text == "" || len(text) > maxAnswer || resp.StatusCode == http.StatusOK && !strings.Contains(text, `"error"`) {
				t.Errorf("%s: HTTP %d, %d bytes: %.200s", name, resp.StatusCode, len(text), text)
			}
		}
	}
	for _, header := range []string{"Host", "Origin", sessionHeader, "Mcp-Protocol-Version", methodHeader, "Mcp-Name", "Last-Event-ID", "Content-Type", "Accept", "Sec-Fetch-Site"} {
		if _, text := post(`{"jsonrpc":"2.0","id":7,"method":"ping"}`, header, strings.Repeat("x", 50_000)); text == "" || len(text) > maxAnswer {
			t.Errorf("the header %s: %d bytes: %.200s", header, len(text), text)
		}
	}
}
