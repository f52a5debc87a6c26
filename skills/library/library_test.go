package library_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/remote"
	"github.com/mcpbroker/mcpbroker/skills/repo"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func writeSkill(t *testing.T, dir, name string) {
	t.Helper()
	write(t, filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ndescription: Does "+name+". Use for it.\n---\n\nDo it.\n")
}

// A shelf is a library in a folder of its own, with what it was told of.
type shelf struct {
	*library.Library
	dir string

	mu      sync.Mutex
	changes []string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{dir: t.TempDir()}
	o := library.Options{
		Custom: filepath.Join(s.dir, "skills", "custom"), Plugins: filepath.Join(s.dir, "plugins"), Switches: skills.SwitchFile(filepath.Join(s.dir, "servers.state.json")),
		Note: func(c library.Change) {
			s.mu.Lock()
			defer s.mu.Unlock()
			text := fmt.Sprintf("%s %s %s", c.Kind, c.Action, c.Name)
			if c.Digest != "" {
				text += " sha256"
			}
			if c.Detail != "" {
				text += " " + c.Detail
			}
			if c.Err != nil {
				text += " failed"
			}
			s.changes = append(s.changes, text)
		},
	}
	o.Skills = skills.NewRegistry(&skills.Options{Switches: o.Switches, Roots: func() ([]skills.Root, []skills.Problem) {
		roots := []skills.Root{{Path: filepath.Join(s.dir, "user"), Scope: skills.ScopeUser}, {Path: o.Custom, Scope: skills.ScopeCustom}}
		list, _, _ := library.EnabledPlugins(o.Plugins, o.Switches, nil)
		for _, p := range list {
			roots = append(roots, p.Roots()...)
		}
		return roots, nil
	}})
	s.Library = library.New(o)
	return s
}

func code(err error) string {
	if e := library.Cause(err); e != nil {
		return e.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestSkillsAreInstalledSwitchedAndRemoved(t *testing.T) {
	s := newShelf(t)
	source := t.TempDir()
	writeSkill(t, source, "notes")
	writeSkill(t, filepath.Join(s.dir, "user"), "own")
	write(t, filepath.Join(source, "bad", "SKILL.md"), "---\nname: Bad\n---\n")
	steps := []struct {
		name string
		do   func() error
		code string
	}{
		{"install", func() error {
			_, err := s.InstallSkill(t.Context(), library.From{Path: filepath.Join(source, "notes")}, false)
			return err
		}, ""},
		{"again", func() error {
			_, err := s.InstallSkill(t.Context(), library.From{Path: filepath.Join(source, "notes")}, false)
			return err
		}, "already_exists"},
		{"by force", func() error {
			_, err := s.InstallSkill(t.Context(), library.From{Path: filepath.Join(source, "notes")}, true)
			return err
		}, ""},
		{"what is wrong", func() error {
			_, err := s.InstallSkill(t.Context(), library.From{Path: filepath.Join(source, "bad")}, false)
			return err
		}, "invalid_skill"},
		{"what is sent", func() error {
			_, err := s.InstallSkill(t.Context(), library.From{Path: filepath.Join(source, "bad"), Upload: true}, false)
			return err
		}, "invalid_skill"},
		{"off", func() error {
			k, err := s.SwitchSkill("notes", false)
			if err == nil && k.State != skills.Disabled {
				err = errors.New("it is still on")
			}
			return err
		}, ""},
		{"unknown", func() error { _, err := s.SwitchSkill("note", false); return err }, "skill_not_found"},
		{"remove another's", func() error { return s.RemoveSkill("own") }, "not_installed"},
		{"remove", func() error { return s.RemoveSkill("notes") }, ""},
		{"remove again", func() error { return s.RemoveSkill("notes") }, "skill_not_found"},
		{"install anew", func() error {
			_, err := s.InstallSkill(t.Context(), library.From{Path: filepath.Join(source, "notes")}, false)
			return err
		}, ""},
		{"on anew", func() error {
			k, err := s.Skills().Find("notes")
			if err == nil && k.State != skills.Enabled {
				err = errors.New("the switch of the one before is still there")
			}
			return err
		}, ""},
	}
	for _, step := range steps {
		if got := code(step.do()); got != step.code {
			t.Errorf("%s: %q, want %q", step.name, got, step.code)
		}
	}
	want := []string{
		"skills installed notes sha256", "skills installed notes failed", "skills replaced notes sha256", "skills installed bad failed", "skills installed upload from an upload failed",
		"skills disabled notes sha256 local:custom", "skills removed notes sha256", "skills installed notes sha256",
	}
	if diff := cmp.Diff(want, s.changes); diff != "" {
		t.Errorf("told of (-want +got):\n%s", diff)
	}
}

// What a host lists is installed under the name that it is listed by: another
// skill of the user's is never in its way, also not by force.
func TestSkillOfAHostHasTheNameThatWasAskedFor(t *testing.T) {
	s := newShelf(t)
	writeSkill(t, filepath.Join(s.dir, "skills", "custom"), "refs")
	mine := filepath.Join(s.dir, "skills", "custom", "refs", "mine.md")
	write(t, mine, "mine")
	site := t.TempDir()
	writeSkill(t, site, "refs")
	writeSkill(t, site, "poem")
	ts := httptest.NewServer(http.FileServer(http.Dir(site)))
	defer ts.Close()
	client, err := remote.New(ts.URL, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ name, file, want string }{
		{"poem", "poem/SKILL.md", ""}, {"harmless", "refs/SKILL.md", "name_mismatch"}, {"gone", "gone/SKILL.md", "404"},
	} {
		data, _ := os.ReadFile(filepath.Join(site, step.file)) // one is not there
		sum := sha256.Sum256(data)
		from := library.From{Hosted: &library.Hosted{Client: client, Entry: remote.Entry{Name: step.name, Type: remote.TypeFile, URL: "/" + step.file, Digest: skills.Digest(sum[:])}}}
		if _, err := s.InstallSkill(t.Context(), from, true); !strings.Contains(code(err), step.want) || (err == nil) != (step.want == "") {
			t.Errorf("%s: %v, want %q", step.name, err, step.want)
		}
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("the user's own skill was replaced: %v", err)
	}
	host := " from " + client.Host()
	if diff := cmp.Diff([]string{"skills installed poem sha256" + host, "skills installed harmless" + host + " failed", "skills installed gone" + host + " failed"}, s.changes); diff != "" {
		t.Errorf("told of (-want +got):\n%s", diff)
	}
}

// So is what a marketplace offers.
func TestPluginOfAMarketplaceHasTheNameThatWasAskedFor(t *testing.T) {
	s := newShelf(t)
	plugin(t, filepath.Join(s.dir, "plugins", "sales"), "sales")
	dir := t.TempDir()
	plugin(t, filepath.Join(dir, "harmless"), "sales")
	write(t, filepath.Join(dir, ".claude-plugin", "marketplace.json"), `{"name": "team", "plugins": [{"name": "harmless", "source": "./harmless"}]}`)
	if _, err := s.AddMarket(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	o, err := s.Offer("harmless")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := s.InstallPlugin(t.Context(), library.From{Offer: o}, true, nil); code(err) != "name_mismatch" {
		t.Errorf("%v, want name_mismatch", err)
	}
	if last := s.changes[len(s.changes)-1]; last != "plugins installed harmless failed" {
		t.Errorf("noted %q", last)
	}
}

// A skill that does not load any more can still be removed.
func TestBrokenSkillIsRemoved(t *testing.T) {
	s := newShelf(t)
	write(t, filepath.Join(s.dir, "skills", "custom", "broken", "SKILL.md"), "no header")
	if err := s.RemoveSkill("broken"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "skills", "custom", "broken")); err == nil {
		t.Error("it is still there")
	}
	for _, name := range []string{"..", ".", "../custom", ""} {
		if err := s.RemoveSkill(name); code(err) != "skill_not_found" {
			t.Errorf("RemoveSkill(%q) = %v", name, err)
		}
	}
}

// What a link leads to belongs to somebody else.
func TestSkillsBehindLinksAreNotRemoved(t *testing.T) {
	s := newShelf(t)
	elsewhere, custom := t.TempDir(), filepath.Join(s.dir, "skills", "custom")
	writeSkill(t, elsewhere, "notes")
	writeSkill(t, filepath.Join(custom, "group"), "mine")
	if err := os.Symlink(elsewhere, filepath.Join(custom, "link")); err != nil {
		t.Fatal(err)
	}
	if got := code(s.RemoveSkill("notes")); got != "not_installed" {
		t.Errorf("remove a skill behind a link: %q, want not_installed", got)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "notes", "SKILL.md")); err != nil {
		t.Error(err)
	}
	if err := s.RemoveSkill("mine"); err != nil {
		t.Errorf("remove a skill in a folder: %v", err)
	}
}

func TestChangesAtTheSameTimeAreAllMade(t *testing.T) {
	s := newShelf(t)
	source := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		name := fmt.Sprintf("s%d", i)
		writeSkill(t, source, name)
		wg.Go(func() {
			if _, err := s.InstallSkill(t.Context(), library.From{Path: filepath.Join(source, name)}, false); err != nil {
				t.Error(err)
			}
			if _, err := s.SwitchSkill(name, false); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range s.Skills().All() {
		if k.State != skills.Disabled {
			t.Errorf("%s is %s", k.Ref, k.State)
		}
	}
	if n := len(s.Skills().All()); n != 8 {
		t.Errorf("%d skills, want 8", n)
	}
}

// publish puts the files of a folder into a bare repository and returns its
// address and commit.
func publish(t *testing.T, dir string) (address, commit string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	bare := filepath.Join(t.TempDir(), "r.git")
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main", "."}, {"add", "--all"}, {"-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "x"},
		{"clone", "--quiet", "--bare", ".", bare}, {"rev-parse", "HEAD"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		commit = strings.TrimSpace(string(out))
	}
	return "file://" + filepath.ToSlash(bare), commit
}

func plugin(t *testing.T, dir, name string) {
	t.Helper()
	write(t, filepath.Join(dir, ".claude-plugin", "plugin.json"), `{"name": "`+name+`"}`)
	writeSkill(t, filepath.Join(dir, "skills"), "forecast")
}

func TestPluginFromARepositoryIsPinned(t *testing.T) {
	s := newShelf(t)
	dir := t.TempDir()
	plugin(t, filepath.Join(dir, "deep", "sales"), "sales")
	address, commit := publish(t, dir)
	from := library.From{Repo: &repo.Source{URL: address, Ref: "main", Folder: "deep/sales"}}
	p, _, notes, err := s.InstallPlugin(t.Context(), from, false, nil)
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	want := &repo.Source{URL: address, Ref: "main", Folder: "deep/sales", Commit: commit}
	if diff := cmp.Diff(want, p.Source); diff != "" || !p.Enabled || !slices.Equal(p.Skills, []string{"sales:forecast"}) {
		t.Errorf("installed %+v, source (-want +got):\n%s", p, diff)
	}
	if _, _, _, err := s.InstallPlugin(t.Context(), from, false, nil); code(err) != "already_exists" {
		t.Errorf("again: %v", err)
	}
	if _, err := s.SwitchPlugin("sales", false); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Plugin("sales"); err != nil || p.Enabled || p.Source == nil {
		t.Errorf("switched off: %+v, %v; want it with its source", p, err)
	}
	if k, err := s.Skills().Find("forecast"); err == nil {
		t.Errorf("the skill of a plugin that is off is there: %s", k.Ref)
	}
	// From a folder, it has no source any more.
	if p, replaced, _, err := s.InstallPlugin(t.Context(), library.From{Path: filepath.Join(dir, "deep", "sales")}, true, nil); err != nil || !replaced || p.Source != nil || p.Enabled {
		t.Errorf("replaced: %+v, %v", p, err)
	}
	state := filepath.Join(s.dir, "servers.state.json")
	for _, id := range []string{"sales:forecast", "sales:gone", "salesman:call", "own"} {
		if err := approvals.In(skills.SwitchFile(state)).Approve(approvals.Approval{Kind: approvals.Script, Subject: id, Digest: "sha256:x"}); err != nil {
			t.Fatal(err)
		}
	}
	if last := s.changes[len(s.changes)-1]; last != "plugins replaced sales" {
		t.Errorf("noted %q", last)
	}
	if err := s.RemovePlugin("sales"); err != nil {
		t.Fatal(err)
	}
	if err := s.RemovePlugin("sales"); code(err) != "plugin_not_found" {
		t.Errorf("removed again: %v", err)
	}
	entries, err := skills.Entries(skills.SwitchFile(state), skills.KindSkill)
	if data, _ := os.ReadFile(state); err != nil || len(entries) != 2 || strings.Contains(strings.ReplaceAll(string(data), "salesman", ""), "sales") {
		t.Errorf("something of it is kept, or of others is not: %s", data)
	}
}

// A repository that is slow keeps nobody from changing something else.
func TestChangesDoNotWaitForRepositories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	s := newShelf(t)
	writeSkill(t, filepath.Join(s.dir, "user"), "own")
	asked, answer := make(chan struct{}, 2), make(chan struct{})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-answer
		http.Error(w, "gone", http.StatusGone)
	}))
	defer ts.Close()
	from := &repo.Source{URL: ts.URL + "/x"}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, _, _, err := s.InstallPlugin(t.Context(), library.From{Repo: from}, false, nil); err == nil {
			t.Error("a plugin was fetched from nowhere")
		}
	})
	wg.Go(func() {
		if _, err := s.AddMarket(t.Context(), "", from); err == nil {
			t.Error("a marketplace was fetched from nowhere")
		}
	})
	<-asked
	<-asked
	if _, err := s.SwitchSkill("own", false); err != nil {
		t.Error(err)
	}
	close(answer)
	wg.Wait()
}

