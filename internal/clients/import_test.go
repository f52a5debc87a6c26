package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// testEnv is an Env below a temporary directory, with these files in its home
// ("~/…") and its project.
func testEnv(t *testing.T, goos string, files map[string]string) Env {
	t.Helper()
	root := t.TempDir()
	e := Env{OS: goos, Home: filepath.Join(root, "home"), AppData: filepath.Join(root, "home", "AppData", "Roaming"), Dir: filepath.Join(root, "project")}
	for name, content := range files {
		path := filepath.Join(e.Dir, name)
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			path = filepath.Join(e.Home, rest)
		}
		writeFile(t, path, strings.ReplaceAll(content, "$DIR", e.Dir))
	}
	return e
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// importAll is what an import of the client writes, minified, and its notes.
func importAll(t *testing.T, id string, e Env) (servers string, outcomes []Outcome) {
	t.Helper()
	o := &Options{LooksSecret: func(s string) bool { return strings.Contains(s, "ghp_") }}
	sources := Read(Lookup(id), e, o)
	for _, s := range sources {
		if s.Err != nil {
			t.Fatalf("%s: %v", s.Path, s.Err)
		}
	}
	data, outcomes, err := Merge("servers.json", []byte(config.NewFile), sources, false)
	if err != nil {
		t.Fatal(err)
	}
	var root struct {
		McpServers json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	return compact(t, string(root.McpServers)), outcomes
}

func compact(t *testing.T, s string) string {
	t.Helper()
	v, _, err := config.LookupKey([]byte(s), nil)
	if err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	out, err := json.Marshal(config.Value(v))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestImportConvertsEntries(t *testing.T) {
	tests := []struct {
		name, client string
		files        map[string]string
		want         string
		notes        []string // each must be part of a note or detail
	}{
		{"claude code: local before project before user, and the broker left out", "claude-code", map[string]string{
			".mcp.json": `{"mcpServers": {"a": {"type": "stdio", "command": "a-project"}, "b": {"type": "http", "url": "https://b/mcp", "headers": {"X": "${B_KEY}"}}, "off": {"command": "x"}}}`,
			"~/.claude.json": `{"projects": {"$DIR": {"mcpServers": {"a": {"command": "a-local", "alwaysLoad": true}}, "disabledMcpjsonServers": ["off"]}},
				"mcpServers": {"c": {"type": "sse", "url": "https://c/sse", "timeout": 60000}, "broker": {"command": "/usr/bin/broker", "args": ["serve"]}}}`,
		}, `{"a": {"command": "a-local"}, "b": {"type": "http", "url": "https://b/mcp", "headers": {"X": "${B_KEY}"}}, "off": {"command": "x", "disabled": true},
			"c": {"type": "sse", "url": "https://c/sse", "callTimeout": 60}}`,
			[]string{"another server of this name", "alwaysLoad", "the broker itself"}},
		{"claude desktop: no references", "claude-desktop", map[string]string{
			"~/.config/Claude/claude_desktop_config.json": `{"mcpServers": {"a": {"command": "npx", "args": ["-y", "a", "${X}"], "env": {"GITHUB_TOKEN": "ghp_1"}}}}`,
		}, `{"a": {"command": "npx", "args": ["-y", "a", "$${X}"], "env": {"GITHUB_TOKEN": "ghp_1"}}}`,
			[]string{"Claude Desktop does not replace", `write "${GITHUB_TOKEN}" there`}},
		{"cursor: comments, env references, workspace", "cursor", map[string]string{
			".cursor/mcp.json": "{ // mine\n \"mcpServers\": {\"a\": {\"command\": \"${workspaceFolder}/bin/a\", \"env\": {\"K\": \"${env:MY_KEY}\", \"N\": 3,}, \"envFile\": \".env\"},},}",
		}, `{"a": {"command": "${workspaceFolder}/bin/a", "env": {"K": "${MY_KEY}", "N": "3"}}}`,
			[]string{`envFile ".env" is not read`}},
		{"vscode: inputs", "vscode", map[string]string{
			".vscode/mcp.json": `{"inputs": [{"type": "promptString", "id": "gh-token", "description": "GitHub token", "password": true}],
				"servers": {"gh": {"type": "http", "url": "https://gh/mcp", "headers": {"Authorization": "Bearer ${input:gh-token}"}, "gallery": "x"}, "cmd": {"command": "${command:pick}"}}}`,
		}, `{"gh": {"type": "http", "url": "https://gh/mcp", "headers": {"Authorization": "Bearer ${GH_TOKEN}"}}, "cmd": {"command": "$${command:pick}"}}`,
			[]string{"set GH_TOKEN in the broker's environment (was input gh-token: GitHub token)", "${command:pick} is kept as plain text", "gallery"}},
		{"codex: toml", "codex", map[string]string{"~/.codex/config.toml": `model = "x"
[mcp_servers.z]
command = "z"
args = ["--flag"]
env_vars = ["HOME_PROXY"]
startup_timeout_sec = 20
tool_timeout_sec = 90.5
enabled_tools = ["read", "list"]
disabled_tools = ["rm"]
[mcp_servers.z.env]
B = "2"
A = "1"
[mcp_servers.a]
url = "https://a/mcp"
bearer_token_env_var = "A_TOKEN"
http_headers = { "X-Team" = "core" }
env_http_headers = { "X-Id" = "MY_ID" }
enabled = false
[mcp_servers.a.tools.rm]
approval_mode = "prompt"
`}, `{"z": {"command": "z", "args": ["--flag"], "env": {"A": "1", "B": "2", "HOME_PROXY": "${HOME_PROXY:-}"}, "tools": {"allow": ["read", "list"], "deny": ["rm"]}, "startTimeout": 20, "callTimeout": 90.5},
			"a": {"url": "https://a/mcp", "headers": {"Authorization": "Bearer ${A_TOKEN}", "X-Id": "${MY_ID}", "X-Team": "core"}, "disabled": true}}`,
			[]string{"only Codex knows it: tools"}},
		{"gemini: sse, bare variables, excluded", "gemini", map[string]string{
			"~/.gemini/settings.json": `{"mcp": {"excluded": ["c"]}, "mcpServers": {"a": {"url": "https://a/sse"}, "b": {"httpUrl": "https://b/mcp", "timeout": 30000, "trust": true},
				"c": {"command": "c", "args": ["$HOME/x", "${Y}", "5$", "$1"], "includeTools": ["t(1)"], "excludeTools": ["u"]}}}`,
		}, `{"a": {"type": "sse", "url": "https://a/sse"}, "b": {"type": "http", "url": "https://b/mcp", "callTimeout": 30},
			"c": {"command": "c", "args": ["${HOME}/x", "${Y}", "5$", "$1"], "tools": {"allow": ["t"], "deny": ["u"]}, "disabled": true}}`,
			[]string{"trust"}},
		{"windsurf: serverUrl", "windsurf", map[string]string{
			"~/.codeium/windsurf/mcp_config.json": `{"mcpServers": {"a": {"serverUrl": "https://a/mcp?api_key=abcdef123456", "disabledTools": ["x"], "disabled": true}}}`,
		}, `{"a": {"url": "https://a/mcp?api_key=abcdef123456", "tools": {"deny": ["x"]}, "disabled": true}}`, []string{"a part of the url is a secret"}},
		{"zed: old and new shape", "zed", map[string]string{
			"~/.config/zed/settings.json": `{"theme": "x", /* c */ "context_servers": {"old": {"command": {"path": "o", "args": ["1"], "env": {"A": "b"}}}, "new": {"source": "custom", "command": "n", "args": []}, "ext": {"settings": {}}}}`,
		}, `{"old": {"command": "o", "args": ["1"], "env": {"A": "b"}}, "new": {"command": "n"}}`, []string{"run by an extension of Zed"}},
		{"opencode: command list", "opencode", map[string]string{
			"opencode.json": `{"$schema": "x", "mcp": {"a": {"type": "local", "command": ["npx", "-y", "a"], "environment": {"T": "{env:A_T}"}, "timeout": 5000}, "b": {"type": "remote", "url": "https://b/mcp", "enabled": false}}}`,
		}, `{"a": {"command": "npx", "args": ["-y", "a"], "env": {"T": "${A_T}"}, "startTimeout": 5}, "b": {"url": "https://b/mcp", "disabled": true}}`, nil},
		{"what cannot be used is skipped with its reason", "cursor", map[string]string{
			"~/.cursor/mcp.json": `{"mcpServers": {"none": {}, "both": {"command": "x", "url": "https://x"}, "ws": {"type": "ws", "url": "https://x"}, "bad": {"url": "nothing"}, "odd": 3, "good": {"command": "g"}}}`,
		}, `{"good": {"command": "g"}}`, []string{"neither", "has both", `type "ws"`, "is not a valid URL", "not an object"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := testEnv(t, "linux", tt.files)
			got, outcomes := importAll(t, tt.client, e)
			want := compact(t, strings.ReplaceAll(tt.want, "$DIR", filepath.ToSlash(e.Dir)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("import mismatch (-want +got):\n%s", diff)
			}
			var said []string
			for _, o := range outcomes {
				said = append(append(said, o.Detail), o.Notes...)
			}
			for _, note := range tt.notes {
				if !strings.Contains(strings.Join(said, "\n"), note) {
					t.Errorf("nothing says %q:\n%s", note, strings.Join(said, "\n"))
				}
			}
		})
	}
}

func TestImportMakesProjectPathsAbsolute(t *testing.T) {
	e := testEnv(t, "linux", map[string]string{
		".mcp.json": `{"mcpServers": {"rel": {"command": "./srv"}, "file": {"command": "node", "args": ["srv.js"]}, "cwd": {"command": "x", "cwd": "sub"}, "plain": {"command": "npx", "args": ["-y", "a/b"]}}}`,
		"srv.js":    "",
	})
	got, _ := importAll(t, "claude-code", e)
	dir := e.Dir
	want := compact(t, `{"rel": {"command": "./srv", "cwd": "`+dir+`"}, "file": {"command": "node", "args": ["srv.js"], "cwd": "`+dir+`"}, "cwd": {"command": "x", "cwd": "`+dir+`/sub"}, "plain": {"command": "npx", "args": ["-y", "a/b"]}}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("import mismatch (-want +got):\n%s", diff)
	}
}

func TestHomeDirectoryIsNoSecondProject(t *testing.T) {
	e := testEnv(t, "linux", map[string]string{"~/.cursor/mcp.json": `{"mcpServers": {"a": {"command": "x"}}}`})
	e.Dir = e.Home
	if sources := Read(Lookup("cursor"), e, nil); len(sources) != 1 || sources[0].Scope != "user" {
		t.Errorf("Read = %+v, want the user's file alone", sources)
	}
}

func TestMergeKeepsWhatIsThere(t *testing.T) {
	before := "{\n  // mine\n  \"mcpServers\": {\n    \"same\": { \"command\": \"x\", \"args\": [ \"1\" ] }, // s\n    \"other\": { \"command\": \"old\" }\n  }\n}\n"
	entry := func(name, command string, args ...string) Entry {
		o := config.Object{{Key: "command", Value: command}}
		if len(args) > 0 {
			o = append(o, config.Field{Key: "args", Value: args})
		}
		return Entry{Name: name, Config: o}
	}
	sources := []Source{{Path: "f", Servers: []Entry{entry("same", "x", "1"), entry("other", "new"), entry("fresh", "f")}}}
	for _, force := range []bool{false, true} {
		data, outcomes, err := Merge("servers.json", []byte(before), sources, force)
		if err != nil {
			t.Fatal(err)
		}
		command, action := "old", Conflict
		if force {
			command, action = "new", Replaced
		}
		want := strings.Replace(before, `"command": "old" }`, `"command": "`+command+`" },`+"\n    \"fresh\": { \"command\": \"f\" }", 1)
		if diff := cmp.Diff(want, string(data)); diff != "" {
			t.Errorf("Merge(force %t) mismatch (-want +got):\n%s", force, diff)
		}
		for i, a := range []Action{Same, action, Added} {
			if outcomes[i].Action != a {
				t.Errorf("Merge(force %t): %s is %s, want %s", force, outcomes[i].Name, outcomes[i].Action, a)
			}
		}
	}
}

func TestReadFileKnowsRootKeys(t *testing.T) {
	for content, name := range map[string]string{
		`{"mcpServers": {"a": {"command": "x"}}}`:         "any.json",
		`{"servers": {"a": {"command": "x"}}}`:            "any.json",
		`{"context_servers": {"a": {"command": "x"}}}`:    "any.json",
		`{"mcp_servers": {"a": {"command": "x"}}}`:        "any.json",
		`{"amp.mcpServers": {"a": {"command": "x"}}}`:     "any.json",
		`{"mcp": {"servers": {"a": {"command": "x"}}}}`:   "any.json",
		`{"mcp": {"a": {"command": ["x"]}}}`:              "opencode.json",
		"[mcp_servers.a]\ncommand = \"x\"\n":              "any.toml",
		`{"mcpServers": {"a": {"command": "x"}}, "n": 1}`: ".vscode/mcp.json",
	} {
		path := filepath.Join(t.TempDir(), name)
		writeFile(t, path, content)
		sources, err := ReadFile(nil, path, testEnv(t, "linux", nil), nil)
		if err != nil || len(sources) != 1 || len(sources[0].Servers) != 1 || sources[0].Servers[0].Config.Get("command") != "x" {
			t.Errorf("ReadFile of %s = %+v, %v", content, sources, err)
		}
	}
	for content, want := range map[string]string{`{"x": 1}`: "has no servers", `{"mcpServers": 1}`: "not an object", `{"mcpServers": `: "closed"} {
		path := filepath.Join(t.TempDir(), "x.json")
		writeFile(t, path, content)
		if _, err := ReadFile(nil, path, Env{}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadFile of %s: %v, want an error with %q", content, err, want)
		}
	}
}

// The files of other brokers: the list of mcpproxy, the export of MetaMCP.
func TestReadFileKnowsOtherBrokers(t *testing.T) {
	tests := []struct{ name, content, want, notes string }{
		{"mcpproxy", `{"listen": "127.0.0.1:8080", "mcpServers": [
			{"name": "gh", "url": "https://gh/mcp", "protocol": "http", "headers": {"Authorization": "Bearer ${env:GH}"}, "enabled": true, "created": "2026-01-01T00:00:00Z",
				"oauth": {"client_id": "me", "scopes": ["repo"], "redirect_uri": "http://127.0.0.1:9/cb"}},
			{"name": "files", "command": "npx", "args": ["-y", "files"], "protocol": "stdio", "working_dir": "/srv", "env": {"K": "${keyring:k}"}, "enabled": false, "isolation": {"enabled": true}},
			{"name": "new", "command": "new", "quarantined": true}]}`,
			`{"gh": {"url": "https://gh/mcp", "type": "http", "headers": {"Authorization": "Bearer ${GH}"}, "oauth": {"clientId": "me", "scopes": ["repo"], "callbackPort": 9}},
				"files": {"command": "npx", "args": ["-y", "files"], "cwd": "/srv", "env": {"K": "${keyring:k}"}, "disabled": true},
				"new": {"command": "new", "disabled": true}}`, "isolation created callbackPort quarantine"},
		{"metamcp", `{"mcpServers": {"hn": {"type": "stdio", "command": "uvx", "args": ["mcp-hn"]}, "api": {"type": "streamable_http", "url": "https://api/mcp", "bearerToken": "${API}"}}}`,
			`{"hn": {"command": "uvx", "args": ["mcp-hn"]}, "api": {"type": "http", "url": "https://api/mcp", "headers": {"Authorization": "Bearer ${API}"}}}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), ".mcpproxy", "mcp_config.json")
			writeFile(t, path, tt.content)
			sources, err := ReadFile(nil, path, testEnv(t, "linux", nil), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[string]any)
			var notes []string
			for _, e := range sources[0].Servers {
				got[e.Name] = e.Config
				notes = append(append(notes, e.Notes...), e.Skip)
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			var have, want any
			if err := errors.Join(json.Unmarshal(text, &have), json.Unmarshal([]byte(tt.want), &want)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("ReadFile mismatch (-want +got):\n%s", diff)
			}
			for word := range strings.FieldsSeq(tt.notes) {
				if !strings.Contains(strings.Join(notes, "\n"), word) {
					t.Errorf("no note speaks of %s: %q", word, notes)
				}
			}
		})
	}
	path := filepath.Join(t.TempDir(), "x.json")
	writeFile(t, path, `{"mcpServers": [{"command": "x"}]}`)
	if _, err := ReadFile(nil, path, Env{}, nil); err == nil || !strings.Contains(err.Error(), "mcpServers[0] has no name") {
		t.Errorf("a server without a name: %v", err)
	}
}

