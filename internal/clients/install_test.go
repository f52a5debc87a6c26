package clients

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// samples are files of clients as they may be, with two servers beside what
// else stands there. The second server is switched off where the client can.
var samples = map[string]string{
	"claude-code": `{
  "numStartups": 12,
  "mcpServers": {
    "fs": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "fs"],
      "env": {}
    },
    "gh": { "type": "http", "url": "https://gh/mcp", "headers": { "Authorization": "Bearer ${GH}" } }
  },
  "projects": {"/x": {"history": ["a\u2028"]}}
}`,
	"claude-desktop": "{\n    \"globalShortcut\": \"\",\n    \"mcpServers\": {\n        \"fs\": {\"command\": \"npx\", \"args\": [\"-y\", \"fs\"]},\n        \"gh\": {\"command\": \"gh-mcp\", \"disabled\": true}\n    }\n}\n",
	"cursor":         "{\"mcpServers\":{\"fs\":{\"command\":\"fs\"},\"gh\":{\"url\":\"https://gh/mcp\"}}}",
	"vscode": `{
	// asked for once
	"inputs": [ { "type": "promptString", "id": "tok", "password": true } ],
	"servers": {
		/* files */
		"fs": { "type": "stdio", "command": "npx", "args": [ "-y", "fs" ] },
		"gh": {
			"type": "http",
			"url": "https://gh/mcp", // remote
			"headers": { "Authorization": "Bearer ${input:tok}", },
		},
	},
}
`,
	"codex": `# my settings
model = "o4" # fast

[mcp_servers.fs]
command = "npx"
args = [
  "-y", # yes
  "fs",
]

# remote
[mcp_servers.gh]
url = "https://gh/mcp"
enabled = false

[mcp_servers.gh.http_headers]
"X-Team" = "core"

[profiles.x]
model = "o3"
`,
	"gemini":   "{\r\n  \"theme\": \"x\",\r\n  \"mcpServers\": {\r\n    \"fs\": {\r\n      \"command\": \"fs\"\r\n    },\r\n    \"gh\": {\r\n      \"httpUrl\": \"https://gh/mcp\"\r\n    }\r\n  }\r\n}\r\n",
	"windsurf": "\ufeff{\n  \"mcpServers\": {\n    \"fs\": {\"command\": \"fs\"},\n    \"gh\": {\"serverUrl\": \"https://gh/mcp\", \"disabled\": true}\n  }\n}",
	"zed":      "// Zed settings\n{\n  \"vim_mode\": true,\n  \"context_servers\": {\n    \"fs\": {\n      \"command\": \"fs\",\n      \"args\": [],\n    },\n    \"gh\": {\n      \"url\": \"https://gh/mcp\",\n      \"enabled\": false,\n    },\n  },\n  \"theme\": \"One\",\n}\n// end",
	"opencode": "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"fs\": { \"type\": \"local\", \"command\": [\"npx\", \"fs\"] },\n    \"gh\": { \"type\": \"remote\", \"url\": \"https://gh/mcp\", \"enabled\": false }\n  }\n}\n",
}

