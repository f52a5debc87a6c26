package surface

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// oddIDs are ids and tokens that the SDK alone does not return unchanged.
var oddIDs = []string{
	`2047948614742839297`, `-9007199254740993`, `18446744073709551615`, `123456789012345678901234567890`, `1.5`, `-0.25`, `1.0`, `1e3`, `1e400`, `-0`,
	`"\u0061"`, `"a\/b"`, `"<&>"`, `"\ud800"`, `"2047948614742839297"`, `"broker:json:dbdc"`, `"broker:json:"`, `7`, `0`, `-3`, `"x"`, `""`,
}

// progressing returns a server whose tool reports progress once.
func progressing() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "go", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1}); err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: `"id": "broker:json:dbdc"`}}}, nil
	})
	return s
}

func callWith(id, token string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"go","arguments":{},"_meta":{"progressToken":%s,"other":1}}}`, id, token)
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// raw contains the members of a message as they were written.
type raw struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func readRaw(t *testing.T, line []byte) (m raw) {
	t.Helper()
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return m
}

// check looks for the progress notification and the answer of a call among messages.
func checkGivenBack(t *testing.T, id string, messages []raw) {
	t.Helper()
	progress, answered := false, false
	for _, m := range messages {
		switch {
		case m.Method == "notifications/progress":
			progress = true
			if string(m.Params.ProgressToken) != id {
				t.Errorf("token %s came back as %s", id, m.Params.ProgressToken)
			}
		case m.Method == "":
			answered = true
			if string(m.ID) != id || m.Error != nil || !strings.Contains(string(m.Result), `\"broker:json:dbdc\"`) {
				t.Errorf("id %s came back as %s, %s %s", id, m.ID, m.Result, m.Error)
			}
		}
	}
	if !progress || !answered {
		t.Errorf("%s: progress %v, answered %v", id, progress, answered)
	}
}

func TestIDsAreGivenBackOverStdio(t *testing.T) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- ServeLines(t.Context(), progressing(), Peer{}, in, out); out.Close() }()
	lines := bufio.NewScanner(fromServer)
	ask := func(message string) (answer []raw) {
		if _, err := io.WriteString(toServer, message+"\n"); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			m := readRaw(t, lines.Bytes())
			if answer = append(answer, m); m.Method == "" {
				return answer
			}
		}
		t.Fatal("the server ended")
		return nil
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if _, err := io.WriteString(toServer, initialized+"\n"); err != nil {
		t.Fatal(err)
	}
	for _, id := range oddIDs {
		checkGivenBack(t, id, ask(callWith(id, id)))
	}
	toServer.Close()
	<-done
}

func TestIDsAreGivenBackOverHTTP(t *testing.T) {
	s := progressing()
	for name, o := range map[string]*mcp.StreamableHTTPOptions{"events": {}, "stateless": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(exactIDs(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o)))
			defer server.Close()
			session := ""
			post := func(message string) (answer []raw) {
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(message))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Accept", "application/json, text/event-stream")
				if session != "" {
					req.Header.Set(sessionHeader, session)
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				session = cmp.Or(resp.Header.Get(sessionHeader), session)
				for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
					if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && strings.HasPrefix(data, "{") {
						answer = append(answer, readRaw(t, []byte(data)))
					}
				}
				return answer
			}
			post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			post(initialized)
			for _, id := range oddIDs {
				checkGivenBack(t, id, post(callWith(id, id)))
			}
		})
	}
}
