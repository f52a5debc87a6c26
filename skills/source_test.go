package skills_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills"
)

// A server is one that has skills, in memory: its files by URI.
type server struct {
	label string
	files map[string]string
	reads []string
	fail  error
}

// entry lists the files below root as they are.
func (s *server) entry(root string) skills.Entry {
	var files []map[string]any
	for uri, text := range s.files {
		if strings.HasPrefix(uri, root+"/") {
			sum := sha256.Sum256([]byte(text))
			files = append(files, map[string]any{"uri": uri, "size": len(text), "digest": skills.Digest(sum[:])})
		}
	}
	resources, _ := json.Marshal(files)
	return skills.Entry{URI: root + "/SKILL.md", Frontmatter: skills.Parse([]byte(s.files[root+"/SKILL.md"])).Frontmatter(), Resources: resources}
}

func (s *server) source(cache *skills.Cache, roots ...string) skills.Source {
	src := skills.Source{Label: s.label, Cache: cache,
		Read: func(_ context.Context, uri string) ([]byte, error) {
			s.reads = append(s.reads, uri)
			if text, ok := s.files[uri]; ok && s.fail == nil {
				return []byte(text), nil
			}
			return nil, errors.Join(errors.New("no resource"), s.fail)
		},
		Get: func(_ context.Context, uri string) (skills.Entry, error) {
			if _, ok := s.files[uri]; !ok {
				return skills.Entry{}, errors.New("no skill")
			}
			return s.entry(strings.TrimSuffix(uri, "/SKILL.md")), nil
		},
	}
	for _, r := range roots {
		src.Entries = append(src.Entries, s.entry(r))
	}
	return src
}

func newServer(label string, names ...string) *server {
	s := &server{label: label, files: map[string]string{}}
	for _, n := range names {
		s.files["skill://"+n+"/SKILL.md"] = skillText(filepath.Base(n), "Is of "+label+".", "allowed-tools: Bash(rm *)")
		s.files["skill://"+n+"/references/a%20b.md"] = "text of " + label
	}
	return s
}

func TestSkillsOfServersHaveNamesOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "refunds/SKILL.md", skillText("refunds", "Is local."))
	write(t, dir, "off/SKILL.md", skillText("off", "Is local and off."))
	switches := filepath.Join(t.TempDir(), "state.json")
	reg := skills.NewRegistry(&skills.Options{Switches: skills.SwitchFile(switches), Exclude: []string{"server:banned", "docs:secret"},
		Roots: func() ([]skills.Root, []skills.Problem) {
			return []skills.Root{{Path: dir, Scope: skills.ScopeUser}}, nil
		}})
	if err := skills.SetSwitch(skills.SwitchFile(switches), skills.KindSkill, "off", false); err != nil {
		t.Fatal(err)
	}
	docs := newServer("docs", "refunds", "off", "both", "only", "eu/tax", "us/tax", "secret")
	shop := newServer("shop", "both")
	banned := newServer("banned", "x")
	reg.SetSources([]skills.Source{
		docs.source(nil, "skill://refunds", "skill://off", "skill://both", "skill://only", "skill://eu/tax", "skill://us/tax", "skill://secret"),
		shop.source(nil, "skill://both"), banned.source(nil, "skill://x"),
	})
	s := reg.Refresh()
	if diff := cmp.Diff([]string{"docs:both", "docs:eu/tax", "docs:off", "docs:only", "docs:refunds", "docs:us/tax", "refunds", "shop:both"}, refs(s.Shown())); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"refunds": "local:user", "docs:refunds": "server:docs", "only": "server:docs", "docs:only": "server:docs", "shop:both": "server:shop",
		"both": "", "off": "", "tax": "", "docs:secret": "", "banned:x": "", "x": "", "docs:us/tax": "server:docs",
	} {
		k, err := s.Get(name)
		switch {
		case want == "" && code(t, err) != "skill_not_found":
			t.Errorf("%s: %v, %v", name, k, err)
		case want != "" && (err != nil || k.Origin() != want):
			t.Errorf("%s: %+v, %v, want one of %s", name, k, err, want)
		}
	}
	k, _ := s.Get("docs:refunds")
	if len(k.AllowedTools) > 0 || k.Valid || k.Dir() != "" {
		t.Errorf("%+v", k)
	}
	if err := skills.SetSwitch(skills.SwitchFile(switches), skills.KindSkill, k.ID(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := reg.Refresh().Get("docs:refunds"); code(t, err) != "skill_not_found" {
		t.Errorf("switched off: %v", err)
	}
	if len(docs.reads)+len(shop.reads)+len(banned.reads) > 0 {
		t.Errorf("read ahead of need: %v", docs.reads)
	}
}

func TestFilesOfServersAreVerified(t *testing.T) {
	docs := newServer("docs", "refunds")
	reg := skills.NewRegistry(nil)
	reg.SetSources([]skills.Source{docs.source(skills.NewCache(""), "skill://refunds")})
	k, err := reg.Refresh().Get("docs:refunds")
	if err != nil {
		t.Fatal(err)
	}
	good := docs.files["skill://refunds/references/a%20b.md"]
	for _, c := range []struct{ name, uri, path, text, why string }{
		{"a lie of the same length", "skill://refunds/references/a%20b.md", "references/a b.md", strings.ToUpper(good), "its digest is another"},
		{"another length", "skill://refunds/references/a%20b.md", "references/a b.md", good + "!", "it has 13 bytes, not 12"},
		{"a changed SKILL.md", "skill://refunds/SKILL.md", "SKILL.md", "short", "bytes, not"},
	} {
		was := docs.files[c.uri]
		docs.files[c.uri] = c.text
		_, err := k.ReadFile(c.path, 0, 0)
		if code(t, err) != "verification_failed" || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", c.name, err)
		}
		docs.files[c.uri] = was
	}
	docs.files["skill://refunds/unlisted.md"] = "x"
	docs.reads = nil
	if _, err := k.ReadFile("unlisted.md", 0, 0); code(t, err) != "not_found" || len(docs.reads) > 0 {
		t.Errorf("an unlisted file: %v, read %v", err, docs.reads)
	}
	if p, err := k.ReadFile("references/a b.md", 0, 0); err != nil || p.Text != good {
		t.Errorf("%+v, %v", p, err)
	}
	a, err := k.Activate(nil, "", false)
	if err != nil || !strings.Contains(a.Text, `<skill_content name="docs:refunds" origin="server:docs">`) || !cmp.Equal(a.Files, []string{"references/a b.md"}) {
		t.Errorf("%+v, %v", a, err)
	}
	docs.reads = nil
	if _, err := k.Activate(nil, "", false); err != nil || len(docs.reads) > 0 {
		t.Errorf("what was read is fetched again: %v, %v", docs.reads, err)
	}
	if _, err := k.Bundle(); code(t, err) != "not_local" {
		t.Errorf("to be run: %v", err)
	}
	docs.fail = errors.New("it is gone\u202e")
	if _, err := k.With(t.Context()).ReadFile("references/a b.md", 0, 0); err != nil {
		t.Errorf("kept, and the server is gone: %v", err)
	}
}

