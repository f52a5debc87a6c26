package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// imported returns the translation of a client's entry, as JSON, and the report.
func imported(t *testing.T, c *Client, entry string) (got string, e Entry) {
	t.Helper()
	v, ok, err := config.LookupKey([]byte(entry), nil)
	if err != nil || !ok {
		t.Fatalf("%s: %v, %v", entry, ok, err)
	}
	conv := converter{client: c, env: Env{OS: "linux", Home: "/home/me"}, dir: "/work"}
	e = conv.convert("s", config.Value(v), false)
	text, err := json.Marshal(e.Config)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), e
}

// Every documented key of a client is translated, or the report names it.
func TestEveryKeyIsTranslatedOrNamed(t *testing.T) {
	local, remote := `"command": "x"`, `"url": "https://h/mcp"`
	for _, c := range []struct {
		client, base string
		keys         map[string]string // result of each key with its value, or the report
	}{
		{"claude-code", remote, map[string]string{
			`"type": "http"`: `"type":"http"`, `"headers": {"A": "${B}"}`: `"A":"${B}"`, `"timeout": 90000`: `"callTimeout":90`, `"alwaysLoad": true`: "alwaysLoad",
			`"headersHelper": "/bin/token.sh"`: "headersHelper", `"oauth": {"clientId": "c", "callbackPort": 8080, "scopes": "a b"}`: `"oauth":{"clientId":"c","callbackPort":8080,"scopes":["a","b"]}`,
			`"oauth": {"authServerMetadataUrl": "https://a"}`: "authServerMetadataUrl", `"xaa": true`: "xaa",
		}},
		{"claude-desktop", local, map[string]string{`"args": ["a"]`: `"args":["a"]`, `"env": {"A": "1"}`: `"env":{"A":"1"}`, `"timeout": 60`: "timeout 60 was read as 60 s", `"transport": "stdio"`: `"command":"x"`}},
		{"cursor", remote, map[string]string{
			`"auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${env:S}", "scopes": ["a", "b"]}`: `"oauth":{"clientId":"c","clientSecret":"${S}","scopes":["a","b"]}`,
			`"auth": {"token": "x"}`: "auth is left out", `"headers": {"A": "${env:B}"}`: `"A":"${B}"`, `"envFile": "none.env"`: "envFile", `"timeout": 60000`: "timeout 60000 was read as 60 s",
		}},
		{"vscode", local, map[string]string{
			`"cwd": "${workspaceFolder}/a"`: `"cwd":"${workspaceFolder}/a"`, `"args": ["${input:who}"]`: `"${WHO}"`, `"env": {"A": "${input:who}"}`: "set WHO", `"envFile": "${workspaceFolder}/.env"`: "envFile",
			`"dev": {"watch": "x"}`: "dev", `"sandboxEnabled": true`: "sandboxEnabled", `"sandbox": {}`: "sandbox", `"gallery": true`: "gallery", `"version": "1"`: "version",
		}},
		{"codex", remote, map[string]string{
			`"bearer_token_env_var": "T"`: `"Authorization":"Bearer ${T}"`, `"http_headers": {"A": "1"}`: `"A":"1"`, `"env_http_headers": {"A": "B"}`: `"A":"${B}"`,
			`"startup_timeout_sec": 20`: `"startTimeout":20`, `"startup_timeout_ms": 2000`: `"startTimeout":2`, `"tool_timeout_sec": 90`: `"callTimeout":90`, `"enabled": false`: `"disabled":true`,
			`"required": true`: "required", `"enabled_tools": ["a"]`: `"allow":["a"]`, `"disabled_tools": ["a"]`: `"deny":["a"]`, `"default_tools_approval_mode": "auto"`: "default_tools_approval_mode",
			`"tools": {"a": {"approval_mode": "auto"}}`: "tools", `"scopes": ["a"]`: `"oauth":{"scopes":["a"]}`, `"oauth_resource": "https://r"`: "oauth_resource", `"oauth": {"client_id": "c"}`: `"clientId":"c"`,
			`"supports_parallel_tool_calls": true`: "supports_parallel_tool_calls", `"experimental_environment": "x"`: "experimental_environment",
		}},
		{"gemini", local, map[string]string{
			`"env": {"A": "$B"}`: `"A":"${B}"`, `"timeout": 30000`: `"callTimeout":30`, `"trust": true`: "trust", `"description": "d"`: `"description":"d"`, `"includeTools": ["a(b)"]`: `"allow":["a"]`,
			`"excludeTools": ["a"]`: `"deny":["a"]`, `"extension": {}`: "extension is left out", `"authProviderType": "google_credentials"`: "authProviderType", `"targetAudience": "x"`: "targetAudience",
			`"targetServiceAccount": "x"`: "targetServiceAccount",
		}},
		{"gemini", `"httpUrl": "https://h/mcp"`, map[string]string{
			`"oauth": {"enabled": true, "clientId": "c", "clientSecret": "$S", "issuer": "https://i", "scopes": ["a"]}`: `"oauth":{"clientId":"c","clientSecret":"${S}","issuer":"https://i","scopes":["a"]}`,
			`"oauth": {"authorizationUrl": "https://a"}`:                                                                "oauth.authorizationUrl", `"oauth": {"tokenUrl": "https://a"}`: "oauth.tokenUrl", `"oauth": {"audiences": ["a"]}`: "oauth.audiences",
			`"oauth": {"redirectUri": "http://localhost:7777/oauth/callback"}`: `"callbackPort":7777`, `"oauth": {"tokenParamName": "t"}`: "oauth.tokenParamName", `"oauth": {"registrationUrl": "t"}`: "oauth.registrationUrl",
			`"oauth": {"enabled": false}`: "oauth.enabled",
		}},
		{"windsurf", `"serverUrl": "https://h/mcp"`, map[string]string{`"headers": {"A": "${env:B}"}`: `"A":"${B}"`, `"disabledTools": ["a"]`: `"deny":["a"]`, `"disabled": true`: `"disabled":true`, `"alwaysAllow": ["a"]`: "alwaysAllow",
			`"headers": {"A": "${file:/t}"}`: "${file:/t} is kept as plain text"}},
		{"zed", local, map[string]string{`"timeout": 120`: `"callTimeout":120`, `"timeout": 120000`: "timeout 120000 was read as 120 s", `"enabled": false`: `"disabled":true`, `"source": "custom"`: "source", `"settings": {}`: "settings",
			`"oauth": {"client_id": "c", "client_secret": "d"}`: "oauth is left out"}},
		{"opencode", `"type": "remote", "url": "https://h/mcp"`, map[string]string{
			`"oauth": false`: "oauth: false", `"oauth": {"clientId": "{env:C}", "clientSecret": "{env:S}", "scope": "a b"}`: `"oauth":{"clientId":"${C}","clientSecret":"${S}","scopes":["a","b"]}`, `"oauth": {}`: `"url"`,
			`"headers": {"A": "{env:B}"}`: `"A":"${B}"`, `"timeout": 5000`: `"startTimeout":5`, `"enabled": false`: `"disabled":true`, `"headers": {"A": "{file:/t}"}`: "{file:/t} is not read",
		}},
	} {
		for key, want := range c.keys {
			got, e := imported(t, Lookup(c.client), "{"+c.base+", "+key+"}")
			if said := strings.Join(e.Notes, "\n") + e.Skip; !strings.Contains(got, want) && !strings.Contains(said, want) {
				t.Errorf("%s: %s became %s, and the report says %q, want %s", c.client, key, got, said, want)
			}
			if e.Skip != "" {
				t.Errorf("%s: %s is skipped: %s", c.client, key, e.Skip)
			}
		}
		if c.client == "claude-desktop" {
			continue
		}
		got, e := imported(t, Lookup(c.client), "{"+c.base+`, "newKey": {"token": "s3cret"}}`)
		if strings.Contains(got, "newKey") || !strings.Contains(strings.Join(e.Notes, "\n"), "newKey is left out") || strings.Contains(strings.Join(e.Notes, "\n"), "s3cret") {
			t.Errorf("%s: a key that nobody knows became %s, and the report says %q", c.client, got, e.Notes)
		}
	}
}

