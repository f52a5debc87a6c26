package plugin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/internal/skillcases"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

const (
	aSkill   = "---\nname: k\ndescription: A skill.\n---\n"
	aServers = `{"mcpServers": {"s": {"url": "https://s"}}}`
)

// A plugin is a folder with the usual parts, with or without a manifest.
func TestPluginsWithoutAManifest(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		entry string // of a marketplace, or empty

		plugin                    string
		skills, servers, commands []string
		unused                    []string
		code                      string
	}{
		"skills":            {files: map[string]string{"skills/k/SKILL.md": aSkill}, plugin: "source", skills: []string{"source:k"}},
		"servers":           {files: map[string]string{".mcp.json": aServers}, plugin: "source", servers: []string{"source:s"}},
		"commands":          {files: map[string]string{"commands/go.md": "Go."}, plugin: "source", commands: []string{"source:go"}},
		"agents":            {files: map[string]string{"agents/a.md": "A."}, plugin: "source", unused: []string{"agents"}},
		"one skill":         {files: map[string]string{"SKILL.md": aSkill}, plugin: "source", skills: []string{"source:k"}},
		"nothing":           {files: map[string]string{"README.md": "x", "sub/skills.md": "x"}, code: "missing_manifest"},
		"a nameless one":    {files: map[string]string{".claude-plugin/plugin.json": `{"version": "3"}`, "commands/go.md": "Go."}, plugin: "source", commands: []string{"source:go"}},
		"of another client": {files: map[string]string{".cursor-plugin/plugin.json": `{"name": "other", "hooks": "./hooks.json"}`, "mcp.json": aServers}, plugin: "other", servers: []string{"other:s"}, unused: []string{"hooks"}},
		"an entry's name":   {files: map[string]string{"skills/k/SKILL.md": aSkill}, entry: `{"name": "offered", "source": "./source", "description": "D."}`, plugin: "offered", skills: []string{"offered:k"}},
		"an entry's lists": {files: map[string]string{"more/k/SKILL.md": aSkill, "cmd/go.md": "Go.", "skills/k2/SKILL.md": strings.Replace(aSkill, "name: k", "name: k2", 1)},
			entry: `{"name": "offered", "source": "./source", "skills": ["./more"], "commands": ["./cmd"], "mcpServers": {"s": {"url": "https://s"}}, "strict": true}`, plugin: "offered",
			skills: []string{"offered:k", "offered:k2"}, servers: []string{"offered:s"}, commands: []string{"offered:go"}},
		"an entry's lists beside a manifest": {files: map[string]string{".claude-plugin/plugin.json": `{"name": "offered", "skills": "./own", "mcpServers": "./own.json"}`, "own/k/SKILL.md": aSkill, "own.json": aServers,
			"more/k2/SKILL.md": strings.Replace(aSkill, "name: k", "name: k2", 1), "more.json": `{"t": {"command": "t"}}`},
			entry: `{"name": "offered", "source": "./source", "skills": ["./more"], "mcpServers": "./more.json"}`, plugin: "offered",
			skills: []string{"offered:k", "offered:k2"}, servers: []string{"offered:s", "offered:t"}},
		"only an entry's lists": {files: map[string]string{"k/SKILL.md": aSkill}, entry: `{"name": "offered", "source": "./", "skills": ["./k"]}`, plugin: "offered", skills: []string{"offered:k"}},
		"an entry and nothing":  {files: map[string]string{"README.md": "x"}, entry: `{"name": "offered", "source": "./source"}`, code: "missing_manifest"},
		"another name":          {files: map[string]string{".claude-plugin/plugin.json": `{"name": "x"}`}, entry: `{"name": "offered", "source": "./source"}`, code: "name_mismatch"},
		"named commands": {files: map[string]string{".claude-plugin/plugin.json": `{"name": "x", "commands": {"about": {"source": "./README.md"}, "here": {"content": "x"}}}`, "README.md": "About."},
			plugin: "x", commands: []string{"x:about"}},
		"a path out":        {files: map[string]string{"skills/k/SKILL.md": aSkill}, entry: `{"name": "offered", "source": "./source", "skills": ["../../out"]}`, plugin: "offered", skills: []string{"offered:k"}},
		"a broken manifest": {files: map[string]string{".claude-plugin/plugin.json": `{`, "skills/k/SKILL.md": aSkill}, code: "bad_manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tt.files {
				skillcases.Write(t, dir, []skillcases.Entry{entry("source/"+name, text)})
			}
			var written json.RawMessage
			o := pack.Options{}
			if tt.entry != "" {
				written, o.Name = json.RawMessage(tt.entry), "offered"
			}
			p, _, _, err := plugin.Install(filepath.Join(dir, "dest"), filepath.Join(dir, "source"), written, o, agree)
			if code(err) != tt.code || (err == nil) != (tt.code == "") {
				t.Fatalf("Install: %v, want code %q", err, tt.code)
			}
			if tt.code != "" {
				return
			}
			var servers, commands []string
			for _, s := range p.Servers {
				servers = append(servers, s.Name)
			}
			for _, c := range p.Commands {
				commands = append(commands, c.Name)
			}
			for what, list := range map[string][2][]string{"skills": {tt.skills, skillsOf(p)}, "servers": {tt.servers, servers}, "commands": {tt.commands, commands}, "unused": {tt.unused, p.Unused}} {
				if !slices.Equal(list[0], list[1]) {
					t.Errorf("%s = %v, want %v", what, list[1], list[0])
				}
			}
			if p.Name != tt.plugin || filepath.Base(p.Dir) != tt.plugin {
				t.Errorf("%s in %s, want the name %s", p.Name, p.Dir, tt.plugin)
			}
			if again, err := plugin.Load(p.Dir); err != nil || again.Name != p.Name {
				t.Errorf("loaded again: %+v, %v", again, err)
			}
		})
	}
}

