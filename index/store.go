package index

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/zapx/v17"
)

// format is part of the names of directories. It changes with what is in them:
// the fields of documents and how they are counted, the stemmer, bleve.
const format = 4

// Folders that were not opened for unused are removed, and all but the latest of those
// that were not opened for a day. Remains of an interrupted build are removed after an
// hour.
const (
	unused      = 7 * 24 * time.Hour
	most        = 8
	unusedMost  = 24 * time.Hour
	unusedBuild = time.Hour
)

// buildPrefix begins the names of directories that are being built or removed.
const buildPrefix = ".building-"

// manifestName is the file that says what the other files of a directory are.
// It is written last, and its time is when the directory was last opened.
const manifestName = "manifest.json"

// segmentName is the file with bleve's segment.
const segmentName = "index.zap"

// A manifest has the SHA-256 of each file, by its path with slashes.
type manifest struct {
	Files map[string]string `json:"files"`
}

// A store is a directory of indexes, one per catalogue, each in a directory of
// its own that is never changed. Any number of processes may use it.
type store struct {
	dir string
	log *slog.Logger
}

// path is where the index of list belongs.
func (s *store) path(list []record) string {
	h := sha256.New()
	_, _ = io.WriteString(h, wordsFile)
	hash(h, list)
	return filepath.Join(s.dir, fmt.Sprintf("%x-%d", h.Sum(nil)[:16], format))
}

// open opens the index of list if it is there and whole. It removes one that is damaged.
func (s *store) open(list []record) (*part, error) {
	path := s.path(list)
	p, err := s.openAt(path, len(list))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("a directory of the search index is built again", "dir", path, "err", err)
		s.remove(path)
	}
	return p, err
}

// save keeps the segment of list, and removes what was not used for long.
func (s *store) save(list []record, seg segment.Segment) error {
	path := s.path(list)
	if err := s.write(path, seg); err != nil {
		return err
	}
	s.clean(path)
	return nil
}

// keep writes the index of list and opens it. It builds one unless now holds it.
func (s *store) keep(list []record, now *snapshot, done <-chan struct{}) (*part, error) {
	seg := segment.Segment(nil)
	if now.holds(list) {
		seg = now.parts[0].Segment
	} else {
		built, err := newSegment(list, 0, done)
		if err != nil {
			return nil, err
		}
		defer built.Close()
		seg = built
	}
	if err := s.save(list, seg); err != nil {
		return nil, err
	}
	return s.open(list)
}

// openAt opens the index of n documents in a directory.
func (s *store) openAt(path string, n int) (p *part, err error) {
	if err := verify(path); err != nil {
		return nil, err
	}
	damaged := guard(func() {
		var seg segment.Segment
		if seg, err = new(zap.ZapPlugin).Open(filepath.Join(path, segmentName)); err == nil {
			p, err = newPart(seg, 0, n, true)
		}
	})
	if err = cmp.Or(damaged, err); err != nil {
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(path, manifestName), now, now) // where it can be written
	return p, nil
}

// verify compares the files of a directory with its manifest.
func verify(path string) error {
	b, err := os.ReadFile(filepath.Join(path, manifestName))
	if err != nil {
		if _, e := os.Stat(path); e == nil {
			return errors.New("no manifest")
		}
		return err
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil || len(m.Files) == 0 {
		return fmt.Errorf("manifest: %w", cmp.Or(err, errDamaged))
	}
	for name, sum := range m.Files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("manifest: %q: %w", name, errDamaged)
		}
		got, err := sumOf(filepath.Join(path, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("%w: %s", errDamaged, err) // a missing file does not mean that the index is empty
		}
		if got != sum {
			return fmt.Errorf("%s: %w", name, errDamaged)
		}
	}
	return nil
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// write makes the directory path, or leaves the one that somebody else has made
// meanwhile.
func (s *store) write(path string, seg segment.Segment) error {
	unsaved, ok := seg.(segment.UnpersistedSegment)
	if !ok {
		return fmt.Errorf("a %T cannot be written", seg)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(s.dir, buildPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) // is gone when it has been renamed
	at := filepath.Join(temp, "index")
	if err := os.Mkdir(at, 0o700); err != nil {
		return err
	}
	if err := unsaved.Persist(filepath.Join(at, segmentName)); err != nil {
		return err
	}
	if err := writeManifest(at); err != nil {
		return err
	}
	if err := os.Rename(at, path); err != nil {
		if _, e := os.Stat(filepath.Join(path, manifestName)); e != nil {
			return err
		}
	}
	return nil
}

func writeManifest(dir string) error {
	m := manifest{map[string]string{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		m.Files[filepath.ToSlash(name)], err = sumOf(path)
		return err
	})
	if err != nil {
		return err
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifestName), b, 0o600)
}

// discard removes the index of list.
func (s *store) discard(list []record) { s.remove(s.path(list)) }

// remove removes a folder at once, so that it is never opened half-removed. If that is
// impossible while it is open elsewhere, it stays.
func (s *store) remove(path string) {
	temp, err := os.MkdirTemp(s.dir, buildPrefix)
	if err != nil {
		return
	}
	if err := os.Rename(path, filepath.Join(temp, "index")); err != nil {
		s.log.Debug("search index", "err", err)
	}
	_ = os.RemoveAll(temp) // else a later clean does
}

// clean removes folders that were not used for long; keep stays.
func (s *store) clean(keep string) {
	type used struct {
		path string
		age  time.Duration
	}
	var list []used
	entries, _ := os.ReadDir(s.dir)
	for _, e := range entries {
		path := filepath.Join(s.dir, e.Name())
		building := strings.HasPrefix(e.Name(), buildPrefix)
		info, err := os.Stat(filepath.Join(path, manifestName))
		if err != nil {
			info, err = e.Info()
		}
		if err != nil || path == keep || !e.IsDir() {
			continue
		}
		age := time.Since(info.ModTime())
		if building && age > unusedBuild {
			_ = os.RemoveAll(path)
		} else if digest, _, ok := strings.Cut(e.Name(), "-"); ok && len(digest) == 32 {
			list = append(list, used{path, age})
		}
	}
	slices.SortFunc(list, func(a, b used) int { return cmp.Compare(a.age, b.age) })
	for i, u := range list {
		if u.age > unused || i >= most && u.age > unusedMost {
			s.remove(u.path)
		}
	}
}
