package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/skill"
)

// A skill is found by what its files say, with where.
func TestSearchFindsSkillsByTheirFiles(t *testing.T) {
	dir := t.TempDir()
	writeSkill(t, dir, "letters", "Writes letters.", "Fold the sheet twice. The envelope has a window on the left.", map[string]string{
		"references/postage.md": strings.Repeat("Something else entirely. ", 400) + "Parcels above two kilograms are paid with the\nfranking machine, never with stamps. " + strings.Repeat("And more. ", 400),
		"references/odd.md":     "\x00\x01 franking machine parcels",
		"scripts/frank.py":      "# franking machine parcels",
	})
	writeSkill(t, dir, "machines", "Describes machines.", "Nothing to see.", nil)
	b := newBroker(t, broker.Deps{IndexDir: t.TempDir()}, broker.Settings{Skills: skillRegistry(dir)})
	var a broker.SearchAnswer
	var err error
	eventually(t, "the files of the skills are read", func() bool {
		if a, err = b.Search(t.Context(), broker.SearchRequest{Query: "which parcels need the franking machine"}); err != nil {
			t.Fatal(err)
		}
		return len(a.Tools) >= 2
	})
	if len(a.Tools) != 2 || a.Tools[0].Name != "machines" || a.Tools[1].Name != "letters" || a.MatchCount != 2 {
		t.Fatalf("Search = %+v, want the skills machines and letters", a)
	}
	p := a.Tools[1].Passage
	if p == nil || p.File != "references/postage.md" || !strings.Contains(p.Fragment, "paid with the franking machine") || len(p.Fragment) > 250 {
		t.Errorf("passage is %+v", p)
	}
	if a.Tools[0].Passage != nil || strings.Contains(a.Note, "franking") {
		t.Errorf("%+v, note %q", a.Tools[0], a.Note)
	}
	if a, err = b.Search(t.Context(), broker.SearchRequest{Query: "envelope window", Detail: broker.DetailFull}); err != nil || len(a.Tools) != 1 || a.Tools[0].File != "SKILL.md" {
		t.Errorf("Search(envelope window) = %+v, %v", a, err)
	}
	if a, err = b.Search(t.Context(), broker.SearchRequest{Query: "never unicorn glitter sequin"}); err != nil || len(a.Tools) != 0 {
		t.Errorf("a word of many finds %+v, %v", a, err)
	}
}

func TestSkillTextsFollowTheFiles(t *testing.T) {
	dir, kept := t.TempDir(), t.TempDir()
	writeSkill(t, dir, "letters", "Writes letters.", "About envelopes.", map[string]string{"more.md": "About stamps."})
	registry := skillRegistry(dir)
	finds := func(texts *skill.Texts, query, file string) {
		t.Helper()
		if err := texts.Sync(registry.Refresh().Shown()); err != nil {
			t.Fatal(err)
		}
		list, _, err := texts.Search(t.Context(), query, 5)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(list) > 0; got != (file != "") || got && list[0].File != file {
			t.Errorf("Search(%q) = %+v, want %q", query, list, file)
		}
	}
	texts := skill.NewTexts(kept, nil)
	defer texts.Close()
	finds(texts, "stamps", "more.md")
	if err := os.WriteFile(filepath.Join(dir, "letters", "more.md"), []byte("About sealing wax."), 0o600); err != nil {
		t.Fatal(err)
	}
	finds(texts, "sealing wax", "more.md")
	finds(texts, "stamps", "")
	if err := os.Remove(filepath.Join(dir, "letters", "more.md")); err != nil {
		t.Fatal(err)
	}
	finds(texts, "sealing wax", "")
	again := skill.NewTexts(kept, nil)
	defer again.Close()
	finds(again, "envelope", "SKILL.md")
}

// BenchmarkSkillTexts is a thousand skills with a reference file each, 7 kB of
// words: read for the first time, known from a start before, after a change of
// one, and a search with its fragments.
func BenchmarkSkillTexts(b *testing.B) {
	dir, kept := b.TempDir(), b.TempDir()
	words := strings.Fields("list open close invoice customer parcel window stamp ledger table chart report draft review folder archive margin column")
	text := func(i int) string {
		var s strings.Builder
		for j := range 1000 {
			fmt.Fprintf(&s, "%s%s ", words[(i*j+j)%len(words)], []string{"", "s", "ing"}[j%3])
		}
		return s.String() + fmt.Sprintf("number%d", i)
	}
	for i := range 500 {
		writeSkill(b, dir, fmt.Sprintf("skill-%d", i), "Does things.", text(i), map[string]string{"more.md": text(i + 500)})
	}
	registry := skillRegistry(dir)
	list := registry.Refresh().Shown()
	open := func(b *testing.B, dir string) *skill.Texts {
		texts := skill.NewTexts(dir, nil)
		if err := texts.Sync(list); err != nil {
			b.Fatal(err)
		}
		return texts
	}
	for name, dir := range map[string]func() string{"first": b.TempDir, "kept": func() string { return kept }} {
		open(b, kept).Close()
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				open(b, dir()).Close()
			}
		})
	}
	texts := open(b, kept)
	defer texts.Close()
	b.Run("one changed", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			writeSkill(b, dir, "skill-0", "Does things.", text(i), nil)
			if err := texts.Sync(list); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			if list, _, err := texts.Search(b.Context(), "close the ledger with a number77 chart", 3); err != nil || len(list) != 3 {
				b.Fatal(list, err)
			}
		}
	})
}
