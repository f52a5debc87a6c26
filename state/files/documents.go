package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/filelock"
	"github.com/mcpbroker/mcpbroker/state"
)

// Documents implements state.Documents with files of a directory, NAME.json, which
// is made by the first that is kept. Names are those of files.
type Documents struct{ dir string }

var _ state.Documents = (*Documents)(nil)

// OpenDocuments returns the documents in a directory.
func OpenDocuments(dir string) *Documents { return &Documents{dir} }

// Path is the file of a document.
func (d *Documents) Path(name string) string { return filepath.Join(d.dir, name+".json") }

func (d *Documents) lock(name string) string { return filepath.Join(d.dir, name+".lock") }

func (d *Documents) check(name string) error {
	if filepath.Base(name) != name || name == "" || name[0] == '.' {
		return fmt.Errorf("%q is not a valid document name", name)
	}
	return nil
}

// Document implements state.Documents.
func (d *Documents) Document(_ context.Context, name string) ([]byte, error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	body, err := os.ReadFile(d.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, state.ErrNotFound
	}
	return body, err
}

// SetDocument implements state.Documents.
func (d *Documents) SetDocument(_ context.Context, name string, body []byte) error {
	if err := d.check(name); err != nil {
		return err
	}
	if body == nil {
		_ = os.Remove(d.lock(name)) // or it stays: it is empty
		if err := os.Remove(d.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.WriteSync(d.Path(name), body)
}

// DocumentVersion implements state.Documents. It costs one stat.
func (d *Documents) DocumentVersion(_ context.Context, name string) string {
	info, err := os.Stat(d.Path(name))
	if err != nil {
		return ""
	}
	return versionOf(info)
}

func versionOf(info fs.FileInfo) string {
	return strconv.FormatInt(info.ModTime().UnixNano(), 36) + " " + strconv.FormatInt(info.Size(), 36) + " " + fileID(info)
}

// ListDocuments implements state.Documents. It costs one stat for each.
func (d *Documents) ListDocuments(_ context.Context, prefix string) (list []state.DocumentInfo, err error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !strings.HasPrefix(name, prefix) || d.check(name) != nil || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil { // else it is gone
			list = append(list, state.DocumentInfo{Name: name, Version: versionOf(info), Bytes: info.Size(), Changed: info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b state.DocumentInfo) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// LockDocument implements state.Locks.
func (d *Documents) LockDocument(ctx context.Context, name string) (func(), error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	return filelock.Lock(ctx, d.lock(name))
}
