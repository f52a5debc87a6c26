package skills

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/filelock"
	"github.com/mcpbroker/mcpbroker/internal/jsoncheck"
)

// Switches say which skills and plugins are switched off. They are kept in a
// file of their own beside the config, so that switching one changes nothing
// that a person has written.
type Switches struct {
	skills, plugins map[string]bool // the value is whether it is on
}

// A Kind is what a switch is for.
type Kind string

// The kinds of switches, which are keys of the file.
const (
	KindSkill  Kind = "skills"
	KindPlugin Kind = "plugins"
	// KindMarket is for marketplaces, which are known and not switched.
	KindMarket Kind = "marketplaces"
)

// On reports whether something is on, which is so unless it was switched off.
func (s Switches) On(kind Kind, id string) bool {
	on, said := s.Switched(kind, id)
	return on || !said
}

// Switched reports whether something is on, if somebody has switched it.
func (s Switches) Switched(kind Kind, id string) (on, said bool) {
	m := s.skills
	if kind == KindPlugin {
		m = s.plugins
	}
	on, said = m[id]
	return on, said
}

type switchEntry struct {
	Enabled *bool `json:"enabled"`
}

// A SwitchesError says why the file of switches cannot be read, with its path.
type SwitchesError struct{ Message string }

func (e *SwitchesError) Error() string { return e.Message }

// brokenSwitches is the error for a file of switches, or part of one.
func brokenSwitches(path string, err error) error {
	return &SwitchesError{fmt.Sprintf("read what is switched off: %s is broken: %s: fix it or delete it, which switches everything on", path, jsoncheck.Words(err))}
}

// ReadSwitches reads the file at path. Without a file everything is on. An error
// is a *SwitchesError.
func ReadSwitches(path string) (Switches, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Switches{}, nil
	}
	if err != nil {
		return Switches{}, &SwitchesError{"read what is switched off: " + err.Error()}
	}
	var file struct {
		Skills  map[string]switchEntry `json:"skills"`
		Plugins map[string]switchEntry `json:"plugins"`
	}
	if len(bytes.TrimSpace(data)) > 0 {
		if err := json.Unmarshal(data, &file); err != nil {
			return Switches{}, brokenSwitches(path, err)
		}
	}
	flat := func(m map[string]switchEntry) map[string]bool {
		on := map[string]bool{}
		for id, e := range m {
			if e.Enabled != nil {
				on[id] = *e.Enabled
			}
		}
		return on
	}
	return Switches{flat(file.Skills), flat(file.Plugins)}, nil
}

// SetSwitch switches something on or off in the file at path, which is made if
// it is not there. Everything else in the file is kept. The file is replaced in
// one step.
func SetSwitch(path string, kind Kind, id string, on bool) error {
	return EditEntry(path, kind, id, func(entry map[string]json.RawMessage) {
		entry["enabled"], _ = json.Marshal(on)
	})
}

// lockWait is how long an edit waits for that of another process.
const lockWait = 5 * time.Second

// EditEntry changes what the file at path holds about one thing, and nothing
// else of it. An entry that edit leaves empty is taken out. The file is made if
// it is not there and replaced in one step; edits of several processes wait for
// each other, so that none is lost.
func EditEntry(path string, kind Kind, id string, edit func(entry map[string]json.RawMessage)) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("switch %s: %w", quoted(id), err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	unlock, err := filelock.Lock(ctx, filepath.Join(dir, "."+filepath.Base(path)+".lock"))
	if err != nil {
		return fmt.Errorf("switch %s: %w", quoted(id), err)
	}
	defer unlock()
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("switch %s: %w", quoted(id), err)
	}
	if _, err := ReadSwitches(path); err != nil {
		return err
	}
	file, err := object(before)
	if err != nil {
		return brokenSwitches(path, err)
	}
	group, err := object(file[string(kind)])
	if err != nil {
		return brokenSwitches(path, fmt.Errorf("%q: %w", kind, err))
	}
	entry, err := object(group[id])
	if err != nil {
		return brokenSwitches(path, fmt.Errorf("%q: %q: %w", kind, id, err))
	}
	edit(entry)
	if len(entry) == 0 {
		delete(group, id)
	} else {
		group[id], _ = json.Marshal(entry)
	}
	file[string(kind)], _ = json.Marshal(group)
	after, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return fmt.Errorf("switch %s: %w", quoted(id), err)
	}
	return replaceFile(path, append(after, '\n'))
}

// Entries returns what the file at path holds about all things of a kind, as
// JSON objects by their names; nothing if there is no file. An error is a
// *SwitchesError.
func Entries(path string, kind Kind) (map[string]json.RawMessage, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &SwitchesError{"read what is switched off: " + err.Error()}
	}
	file, err := object(data)
	if err != nil {
		return nil, brokenSwitches(path, err)
	}
	group, err := object(file[string(kind)])
	if err != nil {
		return nil, brokenSwitches(path, fmt.Errorf("%q: %w", kind, err))
	}
	return group, nil
}

// object reads an object, of which nothing and null are empty ones.
func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, jsoncheck.Words(err)
		}
	}
	if m == nil {
		m = map[string]json.RawMessage{}
	}
	return m, nil
}

// replaceFile writes a whole file in one step, in a folder that it makes.
func replaceFile(path string, data []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = atomicfile.WriteSync(path, data)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
