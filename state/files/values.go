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
	"time"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/state"
)

// A value is what a value's file holds.
type value struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

const valueSuffix = ".json"

// fileOf is the name of the file with the value of key.
func fileOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16]) + valueSuffix
}

func (s *Store) valuePath(client, key string) string {
	return filepath.Join(s.folder(client, valuesFolder), fileOf(key))
}

// Value implements state.Values.
func (s *Store) Value(_ context.Context, client, key string) (json.RawMessage, error) {
	path := s.valuePath(client, key)
	info, err := os.Stat(path)
	if err == nil && time.Since(info.ModTime()) > s.limits.MaxValueAge {
		return nil, state.ErrNotFound
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, state.ErrNotFound
	}
	var v value
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return nil, fmt.Errorf("read value: %w", err)
	}
	return v.Value, nil
}

// SetValue implements state.Values.
func (s *Store) SetValue(_ context.Context, client, key string, v json.RawMessage) error {
	if err := s.checkValue(client, key, v); err != nil {
		return err
	}
	text, err := json.Marshal(value{key, v})
	if err != nil {
		return fmt.Errorf("keep value of %q: %w", key, err)
	}
	dir, err := s.make(client, valuesFolder)
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, fileOf(key)), text)
	}
	if err != nil {
		return fmt.Errorf("keep value: %w", err)
	}
	s.sweepAfter(0)
	return nil
}

func (s *Store) checkValue(client, key string, v json.RawMessage) error {
	entries, err := os.ReadDir(s.folder(client, valuesFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep value: %w", err)
	}
	n, total, mine := 0, int64(0), fileOf(key)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Name() != mine {
			n++
			total += info.Size()
		}
	}
	return s.limits.CheckValue(key, v, n, total)
}

// DeleteValue implements state.Values.
func (s *Store) DeleteValue(_ context.Context, client, key string) (bool, error) {
	err := os.Remove(s.valuePath(client, key))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// maxKnownClients bounds the clients whose keys are in memory.
const maxKnownClients = 1000

// Keys implements state.Values.
func (s *Store) Keys(_ context.Context, client string) ([]string, error) {
	dir := s.folder(client, valuesFolder)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list values: %w", err)
	}
	s.mu.Lock()
	known := s.keys[dir] // which is replaced, never changed
	s.mu.Unlock()
	names := make(map[string]string, len(entries))
	keys := []string{}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != valueSuffix {
			continue
		}
		key, ok := known[e.Name()]
		if !ok {
			if key, err = readKey(filepath.Join(dir, e.Name())); err != nil {
				continue
			}
		}
		names[e.Name()] = key
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) <= s.limits.MaxValueAge {
			keys = append(keys, key)
		}
	}
	s.mu.Lock()
	if s.keys == nil || len(s.keys) >= maxKnownClients {
		s.keys = make(map[string]map[string]string)
	}
	s.keys[dir] = names
	s.mu.Unlock()
	slices.Sort(keys)
	return keys, nil
}

// readKey reads the key of a value, which is at the beginning of its file.
func readKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	for range 2 { // the bracket and the name of the field
		if _, err := d.Token(); err != nil {
			return "", err
		}
	}
	var key string
	return key, d.Decode(&key)
}
