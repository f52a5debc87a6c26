package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// NewFile is a configuration without servers.
const NewFile = "{\n  \"mcpServers\": {}\n}\n"

// Target returns the path of the configuration file to change, and whether it exists: flag if it
// is not empty, otherwise the file that Find finds, otherwise the user's default path.
func Target(flag string) (path string, exists bool, err error) {
	path, err = Find(flag)
	switch {
	case err == nil:
		return path, true, nil
	case !errors.Is(err, ErrNoConfig):
		return "", false, err
	case flag != "":
		return flag, false, nil
	}
	home, err := configHome()
	if err != nil {
		return "", false, fmt.Errorf("find the configuration directory: %w: name a file with --config", err)
	}
	return filepath.Join(home, "broker", fileName), false, nil
}

// Edit changes the configuration file at path, which it creates with mode 0600 if necessary. The
// change gets the file's text and returns the new one. If that is invalid, Edit returns its
// *Report and does not change the file. The change must keep comments and formatting itself;
// AddServer, RemoveServer and SetDisabled do. Edit replaces the file atomically and keeps its
// mode; a link stays a link.
func Edit(path string, change func(data []byte) ([]byte, error)) error {
	before, text, err := ReadText(path)
	if err != nil {
		return err
	}
	after, err := change(text)
	if _, ok := errors.AsType[*Report](err); ok {
		return err // which names the file and the line
	}
	if err != nil {
		return fmt.Errorf("edit %s: %w", path, err)
	}
	if _, err := Parse(path, after); err != nil {
		return err
	}
	if before != nil && bytes.Equal(before, after) {
		return nil
	}
	return Replace(path, before, after)
}

// ReadText returns the content of the file at path, nil if it does not exist, and the text for an
// edit, which is NewFile then.
func ReadText(path string) (before, text []byte, err error) {
	before, err = os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, []byte(NewFile), nil
	case err != nil:
		return nil, nil, fmt.Errorf("read config: %w", err)
	case before == nil:
		before = []byte{}
	}
	return before, before, nil
}

// Replace replaces a file atomically: a reader, or a crash, leaves the old or the new text. It
// fails if the file no longer contains before, which is nil for a new file. An existing file keeps
// its mode, and a link to it stays a link; a new file has mode 0600, and missing directories get
// mode 0700.
func Replace(path string, before, after []byte) error {
	mode := fs.FileMode(0o600)
	real := path
	if r, err := filepath.EvalSymlinks(path); err == nil {
		real = r
	}
	if info, err := os.Stat(real); err == nil {
		mode = info.Mode().Perm()
	}
	dir := filepath.Dir(real)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(real)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name()) // it does not exist after the rename
	_, err = tmp.Write(after)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	now, err := os.ReadFile(real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || (before == nil) != (err != nil) || !bytes.Equal(now, before) {
		return fmt.Errorf("write %s: someone else has just changed it: try again", path)
	}
	if err := os.Rename(tmp.Name(), real); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// AddServer returns the configuration data with a server of that name, which replaces an existing
// one.
func AddServer(data []byte, name string, entry Object) ([]byte, error) {
	key, err := serversKeyOf(data)
	if err != nil {
		return nil, err
	}
	return SetKey(data, []string{key, name}, entry)
}

// RemoveServer returns the configuration data without the server of that name.
func RemoveServer(data []byte, name string) ([]byte, error) {
	key, err := serversKeyOf(data)
	if err != nil {
		return nil, err
	}
	return DeleteKey(data, []string{key, name})
}

// SetDisabled returns the configuration data with the existing server of that name disabled or
// enabled.
func SetDisabled(data []byte, name string, disabled bool) ([]byte, error) {
	key, err := serversKeyOf(data)
	if err != nil {
		return nil, err
	}
	v, ok, err := LookupKey(data, []string{key, name})
	obj, isObject := v.Value.(*hujson.Object)
	if err != nil || !ok || !isObject {
		return nil, errors.Join(err, fmt.Errorf("there is no server %s", quote(name)))
	}
	// A file may use either word, in any spelling; without one the server is enabled.
	word := "disabled"
	for _, m := range obj.Members {
		found := m.Name.Value.(hujson.Literal).String()
		path := []string{key, name, found}
		switch {
		case strings.EqualFold(found, "disabled") && disabled:
			word = found
		case strings.EqualFold(found, "enabled") && disabled:
			return SetKey(data, path, false)
		case strings.EqualFold(found, "enabled"), strings.EqualFold(found, "disabled"):
			if data, err = DeleteKey(data, path); err != nil {
				return nil, err
			}
		}
	}
	if !disabled {
		return data, nil
	}
	return SetKey(data, []string{key, name, word}, true)
}

// SetArg returns the configuration data with argument i of a server's command replaced.
func SetArg(data []byte, server string, i int, value string) ([]byte, error) {
	key, err := serversKeyOf(data)
	if err != nil {
		return nil, err
	}
	v, _, err := LookupKey(data, []string{key, server, "args"})
	if err != nil {
		return nil, err
	}
	elements := []hujson.Value{v} // a single string is a list of one
	if list, ok := v.Value.(*hujson.Array); ok {
		elements = list.Elements
	}
	if i >= len(elements) || elements[i].Value == nil || elements[i].Value.Kind() != '"' {
		return nil, fmt.Errorf("server %s has no argument %d", quote(server), i)
	}
	bom, text := cutBOM(data)
	at := elements[i]
	return slices.Concat(bom, text[:at.StartOffset], []byte(quoteJSON(value)), text[at.EndOffset:]), nil
}

// serversKeyOf returns the key of the servers in the file.
func serversKeyOf(data []byte) (string, error) {
	root, ok, err := LookupKey(data, nil)
	if err != nil || !ok {
		return serversKey, err
	}
	obj, ok := root.Value.(*hujson.Object)
	if !ok {
		return "", errors.New("the file is not an object")
	}
	key := serversKey
	for _, m := range obj.Members {
		word := m.Name.Value.(hujson.Literal).String()
		if sameName(word, []string{serversKey}) != "" {
			return word, nil
		}
		if sameName(word, []string{serversKeyCode}) != "" {
			key = word
		}
	}
	return key, nil
}
