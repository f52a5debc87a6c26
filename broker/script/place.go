package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/state"
)

// Shared are the files of scripts as documents that several brokers share, by their
// last names. It is safe for concurrent use.
type Shared struct {
	docs state.Documents

	mu     sync.Mutex
	cached map[string]keptText
}

// A keptText is what a document said when it had a version.
type keptText struct{ version, text string }

// sharedTime is how long it may take to read or change documents.
const sharedTime = 10 * time.Second

// NewShared returns the scripts in docs.
func NewShared(docs state.Documents) *Shared {
	return &Shared{docs: docs, cached: make(map[string]keptText)}
}

func shortly() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), sharedTime)
}

// text is that of a file. One that has not changed since it was listed is not read
// again.
func (sh *Shared) text(file, version string) (string, error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if k, ok := sh.cached[file]; ok && version != "" && k.version == version {
		return k.text, nil
	}
	ctx, cancel := shortly()
	defer cancel()
	body, err := sh.docs.Document(ctx, file)
	if errors.Is(err, state.ErrNotFound) {
		return "", fs.ErrNotExist
	}
	if err == nil && len(body) > MaxBytes {
		err = fmt.Errorf("%s is longer than %d KiB", file, MaxBytes>>10)
	}
	if err == nil && version != "" {
		if len(sh.cached) > maxScripts {
			clear(sh.cached)
		}
		sh.cached[file] = keptText{version, string(body)}
	}
	return string(body), err
}

// A file is a script as it is listed.
type file struct {
	name, version string
	shared        bool
}

// files are the last versions of scripts, by name.
func (st Store) files() (list []file, err error) {
	if st.Shared != nil {
		ctx, cancel := shortly()
		defer cancel()
		docs, err := st.Shared.docs.ListDocuments(ctx, "")
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if strings.HasSuffix(d.Name, ending) && !strings.Contains(d.Name, "@") {
				list = append(list, file{d.Name, d.Version, true})
			}
		}
	}
	if st.Dir == "" {
		return list, nil
	}
	entries, err := os.ReadDir(st.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || filepath.Ext(e.Name()) != ending || slices.ContainsFunc(list, func(f file) bool { return f.shared && f.name == e.Name() }) {
			continue
		}
		list = append(list, file{name: e.Name(), version: fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano())})
	}
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// text is that of a file; of the folder, if it is not shared.
func (st Store) text(f file) (string, error) {
	if f.shared {
		text, err := st.Shared.text(path.Base(f.name), f.version)
		if st.Dir == "" || !errors.Is(err, fs.ErrNotExist) {
			return text, err
		}
	}
	return inFolder(st.Dir, f.name)
}

// inFolder reads a file of a folder that is not a link.
func inFolder(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxBytes {
		return "", fmt.Errorf("%s is not a file of at most %d KiB", name, MaxBytes>>10)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes))
	return string(text), err
}

// put replaces a file.
func (st Store) put(name, text string) error {
	if st.Shared != nil {
		ctx, cancel := shortly()
		defer cancel()
		return st.Shared.docs.SetDocument(ctx, path.Base(name), []byte(text))
	}
	at := filepath.Join(st.Dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(at, []byte(text))
}

// lock keeps others from saving a script of that name. In a folder it is a person
// who does so.
func (st Store) lock(name string) (unlock func(), err error) {
	if st.Shared == nil {
		return func() {}, nil
	}
	ctx, cancel := shortly()
	defer cancel()
	return st.Shared.docs.LockDocument(ctx, name)
}

// remove removes all versions of a script. What is in the folder beside what is shared
// is for its owner to remove.
func (st Store) remove(name string) error {
	if st.Shared != nil {
		return st.Shared.remove(name, filepath.Join(st.Dir, name+ending))
	}
	if err := os.Remove(filepath.Join(st.Dir, name+ending)); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(st.Dir, versionsDir, name+"@*"+ending))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

func (sh *Shared) remove(name, beside string) error {
	ctx, cancel := shortly()
	defer cancel()
	unlock, err := sh.docs.LockDocument(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	list, err := sh.docs.ListDocuments(ctx, name)
	if err != nil {
		return err
	}
	gone := false
	for _, d := range list {
		if d.Name != name+ending && !strings.HasPrefix(d.Name, name+"@") {
			continue
		}
		if err := sh.docs.SetDocument(ctx, d.Name, nil); err != nil {
			return err
		}
		gone = true
	}
	if _, err := os.Lstat(beside); err == nil {
		return fmt.Errorf("%s is a file of this computer, which all brokers with that folder read: delete it there", beside)
	}
	if !gone {
		return fs.ErrNotExist // somebody was faster
	}
	return nil
}