func TestUnitsOfTimeouts(t *testing.T) {
	for path, want := range map[string][3]string{ // of 60, 3600 and 60000, "?" after a guess
		"/x/cline_mcp_settings.json": {"60", "3600", "60?"}, "/x/.roo/mcp.json": {"60", "3600", "60?"}, "/x/mcp_settings.json": {"60", "3600", "60?"},
		"/x/.kiro/settings/mcp.json": {"0.06", "3.6", "60"}, "/x/.mcp.json": {"0.06", "3.6", "60"}, "/x/.gemini/settings.json": {"0.06", "3.6", "60"}, "/x/.zed/settings.json": {"60", "3.6?", "60?"},
		"/x/.cursor/mcp.json": {"60?", "3.6?", "60?"}, "/x/.vscode/mcp.json": {"60?", "3.6?", "60?"}, "/x/other.json": {"60?", "3.6?", "60?"}, "/x/claude_desktop_config.json": {"60?", "3.6?", "60?"},
	} {
		c := byFile(path)
		if c == nil {
			c = generic(path)
		}
		for i, n := range []string{"60", "3600", "60000"} {
			got, e := imported(t, c, `{"command": "x", "timeout": `+n+`}`)
			s, guessed := strings.CutSuffix(want[i], "?")
			if !strings.Contains(got, `"callTimeout":`+s+"}") || strings.Contains(strings.Join(e.Notes, "\n"), "was read as "+s+" s") != guessed {
				t.Errorf("%s: timeout %s became %s, and the report says %q, want %s", path, n, got, e.Notes, want[i])
			}
		}
	}
}