func TestPathsOfOperatingSystems(t *testing.T) {
	e := Env{Home: "/h", AppData: "/h/AppData/Roaming", Dir: "/p"}
	for goos, want := range map[string]map[string]string{
		"linux": {"claude-desktop": "/h/.config/Claude/claude_desktop_config.json", "vscode": "/h/.config/Code/User/mcp.json", "zed": "/h/.config/zed/settings.json"},
		"darwin": {"claude-desktop": "/h/Library/Application Support/Claude/claude_desktop_config.json", "vscode": "/h/Library/Application Support/Code/User/mcp.json",
			"zed": "/h/.config/zed/settings.json", "opencode": "/h/.config/opencode/opencode.json"},
		"windows": {"claude-desktop": "/h/AppData/Roaming/Claude/claude_desktop_config.json", "vscode": "/h/AppData/Roaming/Code/User/mcp.json", "zed": "/h/AppData/Roaming/Zed/settings.json"},
	} {
		e.OS = goos
		for id, path := range want {
			if got := filepath.ToSlash(Lookup(id).user(e)[0]); got != path {
				t.Errorf("%s on %s keeps its servers in %s, want %s", id, goos, got, path)
			}
		}
	}
	e.OS, e.Config = "linux", "/x"
	e.Getenv = func(name string) string { return map[string]string{"CODEX_HOME": "/c"}[name] }
	if got := Lookup("zed").user(e)[0]; got != filepath.FromSlash("/x/zed/settings.json") {
		t.Errorf("XDG_CONFIG_HOME is ignored: %s", got)
	}
	if got := Lookup("codex").user(e)[0]; got != filepath.FromSlash("/c/config.toml") {
		t.Errorf("CODEX_HOME is ignored: %s", got)
	}
}

