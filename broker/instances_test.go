//lint:file-ignore SA1019 roots are deprecated since 2026-07-28, and clients have them still

package broker_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// statefulBroker has the server of fakeupstream.Stateful, listed.
func statefulBroker(t *testing.T, sharing sharing.Kind) *broker.Broker {
	t.Helper()
	b := newBroker(t, broker.Deps{}, broker.Settings{
		Mode: broker.ModeTools,
		Servers: []upstream.Config{{
			Name: "kept", Command: fakeupstream.Command(), Args: fakeupstream.Args(fakeupstream.Stateful), Instances: sharing}},
	})
	for _, st := range b.Refresh(t.Context()) {
		if st.Err != nil {
			t.Fatal(st.Err)
		}
	}
	return b
}

// Each session over HTTP has its state in a server that keeps some, and in the
// protocol without sessions each token has. Where neither is known, all share it.
func TestSessionsOverHTTPHaveTheirInstances(t *testing.T) {
	b := statefulBroker(t, "")
	tokens := map[string]string{"ann": "secret-a", "bob": "secret-b"}
	url, open := serveHTTP(t, b, tokens).URL, serveHTTP(t, b, nil).URL
	ann := map[string]string{"Authorization": "Bearer secret-a"}
	with := func(base map[string]string, more ...string) map[string]string {
		h := map[string]string{}
		maps.Copy(h, base)
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	session := func() map[string]string {
		_, id, _ := post(t, t.Context(), url, initialize, ann)
		return with(ann, "Mcp-Session-Id", id)
	}
	one, two := session(), session()
	modern := []string{"Mcp-Protocol-Version", surface.StatelessSince, "Mcp-Method", "tools/call", "Mcp-Name", "call_tool"}
	var asked atomic.Int32
	for i, c := range []struct {
		url     string
		headers map[string]string
		want    int
	}{
		{url, one, 1}, {url, one, 2}, {url, two, 1}, {url, one, 3},
		{url, with(ann, modern...), 1}, {url, with(ann, modern...), 2}, {url, with(map[string]string{"Authorization": "Bearer secret-b"}, modern...), 1},
		{open, with(nil, modern...), 1}, {open, with(nil, modern...), 2},
	} {
		meta := ""
		if c.headers["Mcp-Method"] != "" {
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		}
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"call_tool","arguments":{"tool":"kept__count_session","arguments":{}}%s}}`, asked.Add(1)+10, meta)
		_, _, answer := post(t, t.Context(), c.url, body, c.headers)
		if !strings.Contains(answer, fmt.Sprintf(`"text":"%d"`, c.want)) {
			t.Errorf("call %d: %s, want %d", i, answer, c.want)
		}
	}
	req, err := http.NewRequest(http.MethodDelete, url+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range one {
		req.Header.Set(k, v)
	}
	before := b.Status()[0].Instances
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode >= 300 {
		t.Fatalf("end a session: %v, %v", res, err)
	}
	eventually(t, "the instance ends with its session", func() bool { return b.Status()[0].Instances == before-1 })
}

// clientWith returns a client that has dir as a root.
func clientWith(dir string) *mcp.Client {
	c := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	c.AddRoots(&mcp.Root{URI: "https://example.com/not-a-folder"}, &mcp.Root{URI: "file://" + filepath.ToSlash(dir)})
	return c
}

// connectLines connects c as a client of the daemon is connected.
func connectLines(t *testing.T, b *broker.Broker, c *mcp.Client, peer surface.Peer) *mcp.ClientSession {
	t.Helper()
	in, toBroker := io.Pipe()
	fromBroker, out := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = surface.ServeLines(t.Context(), b.Server("stdio"), peer, in, out)
		_ = out.Close()
	}()
	cs, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: fromBroker, Writer: toBroker}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close(); <-done })
	return cs
}

// connectHTTP connects c to an endpoint, with a token if it is not empty.
func connectHTTP(t *testing.T, url, token string, c *mcp.Client) *mcp.ClientSession {
	t.Helper()
	o := &mcp.StreamableClientTransport{Endpoint: url + "/mcp"}
	if token != "" {
		o.HTTPClient = &http.Client{Transport: bearer(token)}
	}
	cs, err := c.Connect(t.Context(), o, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// toolText calls a tool of "kept" and returns its text.
func toolText(t *testing.T, cs *mcp.ClientSession, tool string) string {
	t.Helper()
	res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "kept__" + tool, "arguments": map[string]any{}}})
	if err != nil || len(res.Content) == 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// Clients with the same roots share a server that is for a project, and it runs
// there. When the roots change, so does the server.
func TestProjectsByRoots(t *testing.T) {
	b := statefulBroker(t, sharing.PerProject)
	a, z := t.TempDir(), t.TempDir()
	client := clientWith(a)
	one := connectLines(t, b, client, surface.Peer{ID: "one"})
	two := connectLines(t, b, clientWith(a), surface.Peer{ID: "two"})
	three := connectLines(t, b, clientWith(z), surface.Peer{ID: "three"})
	where := func(cs *mcp.ClientSession) string { return toolText(t, cs, "where") }
	first := where(one)
	if !strings.HasSuffix(first, filepath.Base(a)) || where(two) != first || !strings.HasSuffix(where(three), filepath.Base(z)) {
		t.Errorf("the servers are %q, %q and %q", first, where(two), where(three))
	}
	client.RemoveRoots("file://" + filepath.ToSlash(a))
	client.AddRoots(&mcp.Root{URI: "file://" + filepath.ToSlash(z)})
	eventually(t, "the server is that of the new roots", func() bool { return where(one) == where(three) })
}

// An HTTP client cannot name a folder of this machine: no server starts in it, and it
// does not lead to another client's instance.
func TestFoldersOverHTTPAreNotBelieved(t *testing.T) {
	t.Parallel()
	for _, kind := range []sharing.Kind{sharing.PerProject, sharing.PerClient} {
		for _, token := range []string{"", "secret-a", "secret-b"} {
			t.Run(string(kind)+" token="+token, func(t *testing.T) {
				b := statefulBroker(t, kind)
				dir := t.TempDir()
				mine := connectLines(t, b, clientWith(dir), surface.Peer{ID: "mine"})
				if got := toolText(t, mine, "count_session"); got != "1" || !strings.HasSuffix(toolText(t, mine, "where"), filepath.Base(dir)) {
					t.Fatalf("the server of the folder counts %s, in %s", got, toolText(t, mine, "where"))
				}
				var tokens map[string]string
				if token != "" {
					tokens = map[string]string{"ann": "secret-a", "bob": "secret-b"}
				}
				cs := connectHTTP(t, serveHTTP(t, b, tokens).URL, token, clientWith(dir))
				if got := toolText(t, cs, "where"); strings.HasSuffix(got, filepath.Base(dir)) {
					t.Errorf("a server runs in %s", got)
				}
				if got := toolText(t, cs, "count_session"); got != "1" {
					t.Errorf("the server of another client counts %s", got)
				}
			})
		}
	}
}
