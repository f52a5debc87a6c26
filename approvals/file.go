package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/entries"
	"github.com/mcpbroker/mcpbroker/internal/filelock"
	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// A File is the Text of a state directory, for approvals that hold on one computer only: those of
// projects.
type File struct {
	path  string
	older string // projects.json: a list of projects
}

// InDir returns the file of a state directory. It is created by the first edit.
func InDir(dir string) *File {
	return &File{path: filepath.Join(dir, "approvals.json"), older: filepath.Join(dir, "projects.json")}
}

// String implements Text.
func (f *File) String() string { return f.path }

// Read implements Text. Before the first edit, it returns the approvals of older versions.
func (f *File) Read() ([]byte, error) {
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.readOlder()
	}
	return text, err
}

// readOlder returns the list of an older version as the text of a Store.
func (f *File) readOlder() ([]byte, error) {
	text, err := os.ReadFile(f.older)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []map[string]json.RawMessage
	if err == nil {
		err = jsonscan.Explain(json.Unmarshal(text, &list))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.older, err)
	}
	var after []byte
	for _, project := range list {
		var path string
		if err := json.Unmarshal(project["path"], &path); err != nil {
			return nil, fmt.Errorf("%s: the path of a project: %w", f.older, jsonscan.Explain(err))
		}
		delete(project, "path")
		after, err = entries.Edit(after, string(Project), path, func(entry map[string]json.RawMessage) {
			entry[member], _ = json.Marshal(project)
		})
		if err != nil {
			return nil, err
		}
	}
	return after, nil
}

// lockWait bounds the wait for an edit by another process.
const lockWait = 5 * time.Second

// Edit implements Text. It replaces the file of older versions.
func (f *File) Edit(edit func(text []byte) ([]byte, error)) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	unlock, err := filelock.Lock(ctx, f.path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	before, err := f.Read()
	if err != nil {
		return err
	}
	after, err := edit(before)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteSync(f.path, after); err != nil {
		return err
	}
	if err := os.Remove(f.older); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
