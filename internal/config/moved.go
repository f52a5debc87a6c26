package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// markName is the file of a state directory that names its configuration. It lets the
// broker find the directory after the configuration has moved.
const markName = "config.json"

const (
	maxMarkBytes = 16 << 10
	maxMarks     = 1000 // bound of the examined state directories

	maxMarkServers = 100
)

// A stateOwner is the content of the file markName.
type stateOwner struct {
	Config string `json:"config"` // absolute, without links
	SHA256 string `json:"sha256"`
	// Servers are the names of its first servers.
	Servers []string `json:"servers,omitempty"`
}

// A movedState is the state directory of a configuration that no longer exists.
type movedState struct {
	dir   string
	owner stateOwner
	used  time.Time
}

// OpenState returns the directory of StateDir. If it does not exist and the
// configuration has moved, OpenState moves the directory of the old path there, with
// the record, pins and approvals. busy reports whether a process uses a directory,
// which is then not moved. note is for the user; it is empty if nothing has changed.
func OpenState(flag, configPath string, busy func(dir string) bool) (dir, note string, err error) {
	if flag != "" || configPath == "" {
		dir, err = StateDir(flag, configPath)
		return dir, "", err
	}
	own := stateOwner{Config: realPath(configPath)}
	data, err := readRegular(own.Config)
	home, homeErr := stateHome()
	name, nameErr := stateName(configPath)
	if err != nil || homeErr != nil || nameErr != nil { // StateDir, and the reader of the file, report the reason
		dir, err = StateDir(flag, configPath)
		return dir, "", err
	}
	sum := sha256.Sum256(data)
	own.SHA256 = hex.EncodeToString(sum[:])
	home = filepath.Join(home, "broker")
	to := filepath.Join(home, name)
	if old, ok := readMark(to); ok && old.Config == own.Config && old.SHA256 == own.SHA256 {
		dir, err = StateDir(flag, configPath)
		return dir, "", err
	}
	if cfg, err := Parse(own.Config, data); err == nil {
		for _, s := range cfg.Servers[:min(len(cfg.Servers), maxMarkServers)] {
			own.Servers = append(own.Servers, gate.Cut(s.Name, 60))
		}
	}
	if !exists(to) {
		note = takeOver(home, to, own, busy)
	}
	if dir, err = StateDir(flag, configPath); err == nil {
		own.write(dir)
	}
	return dir, note, err
}

// readRegular reads a regular file: pipes and similar files can be read only once.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// takeOver moves the state directory of a moved configuration to its new path, or returns a note
// why not.
func takeOver(home, to string, own stateOwner, busy func(dir string) bool) (note string) {
	list := movedStates(home, own)
	same := slices.DeleteFunc(slices.Clone(list), func(m movedState) bool { return m.owner.SHA256 != own.SHA256 })
	if len(same) == 1 && !busy(same[0].dir) && os.Rename(same[0].dir, to) == nil {
		return fmt.Sprintf("the config has moved from %s: its record, pins and approvals now belong to %s", same[0].owner.Config, own.Config)
	}
	if len(list) == 0 {
		return ""
	}
	last := append(same, list...)[0]
	why := "its content differs"
	switch {
	case len(same) > 1:
		why = "several have this content"
	case len(same) == 1:
		why = "a daemon uses it: broker daemon stop --state-dir " + last.dir
	}
	return fmt.Sprintf("the config %s starts without record, pins and approvals.\nThose of %s, which no longer exists, are kept (%s); to use them, put %s in place of %s",
		own.Config, last.owner.Config, why, last.dir, to)
}

// movedStates returns the directories below home of configurations that no longer exist and may be
// own: they had the same content, or share a server and the name or folder. The last used is
// first.
func movedStates(home string, own stateOwner) (list []movedState) {
	entries, err := os.ReadDir(home)
	if err != nil {
		return nil
	}
	for _, e := range entries[:min(len(entries), maxMarks)] {
		m, ok := movedState{dir: filepath.Join(home, e.Name())}, false
		if m.owner, ok = readMark(m.dir); !ok {
			continue
		}
		if m.owner.maybe(own) && !exists(m.owner.Config) {
			if info, err := os.Stat(filepath.Join(m.dir, markName)); err == nil {
				m.used = info.ModTime()
			}
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b movedState) int { return b.used.Compare(a.used) })
	return list
}

// maybe reports whether own may be the same configuration at another path.
func (o stateOwner) maybe(own stateOwner) bool {
	near := filepath.Base(o.Config) == filepath.Base(own.Config) || filepath.Dir(o.Config) == filepath.Dir(own.Config)
	if o.SHA256 == own.SHA256 {
		return near || len(own.Servers) > 0 // many files without servers are equal
	}
	return near && slices.ContainsFunc(own.Servers, func(s string) bool { return slices.Contains(o.Servers, s) })
}

// readMark reads the mark of a state directory; ok is false if there is none.
func readMark(dir string) (m stateOwner, ok bool) {
	file := filepath.Join(dir, markName)
	if info, err := os.Stat(file); err != nil || info.Size() > maxMarkBytes || !info.Mode().IsRegular() {
		return m, false
	}
	data, err := os.ReadFile(file)
	ok = err == nil && json.Unmarshal(data, &m) == nil && filepath.IsAbs(m.Config)
	return m, ok
}

// write stores the mark in a state directory. It ignores errors, whose only effect is that the
// directory is not found after a move.
func (m stateOwner) write(dir string) {
	if data, err := json.Marshal(m); err == nil {
		_ = atomicfile.Write(filepath.Join(dir, markName), data)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// realPath returns path absolute and without links.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path
}
