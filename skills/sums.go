package skills

import (
	"io/fs"
	"sync"
	"time"
)

// settled is how old a file has to be for its time to tell that it is still the
// same: a file that is written twice at one moment, as file systems count, has
// one time and two contents.
const settled = 2 * time.Second

// sums remembers the digests of files on the disk. The zero value is ready to
// use, and nil remembers nothing. It may be used by several goroutines.
type sums struct {
	mu     sync.Mutex
	byFile map[sumKey]sum
}

type sumKey struct{ dir, file string }

type sum struct {
	size     int64
	modified time.Time
	digest   string
}

// digest is that of a file below dir, of which at most limit bytes and one are
// read. It is taken anew only if the file looks different; files of skills that
// are not on the disk have no dir.
func (s *sums) digest(dir string, files fs.FS, name string, limit int64) (string, int64, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return "", 0, err
	}
	key := sumKey{dir, name}
	keep := s != nil && dir != "" && !info.ModTime().IsZero()
	if keep {
		s.mu.Lock()
		old, ok := s.byFile[key]
		s.mu.Unlock()
		if ok && old.size == info.Size() && old.modified.Equal(info.ModTime()) && old.size <= limit {
			return old.digest, old.size, nil
		}
	}
	text, n, err := digest(files, name, limit)
	if err != nil {
		return "", 0, err
	}
	if keep && n == info.Size() && time.Since(info.ModTime()) > settled {
		s.mu.Lock()
		if s.byFile == nil {
			s.byFile = make(map[sumKey]sum)
		}
		s.byFile[key] = sum{n, info.ModTime(), text}
		s.mu.Unlock()
	}
	return text, n, nil
}

// retain forgets all but the digests of these skills.
func (s *sums) retain(list []*Skill) {
	dirs := make(map[string]bool, len(list))
	for _, k := range list {
		dirs[k.dir] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.byFile {
		if !dirs[key.dir] {
			delete(s.byFile, key)
		}
	}
}
