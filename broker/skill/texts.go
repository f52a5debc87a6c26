package skill

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/find"
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
)

// Texts finds skills by what their files say. It is safe for concurrent
// use. Close it in the end.
type Texts struct {
	index    *index.Index
	mu       sync.Mutex
	files    map[string]skills.TextFile // by id of the entry
	snapshot *skills.Snapshot
	when     time.Time
	busy     bool
}

// NewTexts returns one that knows of no skill. The directory keeps indexes,
// see index.Options; it may be that of another index.
func NewTexts(dir string, log *slog.Logger) *Texts {
	return &Texts{index: index.New(&index.Options{Dir: dir, Logger: log})}
}

// Sync reads the files that are new or changed. It does not read those of skills
// that servers serve.
func (t *Texts) Sync(list []*skills.Skill) error {
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
func (t *Texts) Search(ctx context.Context, query string, limit int) (list []find.Passage, unmatched []string, err error) {
	if t.index.Count() == 0 {
		return nil, nil, nil
	}
	found, err := t.index.Search(ctx, index.Query{Text: query, Limit: 10 * limit})
	if err != nil {
		return nil, nil, err
	}
	for _, h := range found.Hits {
		ref, file, _ := strings.Cut(h.ID, "\x1f")
		if h.Held < enoughHeld || slices.ContainsFunc(list, func(p find.Passage) bool { return p.Skill == ref }) {
			continue
		}
		t.mu.Lock()
		f, ok := t.files[h.ID]
		t.mu.Unlock()
		if !ok {
			continue
		}
		if text := t.index.Fragment(query, f.Read(), maxFragmentBytes); text != "" {
			list = append(list, find.Passage{Skill: ref, File: file, Fragment: text})
		}
		if len(list) == limit {
			break
		}
	}
	return list, found.Unmatched, nil
}

// Close releases what is held.
func (t *Texts) Close() error { return t.index.Close() }

// due reports whether somebody has to call Sync for a snapshot and then done.
func (t *Texts) due(s *skills.Snapshot) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy || t.snapshot == s && time.Since(t.when) < textsFresh || t.snapshot == nil && s.Len() == 0 {
		return false
	}
	t.busy = true
	return true
}

func (t *Texts) done(s *skills.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.snapshot, t.when, t.busy = s, time.Now(), false
}

// ReadTexts brings what is searched of the files of skills up to date: in the
// background while the broker serves, since there may be thousands of them.
func (f *Feature) ReadTexts() {
	now := f.now()
	if !f.texts.due(now) {
		return
	}
	read := func() {
		defer f.texts.done(now)
		if err := f.texts.Sync(now.Shown()); err != nil {
			f.log.Error("index the files of skills", "err", err)
		}
	}
	if f.catalog.Serving() {
		f.background.Go(read)
	} else {
		read()
	}
}

// Passages are the files of skills that hold most words of a query, as Texts.Search
// finds them.
func (f *Feature) Passages(ctx context.Context, query string, limit int) ([]find.Passage, []string, error) {
	f.ReadTexts()
	return f.texts.Search(ctx, query, limit)
}
