package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// talk is the context of a conversation, and what ends it.
func talk(t *testing.T, id string, folders ...string) (context.Context, func()) {
	over, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	return WithConversation(t.Context(), &Conversation{ID: id, Over: over, Folders: func(context.Context) []string { return folders }}), end
}

// ask calls a tool without arguments and returns its text.
func (l *lab) ask(t *testing.T, ctx context.Context, tool string) string {
	t.Helper()
	raw, err := l.Call(ctx, "s", tool, nil, nil)
	if err != nil {
		t.Fatalf("call %s: %v", tool, err)
	}
	return textOf(t, raw)
}

// stateful is a pool with a server that keeps state.
func stateful(t *testing.T, change func(*Config)) *lab {
	c := fake("s", fakeupstream.Stateful)
	if change != nil {
		change(&c)
	}
	p := newPool(t, nil, c)
	p.Refresh(t.Context())
	return &lab{Pool: p, server: p.roster.Load().servers[0]}
}

func TestEachClientHasItsState(t *testing.T) {
	l := stateful(t, nil)
	if st := l.Status()[0]; st.Sharing != sharing.PerClient || !strings.Contains(st.SharingWhy, "count_session") {
		t.Fatalf("sharing is %s: %s", st.Sharing, st.SharingWhy)
	}
	one, endOne := talk(t, "one")
	two, _ := talk(t, "two")
	for i, c := range []struct {
		ctx  context.Context
		want string
	}{{one, "1"}, {one, "2"}, {two, "1"}, {one, "3"}, {t.Context(), "1"}} {
		if got := l.ask(t, c.ctx, "count_session"); got != c.want {
			t.Errorf("call %d: the server counted %s, want %s", i, got, c.want)
		}
	}
	if n := l.Status()[0].Instances; n != 2 {
		t.Errorf("%d instances, want 2", n)
	}
	endOne()
	eventually.True(t, "the instance ends with its conversation", func() bool { return l.Status()[0].Instances == 1 })
	if got := l.ask(t, two, "count_session"); got != "2" {
		t.Errorf("the other conversation is at %s, want 2", got)
	}
}

func TestEachProjectHasAnInstanceInItsFolder(t *testing.T) {
	l := stateful(t, func(c *Config) { c.Instances = sharing.PerProject })
	a, b := t.TempDir(), t.TempDir()
	ofA, endOfA := talk(t, "one", a)
	alsoA, _ := talk(t, "two", a)
	ofB, _ := talk(t, "three", b)
	nowhere, _ := talk(t, "four")
	at := make([]string, 4)
	for i, ctx := range []context.Context{ofA, alsoA, ofB, nowhere} {
		at[i] = l.ask(t, ctx, "where")
	}
	if at[0] != at[1] || at[0] == at[2] || at[3] == at[0] || !strings.HasSuffix(at[0], filepath.Base(a)) || !strings.HasSuffix(at[2], filepath.Base(b)) {
		t.Errorf("the instances are %q, for %s twice, %s and nowhere", at, a, b)
	}
	endOfA()
	if got := l.ask(t, alsoA, "where"); got != at[0] {
		t.Errorf("the instance of a project ended with a conversation: %q, then %q", at[0], got)
	}
}

func TestInstancesAreBounded(t *testing.T) {
	l := newLab(t, Config{Instances: sharing.PerClient}, nil)
	pipes := l.server.dial.Pipes
	l.Refresh(t.Context())
	for i := range maxInstances + 3 {
		ctx, _ := talk(t, fmt.Sprint(i))
		at, leave, err := l.server.instanceFor(ctx)
		if i < maxInstances {
			if err != nil {
				t.Fatal(err)
			}
			at.dial.Pipes = pipes
			if i > 0 { // the first one stays in use
				leave()
			}
			continue
		}
		if err != nil || len(l.server.instances.byKey) != maxInstances || l.server.instances.byKey[clientKey+owned(&Conversation{}, "0")] == nil {
			t.Fatalf("%d instances, %v", len(l.server.instances.byKey), err)
		}
		defer leave()
	}
	for i := range maxInstances - 4 {
		ctx, _ := talk(t, fmt.Sprint("more ", i))
		if _, _, err := l.server.instanceFor(ctx); err != nil {
			t.Fatal(err)
		}
	}
	ctx, _ := talk(t, "one too many")
	if _, _, err := l.server.instanceFor(ctx); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("the error is %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := l.server.instanceFor(ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close the error is %v", err)
	}
}

