package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

const (
	// maxHeldBytes is how much of a Cache is also in memory, maxCachedBytes how
	// much is on the disk.
	maxHeldBytes   = 8 << 20
	maxCachedBytes = 256 << 20
)

// A Cache keeps files of skills that came from servers, so that they need not be
// fetched again. What it gives back has been compared with its digest at that
// moment: who can write to the disk cannot change a skill. The files have no
// names under which skills are found. It may be used by several goroutines, and
// its directory by several processes. Nil keeps nothing.
type Cache struct {
	dir string // "" keeps them in memory only

	mu   sync.Mutex
	held map[string][]byte // by key
	size int
}

// NewCache returns a cache in dir, which is made when it is needed. An empty dir
// means that it lives as long as the process.
func NewCache(dir string) *Cache { return &Cache{dir: dir, held: make(map[string][]byte)} }

// key names a file by server, address and digest: the same bytes of two servers
// are two files.
func (c *Cache) key(label string, f Resource) string {
	return filepath.Join(folderOf(label), hashed(f.URI, f.Digest))
}

func folderOf(label string) string { return hashed(label) }

func hashed(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:20])
}

// get returns what is kept of a file if it is what it should be.
func (c *Cache) get(label string, f Resource) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	key := c.key(label, f)
	c.mu.Lock()
	data, ok := c.held[key]
	c.mu.Unlock()
	if !ok && c.dir != "" {
		var err error
		path := filepath.Join(c.dir, key)
		if data, err = os.ReadFile(path); err != nil {
			return nil, false
		}
		now := time.Now()
		_ = os.Chtimes(path, now, now) // what was used lately is kept; without it, it goes sooner
		ok = true
	}
	if sum := sha256.Sum256(data); !ok || int64(len(data)) != f.Size || Digest(sum[:]) != f.Digest {
		return nil, false
	}
	return data, true
}

// put keeps a file that is what it should be. A disk that is full only means
// that it is fetched again.
func (c *Cache) put(label string, f Resource, data []byte) {
	if c == nil {
		return
	}
	key := c.key(label, f)
	c.mu.Lock()
	if len(data) <= maxHeldBytes {
		if c.size += len(data) - len(c.held[key]); c.size > maxHeldBytes {
			clear(c.held)
			c.size = len(data)
		}
		c.held[key] = data
	}
	c.mu.Unlock()
	if c.dir != "" && replaceFile(filepath.Join(c.dir, key), data) == nil {
		c.shrink()
	}
}

// shrink deletes what was not used for the longest time until the rest is small
// enough.
func (c *Cache) shrink() {
	type kept struct {
		path string
		size int64
		used time.Time
	}
	var files []kept
	var total int64
	_ = filepath.WalkDir(c.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			files = append(files, kept{path, info.Size(), info.ModTime()})
			total += info.Size()
		}
		return nil
	})
	slices.SortFunc(files, func(a, b kept) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if total <= maxCachedBytes {
			return
		}
		if os.Remove(f.path) == nil {
			total -= f.size
		}
	}
}

// Keep deletes what is kept of other servers than these.
func (c *Cache) Keep(labels []string) error {
	if c == nil || c.dir == "" {
		return nil
	}
	entries, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	wanted := make(map[string]bool, len(labels))
	for _, l := range labels {
		wanted[folderOf(l)] = true
	}
	var errs []error
	for _, e := range entries {
		if !wanted[e.Name()] {
			errs = append(errs, os.RemoveAll(filepath.Join(c.dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
