package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// An execution of one broker is ended at another one that shares its database.
func TestCancelAtAnotherBroker(t *testing.T) {
	t.Parallel()
	config := fleetConfig(t, map[string]any{}, sharedDatabase(t).Address(), map[string]any{"http": map[string]any{"adminToken": "0123456789abcdef0123456789abcdef"}})
	var urls []string
	for range 2 {
		url, end := startHTTP(t, brokerCommand(t, "serve", "--http", "127.0.0.1:0", "--config", config, "--state-dir", t.TempDir()))
		t.Cleanup(end)
		urls = append(urls, url)
	}
	ask := func(method, path string, into any) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(urls[1], "/mcp")+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer 0123456789abcdef0123456789abcdef")
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s %s: %s", method, path, text)
		}
		return resp.StatusCode
	}
	answer := make(chan string, 1)
	go func() {
		answer <- post(t, urls[0], "tools/call", `{"name":"execute_code","arguments":{"code":"await new Promise((r) => setTimeout(r, 100000))","timeout":110}}`)
	}()
	var list struct{ Executions []struct{ ID, Status string } }
	eventually.True(t, "the other broker shows the execution", func() bool {
		ask(http.MethodGet, "/api/executions?status=running", &list)
		return len(list.Executions) == 1
	})
	path := "/api/executions/" + list.Executions[0].ID
	var accepted struct{ Execution string }
	if status := ask(http.MethodPost, path+"/cancel", &accepted); status != http.StatusAccepted {
		t.Fatalf("cancel: %d", status)
	}
	if got := <-answer; !strings.Contains(got, "has cancelled the execution") {
		t.Errorf("answer %.500s", got)
	}
	var shown struct{ Execution struct{ Status string } }
	if ask(http.MethodGet, path, &shown); shown.Execution.Status != "cancelled" {
		t.Errorf("status %q, want cancelled", shown.Execution.Status)
	}
	var problem struct{ Code string }
	if status := ask(http.MethodPost, path+"/cancel", &problem); status != http.StatusConflict || problem.Code != "not_running" {
		t.Errorf("once more: %d %s", status, problem.Code)
	}
}
