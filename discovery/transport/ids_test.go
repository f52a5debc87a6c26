package transport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
)

// oddIDs are ids of server requests that the SDK alone changes in its answer.
var oddIDs = []string{`2047948614742839297`, `-9007199254740993`, `123456789012345678901234567890`, `2.5`, `1.0`, `1e400`, `"\u0062"`, `"a\/b"`, `"broker:json:aa"`, `41`, `"plain"`}

const initializeResult = `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`

// head is the part of a message that is compared.
type head struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func newClient() *mcp.Client { return mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil) }

func TestIDsOfServersAreGivenBackOverStdio(t *testing.T) {
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	given := make(chan []string, 1)
	go func() { // a server
		var ids []string
		for lines := bufio.NewScanner(fromClient); lines.Scan(); {
			var m head
			_ = json.Unmarshal(lines.Bytes(), &m)
			switch m.Method {
			case "initialize":
				fmt.Fprintf(toClient, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, initializeResult)
			case "server/discover":
				fmt.Fprintf(toClient, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
			case "notifications/initialized":
				for _, id := range oddIDs {
					fmt.Fprintf(toClient, `{"jsonrpc":"2.0","id":%s,"method":"ping"}`+"\n", id)
				}
			case "":
				if ids = append(ids, string(m.ID)); len(ids) == len(oddIDs) {
					given <- ids
				}
			}
		}
	}()
	session, err := newClient().Connect(ctx, transport.NewStdio(out, in, transport.StdioOptions{Dropped: func([]byte) {}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case ids := <-given:
		compareIDs(t, ids)
	case <-ctx.Done():
		t.Error("not all requests were answered")
	}
	toClient.Close()
	_ = session.Close()
}

func compareIDs(t *testing.T, ids []string) {
	t.Helper()
	missing := strings.Join(ids, " ") + " "
	for _, id := range oddIDs {
		if !strings.Contains(" "+missing, " "+id+" ") {
			t.Errorf("no answer to %s; there are %s", id, missing)
		}
	}
}

func TestIDsOfServersAreGivenBackOverHTTP(t *testing.T) {
	for name, sse := range map[string]bool{"streamable": false, "sse": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			given, ask, answers := make(chan string, 100), make(chan bool), make(chan string, 10)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet { // the optional stream of the session
					w.Header().Set("Content-Type", "text/event-stream")
					if sse {
						fmt.Fprint(w, "event: endpoint\ndata: /messages\n\n")
					}
					_ = http.NewResponseController(w).Flush()
					for {
						select {
						case m := <-answers:
							fmt.Fprintf(w, "data: %s\n\n", m)
						case <-ask:
							for _, id := range oddIDs {
								fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}\n\n", id)
							}
						case <-r.Context().Done():
							return
						}
						_ = http.NewResponseController(w).Flush()
					}
				}
				var m head
				_ = json.NewDecoder(r.Body).Decode(&m)
				answer := ""
				switch m.Method {
				case "initialize":
					answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, initializeResult)
				case "server/discover":
					answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
				case "":
					if m.ID != nil {
						given <- string(m.ID)
					}
				}
				switch {
				case answer == "":
					w.WriteHeader(http.StatusAccepted)
				case sse:
					answers <- answer
					w.WriteHeader(http.StatusAccepted)
				default:
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, answer)
				}
			}))
			defer server.Close()
			h, err := transport.NewHTTP(server.URL, transport.HTTPOptions{SSE: sse, StartTimeout: 10 * time.Second, MaxIdle: 2})
			if err != nil {
				t.Fatal(err)
			}
			session, err := newClient().Connect(ctx, h, nil)
			if err != nil {
				t.Fatal(err)
			}
			h.Opened()
			ask <- true
			var ids []string
			for len(ids) < len(oddIDs) {
				select {
				case id := <-given:
					ids = append(ids, id)
				case <-ctx.Done():
					t.Fatalf("not all requests were answered: %v", ids)
				}
			}
			compareIDs(t, ids)
			cancel()
			_ = session.Close()
			h.Close()
			server.CloseClientConnections()
		})
	}
}

func TestMarkedIDsAreRestored(t *testing.T) {
	for _, id := range append(oddIDs, `"`+strings.Repeat("x", 5000)+`\n"`, strings.Repeat("9", 5000)) {
		for _, message := range []string{
			`{"jsonrpc":"2.0","id":` + id + `,"method":"m","params":{"_meta":{"a":1,"progressToken":` + id + `},"b":[ 1, "x" ]}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + id + `,"progress":1}}`,
		} {
			if got := transport.RestoreIDs(transport.MarkIDs([]byte(message))); string(got) != message {
				t.Errorf("%.200s came back as %.200s", message, got)
			}
		}
	}
	for _, message := range []string{`x`, `[]`, `null`, `{"id":true,"method":"m"}`, `{"id":null,"method":"m"}`, `{"id":[1],"method":"m"}`, `{"jsonrpc":"2.0","id":12345678901234567890,"result":{}}`, ``,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"progressToken":12345678901234567890}}}`} {
		if got := transport.MarkIDs([]byte(message)); string(got) != message {
			t.Errorf("%s became %s", message, got)
		}
	}
}
