package files

import (
	"context"
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
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/filelock"
	"github.com/mcpbroker/mcpbroker/state"
)

// Pins implements state.Pins with one file for each server in a directory, which
// need not exist.
type Pins struct{ dir string }

var _ state.Pins = (*Pins)(nil)

// OpenPins returns the pins in a directory.
func OpenPins(dir string) *Pins { return &Pins{dir} }

// pinsVersion is the form of the files.
const pinsVersion = 2

type pinsFile struct {
	Version int         `json:"version"`
	Server  string      `json:"server"`
	Pins    []state.Pin `json:"pins"`
}

func (p *Pins) path(server string) string {
	sum := sha256.Sum256([]byte(server))
	return filepath.Join(p.dir, hex.EncodeToString(sum[:12])+".json")
}

// Pins implements state.Pins.
func (p *Pins) Pins(_ context.Context, server string) (map[state.PinName]state.Pin, error) {
	data, err := os.ReadFile(p.path(server))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f pinsFile
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err == nil && f.Version == 1 { // never released, and of tools only: it is written anew
		return nil, nil
	}
	if err == nil && f.Version != pinsVersion {
		err = fmt.Errorf("version %d, want %d", f.Version, pinsVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("read pins of %s: %s: %w; without the file, what the server offers now is approved", server, p.path(server), err)
	}
	pins := make(map[state.PinName]state.Pin, len(f.Pins))
	for _, one := range f.Pins {
		pins[one.PinName] = one
	}
	return pins, nil
}

// ChangePins implements state.Pins.
func (p *Pins) ChangePins(ctx context.Context, server string, f func(map[state.PinName]state.Pin) error) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("keep pins: %w", err)
	}
	unlock, err := filelock.Lock(ctx, filepath.Join(p.dir, ".lock"))
	if err != nil {
		return fmt.Errorf("keep pins: %w", err)
	}
	defer unlock()
	pins, err := p.Pins(ctx, server)
	if err != nil {
		return err
	}
	if pins == nil {
		pins = map[state.PinName]state.Pin{}
	}
	if err := f(pins); err != nil {
		return err
	}
	file := pinsFile{Version: pinsVersion, Server: server, Pins: make([]state.Pin, 0, len(pins))}
	for name, one := range pins {
		one.PinName = name
		file.Pins = append(file.Pins, one)
	}
	slices.SortFunc(file.Pins, func(a, b state.Pin) int {
		return strings.Compare(a.Kind+"\x00"+a.Name, b.Kind+"\x00"+b.Name)
	})
	data, err := json.Marshal(file)
	if err == nil {
		err = atomicfile.Write(p.path(server), data)
	}
	if err != nil {
		return fmt.Errorf("keep pins: %w", err)
	}
	return nil
}

// recent is the age of a file below which a later change may have the same time.
const recent = 50 * time.Millisecond

// PinsVersion implements state.Pins. It costs one stat.
func (p *Pins) PinsVersion(_ context.Context, server string) string {
	path := p.dir
	if server != "" {
		path = p.path(server)
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	version := strconv.FormatInt(info.ModTime().UnixNano(), 36) + "-" + strconv.FormatInt(info.Size(), 36)
	if now := time.Now(); now.Sub(info.ModTime()) < recent {
		version += now.Format(" 05.000000000")
	}
	return version
}
