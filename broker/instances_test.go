//lint:file-ignore SA1019 roots are deprecated since 2026-07-28, and clients have them still

package broker_test

import (
	"context"
	"fmt"
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
	b := newBroker(t, broker.Options{Mode: broker.ModeTools, Servers: []upstream.Config{{
		Name: "kept", Command: fakeupstream.Command(), Args: fakeupstream.Args(fakeupstream.Stateful), Instances: sharing}}})
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

// Clients with the same roots share a server that is for a project, and it runs
// there. When the roots change, so does the server.
func TestProjectsByRoots(t *testing.T) {
	b := statefulBroker(t, sharing.PerProject)
	url := serveHTTP(t, b, nil).URL
	connect := func(dir string) (*mcp.Client, *mcp.ClientSession) {
		c := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
		c.AddRoots(&mcp.Root{URI: "https://example.com/not-a-folder"}, &mcp.Root{URI: "file://" + filepath.ToSlash(dir)})
		cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/mcp"}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cs.Close() })
		return c, cs
	}
	where := func(cs *mcp.ClientSession) string {
		res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "kept__where", "arguments": map[string]any{}}})
		if err != nil || len(res.Content) == 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	a, z := t.TempDir(), t.TempDir()
	client, one := connect(a)
	_, two := connect(a)
	_, three := connect(z)
	first := where(one)
	if !strings.HasSuffix(first, filepath.Base(a)) || where(two) != first || !strings.HasSuffix(where(three), filepath.Base(z)) {
		t.Errorf("the servers are %q, %q and %q", first, where(two), where(three))
	}
	client.RemoveRoots("file://" + filepath.ToSlash(a))
	client.AddRoots(&mcp.Root{URI: "file://" + filepath.ToSlash(z)})
	eventually(t, "the server is that of the new roots", func() bool { return where(one) == where(three) })
}
