package broker

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/skills"
)

const (
	// enoughHeld is the share of a query's words that a file must hold.
	enoughHeld = 0.6
	// maxFragmentBytes bounds what is shown of a file.
	maxFragmentBytes = 240
	// textsFresh is how long files are not looked at again.
	textsFresh = 30 * time.Second
	// maxPassages is how many skills a search finds by their files, and
	// passagesAt how many other hits come before them.
	maxPassages = 3
	passagesAt  = 5
)

// SkillTexts finds skills by what their files say. It is safe for concurrent
// use. Close it in the end.
type SkillTexts struct {
	index *index.Index
	mu    sync.Mutex
	files map[string]skills.TextFile // by id of the entry
	of    *skills.Snapshot
	when  time.Time
	busy  bool
}

// A SkillPassage is what a file of a skill says about a query.
type SkillPassage struct {
	Skill    string `json:"-"` // its Ref
	File     string `json:"file"`
	Fragment string `json:"fragment"`
}

// NewSkillTexts returns one that knows of no skill. The directory keeps indexes,
// see index.Options; it may be that of another index.
func NewSkillTexts(dir string, log *slog.Logger) *SkillTexts {
	return &SkillTexts{index: index.New(&index.Options{Dir: dir, Logger: log})}
}

// Sync reads the files that are new or changed. It does not read those of skills
// that servers serve.
func (t *SkillTexts) Sync(list []*skills.Skill) error {
	var entries []index.Entry
	files := make(map[string]skills.TextFile)
	for _, k := range list {
		for _, f := range k.TextFiles() {
			e := index.Entry{ID: k.Ref + "\x1f" + f.Path, Kind: "file", Server: k.Ref, Stamp: f.Stamp, Text: f.Read}
			if f.Path != k.File() {
				e.Name = f.Path
			}
			entries = append(entries, e)
			files[e.ID] = f
		}
	}
	if err := t.index.Sync(discovery.NewCatalog(nil), entries); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.files = files
	return nil
}

// Search returns the best file of each skill that holds most words of the query,
// best first, at most limit, and the words that no file holds.
func (t *SkillTexts) Search(ctx context.Context, query string, limit int) (list []SkillPassage, unmatched []string, err error) {
	if t.index.Count() == 0 {
		return nil, nil, nil
	}
	found, err := t.index.Search(ctx, index.Query{Text: query, Limit: 10 * limit})
	if err != nil {
		return nil, nil, err
	}
	for _, h := range found.Hits {
		ref, file, _ := strings.Cut(h.ID, "\x1f")
		if h.Held < enoughHeld || slices.ContainsFunc(list, func(p SkillPassage) bool { return p.Skill == ref }) {
			continue
		}
		t.mu.Lock()
		f, ok := t.files[h.ID]
		t.mu.Unlock()
		if !ok {
			continue
		}
		if text := t.index.Fragment(query, f.Read(), maxFragmentBytes); text != "" {
			list = append(list, SkillPassage{ref, file, text})
		}
		if len(list) == limit {
			break
		}
	}
	return list, found.Unmatched, nil
}

// Close releases what is held.
func (t *SkillTexts) Close() error { return t.index.Close() }

// due reports whether somebody has to call Sync for a snapshot and then done.
func (t *SkillTexts) due(s *skills.Snapshot) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy || t.of == s && time.Since(t.when) < textsFresh || t.of == nil && s.Len() == 0 {
		return false
	}
	t.busy = true
	return true
}

func (t *SkillTexts) done(s *skills.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of, t.when, t.busy = s, time.Now(), false
}

// readTexts brings what is searched of the files of skills up to date: in the
// background while the broker serves, since there may be thousands of them.
func (b *Broker) readTexts() {
	now := b.skillsNow()
	if !b.texts.due(now) {
		return
	}
	read := func() {
		defer b.texts.done(now)
		if err := b.texts.Sync(now.Shown()); err != nil {
			b.log.Error("index the files of skills", "err", err)
		}
	}
	if b.serving.Load() {
		b.indexing.Go(read)
	} else {
		read()
	}
}

// withPassages adds the skills whose files hold what is searched for, behind the
// best of the other hits. What a file holds is not among the words of found that
// nothing holds.
func (s *search) withPassages(ctx context.Context, results []result, found *index.Hits) ([]result, error) {
	if s.server != "" {
		return results, nil
	}
	s.b.readTexts()
	passages, unmatched, err := s.b.texts.Search(ctx, s.text, maxPassages)
	if err != nil || len(passages) == 0 {
		return results, err
	}
	found.Unmatched = slices.DeleteFunc(found.Unmatched, func(w string) bool { return !slices.Contains(unmatched, w) })
	var added []result
	for _, p := range passages {
		at := slices.IndexFunc(results, func(r result) bool { return r.entry != nil && r.entry.Kind == kindSkill && r.entry.ID == p.Skill })
		switch {
		case at >= 0 && at < passagesAt:
			results[at].passage = &p
		case at >= 0:
			added = append(added, result{entry: results[at].entry, passage: &p})
			results = slices.Delete(results, at, at+1)
		default:
			if e, ok := s.b.entries.find(kindSkill, p.Skill); ok {
				added = append(added, result{entry: e, passage: &p})
				s.answer.MatchCount++
			}
		}
	}
	return slices.Insert(results, min(passagesAt, len(results)), added...), nil
}
