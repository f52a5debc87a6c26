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
	"strconv"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/entries"
	"github.com/mcpbroker/mcpbroker/internal/filelock"
	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// Switches say which skills and plugins are switched off. They are kept in a
// file of their own beside the config, so that switching one changes nothing
// that a person has written.
type Switches struct {
	skills, plugins map[string]bool // the value is whether it is on
}

// A Switchboard is where the text of Switches is kept, with whatever else is kept of
// skills and plugins. It is safe for concurrent use.
type Switchboard interface {
	// Read returns the text, or nothing.
	Read() (text []byte, err error)
	// Version differs after each change, and costs less than to read.
	Version() string
	// Edit replaces the text by what edit makes of it, one at a time of all who do.
	Edit(edit func(text []byte) ([]byte, error)) error
	// String says where that is.
	String() string
}

// A SwitchFile is a Switchboard in the file of that path, which is made if it is not
// there, and replaced in one step.
type SwitchFile string

// String implements Switchboard.
func (f SwitchFile) String() string { return string(f) }

// Read implements Switchboard.
func (f SwitchFile) Read() ([]byte, error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Version implements Switchboard.
func (f SwitchFile) Version() string {
	seen := look(string(f))
	return strconv.FormatInt(seen.modified.UnixNano(), 36) + " " + strconv.FormatInt(seen.size, 36)
}

// lockWait is how long an edit waits for that of another process.
const lockWait = 5 * time.Second

// Edit implements Switchboard.
func (f SwitchFile) Edit(edit func(text []byte) ([]byte, error)) error {
	dir := filepath.Dir(string(f))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	unlock, err := filelock.Lock(ctx, filepath.Join(dir, "."+filepath.Base(string(f))+".lock"))
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
	return replaceFile(string(f), after)
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

// A SwitchesError says why what is switched off cannot be read, and where it is.
type SwitchesError struct{ Message string }

func (e *SwitchesError) Error() string { return e.Message }

// brokenSwitches is the error for a text of switches, or part of one.
func brokenSwitches(at Switchboard, err error) error {
	return &SwitchesError{fmt.Sprintf("read what is switched off: %s is broken: %s: fix it or delete it, which switches everything on", at, jsonscan.Explain(err))}
}

// ReadSwitches reads what is switched off. Without a text everything is on. An error
// is a *SwitchesError.
func ReadSwitches(at Switchboard) (Switches, error) {
	text, err := at.Read()
	if err != nil {
		return Switches{}, &SwitchesError{"read what is switched off: " + err.Error()}
	}
	return parseSwitches(at, text)
}

func parseSwitches(at Switchboard, text []byte) (Switches, error) {
	var file struct {
		Skills  map[string]switchEntry `json:"skills"`
		Plugins map[string]switchEntry `json:"plugins"`
	}
	if len(bytes.TrimSpace(text)) > 0 {
		if err := json.Unmarshal(text, &file); err != nil {
			return Switches{}, brokenSwitches(at, err)
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

// SetSwitch switches something on or off. Everything else in the text is kept.
func SetSwitch(at Switchboard, kind Kind, id string, on bool) error {
	return EditEntry(at, kind, id, func(entry map[string]json.RawMessage) {
		entry["enabled"], _ = json.Marshal(on)
	})
}

// EditEntry changes what is kept about one thing, and nothing else of the text. An
// entry that edit leaves empty is taken out.
func EditEntry(at Switchboard, kind Kind, id string, edit func(entry map[string]json.RawMessage)) error {
	err := at.Edit(func(before []byte) ([]byte, error) {
		if _, err := parseSwitches(at, before); err != nil {
			return nil, err
		}
		after, err := entries.Edit(before, string(kind), id, edit)
		if err != nil {
			return nil, brokenSwitches(at, err)
		}
		return after, nil
	})
	if _, broken := errors.AsType[*SwitchesError](err); err == nil || broken {
		return err
	}
	return fmt.Errorf("switch %s: %w", quoted(id), err)
}

// Entries returns the stored data of all things of a kind, as JSON objects by their
// names, or nothing. An error is a *SwitchesError.
func Entries(at Switchboard, kind Kind) (map[string]json.RawMessage, error) {
	text, err := at.Read()
	if err != nil {
		return nil, &SwitchesError{"read what is switched off: " + err.Error()}
	}
	group, err := entries.Read(text, string(kind))
	if err != nil {
		return nil, brokenSwitches(at, err)
	}
	return group, nil
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