func TestHeadersOfServersAreVerified(t *testing.T) {
	docs := newServer("docs", "refunds")
	root := "skill://refunds"
	for _, c := range []struct {
		name, header string
		ok           bool
	}{
		{"as it is", `{"description":"Is of docs.","allowed-tools":"Bash(rm *)","name":"refunds"}`, true},
		{"another description", `{"name":"refunds","description":"Is of nobody.","allowed-tools":"Bash(rm *)"}`, false},
		{"a field less", `{"name":"refunds","description":"Is of docs."}`, false},
		{"a field more", `{"name":"refunds","description":"Is of docs.","allowed-tools":"Bash(rm *)","license":"MIT"}`, false},
	} {
		e := docs.entry(root)
		e.Frontmatter = json.RawMessage(c.header)
		reg := skills.NewRegistry(nil)
		src := docs.source(nil)
		src.Entries = []skills.Entry{e}
		reg.SetSources([]skills.Source{src})
		k, err := reg.Refresh().Get("docs:refunds")
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, err := k.Activate(nil, "", false); (err == nil) != c.ok || (!c.ok && code(t, err) != "verification_failed") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	docs.files[root+"/SKILL.md"] = skillText("refunds", "Has numbers.", "metadata:", "  level: 3", "  share: 1.50", "  big: 12345678901234567890", "  list: [1, a, true, null]")
	e := docs.entry(root)
	e.Frontmatter = json.RawMessage(`{"metadata":{"list":[1,"a",true,null],"big":12345678901234567890,"share":1.5,"level":3.0},"name":"refunds","description":"Has numbers."}`)
	src := docs.source(nil)
	src.Entries = []skills.Entry{e}
	reg := skills.NewRegistry(nil)
	reg.SetSources([]skills.Source{src})
	k, err := reg.Refresh().Get("docs:refunds")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Activate(nil, "", false); err != nil {
		t.Errorf("numbers that are the same: %v", err)
	}
}

func TestWrongEntriesAreLeftOut(t *testing.T) {
	docs := newServer("docs", "refunds")
	file := func(uri string) map[string]any {
		return map[string]any{"uri": uri, "size": 1, "digest": "sha256:" + strings.Repeat("a", 64)}
	}
	own := file("skill://refunds/SKILL.md")
	files := func(list ...map[string]any) any { return list }
	many := make([]map[string]any, 600)
	for i := range many {
		many[i] = file(fmt.Sprintf("skill://refunds/%d", i))
	}
	header := map[string]any{"name": "refunds", "description": "Is of docs."}
	for _, c := range []struct {
		name              string
		uri               string
		header, resources any
		want              string
	}{
		{"dynamic", "", nil, "dynamic", "change by themselves"},
		{"without files", "", nil, nil, "does not list its files"},
		{"an object of files", "", nil, map[string]any{}, "does not list its files"},
		{"not itself", "", nil, files(file("skill://refunds/a.md")), "its own SKILL.md"},
		{"too many files", "", nil, append(many, own), "it has 601 files"},
		{"too large", "", nil, files(own, map[string]any{"uri": "skill://refunds/a", "size": 16 << 20, "digest": own["digest"]}), "more than 16 MiB"},
		{"a size that overflows", "", nil, files(own, map[string]any{"uri": "skill://refunds/a", "size": int64(1<<63 - 1), "digest": own["digest"]}), "more than 16 MiB"},
		{"a negative size", "", nil, files(own, map[string]any{"uri": "skill://refunds/a", "size": -1, "digest": own["digest"]}), "without its digest and size"},
		{"no size", "", nil, files(own, map[string]any{"uri": "skill://refunds/a", "digest": own["digest"]}), "without its digest and size"},
		{"another digest", "", nil, files(own, map[string]any{"uri": "skill://refunds/a", "size": 1, "digest": "md5:00"}), "without its digest and size"},
		{"twice", "", nil, files(own, own), "twice"},
		{"twice by escapes", "", nil, files(own, file("skill://refunds/a"), file("skill://refunds/%61")), "twice"},
		{"of another skill", "", nil, files(own, file("skill://other/a")), "not a file in its folder"},
		{"of a sibling", "", nil, files(own, file("skill://refunds-2/a")), "not a file in its folder"},
		{"out of it", "", nil, files(own, file("skill://refunds/../a")), "not a file in its folder"},
		{"out of it by escapes", "", nil, files(own, file("skill://refunds/%2e%2e/a")), "not a file in its folder"},
		{"control characters", "", nil, files(own, file("skill://refunds/a%0a")), "not a file in its folder"},
		{"invisible characters", "", nil, files(own, file("skill://refunds/a%E2%80%AE")), "not a file in its folder"},
		{"file and folder", "", nil, files(own, file("skill://refunds/a"), file("skill://refunds/a/b")), "as a file and as a folder"},
		{"another name", "skill://other/SKILL.md", nil, nil, `ends in "other"`},
		{"no SKILL.md", "skill://refunds/README.md", nil, nil, "not that of a SKILL.md"},
		{"no scheme", "refunds/SKILL.md", nil, nil, "not that of a SKILL.md"},
		{"a line break", "skill://refunds\n/SKILL.md", nil, nil, "no place in one"},
		{"no header", "", 1, nil, "not an object"},
		{"no description", "", map[string]any{"name": "refunds"}, nil, "description is missing"},
		{"a bad name", "skill://Re%20funds/SKILL.md", map[string]any{"name": "Re funds", "description": "x"}, nil, "upper-case"},
		{"a name that is none", "", map[string]any{"name": 7, "description": "x"}, nil, `called "7"`},
		{"a huge header", "", map[string]any{"name": "refunds", "description": strings.Repeat("x", 70<<10)}, nil, "64 KiB"},
	} {
		e := skills.Entry{URI: c.uri}
		if c.uri == "" {
			e.URI = "skill://refunds/SKILL.md"
		}
		if c.header == nil {
			c.header = header
		}
		e.Frontmatter, _ = json.Marshal(c.header)
		if c.resources != nil {
			e.Resources, _ = json.Marshal(c.resources)
		}
		src := docs.source(nil)
		good := docs.entry("skill://refunds")
		good.URI = "skill://x/refunds/SKILL.md"
		good.Resources = json.RawMessage(strings.ReplaceAll(string(good.Resources), "skill://refunds/", "skill://x/refunds/"))
		src.Entries = []skills.Entry{e, good}
		reg := skills.NewRegistry(nil)
		reg.SetSources([]skills.Source{src})
		s := reg.Refresh()
		if len(s.All()) != 1 || s.All()[0].Address() != good.URI {
			t.Errorf("%s: %v", c.name, refs(s.All()))
		}
		if len(s.Problems) != 1 || s.Problems[0].Path != "server docs" || !strings.Contains(s.Problems[0].Message, c.want) {
			t.Errorf("%s: problems %+v, want %q", c.name, s.Problems, c.want)
		}
	}
}

func TestASkillThatHasChangedIsAskedForAgain(t *testing.T) {
	docs := newServer("docs", "refunds")
	reg := skills.NewRegistry(nil)
	reg.SetSources([]skills.Source{docs.source(nil, "skill://refunds")})
	k, err := reg.Refresh().Get("docs:refunds")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := k.Renew(t.Context()); again != nil || err != nil {
		t.Errorf("nothing has changed: %v, %v", again, err)
	}
	docs.files["skill://refunds/SKILL.md"] = skillText("refunds", "Is new.")
	again, err := k.Renew(t.Context())
	if err != nil || again == nil || again.Ref != "docs:refunds" || again.Description != "Is new." {
		t.Fatalf("%+v, %v", again, err)
	}
	if _, err := again.Activate(nil, "", false); err != nil {
		t.Error(err)
	}
	docs.files["skill://refunds/SKILL.md"] = skillText("other", "Is another's.")
	if _, err := k.Renew(t.Context()); code(t, err) != "invalid_skill" {
		t.Errorf("another name: %v", err)
	}
}

// Nobody knows what is switched off in a broken file, and where that is is none of
// a model's business.
func TestASkillAtAnAddressIsOffWithABrokenSwitchFile(t *testing.T) {
	dir := t.TempDir()
	reg := skills.NewRegistry(&skills.Options{Switches: skills.SwitchFile(filepath.Join(dir, "state.json"))})
	reg.SetSources([]skills.Source{newServer("docs", "refunds").source(nil)})
	if k, err := reg.At(t.Context(), "docs", "skill://refunds/SKILL.md"); err != nil || k.Ref != "docs:skill://refunds/SKILL.md" {
		t.Fatalf("%+v, %v", k, err)
	}
	write(t, dir, "state.json", "{")
	if k, err := reg.At(t.Context(), "docs", "skill://refunds/SKILL.md"); code(t, err) != "skill_not_found" || strings.Contains(err.Error(), dir) {
		t.Errorf("%+v, %v", k, err)
	}
}

func TestTheCacheIsNoTrustedCopy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	docs := newServer("docs", "refunds")
	open := func(label string) *skills.Skill {
		docs.label = label
		reg := skills.NewRegistry(nil)
		reg.SetSources([]skills.Source{docs.source(skills.NewCache(dir), "skill://refunds")}) // as another process
		k, err := reg.Refresh().Get(label + ":refunds")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	read := func(label string, fetched int) {
		t.Helper()
		docs.reads = nil
		if p, err := open(label).ReadFile("references/a b.md", 0, 0); err != nil || p.Text != "text of docs" || len(docs.reads) != fetched {
			t.Errorf("%+v, %v, fetched %v", p, err, docs.reads)
		}
	}
	read("docs", 1)
	read("docs", 0)
	read("shop", 1) // the same bytes of another server are another file
	var files []string
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
		if !e.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	if len(files) != 2 {
		t.Fatalf("kept: %v", files)
	}
	for _, f := range files {
		if err := os.WriteFile(f, []byte("text of evil"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read("docs", 1)
	if n := len(registry(skills.Root{Path: dir, Scope: skills.ScopeUser}).Refresh().All()); n != 0 {
		t.Errorf("%d skills are found in the cache", n)
	}
	if err := skills.NewCache(dir).Keep([]string{"docs"}); err != nil {
		t.Error(err)
	}
	read("docs", 0)
	read("shop", 1)
}
