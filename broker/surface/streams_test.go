package surface

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// listen is a request for a stream of protocol 2026-07-28, with more notifications.
func listen(notifications string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true%s}}}`, notifications)
}

// openStream sends a listen with a token, and returns the answer as long as it lasts.
func openStream(t *testing.T, url, token, body string) (*http.Response, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": "Bearer " + token, "Mcp-Protocol-Version": StatelessSince, methodHeader: "subscriptions/listen"} {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res, func() { cancel(); _ = res.Body.Close() }
}

// Streams count as sessions, of each owner and in all, as long as they are open.
func TestStreamsAreBounded(t *testing.T) {
	all, url := endpointOf(t, 3, 5, map[string]string{"ann": "a", "bob": "b", "cy": "c"})
	var ends []func()
	for i, c := range []struct {
		token string
		want  int
	}{{"a", 200}, {"a", 200}, {"a", 200}, {"a", 503}, {"b", 200}, {"b", 200}, {"c", 503}} {
		res, end := openStream(t, url, c.token, listen(""))
		ends = append(ends, end)
		if res.StatusCode != c.want {
			text, _ := io.ReadAll(res.Body)
			t.Errorf("stream %d, of %s: %d %s, want %d", i, c.token, res.StatusCode, text, c.want)
		}
	}
	if status, _ := postTo(t, url, "a", "", hello("", "")); status != http.StatusServiceUnavailable {
		t.Errorf("a session beside as many streams: %d", status)
	}
	for _, end := range ends {
		end()
	}
	eventually.True(t, "all streams have ended", func() bool { return all.String() == "0 sessions of 0 owners, 0 ids" })
	if status, _ := postTo(t, url, "a", "", hello("", "")); status != http.StatusOK {
		t.Errorf("a session after the streams: %d", status)
	}
}

// An idle session gives its place to a stream.
func TestStreamsEndIdleSessions(t *testing.T) {
	_, url := endpointOf(t, 1, 5, map[string]string{"ann": "a"})
	_, id := postTo(t, url, "a", "", hello("", ""))
	res, end := openStream(t, url, "a", listen(""))
	defer end()
	if res.StatusCode != http.StatusOK {
		t.Errorf("a stream: %d", res.StatusCode)
	}
	eventually.True(t, "the session has ended", func() bool {
		status, _ := postTo(t, url, "a", id, ping)
		return status == http.StatusNotFound
	})
}

// What a client says when it opens a stream stays in memory, so it is bounded.
func TestRequestsForStreamsAreBounded(t *testing.T) {
	all, url := endpointOf(t, 3, 5, map[string]string{"ann": "a"})
	long := strings.Repeat("u", maxKeptBytes)
	for name, body := range map[string]string{
		"one long address": listen(`,"resourceSubscriptions":["` + long + `"]`),
		"many addresses":   listen(`,"resourceSubscriptions":[` + strings.Repeat(`"a:b",`, maxKeptBytes/6) + `"a:b"]`),
		"an unknown field": listen(`,"other":"` + long + `"`),
		"_meta":            strings.Replace(listen(""), `"_meta":{`, `"_meta":{"more":"`+long+`",`, 1),
		"white space":      listen(strings.Repeat(" ", maxKeptBytes)),
	} {
		res, end := openStream(t, url, "a", body)
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
		end()
	}
	eventually.True(t, "nothing is left", func() bool { return all.String() == "0 sessions of 0 owners, 0 ids" })
}

// A method that the header does not name opens no stream.
func TestStreamsNeedTheirHeader(t *testing.T) {
	s := New(Options{Mode: ModeCode}, slog.New(slog.DiscardHandler))
	h, err := s.Handler(HTTPOptions{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, named := range []string{"", "ping", "Subscriptions/Listen", "subscriptions/listen "} {
		for _, version := range []string{StatelessSince, "9999-01-01", "", "2025-11-25"} {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(listen("")))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			req.Header.Set(methodHeader, named)
			req.Header.Set("Mcp-Protocol-Version", version)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req) // does not come back with a stream
			if strings.Contains(w.Body.String(), "acknowledged") {
				t.Errorf("%q in version %q: %d %s", named, version, w.Code, w.Body)
			}
		}
	}
}
