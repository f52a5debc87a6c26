package surface_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A brittle feature panics in every function.
type brittle struct{ greeter }

func (brittle) fail() {
	var nobody *mcp.Tool
	_ = nobody.Name
}

func (f brittle) Tools() []surface.Tool {
	return append(f.greeter.Tools(), surface.Tool{
		Tool:    surface.Define("fails", "Fail.", `{"type":"object"}`, surface.Reads()),
		Handler: func(context.Context, *surface.Call) (*mcp.CallToolResult, error) { f.fail(); return nil, nil },
	})
}

func (f brittle) Prompts() []surface.Prompt {
	return []surface.Prompt{{Prompt: &mcp.Prompt{Name: "fails"}, Text: func(context.Context, surface.Caller, map[string]string) (gate.Text, error) {
		f.fail()
		return gate.Text{}, nil
	}}}
}

func (f brittle) Templates() []surface.Template {
	return []surface.Template{{ResourceTemplate: &mcp.ResourceTemplate{Name: "fails", URITemplate: "fails://{+path}"},
		Read: func(context.Context, surface.Caller, string) (*mcp.ReadResourceResult, error) {
			f.fail()
			return nil, nil
		}}}
}

func (f brittle) Resources(surface.Caller) []*mcp.Resource { f.fail(); return nil }

// A lockedBuffer is safe for concurrent use.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// A panic in a feature results in one error answer, and one stack in the log.
func TestPanicsAreAnswers(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, asked := range []bool{false, true} {
			var log lockedBuffer
			s := surface.New(surface.Options{Mode: surface.ModeCode, Changing: true}, slog.New(slog.NewTextHandler(&log, nil)), brittle{})
			ct, st := mcp.NewInMemoryTransports()
			if _, err := s.Server("test").Connect(t.Context(), st, nil); err != nil {
				t.Fatal(err)
			}
			o := &mcp.ClientOptions{}
			if asked { // calls of such clients outlive their requests
				o.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil }
			}
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, o).Connect(t.Context(), ct, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			for name, do := range map[string]func() error{
				"prompts/get": func() error {
					_, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "fails"})
					return err
				},
				"resources/read": func() error {
					_, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "fails://a"})
					return err
				},
				"resources/list": func() error {
					_, err := cs.ListResources(t.Context(), nil)
					return err
				},
			} {
				for range 3 {
					if err := do(); err == nil || !strings.Contains(err.Error(), "internal error") {
						t.Errorf("%s: %s: %v", version, name, err)
					}
				}
			}
			for range 3 {
				if res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "fails"}); err != nil || !res.IsError {
					t.Errorf("%s: tools/call: %+v, %v", version, res, err)
				}
			}
			if res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "you"}}); err != nil || res.IsError {
				t.Errorf("%s: greet: %+v, %v", version, res, err)
			}
			_ = cs.Close()
			if n := strings.Count(log.String(), "stack="); n != 4 {
				t.Errorf("%s: %d stacks of 4 places in the log", version, n)
			}
			if n := strings.Count(log.String(), "msg=panic"); n != 12 {
				t.Errorf("%s: %d panics in the log, want 12", version, n)
			}
		}
	}
}

// A handler that panics over HTTP answers 500.
func TestPanicsOverHTTP(t *testing.T) {
	s := surface.New(surface.Options{Mode: surface.ModeCode}, slog.New(slog.DiscardHandler), greeter{})
	h, err := s.Handler(surface.HTTPOptions{Addr: "127.0.0.1:0", API: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a test") })})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	for range 2 {
		res, err := http.Get(srv.URL + "/api/skills")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusInternalServerError || !strings.Contains(string(text), "internal error") {
			t.Errorf("%d %s", res.StatusCode, text)
		}
	}
}