// Whatever a client has in its files: what the import writes, loads.
func FuzzImport(f *testing.F) {
	for _, s := range []string{`{"a": {"command": "x", "args": ["${input:x}", "$${", "${", "$A"], "timeout": 1e9}}`, `{"a": {"url": "https://x", "headers": {"A": 1}}}`,
		`{"": {"command": ""}, "b": {"command": ["x", null], "tools": {"allow": ["["]}}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, servers string) {
		for _, c := range all {
			fields, err := jsonFile{}.servers([]byte(`{"s": `+servers+`}`), []string{"s"})
			if err != nil {
				return
			}
			s := Source{Path: "f"}
			for _, field := range fields {
				conv := converter{client: c, dir: "/dir", env: Env{Home: "/home", Dir: "/dir"}}
				s.Servers = append(s.Servers, conv.convert(field.Key, field.Value, false))
			}
			if _, _, err := Merge("servers.json", []byte(config.NewFile), []Source{s}, false); err != nil {
				t.Fatalf("%s in the format of %s: %v", servers, c.ID, err)
			}
		}
	})
}

func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func TestServersOfOneNameFromSeveralClients(t *testing.T) {
	server := func(command string, more ...config.Field) Entry {
		return Entry{Name: "fs", Config: append(config.Object{{Key: "command", Value: command}}, more...)}
	}
	off := config.Field{Key: "disabled", Value: true}
	from := func(client string, e Entry) Source {
		return Source{Client: client, Path: "/" + client, Servers: []Entry{e}}
	}
	for name, c := range map[string]struct {
		config  string
		sources []Source
		want    string
	}{
		"two clients": {"", []Source{from("claude-code", server("a")), from("cursor", server("b"))},
			`{"fs":{"command":"a"},"fs-cursor":{"command":"b"}}`},
		"two clients with the same": {"", []Source{from("claude-code", server("a")), from("cursor", server("a"))},
			`{"fs":{"command":"a"}}`},
		"three clients": {"", []Source{from("claude-code", server("a")), from("cursor", server("b")), from("zed", server("c"))},
			`{"fs":{"command":"a"},"fs-cursor":{"command":"b"},"fs-zed":{"command":"c"}}`},
		"the config has another": {`{"mcpServers":{"fs":{"command":"z"}}}`, []Source{from("cursor", server("b"))},
			`{"fs":{"command":"z"},"fs-cursor":{"command":"b"}}`},
		"the config has it under its other name": {`{"mcpServers":{"fs":{"command":"z"},"fs-cursor":{"command":"b"}}}`, []Source{from("cursor", server("b"))},
			`{"fs":{"command":"z"},"fs-cursor":{"command":"b"}}`},
		"both names are taken": {`{"mcpServers":{"fs":{"command":"z"},"fs-cursor":{"command":"y"}}}`, []Source{from("cursor", server("b"))},
			`{"fs":{"command":"z"},"fs-cursor":{"command":"y"},"fs-cursor-2":{"command":"b"}}`},
		"one client does not use it": {"", []Source{from("claude-code", server("a")), from("cursor", server("b", off))},
			`{"fs":{"command":"a"}}`},
		"the first client does not use it": {"", []Source{from("claude-code", server("a", off)), from("cursor", server("a"))},
			`{"fs":{"command":"a"}}`},
		"the same client, twice": {"", []Source{from("cursor", server("a")), from("cursor", server("b"))},
			`{"fs":{"command":"a"}}`},
		"it was disabled here": {`{"mcpServers":{"fs":{"command":"a","disabled":true}}}`, []Source{from("cursor", server("a"))},
			`{"fs":{"command":"a","disabled":true}}`},
		"a file that is no client's": {`{"mcpServers":{"fs":{"command":"z"}}}`, []Source{from("", server("b"))},
			`{"fs":{"command":"z"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			before := orText(c.config, `{"mcpServers":{}}`)
			text, outcomes, err := Merge("servers.json", []byte(before), c.sources, false)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				MCPServers json.RawMessage `json:"mcpServers"`
			}
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			var flat bytes.Buffer
			if err := json.Compact(&flat, got.MCPServers); err != nil || flat.String() != c.want {
				t.Errorf("%v\n got %s\nwant %s\n%+v", err, flat.String(), c.want, outcomes)
			}
			if _, again, err := Merge("servers.json", text, c.sources, false); err != nil || slices.ContainsFunc(again, func(o Outcome) bool { return o.Action == Added }) {
				t.Errorf("a second time: %+v, %v", again, err)
			}
		})
	}
}

func TestVariablesThatAreNotSet(t *testing.T) {
	for _, c := range []struct{ client, value, want string }{
		{"opencode", "{env:UNSET}", "${UNSET:-}"},
		{"opencode", "Bearer {env:SET}", "Bearer ${SET}"},
		{"opencode", "{env:UNSET}/{env:SET}", "${UNSET:-}/${SET}"},
		{"cursor", "${env:UNSET}", "${UNSET}"},
		{"cursor", "${env:SET}", "${SET}"},
		{"claude-code", "${UNSET}", "${UNSET}"}, // it does not start such a server
		{"claude-code", "${UNSET:-text}", "${UNSET:-text}"},
	} {
		env := Env{Home: "/home", Dir: "/dir", Getenv: func(name string) string { return map[string]string{"SET": "x"}[name] }}
		conv := converter{client: Lookup(c.client), env: env, dir: "/dir"}
		if got := conv.refs(c.value); got != c.want {
			t.Errorf("%s: %s becomes %s, want %s", c.client, c.value, got, c.want)
		}
		if unset := c.want == "${UNSET}"; slices.Contains(conv.out.Needs, "UNSET") != unset {
			t.Errorf("%s: %s needs %q", c.client, c.value, conv.out.Needs)
		}
	}
}
