package oauth

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// A partly is a server that answers some methods and tools to everybody and
// refuses the others with 401.
type partly struct {
	open         []string // methods, and tools of tools/call
	capabilities string   // those of tools if it is empty

	mu   sync.Mutex
	seen []string
}

func (p *partly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	what := m.Method
	if what == "tools/call" {
		what = m.Params.Name
	}
	p.mu.Lock()
	p.seen = append(p.seen, what)
	isOpen := slices.Contains(p.open, what)
	p.mu.Unlock()
	if !isOpen {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	result := fmt.Sprintf(`{"content":[{"type":"text","text":"%s was called"}]}`, what)
	switch what {
	case "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
		return
	case "initialize":
		result = fmt.Sprintf(`{"protocolVersion":"2025-06-18","capabilities":%s,"serverInfo":{"name":"partly","version":"1"}}`, cmp.Or(p.capabilities, `{"tools":{}}`))
	case "prompts/list", "resources/list", "resources/templates/list", "logging/setLevel":
		result = `{"prompts":[],"resources":[],"resourceTemplates":[]}`
	case "tools/list":
		result = `{"tools":[{"name":"free","inputSchema":{"type":"object"}},{"name":"closed","inputSchema":{"type":"object"}}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// refuse makes public methods or tools need a sign-in.
func (p *partly) refuse(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = slices.DeleteFunc(p.open, func(s string) bool { return s == what })
}

// sent counts the requests of one kind.
func (p *partly) sent(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, s := range p.seen {
		if s == what {
			n++
		}
	}
	return n
}

// A refusal concerns one request only, such as a question that only the broker asks, or
// a tool.
func TestServerThatRefusesParts(t *testing.T) {
	remote := &partly{open: []string{"initialize", "notifications/initialized", "tools/list", "free"}}
	srv := httptest.NewServer(remote)
	t.Cleanup(srv.Close)
	w := newWorld(t)
	w.server.URL = srv.URL
	p := w.pool()
	if st := p.Refresh(t.Context())[0]; st.State != upstream.StateReady || st.Tools != 2 {
		t.Fatalf("status = %+v", st)
	}
	for range 2 {
		if err := w.call(p, "free"); err != nil {
			t.Fatalf("a tool that is open: %v", err)
		}
		w.wantSignIn(w.call(p, "closed"))
	}
	if n := remote.sent("initialize"); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	if n := remote.sent("closed"); n != 2 {
		t.Errorf("the tool that wants a sign-in was asked for %d times, want 2", n)
	}
}

// A refusal of initialize is remembered, so that the server is not asked again at once.
func TestRefusalToOpenASessionIsRemembered(t *testing.T) {
	remote := &partly{}
	srv := httptest.NewServer(remote)
	t.Cleanup(srv.Close)
	w := newWorld(t)
	w.server.URL = srv.URL
	p := w.pool()
	for range 3 {
		w.wantSignIn(w.call(p, "free"))
	}
	if n := remote.sent("initialize"); n != 1 {
		t.Errorf("initialize was sent %d times, want 1", n)
	}
}

func TestOpensSession(t *testing.T) {
	for body, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`:      true,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`: false,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`:      false,
		`initialize`: false,
		``:           false,
	} {
		req := httptest.NewRequest(http.MethodPost, "/", nil)
		if body != "" {
			var err error
			if req, err = http.NewRequest(http.MethodPost, "http://x/", strings.NewReader(body)); err != nil {
				t.Fatal(err)
			}
		}
		if got := subjectOf(req).opens(); got != want {
			t.Errorf("subjectOf(%s).opens() = %v", body, got)
		}
	}
}

// A server is still used if it refuses a list other than tools, its event stream, or
// its tools after an earlier list.
func TestServerThatRefusesWhatIsBesideItsTools(t *testing.T) {
	open := []string{"initialize", "notifications/initialized", "tools/list", "free"}
	for name, refused := range map[string]string{
		"prompts": "prompts/list", "resources": "resources/list", "templates": "resources/templates/list", "levels": "logging/setLevel", "tools": "tools/list",
	} {
		t.Run(name, func(t *testing.T) {
			remote := &partly{open: append(slices.Clone(open), "prompts/list", "resources/list", "resources/templates/list", "logging/setLevel", "ping"),
				capabilities: `{"tools":{},"prompts":{},"resources":{},"logging":{}}`}
			srv := httptest.NewServer(remote)
			t.Cleanup(srv.Close)
			w := newWorld(t)
			w.server.URL = srv.URL
			w.cache = t.TempDir()
			if refused == "tools/list" { // known from before
				p := w.pool()
				if st := p.Refresh(t.Context())[0]; st.State != upstream.StateReady {
					t.Fatalf("status = %+v", st)
				}
				p.Close()
			}
			remote.refuse(refused)
			p := w.pool()
			for range 2 {
				if err := w.call(p, "free"); err != nil {
					t.Errorf("an open tool: %v", err)
				}
				p.Refresh(t.Context())
			}
			if st := p.Status()[0]; refused != "tools/list" && st.State != upstream.StateReady {
				t.Errorf("status = %+v", st)
			}
			if remote.sent(refused) == 0 && refused != "logging/setLevel" {
				t.Errorf("%s was not asked for: nothing was tested", refused)
			}
		})
	}
}
