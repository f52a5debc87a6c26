package plugin_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/internal/skillcases"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/pack"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

// skillsOf are the names of a plugin's skills.
func skillsOf(p *plugin.Plugin) []string {
	names := []string{}
	reg := skills.NewRegistry(&skills.Options{Roots: func() ([]skills.Root, []skills.Problem) { return p.Roots(), nil }})
	for _, s := range reg.Refresh().All() {
		names = append(names, s.ID())
	}
	return names
}

func code(err error) string {
	if e, ok := errors.AsType[*plugin.Error](err); ok {
		return e.Code
	}
	if e, ok := errors.AsType[*pack.Error](err); ok {
		return e.Code
	}
	return ""
}

func TestPluginCases(t *testing.T) {
	type command struct {
		Name, Description string
		ArgumentHint      string `json:"argument_hint"`
	}
	type input struct{ Plugin string }
	type want struct {
		Name, Version, Error string
		Servers              []string
		Skipped              []string `json:"skipped_servers"`
		Commands             []command
		Skills               []string
		ServerDetail         map[string]json.RawMessage `json:"server_detail"`
	}
	skillcases.Run(t, "plugin", func(t *testing.T, dir string, in input, want want) {
		at := filepath.Join(dir, in.Plugin)
		p, err := plugin.Load(at)
		if want.Error != "" {
			if code(err) != want.Error {
				t.Errorf("Load: %v, want %s", err, want.Error)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		got := want
		got.Name, got.Version, got.Skipped, got.Skills = p.Name, p.Version, p.Skipped, skillsOf(p)
		got.Servers, got.Commands = []string{}, []command{}
		for _, s := range p.Servers {
			got.Servers = append(got.Servers, s.Name)
			if detail, ok := want.ServerDetail[s.Name]; ok {
				text := strings.ReplaceAll(string(detail), "{plugin}", strings.Trim(quote(at), `"`))
				if diff := cmp.Diff(value(t, []byte(text)), value(t, s.Config)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", s.Name, diff)
				}
			}
		}
		for _, c := range p.Commands {
			got.Commands = append(got.Commands, command{c.Name, c.Description, c.ArgumentHint})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("plugin (-want +got):\n%s", diff)
		}
	})
}

func quote(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

func value(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

func entry(path, text string) skillcases.Entry { return skillcases.Entry{Path: path, Text: text} }

func codes(list []skills.Problem) []string {
	var found []string
	for _, p := range list {
		found = append(found, p.Code)
	}
	slices.Sort(found)
	return found
}

func TestOddParts(t *testing.T) {
	dir := t.TempDir()
	skillcases.Write(t, dir, []skillcases.Entry{
		entry("p/.claude-plugin/plugin.json", "\ufeff"+`{"name": "p", "author": "Me", "skills": ["./more", "../out"], "commands": "./extra",
			"mcpServers": {"a": {"url": "https://second"}, "b": {"command": "b"}, "c": 1}}`),
		entry("p/.mcp.json", `{"a": {"url": "https://first"}, "empty": {"url": ""}, " ": {"command": "x"}}`),
		entry("p/commands/git/fix.md", "\ufeff# Fix the issue\n\nFix $0.\n"),
		entry("p/commands/bad.md", "---\ndescription: &a x\n---\n"),
		entry("p/commands/notes.txt", "x"),
		entry("p/extra/go.md", "---\nargument-hint: [a, b]\n---\nGo $ARGUMENTS.\n"),
		entry("p/more/k/SKILL.md", "---\nname: k\ndescription: More.\n---\n"),
		entry("out/o/SKILL.md", "---\nname: o\ndescription: Outside.\n---\n"),
	})
	p, err := plugin.Load(filepath.Join(dir, "p"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bad_command", "bad_servers", "bad_servers", "path_escape", "server_no_endpoint"}, codes(p.Problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s%v", diff, p.Problems)
	}
	if diff := cmp.Diff([]string{"p:k"}, skillsOf(p)); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	var servers []string
	for _, s := range plugin.Servers([]*plugin.Plugin{p}, func(name string) bool { return name == "p:b" }) {
		servers = append(servers, s.Name+" "+string(s.Config))
	}
	if diff := cmp.Diff([]string{`p:a {"url": "https://first"}`}, servers); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	texts := map[string]string{}
	for _, c := range p.Commands {
		if texts[c.Name], err = c.Text("'x y' z"); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"p:git:fix": "# Fix the issue\n\nFix x y.", "p:go": "Go 'x y' z."}, texts); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if p.Author != "Me" || p.Commands[0].Description != "Fix the issue" || p.Commands[1].ArgumentHint != "[a, b]" {
		t.Errorf("plugin %+v", p)
	}
}

// What a manifest names counts, or is a problem, in the same order each time.
func TestPathsOfTheManifest(t *testing.T) {
	dir := t.TempDir()
	skillcases.Write(t, dir, []skillcases.Entry{
		entry("p/.claude-plugin/plugin.json", `{"name": "p", "skills": ["./missing", "./notes.txt", "./more"],
			"commands": ["./cmd/special/deploy.md", "./other", "./nothere", "./notes.txt", "commands/a.md"]}`),
		entry("p/.mcp.json", `{"d": {"command": ["x"]}, "b": {"url": 1}, "c": {}, "a": []}`),
		entry("p/commands/a.md", "First.\n"),
		entry("p/other/a.md", "Second.\n"),
		entry("p/cmd/special/deploy.md", "Deploy.\n"),
		entry("p/more/k/SKILL.md", "---\nname: k\ndescription: More.\n---\n"),
		entry("p/notes.txt", "x"),
	})
	for range 8 { // maps have no order
		p, err := plugin.Load(filepath.Join(dir, "p"))
		if err != nil {
			t.Fatal(err)
		}
		var names, problems []string
		for _, c := range p.Commands {
			names = append(names, c.Name+" "+c.Description)
		}
		for _, problem := range p.Problems {
			problems = append(problems, problem.Code+" "+filepath.Base(problem.Path)+": "+problem.Message)
		}
		if diff := cmp.Diff([]string{"p:a First.", "p:deploy Deploy."}, names); diff != "" || !slices.Equal(skillsOf(p), []string{"p:k"}) {
			t.Errorf("skills %v, commands (-want +got):\n%s", skillsOf(p), diff)
		}
		if diff := cmp.Diff([]string{
			`bad_servers .mcp.json: server "a" is left out: it is a list and has to be an object`,
			`bad_servers .mcp.json: server "b" is left out: "url" is a number and has to be a string`,
			`server_no_endpoint .mcp.json: server "c" is left out: it has neither "command" nor "url"`,
			`bad_servers .mcp.json: server "d" is left out: "command" is a list and has to be a string`,
			`missing_skills plugin.json: "skills" names "missing", but there is no such folder`,
			`missing_skills plugin.json: "skills" names "notes.txt", but there is no such folder`,
			`bad_command a.md: the command is left out: p:a is commands/a.md already`,
			`bad_command plugin.json: "commands" names "nothere", and there is no such file or folder`,
			`bad_command plugin.json: "commands" names "notes.txt", which is not a Markdown file`,
		}, problems); diff != "" {
			t.Fatalf("problems (-want +got):\n%s", diff)
		}
	}
}

func TestManifestsThatAreNone(t *testing.T) {
	dir := t.TempDir()
	for manifest, want := range map[string]string{
		`{`: "bad_manifest", `[]`: "bad_manifest", `{"name": 1}`: "bad_manifest", `{"name": "../x"}`: "bad_manifest", `{"name": "a..b"}`: "bad_manifest",
		`{"name": "` + strings.Repeat("x", 65) + `"}`: "bad_manifest", `{"name": "x", "skills": {}}`: "bad_manifest", `{"name": "x", "commands": [1]}`: "bad_manifest",
	} {
		skillcases.Write(t, dir, []skillcases.Entry{entry("p/.claude-plugin/plugin.json", manifest)})
		if _, err := plugin.Load(filepath.Join(dir, "p")); code(err) != want || strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%.40s: %v, want %s", manifest, err, want)
		}
	}
	if _, err := plugin.Load(filepath.Join(dir, "nowhere")); code(err) != "missing_manifest" {
		t.Errorf("nowhere: %v", err)
	}
}

func TestInstallFromAMarket(t *testing.T) {
	dir := t.TempDir()
	skillcases.Write(t, dir, []skillcases.Entry{
		entry("m/.claude-plugin/marketplace.json", `{"name": "bazaar", "metadata": {"pluginRoot": "./plugins"}, "plugins": [
			{"name": "one", "source": "./one", "description": "First."}, {"name": "two", "source": {"source": "github", "repo": "x/y", "ref": "main", "sha": "`+strings.Repeat("a", 40)+`"}},
			{"name": "three", "source": "../../etc"}, {"name": "four", "source": "https://x/y.git"},
			{"name": "five", "source": {"source": "git-subdir", "url": "git@x:y.git", "path": "./deep/in"}},
			{"name": "six", "source": {"source": "git-subdir", "url": "x/y", "path": "in"}},
			{"name": "seven", "source": {"source": "npm", "package": "x"}}, {"name": "eight", "source": {"source": "github", "repo": "../x/y"}}]}`),
		entry("m/plugins/one/.claude-plugin/plugin.json", `{"name": "one", "version": "2"}`),
		entry("m/plugins/one/skills/k/SKILL.md", "---\nname: k\ndescription: A skill.\n---\n"),
	})
	m, err := plugin.OpenMarket(filepath.Join(dir, "m"))
	if err != nil {
		t.Fatal(err)
	}
	dest := filepath.Join(dir, "dest")
	sha := strings.Repeat("a", 40)
	for name, want := range map[string]plugin.Offer{
		"two":   {Repository: "https://github.com/x/y.git", Ref: "main", Commit: sha},
		"three": {},
		"four":  {Repository: "https://x/y.git"},
		"five":  {Repository: "git@x:y.git", Folder: "deep/in"},
		"six":   {Repository: "https://github.com/x/y.git", Folder: "in"},
		"seven": {}, "eight": {},
	} {
		want.Name = name
		got, err := m.Find(name)
		want.Entry = got.Entry
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("Find(%s) = %+v, %v, want %+v", name, got, err, want)
		}
	}
	if _, err := m.Find("on"); code(err) != "plugin_not_found" || !strings.Contains(err.Error(), "did you mean one") {
		t.Errorf("Find(on) = %v", err)
	}
	offer, err := m.Find("one")
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(m.Dir, offer.Path)
	p, _, _, err := plugin.Install(dest, source, nil, pack.Options{}, agree)
	if err != nil || p.Version != "2" || !slices.Equal(skillsOf(p), []string{"one:k"}) {
		t.Errorf("Install = %+v, %v", p, err)
	}
	if _, _, _, err := plugin.Install(dest, source, nil, pack.Options{}, agree); code(err) != "already_exists" {
		t.Errorf("again: %v", err)
	}
	if _, _, _, err := plugin.Install(dest, filepath.Join(dir, "m", "plugins", "one", "skills"), nil, pack.Options{}, agree); code(err) != "missing_manifest" {
		t.Errorf("no plugin: %v", err)
	}
	skillcases.Write(t, dest, []skillcases.Entry{entry("copy/.claude-plugin/plugin.json", `{"name": "one"}`), entry("none/x", "x"), entry("file", "x")})
	list, problems := plugin.Installed(dest)
	if diff := cmp.Diff([]string{"missing_manifest", "shadowed"}, codes(problems)); len(list) != 1 || diff != "" {
		t.Errorf("%d plugins, problems (-want +got):\n%s", len(list), diff)
	}
	if list, problems := plugin.Installed(filepath.Join(dir, "nowhere")); len(list)+len(problems) > 0 {
		t.Errorf("nowhere: %v, %v", list, problems)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(`{"name": "p", "mcpServers": {"a": {"url": "x"}}}`, `{"mcpServers": {"a": {"command": "${CLAUDE_PLUGIN_ROOT}/x"}}}`)
	f.Add(`{"name": "p", "skills": "../..", "commands": ["/etc"]}`, `[]`)
	f.Fuzz(func(t *testing.T, manifest, servers string) {
		dir := t.TempDir()
		skillcases.Write(t, dir, []skillcases.Entry{entry(".claude-plugin/plugin.json", manifest), entry(".mcp.json", servers)})
		p, err := plugin.Load(dir)
		if err != nil {
			return
		}
		for _, r := range p.Roots() {
			if rel, err := filepath.Rel(dir, r.Path); err != nil || !filepath.IsLocal(rel) {
				t.Errorf("%q looks for skills in %s", manifest, r.Path)
			}
		}
		for _, s := range p.Servers {
			if !json.Valid(s.Config) || !strings.HasPrefix(s.Name, p.Name+":") {
				t.Errorf("%q gives %+v", servers, s)
			}
		}
	})
}

// A marketplace names folders in itself, or repositories.
func FuzzMarket(f *testing.F) {
	f.Add(`{"name":"m","metadata":{"pluginRoot":"./plugins"},"plugins":[{"name":"a","source":"a"},{"name":"b","source":"../../x"},{"name":"c","source":"/etc"}]}`)
	f.Add(`{"name":"m","plugins":[{"name":"a","source":{"source":"github","repo":"o/r","ref":"x","path":"./y"}},{"source":{"source":"url","url":"ext::sh"}},{"source":7},null]}`)
	f.Add(`{"name":"m","metadata":{"pluginRoot":"../.."},"plugins":[{"name":"a","source":"x"}]}`)
	f.Add(`{"plugins":{}}`)
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		skillcases.Write(t, dir, []skillcases.Entry{entry(plugin.MarketFile, text)})
		m, err := plugin.OpenMarket(dir)
		if err != nil {
			return
		}
		for _, o := range m.Offers {
			if o.Path != "" && (!filepath.IsLocal(o.Path) || o.Repository != "") {
				t.Errorf("%q gives %+v", text, o)
			}
			if _, err := m.Find(o.Name); err != nil {
				t.Errorf("%q: its plugin %q is not found: %v", text, o.Name, err)
			}
		}
	})
}
