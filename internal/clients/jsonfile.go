package clients

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A fileFormat reads and edits the servers of a client's file, which are under the keys root. The
// rest of the file does not change.
type fileFormat interface {
	// servers returns the entries in the order of the file.
	servers(data []byte, root []string) ([]config.Field, error)
	// set writes one entry, which replaces an entry of the same name.
	set(data []byte, root []string, name string, entry config.Object) ([]byte, error)
	// remove removes an entry; a missing entry is not an error.
	remove(data []byte, root []string, name string) ([]byte, error)
	// restore writes an entry as it is in backup.
	restore(data, backup []byte, root []string, name string) ([]byte, error)
}

// jsonFile is JSON, with or without comments and trailing commas.
type jsonFile struct{}

func (jsonFile) servers(data []byte, root []string) ([]config.Field, error) {
	v, ok, err := config.LookupKey(data, root)
	if err != nil || !ok || v.Value.Kind() == 'n' {
		return nil, err
	}
	if v.Value.Kind() != '{' {
		return nil, fmt.Errorf("%q is not an object", strings.Join(root, "."))
	}
	return config.Value(v).(config.Object), nil
}

func (jsonFile) set(data []byte, root []string, name string, entry config.Object) ([]byte, error) {
	return config.SetKey(data, append(slices.Clone(root), name), entry)
}

func (jsonFile) remove(data []byte, root []string, name string) ([]byte, error) {
	return config.DeleteKey(data, append(slices.Clone(root), name))
}

func (jsonFile) restore(data, backup []byte, root []string, name string) ([]byte, error) {
	path := append(slices.Clone(root), name)
	v, ok, err := config.LookupKey(backup, path)
	if err != nil || !ok {
		return nil, fmt.Errorf("%q is not in the backup", name)
	}
	v.BeforeExtra, v.AfterExtra = hujson.Extra{}, nil
	return config.SetKey(data, path, json.RawMessage(v.Pack()))
}
