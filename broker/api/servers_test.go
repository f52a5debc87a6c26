package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/state"
)

// A serverFile is a config that the broker can change.
type serverFile struct {
	config.ServerFile
	t *testing.T
}

func (f serverFile) Disabled() (list []broker.ServerInfo) {
	data, err := os.ReadFile(string(f.ServerFile))
	if err != nil {
		f.t.Fatal(err)
	}
	cfg, err := config.Parse("", data)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, s := range cfg.Servers {
		if s.Disabled {
			list = append(list, broker.ServerInfo{Name: s.Name, Description: s.Description, Transport: s.Type})
		}
	}
	return list
}

func (f serverFile) Add(n NewServer) ([]string, error) {
	return []string{"a note"}, f.ServerFile.Add(n.Name, config.EntryOf(config.Server{Description: n.Description, Command: n.Command, Args: n.Args, Env: n.Env, URL: n.URL, Type: n.Type, Headers: n.Headers, Disabled: n.Disabled}))
}

// Users with the permission to change things add, enable and disable servers in the
// config, and the record says who did or tried it.
func TestServersAreChanged(t *testing.T) {
	v := newView(t)
	path := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"old": {"command": "old", "description": "Is old. token=ghp_abcdefghijklmnopqrstuvwxyz0123456789", "disabled": true}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	v.servers = serverFile{config.ServerFile(path), t}
	for _, tt := range []struct {
		may                bool
		method, path, body string
		status             int
		want, file         string // in the answer; in the file
	}{
		{true, http.MethodGet, "/api/servers", "", 200, `"name":"old","description":"Is old. token=[redacted]","transport":"stdio","status":"disabled"`, ""},
		{true, http.MethodGet, "/api/servers/old", "", 200, `"status":"disabled"`, ""},
		{false, http.MethodPost, "/api/servers", `{"name": "new", "command": "new"}`, 403, "only shows", `!"new"`},
		{false, http.MethodPut, "/api/servers/old", `{"enabled": true}`, 403, "only shows", `"disabled": true`},
		{true, http.MethodPost, "/api/servers", `{"name": "new", "command": "new", "args": ["-v"], "env": {"KEY": "${KEY}"}}`, 200, `{"server":"new","notes":["a note"]}`, `"new": {"command": "new"`},
		{true, http.MethodPost, "/api/servers", `{"name": "new", "command": "other"}`, 422, "already", `!"other"`},
		{true, http.MethodPost, "/api/servers", `{"name": "bad"}`, 422, "a program to start", `!"bad"`},
		{true, http.MethodPost, "/api/servers", `{"name": "bad", "shell": "rm"}`, 422, "shell", `!"bad"`},
		{true, http.MethodPut, "/api/servers/old", `{"enabled": true}`, 200, `"enabled":true`, `!disabled`},
		{true, http.MethodPut, "/api/servers/new", `{"enabled": false}`, 200, `"enabled":false`, `"disabled": true`},
		{true, http.MethodPut, "/api/servers/none", `{"enabled": false}`, 422, "no server", `"disabled": true`},
		{true, http.MethodPut, "/api/servers/new", `{}`, 422, "enabled", `"disabled": true`},
	} {
		v.may = tt.may
		status, text := v.ask(tt.method, tt.path, tt.body)
		data, err := os.ReadFile(path)
		without, absent := strings.CutPrefix(tt.file, "!")
		if err != nil || status != tt.status || !strings.Contains(text, tt.want) || strings.Contains(string(data), without) == absent {
			t.Errorf("%s %s %s: %d %s; want %d and %s; the file has %s, want %s", tt.method, tt.path, tt.body, status, text, tt.status, tt.want, data, tt.file)
		}
	}
	v.record("", "") // flush the earlier records
	list, err := v.store.Events(t.Context(), time.Time{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		if e.Kind == state.EventServers {
			got = append(got, e.Client+" "+e.Server+" "+map[bool]string{true: "failed "}[e.Failed]+e.Detail)
		}
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{"console new added", "console new failed not added: server \"new\" already exists", "console bad failed not added", "console old enabled", "console new disabled", "console none failed not disabled"} {
		if !strings.Contains(text, want) {
			t.Errorf("the record lacks %q:\n%s", want, text)
		}
	}
}

// A call that waits is shown with its line of the script and the name of its client;
// a line that no longer fits the script is left out.
func TestWaitingCallsHaveTheirPlace(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("A", 60)+"\n", 4) + "-----END RSA PRIVATE KEY-----"
	for _, tt := range []struct {
		name, code string
		line, want int
	}{
		{"in the script", "const a = 1;\nawait git.push({});\n", 2, 2},
		{"not known", "await git.push({});\n", 0, 0},
		{"beyond the script", "await git.push({});", 7, 0},
		{"a secret of one line", "const k = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789';\nawait git.push({});", 2, 2},
		{"a secret of several lines", "const k = `" + key + "`;\nawait git.push({});", 7, 0},
	} {
		v := newView(t)
		run := state.Run{ID: state.NewRunID(), Principal: state.Local, Client: "stdio", ClientInfo: "claude-code", Code: tt.code, Started: time.Now()}
		j := v.runs.Begin(run)
		c := state.RunCall{Ordinal: 1, Func: "call", Tool: "git__push", Line: tt.line, Class: "write", State: state.RunAsked, Made: time.Now()}
		run.Status, run.Expires = state.StatusWaiting, time.Now().Add(time.Hour)
		if err := errors.Join(j.Record(c, true), j.End(run)); err != nil {
			t.Fatal(err)
		}
		_, text := v.ask(http.MethodGet, "/api/runs/"+run.ID, "")
		var shown Run
		if err := json.Unmarshal([]byte(text), &shown); err != nil || len(shown.Calls) != 1 || shown.Calls[0].Line != tt.want || shown.Run.ClientInfo != "claude-code" {
			t.Errorf("%s: %v %s; want line %d", tt.name, err, text, tt.want)
		}
		if _, list := v.ask(http.MethodGet, "/api/approvals", ""); !strings.Contains(list, `"client_info":"claude-code"`) {
			t.Errorf("%s: the list is %s", tt.name, list)
		}
	}
}

// Each server with tools has a description, its own or one made of its tools.
func TestServersAreDescribed(t *testing.T) {
	tools := func(names ...string) (list []discovery.ListedTool) {
		for _, n := range names {
			list = append(list, discovery.ListedTool{Name: n, InputSchema: json.RawMessage(`{"type":"object"}`)})
		}
		return list
	}
	b, err := broker.New(broker.Deps{
		Runner: idle{},
		Fixed: []discovery.Listing{
			{Server: "notes", Description: "Notes of the team", Tools: tools("add", "list")},
			{Server: "few", Tools: tools("add", "list", "say \"hello\" to you")},
			{Server: "many", Tools: tools("a", "b", "c", "d", "e")},
			{Server: "none"},
		},
	}, broker.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	v := newView(t)
	v.read.Broker = b
	_, text := v.ask(http.MethodGet, "/api/servers", "")
	var got struct {
		Servers []struct{ Name, Description string }
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"notes": "Notes of the team", "few": `Tools: add, list, "say \"hello\" to you"`, "many": "Tools: a, b, c and 2 more", "none": ""}
	for _, s := range got.Servers {
		if s.Description != want[s.Name] {
			t.Errorf("%s is described as %q, want %q", s.Name, s.Description, want[s.Name])
		}
	}
	if len(got.Servers) != len(want) {
		t.Errorf("servers %+v", got.Servers)
	}
}
