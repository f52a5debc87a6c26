package files

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
	"unicode/utf8"
)

// maxKeyChars is the longest key.
const maxKeyChars = 256

// A value is what a value's file holds.
type value struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// file is where the value of key lives.
func (c *Client) file(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(c.dir, "values", hex.EncodeToString(sum[:16])+".json")
}

// Value returns what is kept under key; ErrNotFound if nothing is.
func (c *Client) Value(key string) (json.RawMessage, error) {
	v, err := readValue(c.file(key), c.s.o.MaxValueAge)
	if err != nil {
		return nil, err
	}
	return v.Value, nil
}

func readValue(path string, maxAge time.Duration) (value, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return value{}, ErrNotFound
	}
	if err != nil {
		return value{}, fmt.Errorf("read value: %w", err)
	}
	if time.Since(info.ModTime()) > maxAge {
		return value{}, ErrNotFound
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return value{}, ErrNotFound
	}
	var v value
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return value{}, fmt.Errorf("read value: %w", err)
	}
	return v, nil
}

// SetValue keeps a JSON value under key until it is set again, deleted, or too
// old. An error that is no *fs.PathError is a limit, in words for the one who
// wrote the script.
func (c *Client) SetValue(key string, v json.RawMessage) error {
	if err := c.checkValue(key, v); err != nil {
		return err
	}
	if err := c.make("values"); err != nil {
		return fmt.Errorf("keep value: %w", err)
	}
	text, err := json.Marshal(value{key, v})
	if err != nil {
		return fmt.Errorf("keep value of %q: %w", key, err)
	}
	f, err := os.CreateTemp(filepath.Join(c.dir, "values"), "new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("keep value: %w", err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), c.file(key))
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("keep value: %w", err)
	}
	c.s.sweepAfter(0)
	return nil
}

func (c *Client) checkValue(key string, v json.RawMessage) error {
	o := c.s.o
	switch {
	case key == "":
		return errors.New("the key is empty")
	case utf8.RuneCountInString(key) > maxKeyChars:
		return fmt.Errorf("the key has %d characters; at most %d, which is fixed", utf8.RuneCountInString(key), maxKeyChars)
	case len(v) > o.MaxValueBytes:
		return fmt.Errorf("the value of %q has %d bytes; at most %d bytes, which is fixed: keep less, or under several keys", key, len(v), o.MaxValueBytes)
	}
	entries, err := os.ReadDir(filepath.Join(c.dir, "values"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep value: %w", err)
	}
	n, total, mine := 0, int64(len(v)), filepath.Base(c.file(key))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Name() != mine {
			n++
			total += info.Size()
		}
	}
	if n >= o.MaxKeys {
		return fmt.Errorf("there are %d keys; at most %d, which is fixed: store.delete those that are not needed", n, o.MaxKeys)
	}
	if total > o.MaxValuesBytes {
		return fmt.Errorf("all values together would have %d bytes; at most %d bytes, which is fixed: store.delete those that are not needed", total, o.MaxValuesBytes)
	}
	return nil
}

// DeleteValue forgets the value of key and reports whether there was one.
func (c *Client) DeleteValue(key string) (bool, error) {
	err := os.Remove(c.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Keys returns the keys that have a value, in order.
func (c *Client) Keys() ([]string, error) {
	dir := filepath.Join(c.dir, "values")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list values: %w", err)
	}
	c.s.mu.Lock()
	known := c.s.keys[dir] // which is replaced, never changed
	c.s.mu.Unlock()
	names := make(map[string]string, len(entries))
	keys := []string{}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		key, ok := known[e.Name()]
		if !ok {
			if key, err = readKey(filepath.Join(dir, e.Name())); err != nil {
				continue
			}
		}
		names[e.Name()] = key
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) <= c.s.o.MaxValueAge {
			keys = append(keys, key)
		}
	}
	c.s.mu.Lock()
	if c.s.keys == nil {
		c.s.keys = make(map[string]map[string]string)
	}
	c.s.keys[dir] = names
	c.s.mu.Unlock()
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