func TestMarketplaceInARepository(t *testing.T) {
	s := newShelf(t)
	elsewhere := t.TempDir()
	plugin(t, elsewhere, "far")
	far, pinned := publish(t, elsewhere)
	dir := t.TempDir()
	plugin(t, filepath.Join(dir, "plugins", "near"), "near")
	write(t, filepath.Join(dir, ".claude-plugin", "marketplace.json"), `{"name": "team", "plugins": [
		{"name": "near", "source": "./plugins/near"},
		{"name": "far", "source": {"source": "url", "url": "`+far+`", "sha": "`+pinned+`"}},
		{"name": "moved", "source": {"source": "url", "url": "`+far+`", "ref": "main", "sha": "`+strings.Repeat("0", 40)+`"}}]}`)
	address, commit := publish(t, dir)
	m, err := s.AddMarket(t.Context(), "", &repo.Source{URL: address})
	if err != nil || m.Source == nil || m.Source.Commit != commit {
		t.Fatalf("AddMarket = %+v, %v", m, err)
	}
	install := func(name string) (library.Plugin, error) {
		o, err := s.Offer(name)
		if err != nil {
			return library.Plugin{}, err
		}
		p, _, _, err := s.InstallPlugin(context.WithoutCancel(t.Context()), library.From{Offer: o}, false, nil)
		return p, err
	}
	if p, err := install("near@team"); err != nil || p.Name != "near" || p.Source == nil || p.Source.Commit != commit || p.Source.Folder != "plugins/near" {
		t.Errorf("near: %+v, %v", p, err)
	}
	if p, err := install("far"); err != nil || p.Source == nil || p.Source.Commit != pinned {
		t.Errorf("far: %+v, %v", p, err)
	}
	for name, want := range map[string]string{"moved": "commit_mismatch", "fat": "plugin_not_found", "near@tea": "marketplace_not_found"} {
		if _, err := install(name); code(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if list, _, err := s.Plugins(); err != nil || len(list) != 2 {
		t.Errorf("plugins: %v, %v; the marketplace is none", list, err)
	}
	// Another of the same offers: the name alone is not enough any more.
	write(t, filepath.Join(s.dir, "other", ".claude-plugin", "marketplace.json"), `{"name": "other", "plugins": [{"name": "near", "source": "./near"}]}`)
	if _, err := s.AddMarket(t.Context(), filepath.Join(s.dir, "other"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Offer("near"); err == nil || !strings.Contains(err.Error(), "near@other or near@team") {
		t.Errorf("near in two: %v", err)
	}
	if err := s.RemoveMarket("team"); err != nil {
		t.Fatal(err)
	}
	list, problems, err := s.Markets()
	if err != nil || len(problems) > 0 || len(list) != 1 || list[0].Name != "other" {
		t.Errorf("left: %+v, %v, %v", list, problems, err)
	}
	if _, err := s.AddMarket(t.Context(), filepath.Join(s.dir, "nowhere"), nil); code(err) != "missing_manifest" {
		t.Errorf("added from nowhere: %v", err)
	}
	if last := s.changes[len(s.changes)-1]; last != "marketplaces added nowhere failed" {
		t.Errorf("noted %q", last)
	}
	if entries, _ := os.ReadDir(filepath.Join(s.dir, "plugins", ".marketplaces")); len(entries) > 0 {
		t.Errorf("the copy is still there: %v", entries)
	}
	if err := s.RemoveMarket("team"); code(err) != "marketplace_not_found" {
		t.Errorf("removed again: %v", err)
	}
}

// A marketplace that others wrote cannot lead to repositories of this host.
func TestMarketplaceLeadsNotIntoThisHost(t *testing.T) {
	s := newShelf(t)
	dir := filepath.Join(s.dir, "plugins", ".marketplaces", "hostile")
	write(t, filepath.Join(dir, ".claude-plugin", "marketplace.json"), `{"name": "hostile", "plugins": [
		{"name": "a", "source": {"source": "url", "url": "file:///home/me/private.git"}},
		{"name": "b", "source": {"source": "url", "url": "http://127.0.0.1:80/x"}},
		{"name": "c", "source": {"source": "url", "url": "ext::sh -c x"}}]}`)
	write(t, filepath.Join(s.dir, "servers.state.json"), `{"marketplaces": {"hostile": {"source": {"repository": "https://example.com/x", "commit": "x"}}}}`)
	for _, name := range []string{"a", "b"} {
		if _, err := s.Offer(name); code(err) != "bad_manifest" {
			t.Errorf("%s: %v, want bad_manifest", name, err)
		}
	}
	o, err := s.Offer("c")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := s.InstallPlugin(t.Context(), library.From{Offer: o}, false, nil); code(err) != "bad_repository" {
		t.Errorf("c: %v, want bad_repository", err)
	}
}

// A repository with many skills: some are chosen, by their names, and what is
// fetched is gone afterwards.
func TestSkillsOfARepositoryAreChosen(t *testing.T) {
	s := newShelf(t)
	dir := t.TempDir()
	for _, name := range []string{"draw", "write", "plan"} {
		writeSkill(t, filepath.Join(dir, "skills"), name)
	}
	write(t, filepath.Join(dir, "skills", "broken", "SKILL.md"), "no header")
	address, commit := publish(t, dir)
	c, err := library.OpenCollection(t.Context(), "", &repo.Source{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.Names(); !slices.Equal(got, []string{"draw", "plan", "write"}) || len(c.Problems) != 1 || c.Problems[0].Path != filepath.Join("skills", "broken") {
		t.Errorf("skills %v, problems %+v", got, c.Problems)
	}
	if _, err := c.Pick([]string{"plan", "drow"}); code(err) != "not_found" || !strings.Contains(err.Error(), "did you mean draw?") {
		t.Errorf("an unknown one: %v", err)
	}
	picked, err := c.Pick([]string{"plan", "draw"})
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range picked {
		if _, err := s.InstallSkill(t.Context(), from, false); err != nil {
			t.Error(err)
		}
	}
	var names []string
	for _, k := range s.Skills().All() {
		names = append(names, k.Name)
	}
	if !slices.Equal(names, []string{"draw", "plan"}) {
		t.Errorf("installed %v", names)
	}
	if last := s.changes[len(s.changes)-1]; !strings.Contains(last, "skills installed draw") || !strings.Contains(last, "from "+address+" "+commit) {
		t.Errorf("noted %q", last)
	}
	where := picked[0].Path
	c.Close()
	if _, err := os.Stat(where); err == nil {
		t.Errorf("%s is still there", where)
	}
	empty := t.TempDir()
	if _, err := library.OpenCollection(t.Context(), empty, nil); code(err) != "archive_no_skill_md" {
		t.Errorf("a folder without skills: %v", err)
	}
}

// With "strict": false a marketplace says itself what its plugins are made of.
func TestAMarketplaceDescribesItsPlugins(t *testing.T) {
	s := newShelf(t)
	dir := t.TempDir()
	for _, name := range []string{"draw", "write", "plan"} {
		writeSkill(t, filepath.Join(dir, "skills"), name)
	}
	write(t, filepath.Join(dir, "commands", "go.md"), "Go.")
	write(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"x": {"url": "https://x"}}}`)
	write(t, filepath.Join(dir, ".claude-plugin", "marketplace.json"), `{"name": "shop", "plugins": [
		{"name": "art", "version": "2", "source": "./", "strict": false, "skills": ["./skills/draw", "./skills/gone"]},
		{"name": "text", "source": "./", "strict": false, "skills": ["./skills/write", "./skills/plan"], "commands": "./commands/go.md"},
		{"name": "own", "description": "Its own.", "source": "./own", "skills": ["./extra"]}]}`)
	writeSkill(t, filepath.Join(dir, "own", "skills"), "solo")
	writeSkill(t, filepath.Join(dir, "own", "extra"), "more")
	address, commit := publish(t, dir)
	if _, err := s.AddMarket(t.Context(), "", &repo.Source{URL: address}); err != nil {
		t.Fatal(err)
	}
	install := func(name string) (library.Plugin, error) {
		t.Helper()
		o, err := s.Offer(name)
		if err != nil {
			t.Fatal(err)
		}
		p, _, _, err := s.InstallPlugin(t.Context(), library.From{Offer: o}, false, nil)
		return p, err
	}
	art, err := install("art")
	if err != nil || !slices.Equal(art.Skills, []string{"art:draw"}) || len(art.Servers)+len(art.Commands) != 0 || art.Version != "2" ||
		art.Source.Commit != commit || len(art.Problems) != 1 || art.Problems[0].Code != "missing_skills" {
		t.Errorf("art: %+v, %v", art, err)
	}
	text, err := install("text")
	if err != nil || !slices.Equal(text.Skills, []string{"text:plan", "text:write"}) || len(text.Commands) != 1 || len(text.Servers) != 0 {
		t.Errorf("text: %+v, %v", text, err)
	}
	// Otherwise its parts are added to those of the plugin, which needs no manifest.
	own, err := install("own")
	if err != nil || !slices.Equal(own.Skills, []string{"own:more", "own:solo"}) || own.Description != "Its own." {
		t.Errorf("one without a manifest: %+v, %v", own, err)
	}
}