func testRequest(t *testing.T, id string) (r Request, path string) {
	t.Helper()
	e := testEnv(t, "linux", nil)
	c := Lookup(id)
	return Request{Client: c, Env: e, Journal: filepath.Join(e.Home, "state", "installs.json"), Name: "broker",
		Launch: Launch{Command: "/opt/broker", Args: []string{"serve", "--config", "/c/servers.json"}},
		Config: filepath.Join(e.Home, "broker", "servers.json")}, c.user(e)[0]
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mustInstall(t *testing.T, r Request) InstallResult {
	t.Helper()
	res, err := Install(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func mustUninstall(t *testing.T, r Request) UninstallResult {
	t.Helper()
	res, err := Uninstall(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func names(t *testing.T, c *Client, path string) []string {
	t.Helper()
	fields, err := c.format.servers([]byte(read(t, path)), c.root)
	if err != nil {
		t.Fatalf("%v in\n%s", err, read(t, path))
	}
	var out []string
	for _, f := range fields {
		out = append(out, f.Key)
	}
	return out
}

func TestUninstallUndoesInstallByteForByte(t *testing.T) {
	for _, c := range all {
		for _, move := range []bool{false, true} {
			t.Run(c.ID+map[bool]string{false: "", true: " with move"}[move], func(t *testing.T) {
				r, path := testRequest(t, c.ID)
				before := samples[c.ID]
				writeFile(t, path, before)
				r.Move = move
				res := mustInstall(t, r)
				want := []string{"fs", "gh", "broker"}
				if move {
					want = []string{"broker"}
				}
				if diff := cmp.Diff(want, names(t, c, path)); diff != "" {
					t.Errorf("servers after install (-want +got):\n%s", diff)
				}
				if !res.Changed || res.Created || filepath.Dir(res.Backup) != backupDir(r) || read(t, res.Backup) != before {
					t.Errorf("Install = %+v", res)
				}
				if info, err := os.Stat(res.Backup); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
					t.Errorf("the backup has mode %v, %v", info.Mode(), err)
				}
				if move {
					cfg, err := config.Load(r.Config)
					if err != nil || cfg.Server("fs") == nil || cfg.Server("gh") == nil {
						t.Errorf("servers.json has %+v, %v", cfg, err)
					}
				}
				again := mustInstall(t, r)
				if again.Changed {
					t.Error("a second install changed something")
				}
				undone := mustUninstall(t, r)
				if got := read(t, path); got != before {
					t.Errorf("uninstall left (-want +got):\n%s", cmp.Diff(before, got))
				}
				if !undone.Restored || undone.Deleted {
					t.Errorf("Uninstall = %+v", undone)
				}
				if _, err := os.Stat(res.Backup); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the backup is still there: %v", err)
				}
				if _, err := Uninstall(r); !errors.Is(err, ErrNotInstalled) {
					t.Errorf("a second uninstall: %v", err)
				}
			})
		}
	}
}

func TestInstallWritesTheEntryOfEachClient(t *testing.T) {
	want := map[string]string{
		"claude-code":    `{"mcpServers": {"broker": {"type": "stdio", "command": "/opt/broker", "args": ["serve", "--config", "/c/servers.json"], "alwaysLoad": true}}}`,
		"claude-desktop": `{"mcpServers": {"broker": {"command": "/opt/broker", "args": ["serve", "--config", "/c/servers.json"]}}}`,
		"cursor":         `{"mcpServers": {"broker": {"command": "/opt/broker", "args": ["serve", "--config", "/c/servers.json"]}}}`,
		"vscode":         `{"servers": {"broker": {"type": "stdio", "command": "/opt/broker", "args": ["serve", "--config", "/c/servers.json"]}}}`,
		"codex":          "[mcp_servers.broker]\ncommand = \"/opt/broker\"\nargs = [\"serve\", \"--config\", \"/c/servers.json\"]\nstartup_timeout_sec = 30\ntool_timeout_sec = 130\n",
		"gemini":         `{"mcpServers": {"broker": {"command": "/opt/broker", "args": ["serve", "--config", "/c/servers.json"], "timeout": 130000}}}`,
		"windsurf":       `{"mcpServers": {"broker": {"command": "/opt/broker", "args": ["serve", "--config", "/c/servers.json"]}}}`,
		"zed":            `{"context_servers": {"broker": {"command": "/opt/broker", "args": ["serve", "--config", "/c/servers.json"], "env": {}}}}`,
		"opencode":       `{"mcp": {"broker": {"type": "local", "command": ["/opt/broker", "serve", "--config", "/c/servers.json"], "enabled": true, "timeout": 30000}}}`,
	}
	for _, c := range all {
		t.Run(c.ID, func(t *testing.T) {
			r, path := testRequest(t, c.ID)
			if err := os.MkdirAll(r.Env.Home, 0o700); err != nil {
				t.Fatal(err)
			}
			if res := mustInstall(t, r); !res.Created || res.Backup != "" {
				t.Errorf("Install without a file = %+v", res)
			}
			got := read(t, path)
			if c.ID != "codex" {
				got, want[c.ID] = compact(t, got), compact(t, want[c.ID])
			}
			if diff := cmp.Diff(want[c.ID], got); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
			sources, err := ReadFile(c, path, r.Env, nil)
			if err != nil || !sources[0].Servers[0].Self {
				t.Errorf("import does not know its own entry: %+v, %v", sources, err)
			}
			if res := mustUninstall(t, r); !res.Deleted {
				t.Errorf("Uninstall = %+v", res)
			}
			left, err := os.ReadDir(r.Env.Home)
			if err != nil || len(left) != 1 || left[0].Name() != "state" {
				t.Errorf("left over: %v, %v", left, err)
			}
		})
	}
}

func TestInstallKeepsCommentsAndFormatting(t *testing.T) {
	tests := []struct {
		client string
		move   bool
		edit   func(string) string
	}{
		{"vscode", false, func(s string) string {
			return strings.Replace(s, "\t\t},\n\t},\n}", "\t\t},\n\t\t\"broker\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"/opt/broker\",\n\t\t\t\"args\": [\"serve\", \"--config\", \"/c/servers.json\"]\n\t\t},\n\t},\n}", 1)
		}},
		{"vscode", true, func(s string) string {
			before, _, _ := strings.Cut(s, "\t\t\"fs\"")
			return before + "\t\t\"broker\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"/opt/broker\",\n\t\t\t\"args\": [\"serve\", \"--config\", \"/c/servers.json\"]\n\t\t},\n\t},\n}\n"
		}},
		{"codex", false, func(s string) string {
			return s + "\n[mcp_servers.broker]\ncommand = \"/opt/broker\"\nargs = [\"serve\", \"--config\", \"/c/servers.json\"]\nstartup_timeout_sec = 30\ntool_timeout_sec = 130\n"
		}},
		{"codex", true, func(string) string {
			return "# my settings\nmodel = \"o4\" # fast\n\n# remote\n\n[profiles.x]\nmodel = \"o3\"\n" +
				"\n[mcp_servers.broker]\ncommand = \"/opt/broker\"\nargs = [\"serve\", \"--config\", \"/c/servers.json\"]\nstartup_timeout_sec = 30\ntool_timeout_sec = 130\n"
		}},
	}
	for _, tt := range tests {
		r, path := testRequest(t, tt.client)
		writeFile(t, path, samples[tt.client])
		r.Move = tt.move
		mustInstall(t, r)
		if diff := cmp.Diff(tt.edit(samples[tt.client]), read(t, path)); diff != "" {
			t.Errorf("install %s, move %t (-want +got):\n%s", tt.client, tt.move, diff)
		}
	}
}

func TestUninstallKeepsWhatWasEditedSince(t *testing.T) {
	for _, c := range all {
		for _, move := range []bool{false, true} {
			t.Run(c.ID+map[bool]string{false: "", true: " with move"}[move], func(t *testing.T) {
				r, path := testRequest(t, c.ID)
				writeFile(t, path, samples[c.ID])
				r.Move = move
				mustInstall(t, r)
				extra := Launch{Command: "mine"}
				edited, err := c.format.set([]byte(read(t, path)), c.root, "mine", c.entry(extra))
				if err != nil {
					t.Fatal(err)
				}
				writeFile(t, path, string(edited))
				// Installing again must not make the edit part of what is undone.
				r.Launch.Command = "/new/broker"
				r.Move = false
				if res := mustInstall(t, r); !res.Changed {
					t.Error("the new path was not written")
				}
				res := mustUninstall(t, r)
				got := names(t, c, path)
				slices.Sort(got)
				if diff := cmp.Diff([]string{"fs", "gh", "mine"}, got); diff != "" {
					t.Errorf("servers after uninstall (-want +got):\n%s\n%s", diff, read(t, path))
				}
				if res.Restored || !slices.Equal(res.Removed, []string{"broker"}) || move != (len(res.Returned) == 2) {
					t.Errorf("Uninstall = %+v", res)
				}
				before, err := c.format.servers([]byte(samples[c.ID]), c.root)
				if err != nil {
					t.Fatal(err)
				}
				after, err := c.format.servers([]byte(read(t, path)), c.root)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range before {
					if diff := cmp.Diff(f.Value, config.Object(after).Get(f.Key)); diff != "" {
						t.Errorf("%s is no longer what it was (-want +got):\n%s", f.Key, diff)
					}
				}
			})
		}
	}
}

func TestInstallRefuses(t *testing.T) {
	t.Run("another server of that name", func(t *testing.T) {
		r, path := testRequest(t, "cursor")
		writeFile(t, path, `{"mcpServers": {"broker": {"command": "stocks"}}}`)
		if _, err := Install(r); err == nil || !strings.Contains(err.Error(), "--name") {
			t.Errorf("Install = %v", err)
		}
	})
	t.Run("a file that cannot be read", func(t *testing.T) {
		for id, content := range map[string]string{"cursor": `{"mcpServers": [`, "codex": "[mcp_servers\n", "zed": `[]`} {
			r, path := testRequest(t, id)
			writeFile(t, path, content)
			if _, err := Install(r); err == nil || !strings.Contains(err.Error(), path) || read(t, path) != content {
				t.Errorf("Install into %q = %v", content, err)
			}
		}
	})
	t.Run("toml inline table", func(t *testing.T) {
		r, path := testRequest(t, "codex")
		writeFile(t, path, "mcp_servers = { fs = { command = \"x\" } }\n")
		if _, err := Install(r); err == nil || !strings.Contains(err.Error(), "table of its own") {
			t.Errorf("Install = %v", err)
		}
	})
	t.Run("a project file of a client without", func(t *testing.T) {
		r, _ := testRequest(t, "windsurf")
		r.Project = true
		if _, err := Install(r); err == nil || !strings.Contains(err.Error(), "--project") {
			t.Errorf("Install = %v", err)
		}
	})
}

func TestInstallMovesOnlyWhatTheBrokerCanUse(t *testing.T) {
	r, path := testRequest(t, "cursor")
	r.Move = true
	writeFile(t, path, `{"mcpServers": {"ws": {"type": "ws", "url": "https://x"}, "fs": {"command": "fs"}}}`)
	res := mustInstall(t, r)
	if diff := cmp.Diff([]string{"ws", "broker"}, names(t, r.Client, path)); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if len(res.Moved) != 2 || res.Moved[0].Action != Skipped || res.Moved[1].Action != Added || !slices.Equal(res.Others, []string{"ws"}) {
		t.Errorf("Install = %+v", res)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	r, path := testRequest(t, "codex")
	writeFile(t, path, samples["codex"])
	r.Move, r.DryRun = true, true
	if res := mustInstall(t, r); !res.Changed || len(res.Moved) != 2 {
		t.Errorf("Install = %+v", res)
	}
	for _, p := range []string{r.Journal, r.Config, backupDir(r)} {
		if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was written: %v", p, err)
		}
	}
	if read(t, path) != samples["codex"] {
		t.Error("the client's file was changed")
	}
	r.DryRun = false
	mustInstall(t, r)
	after := read(t, path)
	r.DryRun = true
	if res := mustUninstall(t, r); !res.Restored || read(t, path) != after {
		t.Errorf("Uninstall = %+v", res)
	}
}

func TestUninstallWithoutItsBackup(t *testing.T) {
	r, path := testRequest(t, "vscode")
	writeFile(t, path, samples["vscode"])
	res := mustInstall(t, r)
	writeFile(t, res.Backup, "{}")
	undone := mustUninstall(t, r)
	if undone.Restored || len(undone.Notes) == 0 || !slices.Equal(names(t, r.Client, path), []string{"fs", "gh"}) {
		t.Errorf("Uninstall = %+v\n%s", undone, read(t, path))
	}
}

func TestBackupsAreNotOverwritten(t *testing.T) {
	r, path := testRequest(t, "vscode")
	writeFile(t, path, samples["vscode"])
	first := mustInstall(t, r).Backup
	mustUninstall(t, r)
	writeFile(t, first, "older")
	res := mustInstall(t, r)
	if res.Backup != first+".2" || read(t, first) != "older" {
		t.Errorf("Install = %+v", res)
	}
	mustUninstall(t, r)
	if read(t, path) != samples["vscode"] || read(t, first) != "older" {
		t.Error("the older backup was used")
	}
}

// All that install keeps is beside the journal, in the state directory: nothing is
// left in the folder of the client.
func TestInstallKeepsNothingBesideTheFile(t *testing.T) {
	r, path := testRequest(t, "cursor")
	writeFile(t, path, samples["cursor"])
	mustInstall(t, r)
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the file: %v, %v", entries, err)
	}
}

func backupDir(r Request) string { return filepath.Join(filepath.Dir(r.Journal), "backups") }

func TestUninstallFindsWhatWasWrittenByHand(t *testing.T) {
	r, path := testRequest(t, "cursor")
	writeFile(t, path, `{"mcpServers": {"x": {"command": "x"}, "tools": {"command": "broker", "args": ["serve"]}}}`)
	if res := mustUninstall(t, r); !slices.Equal(res.Removed, []string{"tools"}) || read(t, path) != `{"mcpServers": {"x": {"command": "x"}}}` {
		t.Errorf("Uninstall = %+v\n%s", res, read(t, path))
	}
}

func TestRenamedEntryReplacesTheOld(t *testing.T) {
	r, path := testRequest(t, "codex")
	writeFile(t, path, samples["codex"])
	mustInstall(t, r)
	r.Name = "b.2"
	mustInstall(t, r)
	if diff := cmp.Diff([]string{"fs", "gh", "b.2"}, names(t, r.Client, path)); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	mustUninstall(t, r)
	if read(t, path) != samples["codex"] {
		t.Error("the file is not what it was")
	}
}

// A server with a name that another server in servers.json has moves under a new name.
func TestMovedServersAreRenamed(t *testing.T) {
	for _, id := range []string{"cursor", "codex", "opencode"} {
		t.Run(id, func(t *testing.T) {
			r, path := testRequest(t, id)
			r.Move = true
			writeFile(t, path, samples[id])
			writeFile(t, r.Config, `{"mcpServers": {"fs": {"command": "other"}}}`)
			res, err := Install(r)
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Others) > 0 {
				t.Errorf("%q stay with the client", res.Others)
			}
			cfg, err := config.Load(r.Config)
			if err != nil {
				t.Fatal(err)
			}
			if s := cfg.Server("fs"); s == nil || s.Command != "other" {
				t.Errorf("the server that was there is %+v", s)
			}
			if s := cfg.Server("fs-" + id); s == nil || s.Command == "other" {
				t.Errorf("the server of the client is %+v", s)
			}
			if again, err := Install(r); err != nil || again.Changed {
				t.Errorf("a second time: %+v, %v", again, err)
			}
			if _, err := Uninstall(r); err != nil || read(t, path) != samples[id] {
				t.Errorf("after uninstalling (%v):\n%s", err, read(t, path))
			}
		})
	}
}

// Some clients start servers with few variables, or do not say with which, so the entry
// names those of the config.
func TestVariablesArePassedOn(t *testing.T) {
	for id, want := range map[string]string{
		"codex":       `env_vars = ["API_KEY", "UNSET"]`,
		"gemini":      `"env": { "API_KEY": "$API_KEY", "UNSET": "$UNSET" }`,
		"cursor":      `"env": { "API_KEY": "${env:API_KEY}", "UNSET": "${env:UNSET}" }`,
		"windsurf":    `"env": { "API_KEY": "${env:API_KEY}", "UNSET": "${env:UNSET}" }`,
		"claude-code": "",
		"vscode":      "",
		"opencode":    "",
		"zed":         "",
	} {
		t.Run(id, func(t *testing.T) {
			r, path := testRequest(t, id)
			r.Env.Getenv = func(name string) string { return map[string]string{"API_KEY": "x"}[name] }
			writeFile(t, r.Config, `{"mcpServers": {"a": {"command": "a", "env": {"K": "${API_KEY}", "U": "${UNSET:-}", "D": "${workspaceFolder}", "S": "${keyring:TOKEN}"}}}}`)
			if _, err := Install(r); err != nil {
				t.Fatal(err)
			}
			got := strings.Join(strings.Fields(read(t, path)), " ")
			if want != "" && !strings.Contains(got, want) {
				t.Errorf("no %s in %s", want, got)
			}
			if want == "" && strings.Contains(got, "API_KEY") {
				t.Errorf("%s names variables: %s", id, got)
			}
			if again, err := Install(r); err != nil || again.Changed {
				t.Errorf("a second time: %+v, %v", again, err)
			}
		})
	}
}

// The servers that move with it count too.
func TestVariablesOfMovedServersArePassedOn(t *testing.T) {
	r, path := testRequest(t, "codex")
	r.Move = true
	writeFile(t, path, "[mcp_servers.gh]\ncommand = \"gh\"\nenv_vars = [\"GH_TOKEN\"]\n")
	if _, err := Install(r); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); !strings.Contains(got, `env_vars = ["GH_TOKEN"]`) || strings.Contains(got, "mcp_servers.gh") {
		t.Errorf("the file is\n%s", got)
	}
}
