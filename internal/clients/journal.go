package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A record contains the data to undo one install.
type record struct {
	Client string `json:"client"`
	Path   string `json:"path"`
	// Name is the key of the broker's entry.
	Name string `json:"name"`
	// Backup is the path of the backup; empty if there was no file.
	Backup string `json:"backup,omitempty"`
	// Dirs are the directories that were made for the file, innermost first.
	Dirs []string `json:"dirs,omitempty"`
	// Before and After are the SHA-256 sums of the file without and with the
	// broker; Before is empty if there was no file.
	Before string `json:"before,omitempty"`
	After  string `json:"after"`
	// Moved are the servers that were taken out of the file.
	Moved []string `json:"moved,omitempty"`
	// OfProjects are the moved servers for single projects, by folder.
	OfProjects map[string][]string `json:"of_projects,omitempty"`
	// Config is the servers.json that the entry names.
	Config string `json:"config"`
}

// original returns the content of the backup, if that is unchanged.
func (rec *record) original() ([]byte, bool) {
	if rec.Before == "" {
		return nil, false
	}
	backup, err := os.ReadFile(rec.Backup)
	return backup, err == nil && sum(backup) == rec.Before
}

// addMoved adds names of servers that were removed from the file, for a project if dir is not
// empty.
func (rec *record) addMoved(dir string, names []string) {
	list := rec.Moved
	if dir != "" {
		list = rec.OfProjects[dir]
	}
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if dir == "" {
		rec.Moved = list
		return
	}
	if rec.OfProjects == nil {
		rec.OfProjects = map[string][]string{}
	}
	rec.OfProjects[dir] = list
}

// A journal is the file that records installs.
type journal struct {
	path string
	raw  []byte // as it was read, nil if there was none
	all  []record
}

func openJournal(path string) (*journal, error) {
	j := &journal{path: path}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err == nil {
		j.raw = raw
		err = json.Unmarshal(raw, &j.all)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was installed: %s: %w", path, err)
	}
	return j, nil
}

// record returns the record of a client's file, or nil.
func (j *journal) record(path string) *record {
	for i := range j.all {
		if j.all[i].Path == path {
			return &j.all[i]
		}
	}
	return nil
}

// put replaces the record of r's file.
func (j *journal) put(r record) error {
	j.remove(r.Path)
	j.all = append(j.all, r)
	return j.save()
}

func (j *journal) remove(path string) {
	j.all = slices.DeleteFunc(j.all, func(r record) bool { return r.Path == path })
}

func (j *journal) save() error {
	data, err := json.MarshalIndent(j.all, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if err := config.Replace(j.path, j.raw, data); err != nil {
		return err
	}
	j.raw = data
	return nil
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// saveBackup writes a copy of the file at path beside the journal, readable by the user only. It
// keeps older backups, which may still be needed.
func saveBackup(journal, path string, data []byte) (string, error) {
	dir := filepath.Join(filepath.Dir(journal), "backups")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("back up %s: %w", path, err)
	}
	for n := 1; n < 1000; n++ {
		name := filepath.Join(dir, sum([]byte(path))[:8]+"-"+filepath.Base(path)) // files with the same name have separate folders
		if n > 1 {
			name += "." + strconv.Itoa(n)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) {
				return name, nil
			}
			continue
		}
		if err != nil {
			return "", fmt.Errorf("back up %s: %w", path, err)
		}
		_, err = f.Write(data)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			return "", fmt.Errorf("back up %s: %w", path, errors.Join(err, os.Remove(name)))
		}
		return name, nil
	}
	return "", fmt.Errorf("back up %s: there are 999 backups of it: delete those that you do not need", path)
}

// missingDirs returns the directories of path that do not exist, innermost first.
func missingDirs(path string) []string {
	var dirs []string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dirs
		}
		dirs = append(dirs, dir)
	}
}
