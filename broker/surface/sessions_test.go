package surface

//lint:file-ignore SA1019 roots and sampling are deprecated since 2026-07-28, and clients still use them

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// postTo sends a message with a token and a session, if these are not empty.
func postTo(t *testing.T, url, token, session, body string) (status int, id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if session != "" {
		req.Header.Set(sessionHeader, session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil { // the session is idle after its end
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get(sessionHeader)
}

// hello returns an initialize with further members in its client info.
func hello(capabilities, info string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{%s},"clientInfo":{"name":"c","version":"1"%s}}}`, capabilities, info)
}

const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`

// endpointOf serves a surface without features, with limits for sessions.
func endpointOf(t *testing.T, perOwner, inAll int, tokens map[string]string) (all *httpSessions, url string) {
	t.Helper()
	s := New(Options{Mode: ModeCode}, slog.New(slog.DiscardHandler))
	o := HTTPOptions{Addr: "127.0.0.1:0", Tokens: tokens}
	all = newHTTPSessions()
	all.perOwner, all.inAll = perOwner, inAll
	d := &profileRouter{o: o, base: s, sessions: all, handlers: make(map[*Surface]http.Handler)}
	mux := http.NewServeMux()
	mux.Handle("/mcp", checkOrigin(d, o, true))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return all, srv.URL
}

func TestOldestIdleSessionEnds(t *testing.T) {
	_, url := endpointOf(t, 3, 100, map[string]string{"ann": "a", "bob": "b"})
	_, other := postTo(t, url, "b", "", hello("", ""))
	var ids []string
	for range 3 {
		_, id := postTo(t, url, "a", "", hello("", ""))
		ids = append(ids, id)
	}
	if status, _ := postTo(t, url, "a", ids[0], ping); status != http.StatusOK { // now ids[1] is the oldest
		t.Fatalf("the first session answers %d", status)
	}
	status, last := postTo(t, url, "a", "", hello("", ""))
	if status != http.StatusOK || last == "" {
		t.Fatalf("a fourth session: %d", status)
	}
	eventually.True(t, "the oldest has ended", func() bool {
		status, _ := postTo(t, url, "a", ids[1], ping)
		return status == http.StatusNotFound
	})
	for _, c := range []struct{ token, id string }{{"a", ids[0]}, {"a", ids[2]}, {"a", last}, {"b", other}} {
		if status, _ := postTo(t, url, c.token, c.id, ping); status != http.StatusOK {
			t.Errorf("another session of %s answers %d", c.token, status)
		}
	}
}

func TestSessionsOfAllOwnersAreBounded(t *testing.T) {
	all, url := endpointOf(t, 100, 6, map[string]string{"ann": "a", "bob": "b", "cy": "c"})
	_, few := postTo(t, url, "b", "", hello("", ""))
	for range 8 {
		postTo(t, url, "a", "", hello("", ""))
	}
	if status, _ := postTo(t, url, "c", "", hello("", "")); status != http.StatusOK {
		t.Errorf("a session of a third owner: %d", status)
	}
	if got, want := all.String(), "6 sessions of 3 owners, 6 ids"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if status, _ := postTo(t, url, "b", few, ping); status != http.StatusOK {
		t.Errorf("the session of the owner with one answers %d", status)
	}
}

// A session that ends, or fails to open, leaves nothing behind.
func TestSessionsThatEndLeaveNothing(t *testing.T) {
	all, url := endpointOf(t, 10, 10, nil)
	for _, body := range []string{ping, `{}`, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, "nonsense", `{"jsonrpc":"2.0","method":"notifications/initialized"}`} {
		postTo(t, url, "", "", body)
	}
	_, id := postTo(t, url, "", "", hello("", ""))
	if got, want := all.String(), "1 sessions of 1 owners, 1 ids"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, url+"/mcp", nil)
	req.Header.Set(sessionHeader, id)
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode >= 300 {
		t.Fatalf("%v, %v", res, err)
	}
	eventually.True(t, "the session has left", func() bool { return all.String() == "0 sessions of 0 owners, 0 ids" })
}

func TestSessionsInUseAreNotEnded(t *testing.T) {
	h := newHTTPSessions()
	h.perOwner = 2
	for range 2 {
		s, _ := h.begin("ann")
		s.session = new(mcp.ServerSession)
	}
	if s, end := h.begin("ann"); s != nil || end != nil {
		t.Error("a session in use gives its place up")
	}
	if s, _ := h.begin("bob"); s == nil {
		t.Error("another owner has no place")
	}
}

// heap returns the memory in use after a garbage collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A few kB of a client's description of itself are stored, from any message.
func TestWhatClientsSayIsBounded(t *testing.T) {
	much := strings.Repeat("x", 512<<10)
	var b strings.Builder
	for i := range 8_000 {
		fmt.Fprintf(&b, `,"a%d":{"b":1}`, i+1)
	}
	many := `"a0":{}` + b.String()
	for name, body := range map[string]string{
		"a name":       strings.Replace(hello("", ""), `"name":"c"`, `"name":"`+much+`"`, 1),
		"a version":    strings.Replace(hello("", ""), `"version":"1"`, `"version":"`+much+`"`, 1),
		"a title":      hello("", `,"title":"`+much+`"`),
		"icons":        hello("", `,"icons":[{"src":"`+much+`"}]`),
		"experimental": hello(`"experimental":{`+many+`}`, ""),
		"extensions":   hello(`"extensions":{`+many+`}`, ""),
		"meta":         strings.Replace(hello("", ""), `"protocolVersion"`, `"_meta":{`+many+`},"protocolVersion"`, 1),
		"a protocol":   strings.Replace(hello("", ""), `2025-11-25`, much, 1),
	} {
		t.Run(name, func(t *testing.T) {
			_, url := endpointOf(t, 100, 100, nil)
			postTo(t, url, "", "", hello("", ""))
			before := heap()
			const n = 4
			for range n {
				if status, id := postTo(t, url, "", "", body); status != http.StatusOK || id == "" {
					t.Fatalf("initialize with %d bytes is answered %d", len(body), status)
				}
			}
			http.DefaultClient.CloseIdleConnections()
			// Nothing waits for the replacement of a message in the SDK's queue.
			eventually.True(t, "each session keeps less than 200 kB", func() bool { return int64(heap())-int64(before) < n*200<<10 })
		})
	}
}

// The capabilities that the broker reads stay.
func TestCapabilitiesStay(t *testing.T) {
	s := New(Options{Mode: ModeCode}, slog.New(slog.DiscardHandler))
	server := s.Server("test")
	ct, st := mcp.NewInMemoryTransports()
	ss, err := server.Connect(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	can := &mcp.ClientCapabilities{
		RootsV2: &mcp.RootCapabilities{ListChanged: true}, Sampling: &mcp.SamplingCapabilities{Tools: &mcp.SamplingToolsCapabilities{}, Context: &mcp.SamplingContextCapabilities{}},
		Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "a client", Title: "A client", Version: "1"}, &mcp.ClientOptions{Capabilities: can}).
		Connect(t.Context(), ct, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	p := ss.InitializeParams()
	k := p.Capabilities
	if p.ClientInfo.Name != "a client" || p.ClientInfo.Title != "A client" || k.RootsV2 == nil || !k.RootsV2.ListChanged || k.Sampling == nil || k.Sampling.Tools == nil ||
		k.Sampling.Context == nil || k.Elicitation == nil || k.Elicitation.Form == nil || k.Elicitation.URL == nil {
		t.Errorf("kept %+v of %+v", k, p.ClientInfo)
	}
}

// The server of a client that left is forgotten, with its views.
func TestServersOfClientsThatAreGone(t *testing.T) {
	s := New(Options{Mode: ModeCode}, slog.New(slog.DiscardHandler))
	servers := newClientServers(s, nil)
	servers.most = 10
	kept := servers.server("kept")
	_, st := mcp.NewInMemoryTransports()
	if _, err := kept.Connect(context.Background(), st, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		servers.server(fmt.Sprint("person ", i))
	}
	if n := len(servers.byName); n > 10 {
		t.Errorf("%d servers are kept", n)
	}
	if servers.server("kept") != kept {
		t.Error("a client with a session has another server")
	}
	runtime.GC()
	servers.server("the last")
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.faces); n > 30 {
		t.Errorf("%d are kept for the next change", n)
	}
}
