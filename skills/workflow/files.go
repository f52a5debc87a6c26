package workflow

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/filelock"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// Files keeps each session in a file of a folder, one event per line, so that it
// survives the process. Only the user can read them.
type Files struct {
	root *os.Root
	o    FilesOptions
}

// FilesOptions bound what is kept. The zero value works.
type FilesOptions struct {
	// MaxAge is how long a session is kept after its last event; zero means 30
	// days.
	MaxAge time.Duration
	// MaxSessions is how many are kept, the latest; zero means 1,000.
	MaxSessions int
	// MaxBytes is how much space they may use, checked when one begins; zero means
	// 256 MiB.
	MaxBytes int64
}

// OpenFiles creates the folder if it does not exist.
func OpenFiles(dir string, o *FilesOptions) (*Files, error) {
	f := &Files{}
	if o != nil {
		f.o = *o
	}
	if f.o.MaxAge == 0 {
		f.o.MaxAge = 30 * 24 * time.Hour
	}
	if f.o.MaxSessions == 0 {
		f.o.MaxSessions = maxKept
	}
	if f.o.MaxBytes == 0 {
		f.o.MaxBytes = maxKeptBytes
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep sessions: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("keep sessions: %w", err)
	}
	f.root = root
	return f, nil
}

// Close closes the folder. The sessions stay.
func (f *Files) Close() error { return f.root.Close() }

const (
	sessionSuffix = ".jsonl"
	lockSuffix    = ".lock"
)

var sessionID = lazyregexp.New(`^[0-9a-f]{32}$`)

func (f *Files) name(id string) (string, error) {
	if !sessionID.MatchString(id) {
		return "", fs.ErrNotExist
	}
	return id + sessionSuffix, nil
}

// hidePath removes the path of the folder from an error: models read it.
func (f *Files) hidePath(err *error) {
	switch {
	case errors.Is(*err, fs.ErrNotExist):
		*err = fmt.Errorf("session: %w", fs.ErrNotExist)
	case *err != nil:
		*err = errors.New(strings.ReplaceAll((*err).Error(), f.root.Name()+string(filepath.Separator), ""))
	}
}

// New implements Sessions. It removes the sessions that are too old or too many.
func (f *Files) New() (id string, err error) {
	defer f.hidePath(&err)
	if err := f.prune(); err != nil {
		return "", err
	}
	id = newID()
	file, err := f.root.OpenFile(id+sessionSuffix, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	return id, file.Close()
}

// A kept is a session in its file.
type kept struct {
	id    string
	last  time.Time
	bytes int64
}

// list are all sessions, the one that was used last first.
func (f *Files) list() ([]kept, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var list []kept
	for _, e := range entries {
		id, isSession := strings.CutSuffix(e.Name(), sessionSuffix)
		if info, err := e.Info(); err == nil && isSession && sessionID.MatchString(id) {
			list = append(list, kept{id, info.ModTime(), info.Size()})
		}
	}
	slices.SortFunc(list, func(a, b kept) int { return cmp.Or(b.last.Compare(a.last), cmp.Compare(a.id, b.id)) })
	return list, nil
}

func (f *Files) prune() error {
	list, err := f.list()
	if err != nil {
		return err
	}
	var total int64
	for i, s := range list {
		total += s.bytes
		if i < f.o.MaxSessions-1 && total <= f.o.MaxBytes && time.Since(s.last) <= f.o.MaxAge {
			continue
		}
		for _, suffix := range []string{sessionSuffix, lockSuffix} {
			// Another process may have done it.
			if err := f.root.Remove(s.id + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// Lock implements Locker: two brokers may share the folder.
func (f *Files) Lock(ctx context.Context, id string) (unlock func(), err error) {
	defer f.hidePath(&err)
	name, err := f.name(id)
	if err != nil {
		return nil, err
	}
	if _, err := f.root.Stat(name); err != nil {
		return nil, err
	}
	return filelock.Lock(ctx, filepath.Join(f.root.Name(), id+lockSuffix))
}

// Append implements Sessions.
func (f *Files) Append(id string, e Event) (err error) {
	defer f.hidePath(&err)
	name, err := f.name(id)
	if err != nil {
		return err
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false) // which would make it longer
	if err := enc.Encode(e); err != nil {
		return err
	}
	file, err := f.root.OpenFile(name, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	// A process that was killed may have left half a line, which does not count.
	if err := cutTail(file); err != nil {
		return errors.Join(err, file.Close())
	}
	_, err = file.Write(line.Bytes())
	return errors.Join(err, file.Close())
}

// cutTail removes what follows the last line break of a file.
func cutTail(file *os.File) error {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	end := info.Size()
	buf := make([]byte, 4096)
	for end > 0 {
		n := min(end, int64(len(buf)))
		if _, err := file.ReadAt(buf[:n], end-n); err != nil {
			return err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			end = end - n + int64(i) + 1
			break
		}
		end -= n
	}
	if end == info.Size() {
		return nil
	}
	return file.Truncate(end)
}

// Load implements Sessions.
func (f *Files) Load(id string) (events []Event, err error) {
	defer f.hidePath(&err)
	name, err := f.name(id)
	if err != nil {
		return nil, err
	}
	data, err := f.root.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // its writer was killed
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("session %s is damaged in line %d: %w", id, len(events)+1, err)
		}
		events = append(events, e)
	}
	return events, nil
}