func TestHomeIsWrittenOut(t *testing.T) {
	for entry, want := range map[string]string{
		`{"command": "~/bin/s", "cwd": "$HOME/w"}`:                       `{"command":"/home/me/bin/s","cwd":"/home/me/w"}`,
		`{"command": "s", "args": ["~/a", "--root=~/b", "~", "a~/b"]}`:   `{"command":"s","args":["/home/me/a","--root=/home/me/b","/home/me","a~/b"]}`,
		`{"command": "s", "env": {"P": "/x:~/y:$HOME/z", "Q": "$HOME"}}`: `{"command":"s","env":{"P":"/x:/home/me/y:/home/me/z","Q":"/home/me"}}`,
		`{"command": "sh", "args": ["-c", "$HOME/s"]}`:                   `{"command":"sh","args":["-c","$HOME/s"]}`,
		`{"command": "s", "args": ["${HOME}/a"]}`:                        `{"command":"s","args":["${HOME}/a"]}`,
	} {
		got, e := imported(t, Lookup("claude-code"), entry)
		if got != want {
			t.Errorf("%s became %s, want %s", entry, got, want)
		}
		if named := strings.Contains(strings.Join(e.Notes, "\n"), "/home/me"); named != strings.Contains(got, "/home/me") {
			t.Errorf("%s: the report says %q", entry, e.Notes)
		}
	}
	if _, e := imported(t, Lookup("cursor"), `{"command": "s", "args": ["$TOKEN"]}`); !strings.Contains(strings.Join(e.Notes, "\n"), "write ${TOKEN}") {
		t.Errorf("of $TOKEN, the report says %q", e.Notes)
	}
}

// A file of variables is not read, and the report contains the lines to add.
func TestFileOfVariables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "my.env")
	if err := os.WriteFile(path, []byte("# c\nexport A=1\nB_KEY = s3cret\n\nnot a line\nA=2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"envFile", "env_file"} {
		_, e := imported(t, Lookup("vscode"), `{"command": "x", "`+key+`": "`+filepath.ToSlash(path)+`"}`)
		if said := strings.Join(e.Notes, "\n"); !strings.Contains(said, `"env": {"A": "${A}", "B_KEY": "${B_KEY}"}`) || strings.Contains(said, "s3cret") {
			t.Errorf("%s: the report says %q", key, e.Notes)
		}
	}
}

// A secret of a sign-in is reported like others, and moves into the keyring with them.
func TestSecretOfASignIn(t *testing.T) {
	_, e := imported(t, Lookup("cursor"), `{"url": "https://h/mcp", "auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "s3cret"}}`)
	if said := strings.Join(e.Notes, "\n"); !e.Secret || !strings.Contains(said, "oauth.clientSecret is a secret") || strings.Contains(said, "s3cret") {
		t.Errorf("the report says %q", e.Notes)
	}
}

// opencode nests its servers one level deeper since its second version.
func TestSecondVersionOfOpencode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "opencode.json")
	text := `{"mcp": {"timeout": 5, "servers": {"a": {"type": "local", "command": ["x", "y"], "cwd": "/w", "disabled": true}, "b": {"type": "remote", "url": "https://b/mcp"}}, "old": {"type": "local", "command": ["z"]}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sources, err := ReadFile(Lookup("opencode"), path, Env{OS: "linux", Home: dir, Dir: dir}, nil)
	if err != nil || len(sources) != 1 {
		t.Fatal(sources, err)
	}
	var names []string
	for _, e := range sources[0].Servers {
		names = append(names, e.Name+e.Skip)
	}
	if got := strings.Join(names, " "); got != "a b old" {
		t.Errorf("the servers are %s", got)
	}
}