// Clients have different places for the list of a marketplace, and different ways to
// name a plugin's source.
func TestMarketplacesOfOtherClients(t *testing.T) {
	for _, file := range []string{".claude-plugin/marketplace.json", ".cursor-plugin/marketplace.json", ".agents/plugins/marketplace.json"} {
		dir := t.TempDir()
		skillcases.Write(t, dir, []skillcases.Entry{entry(file, `{"name": "m", "plugins": [{"name": "a", "source": "a"}, {"name": "b", "source": {"source": "local", "path": "./b"}},
			{"name": "c", "source": {"source": "local", "path": "../c"}}, {"name": "d", "source": {"source": "git", "url": "https://x/d.git"}}, {"name": "e", "source": "./"}]}`)})
		m, err := plugin.OpenMarket(dir)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, o := range m.Offers {
			got[o.Name] = o.Path + o.Repository
		}
		if diff := cmp.Diff(map[string]string{"a": "a", "b": "b", "c": "", "d": "https://x/d.git", "e": "."}, got); diff != "" {
			t.Errorf("%s: places (-want +got):\n%s", file, diff)
		}
	}
}

// A plugin whose parts are links into its marketplace is installed with them.
func TestPartsThatAreLinks(t *testing.T) {
	dir := t.TempDir()
	skillcases.Write(t, dir, []skillcases.Entry{entry("m/skills/k/SKILL.md", aSkill), entry("m/plugins/p/commands/go.md", "Go."), entry("m/mcp.json", aServers)})
	source := filepath.Join(dir, "m", "plugins", "p")
	for name, to := range map[string]string{"skills": "../../skills", ".mcp.json": "../../mcp.json", "out": "../../../../x"} {
		if err := os.Symlink(to, filepath.Join(source, name)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	p, _, notes, err := plugin.Install(filepath.Join(dir, "dest"), source, nil, pack.Options{Within: filepath.Join(dir, "m")}, agree)
	if err != nil || !slices.Equal(skillsOf(p), []string{"p:k"}) || len(p.Servers) != 1 || len(notes) != 1 || !strings.Contains(notes[0], `"out"`) {
		t.Errorf("%+v, %v, %v", p, notes, err)
	}
}
