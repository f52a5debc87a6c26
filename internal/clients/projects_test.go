package clients

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// claudeFile writes the user's file of Claude Code with servers for folders below e.Dir.
func claudeFile(t *testing.T, e Env, projects map[string]string) (path string) {
	t.Helper()
	all := map[string]json.RawMessage{}
	for dir, text := range projects {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(e.Dir, dir)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		all[dir] = json.RawMessage(text)
	}
	text, err := json.MarshalIndent(map[string]any{"numStartups": 7, "projects": all, "mcpServers": map[string]any{"docs": map[string]any{"command": "docs"}}}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(e.Home, ".claude.json")
	writeFile(t, path, string(text))
	return path
}

func TestServersOfOtherProjects(t *testing.T) {
	e := testEnv(t, "linux", map[string]string{"shared/.mcp.json": `{"mcpServers": {"wiki": {"command": "wiki"}, "evil": {"command": "evil"}, "broker": {"command": "broker", "args": ["serve"]}}}`})
	path := claudeFile(t, e, map[string]string{
		"b": `{"mcpServers": {"db": {"command": "db"}, "broker": {"command": "broker", "args": ["serve"]}}}`, "a": `{"mcpServers": {"x": {"command": "x"}}}`,
		".": `{"mcpServers": {"here": {"command": "here"}}}`, "/gone": `{"mcpServers": {"old": {"command": "old"}}}`, "c": `"odd"`,
		"shared": `{"enabledMcpjsonServers": ["wiki"]}`, "only": `{"mcpServers": {"broker": {"command": "broker", "args": ["serve"]}}}`,
	})
	claude := Lookup("claude-code")
	want := []ProjectServers{{Dir: filepath.Join(e.Dir, "a"), Servers: []string{"x"}}, {Dir: filepath.Join(e.Dir, "b"), Servers: []string{"db"}},
		{Dir: filepath.Join(e.Dir, "shared"), Servers: []string{}, Shared: []string{"wiki", "evil"}}}
	got := OtherProjects(claude, e, nil)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(ProjectServers{}, "Sources")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := got[2].Sources; len(s) != 1 || len(s[0].Servers) != 1 || s[0].Servers[0].Name != "wiki" {
		t.Errorf("of what a project shares, the user has allowed %+v, want wiki", s)
	}
	writeFile(t, filepath.Join(e.Home, ".claude", "settings.json"), `{"enableAllProjectMcpServers": true}`)
	if s := OtherProjects(claude, e, nil)[2].Sources; len(s[0].Servers) != 2 {
		t.Errorf("all are allowed, and it returns %+v", s)
	}
	for _, text := range []string{"", "{", `{"projects": []}`, `{"projects": {"/": {"mcpServers": null}}}`} {
		writeFile(t, path, text)
		if got := OtherProjects(claude, e, nil); got != nil {
			t.Errorf("%s: %v", text, got)
		}
	}
	if got := OtherProjects(Lookup("cursor"), e, nil); got != nil {
		t.Errorf("Cursor has %v", got)
	}
}

// Servers of single projects move, too, and return to their projects, also after the
// client has rewritten its file.
func TestServersOfProjectsMoveAndReturn(t *testing.T) {
	for name, edit := range map[string]func(string) string{
		"untouched": nil,
		"edited":    func(text string) string { return strings.Replace(text, `"numStartups": 7`, `"numStartups": 8`, 1) },
		"one added by hand": func(text string) string {
			return strings.Replace(text, `"mcpServers": {}`, `"mcpServers": {"db": {"command": "mine"}}`, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := testRequest(t, "claude-code")
			path := claudeFile(t, r.Env, map[string]string{"shop": `{"mcpServers": {"db": {"command": "db", "args": ["shop"]}}}`, "blog": `{"mcpServers": {"db": {"command": "db"}}, "x": 1}`})
			before := read(t, path)
			r.Move, r.Projects = true, []string{filepath.Join(r.Env.Dir, "blog"), filepath.Join(r.Env.Dir, "shop")}
			mustInstall(t, r)
			cfg, err := config.Load(r.Config)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range cfg.Servers {
				names = append(names, s.Name)
			}
			if diff := cmp.Diff([]string{"docs", "db", "db-shop"}, names); diff != "" {
				t.Errorf("servers.json (-want +got):\n%s", diff)
			}
			if text := read(t, path); strings.Contains(text, `"db"`) || !strings.Contains(text, `"x": 1`) {
				t.Errorf("the file is\n%s", text)
			}
			if again, err := Install(r); err != nil || again.Changed {
				t.Errorf("a second time: %+v, %v", again, err)
			}
			if edit != nil {
				writeFile(t, path, edit(read(t, path)))
			}
			if _, err := Uninstall(r); err != nil {
				t.Fatal(err)
			}
			after := read(t, path)
			if edit == nil && after != before {
				t.Errorf("after uninstalling:\n%s", after)
			}
			for _, dir := range r.Projects {
				fields, err := jsonFile{}.servers([]byte(after), r.Client.rootOf(dir))
				if err != nil || len(fields) != 1 || fields[0].Key != "db" {
					t.Errorf("%s has %v, %v", dir, fields, err)
				}
			}
		})
	}
}

// What Keep names stays in the file of each client, with every byte, and Only moves
// nothing else.
func TestSomeServersStay(t *testing.T) {
	for _, id := range slices.Sorted(maps.Keys(samples)) {
		t.Run(id, func(t *testing.T) {
			r, path := testRequest(t, id)
			writeFile(t, path, samples[id])
			entries, err := r.entries(path, []byte(samples[id]))
			if err != nil || len(entries) < 2 {
				t.Skipf("%d servers, %v", len(entries), err)
			}
			kept, moved := entries[0].Name, entries[1].Name
			names := func() (names []string) {
				entries, err := r.entries(path, []byte(read(t, path)))
				if err != nil {
					t.Fatal(err)
				}
				return Source{Servers: entries}.names()
			}
			r.Move, r.Keep = true, []Outcome{{Name: kept, From: path}, {Name: moved, From: "/elsewhere"}}
			if res := mustInstall(t, r); !slices.Contains(res.Others, kept) || slices.Contains(res.Others, moved) {
				t.Errorf("%+v", res)
			}
			if cfg, err := config.Load(r.Config); err != nil || cfg.Server(kept) != nil || cfg.Server(moved) == nil {
				t.Errorf("servers.json has %+v, %v", cfg, err)
			}
			r.Keep, r.Only = nil, []string{kept}
			mustInstall(t, r)
			if got := names(); slices.Contains(got, kept) {
				t.Errorf("%s was moved later, and the file has %q", kept, got)
			}
			if _, err := Uninstall(r); err != nil || read(t, path) != samples[id] {
				t.Errorf("after uninstalling (%v):\n%s", err, read(t, path))
			}
			r.Only = []string{"nobody"}
			if _, err := Install(r); err == nil || !strings.Contains(err.Error(), `no server "nobody"`) {
				t.Errorf("a server that it has not: %v", err)
			}
		})
	}
}

// A server that servers.json has disabled is enabled when a client's moves there, since
// otherwise nothing would start it any more.
func TestMovedServersAreEnabled(t *testing.T) {
	for _, id := range []string{"cursor", "codex", "opencode"} {
		t.Run(id, func(t *testing.T) {
			r, path := testRequest(t, id)
			for name, entry := range map[string]config.Object{
				"gone": {{Key: "command", Value: "gone"}}, "off": {{Key: "command", Value: "off"}, {Key: "enabled", Value: false}},
			} {
				if id == "opencode" {
					entry[0].Value = []string{name}
				}
				text, err := os.ReadFile(path)
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				if text, err = r.Client.format.set(text, r.Client.root, name, entry); err != nil {
					t.Fatal(err)
				}
				writeFile(t, path, string(text))
			}
			writeFile(t, r.Config, `{"mcpServers": {"gone": {"command": "gone", "disabled": true}, "off": {"command": "off", "disabled": true}}}`)
			res := mustInstall(t, r)
			if len(res.Moved) > 0 {
				t.Errorf("nothing is to move: %+v", res.Moved)
			}
			r.Move = true
			mustInstall(t, r)
			cfg, err := config.Load(r.Config)
			if err != nil || cfg.Server("gone").Disabled || !cfg.Server("off").Disabled {
				t.Errorf("gone is to be enabled, off is not: %s, %v", read(t, r.Config), err)
			}
			if got := read(t, path); strings.Contains(got, "gone") {
				t.Errorf("the file is\n%s", got)
			}
		})
	}
}
