package files

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// sweepAfter notes that n bytes were kept and removes what is too old or too
// much, not at every call.
func (s *Store) sweepAfter(n int64) {
	s.mu.Lock()
	s.since += n
	due := !s.swept || s.since > s.limits.MaxBytes/16
	if due {
		s.swept, s.since = true, 0
	}
	s.mu.Unlock()
	if due {
		s.Sweep()
	}
}

type sweepFile struct {
	path string
	size int64
	at   time.Time
}

// Sweep removes what is too old, then each client's oldest results until they fit
// into MaxBytes, and files that a process left half written an hour ago. What
// cannot be removed stays until the next sweep.
func (s *Store) Sweep() {
	results := s.files(resultsFolder)
	slices.SortFunc(results, func(a, b sweepFile) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.path, b.path)) })
	totals := make(map[string]int64) // by the client's folder
	for _, f := range results {
		age := time.Since(f.at)
		half := !refPattern.MatchString(filepath.Base(f.path))
		dir := filepath.Dir(f.path)
		totals[dir] += f.size
		if age > s.limits.MaxAge || half && age > time.Hour || !half && totals[dir] > s.limits.MaxBytes {
			os.Remove(f.path)
		}
	}
	for _, f := range s.files(valuesFolder) {
		age := time.Since(f.at)
		if age > s.limits.MaxValueAge || filepath.Ext(f.path) != valueSuffix && age > time.Hour {
			os.Remove(f.path)
		}
	}
}

// files are those in one folder of every client.
func (s *Store) files(folder string) []sweepFile {
	clients, _ := os.ReadDir(s.dir) // an unreadable folder has nothing to remove
	var files []sweepFile
	for _, c := range clients {
		dir := filepath.Join(s.dir, c.Name(), folder)
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				files = append(files, sweepFile{filepath.Join(dir, e.Name()), info.Size(), info.ModTime()})
			}
		}
	}
	return files
}