// A server that reads, changes and writes a file loses nothing when it gets one
// call at a time.
func TestOneCallAtATime(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	l := stateful(t, func(c *Config) {
		c.MaxInFlight, c.Instances, c.Env = 1, sharing.Shared, map[string]string{"FAKE_NOTES": notes}
	})
	const writers, each = 4, 15
	var wg sync.WaitGroup
	for w := range writers {
		ctx, _ := talk(t, fmt.Sprint(w))
		for i := range each {
			wg.Go(func() {
				args, _ := json.Marshal(map[string]string{"text": fmt.Sprintf("%d.%d", w, i)})
				if _, err := l.Call(ctx, "s", "remember", args, nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	text, err := os.ReadFile(notes)
	if n := strings.Count(string(text), "\n"); err != nil || n != writers*each {
		t.Errorf("%d of %d notes are left, %v", n, writers*each, err)
	}
}

// What an instance lists after a call is known to everybody.
func TestToolsOfAnInstanceBecomeKnown(t *testing.T) {
	l := stateful(t, nil)
	ctx, _ := talk(t, "one")
	l.ask(t, ctx, "more")
	eventually.True(t, "the new tool is listed", func() bool { return slices.Contains(toolNames(t, l.Pool), "extra") })
	if got := l.ask(t, ctx, "extra"); got != "extra" {
		t.Errorf("extra answers %q", got)
	}
}

// A server that has asked a client something outside of a result has an instance
// for each client from then on, also in the next broker.
func TestServerThatAskedIsNotShared(t *testing.T) {
	o := &Options{CacheDir: t.TempDir(), Capabilities: questions.Capabilities{Form: true}}
	c := fake("s", fakeupstream.AsksLegacy)
	p := newPool(t, o, c)
	p.Refresh(t.Context())
	if st := p.Status()[0]; st.Sharing != sharing.Shared {
		t.Fatalf("sharing is %s before: %s", st.Sharing, st.SharingWhy)
	}
	_, _ = p.Call(t.Context(), "s", "form", nil, nil)
	if st := p.Status()[0]; st.Sharing != sharing.PerClient {
		t.Errorf("sharing is %s afterwards: %s", st.Sharing, st.SharingWhy)
	}
	p.Close()
	if st := newPool(t, o, c).Status()[0]; st.Sharing != sharing.PerClient || st.SharingWhy != "it asks its client questions" {
		t.Errorf("sharing is %s in another pool: %s", st.Sharing, st.SharingWhy)
	}
}

func TestSharing(t *testing.T) {
	yes := true
	tools := func(names ...string) (list []discovery.ListedTool) {
		for _, n := range names {
			list = append(list, discovery.ListedTool{Name: n})
		}
		return list
	}
	npx := func(args ...string) Config {
		return Config{Command: "npx", Args: append([]string{"-y"}, args...)}
	}
	for _, c := range []struct {
		name  string
		cfg   Config
		tools []discovery.ListedTool
		asks  bool
		want  sharing.Kind
	}{
		{"unknown", Config{Command: "x"}, tools("list_books", "create_issue", "issue_type_set"), false, sharing.Shared},
		{"asks", Config{Command: "x"}, nil, true, sharing.PerClient},
		{"browser by its tools", Config{URL: "https://x"}, tools("open", "browser_click"), false, sharing.PerClient},
		{"camel case", Config{Command: "x"}, tools("selectDatabase"), false, sharing.PerClient},
		{"read-only", Config{Command: "x"}, []discovery.ListedTool{{Name: "get_session", Annotations: discovery.Annotations{ReadOnly: &yes}}}, false, sharing.Shared},
		{"configured", Config{Command: "x", Instances: sharing.Shared}, tools("click"), true, sharing.Shared},
		{"playwright", npx("@playwright/mcp@latest", "--headless"), nil, false, sharing.PerClient},
		{"memory", npx("@modelcontextprotocol/server-memory"), tools("set_x"), true, sharing.Shared},
		{"filesystem", npx("@modelcontextprotocol/server-filesystem@2026.8.31", "/data"), nil, false, sharing.PerProject},
		{"behind a shell", Config{Command: "sh", Args: []string{"-c", "npx -y @modelcontextprotocol/server-filesystem ."}}, nil, false, sharing.PerProject},
		{"image", Config{Command: "docker", Args: []string{"run", "-i", "--rm", "mcp/sequentialthinking:1.2"}}, nil, false, sharing.PerClient},
		{"git", Config{Command: "uvx", Args: []string{"mcp-server-git==2.0"}}, nil, false, sharing.PerProject},
		{"command", Config{Command: `C:\bin\mcp-language-server.exe`}, nil, false, sharing.PerProject},
	} {
		if got, why := c.cfg.sharing(c.tools, c.asks); got != c.want || why == "" {
			t.Errorf("%s: %s since %q, want %s", c.name, got, why, c.want)
		}
	}
	for _, memory := range []Config{
		npx("@modelcontextprotocol/server-memory"),
		{Command: "node", Args: []string{"/opt/app/node_modules/@modelcontextprotocol/server-memory/dist/index.js"}},
	} {
		if n := memory.withDefaults().MaxInFlight; n != 1 {
			t.Errorf("memory, as %v, gets %d calls at a time", memory.Args, n)
		}
	}
	for _, c := range []struct{ before, after []string }{
		{[]string{"@playwright/mcp@latest"}, []string{"@playwright/mcp@latest", "--isolated"}},
		{[]string{"@playwright/mcp", "--user-data-dir=/x"}, []string{"@playwright/mcp", "--user-data-dir=/x"}},
		{[]string{"other"}, []string{"other"}},
	} {
		got := Config{Command: "npx", Args: c.before}.apart("/project")
		if !slices.Equal(got.Args, c.after) || got.Dir != "/project" {
			t.Errorf("apart of %q is %q in %q", c.before, got.Args, got.Dir)
		}
	}
	if got := (Config{Command: "x", Dir: "/own"}).apart("/project"); got.Dir != "/own" {
		t.Errorf("a configured folder was replaced by %q", got.Dir)
	}
}
