package upstream

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A seenFile remembers how the tools of one server were when they were first
// seen, whatever command or URL it is reached by: a new version of a package is
// a change worth a word.
type seenFile struct {
	Version int                 `json:"version"`
	First   time.Time           `json:"first"` // when the server was first listed
	Tools   map[string]seenTool `json:"tools"`
	// Promised is what the server was told last that it can ask its clients.
	// Some have more tools for clients that can be asked.
	Promised string `json:"promised,omitempty"`
}

// seenTool is one tool: how it was at first, how it was last, and when it
// became so.
type seenTool struct {
	First   discovery.Digest `json:"first"`
	Last    discovery.Digest `json:"last"`
	Added   bool             `json:"added,omitempty"`   // after the server was first listed
	Removed bool             `json:"removed,omitempty"` // not listed any more
	At      time.Time        `json:"at"`
}

// seenPath names the file of a server by its key, which is unique in a
// configuration, as the state directory is to it.
func (c cache) seenPath(server string) string {
	cfg := Config{Name: server}
	return filepath.Join(c.dir, "seen-"+cfg.fingerprint()+".json")
}

// compare notes what l lists for a client that promised so much, and returns how its tools differ from when they
// were first seen, and which of that is new since the last time.
func (c cache) compare(l discovery.Listing, promised string, now time.Time) (changes, fresh []discovery.Change, err error) {
	if c.dir == "" {
		return nil, nil, nil
	}
	path := c.seenPath(l.Server)
	f, known := loadSeen(path)
	if !known {
		f = seenFile{First: now, Tools: make(map[string]seenTool)}
	}
	// Tools that come or go with what was promised are not news.
	noted := f.note(l, now, known, known && f.Promised == promised)
	f.Promised = promised
	changes = f.changes()
	for _, ch := range changes {
		if slices.Contains(noted, ch.Tool) {
			fresh = append(fresh, ch)
		}
	}
	if known && len(noted) == 0 {
		return changes, nil, nil
	}
	return changes, fresh, c.write(path, f)
}

func loadSeen(path string) (seenFile, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return seenFile{}, false
	}
	var f seenFile
	if json.Unmarshal(b, &f) != nil || f.Version != cacheVersion || f.Tools == nil {
		return seenFile{}, false
	}
	return f, true
}

// note brings f up to l and returns the tools for which anything is new. known
// says that f is not of this listing itself, complete that a tool which is not
// in one of the two was added or removed.
func (f *seenFile) note(l discovery.Listing, now time.Time, known, complete bool) []string {
	f.Version = cacheVersion
	var noted []string
	listed := make(map[string]bool)
	for i := range l.Tools {
		t := &l.Tools[i]
		listed[t.Name] = true
		d := t.Digest()
		old, ok := f.Tools[t.Name]
		switch {
		case !ok:
			old = seenTool{First: d, Last: d, Added: complete, At: now}
		case old.Last != d || old.Removed:
			old.Last, old.Removed, old.At = d, false, now
		default:
			continue
		}
		f.Tools[t.Name] = old
		noted = append(noted, t.Name)
	}
	for name, t := range f.Tools {
		if !listed[name] && !t.Removed && complete {
			t.Removed, t.At = true, now
			f.Tools[name] = t
			noted = append(noted, name)
		}
	}
	return noted
}

// changes are the differences from the first time, by tool.
func (f *seenFile) changes() []discovery.Change {
	var out []discovery.Change
	for name, t := range f.Tools {
		parts := t.First.Differences(t.Last)
		switch {
		case t.Removed && t.Added:
			continue // came and went
		case t.Removed:
			parts = []string{"removed"}
		case t.Added:
			parts = append([]string{"added"}, parts...)
		}
		if len(parts) > 0 {
			out = append(out, discovery.Change{Tool: name, Parts: parts, At: t.At})
		}
	}
	slices.SortFunc(out, func(a, b discovery.Change) int { return strings.Compare(a.Tool, b.Tool) })
	return out
}
