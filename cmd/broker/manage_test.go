package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// request sends JSON with a token and returns the status and the answer.
func request(t testing.TB, method, url, token, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// A change over HTTP is in force when it is answered, and clients are told.
func TestChangesOverHTTPReachRunningSessions(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("HOME", dir)
	t.Setenv("ADMIN_TOKEN", "admin-secret")
	put := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := put("servers.json", `{"mcpServers": {}, "broker": {"http": {"adminToken": "${ADMIN_TOKEN}"}}}`)
	put("skills/custom/notes/SKILL.md", "---\nname: notes\ndescription: Writes notes. Use for notes.\n---\n\nDo it.\n")
	put("tools/.claude-plugin/plugin.json", `{"name": "tools"}`)
	put("tools/.mcp.json", `{"mcpServers": {"shelf": {"command": "shelf"}}}`)
	put("tools/commands/call.md", "Call $ARGUMENTS.\n")
	url := serveHTTP(t, config)
	base := strings.TrimSuffix(url, "/mcp") + "/api"

	tools, prompts := make(chan struct{}, 10), make(chan struct{}, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler:   func(context.Context, *mcp.ToolListChangedRequest) { tools <- struct{}{} },
		PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) { prompts <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	told := func(what string, of <-chan struct{}) {
		t.Helper()
		select {
		case <-of:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the client was not told", what)
		}
	}
	has := func(name string) bool {
		t.Helper()
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if tool.Name == name {
				return true
			}
		}
		return false
	}
	if !has("activate_skill") {
		t.Fatal("there is no tool for the skill")
	}
	if status, text := request(t, "PUT", base+"/skills/notes", "admin-secret", `{"enabled": false}`); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	if has("activate_skill") {
		t.Error("the skill is off, and its tool is still there")
	}
	told("skill off", tools)
	source := `"path": "` + filepath.ToSlash(dir) + `/tools"`
	status, text := request(t, "POST", base+"/plugins/install", "admin-secret", `{`+source+`}`)
	var shown struct{ Approval struct{ Digest string } }
	if err := json.Unmarshal([]byte(text), &shown); status != 409 || err != nil || shown.Approval.Digest == "" {
		t.Fatalf("%d %s, %v", status, text, err)
	}
	if status, text := request(t, "POST", base+"/plugins/install", "admin-secret", `{`+source+`, "approve": {"digest": "`+shown.Approval.Digest+`", "servers": ["tools:shelf"]}}`); status != 201 {
		t.Fatalf("%d %s", status, text)
	}
	told("plugin installed", prompts)
	res, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "tools:call", Arguments: map[string]string{"arguments": "Ann"}})
	if err != nil || res.Messages[0].Content.(*mcp.TextContent).Text != "Call Ann." {
		t.Errorf("the command of the plugin: %+v, %v", res, err)
	}
	servers, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_servers"})
	if err != nil || !strings.Contains(servers.Content[0].(*mcp.TextContent).Text, `"tools:shelf"`) {
		t.Errorf("the server of the plugin: %+v, %v", servers, err)
	}
	if status, text := request(t, "GET", base+"/plugins/tools", "", ""); status != 200 || !strings.Contains(text, `"overridden_servers":[]`) {
		t.Errorf("the plugin: %d %s", status, text)
	}
	if status, text := request(t, "PUT", base+"/skills/notes", "guess", `{"enabled": true}`); status != 401 || strings.Contains(text, dir) {
		t.Errorf("a wrong token: %d %s", status, text)
	}
}

func TestAdminTokenIsItsOwn(t *testing.T) {
	for config, want := range map[string]string{
		`{"mcpServers": {}, "broker": {"http": {"adminToken": "${SAME}", "tokens": {"ann": "${SAME}"}}}}`: "also the token of",
		`{"mcpServers": {}, "broker": {"http": {"adminToken": "${NONE:-}"}}}`:                             "is empty",
	} {
		path := filepath.Join(t.TempDir(), "servers.json")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("XDG_STATE_HOME", t.TempDir())
		t.Setenv("SAME", "x")
		out, err := brokerCommand(t, "serve", "--http", "127.0.0.1:0", "--config", path).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s; want that it %s", config, err, out, want)
		}
	}
}
