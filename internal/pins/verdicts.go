package pins

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
)

// verdicts stores in a file which listings equal which pins, so that the next process
// need not compare them. It does not contain servers with held or new items: the scan
// of these also depends on other servers and on the rules of the scan.
type verdicts struct {
	path    string            // empty stores nothing
	servers map[string]string // keys of approved listings, by server; nil until read
	changed bool
}

// verdictsVersion is the version of the file. Change it if the comparison changes.
const verdictsVersion = 2

type verdictsFile struct {
	Version int               `json:"version"`
	Servers map[string]string `json:"servers"`
}

// approved reports whether key is stored for the server.
func (v *verdicts) approved(server, key string) bool {
	v.read()
	return key != "" && v.servers[server] == key
}

// note stores the key of a server's approved listing; an empty key removes it.
func (v *verdicts) note(server, key string) {
	if v.read(); v.servers[server] == key {
		return
	}
	v.changed = true
	if key == "" {
		delete(v.servers, server)
	} else {
		v.servers[server] = key
	}
}

func (v *verdicts) read() {
	if v.servers != nil {
		return
	}
	var f verdictsFile
	if data, err := os.ReadFile(v.path); v.path != "" && err == nil && json.Unmarshal(data, &f) == nil && f.Version == verdictsVersion {
		v.servers = f.Servers
	}
	if v.servers == nil {
		v.servers = map[string]string{}
	}
}

// write writes the file if something has changed.
func (v *verdicts) write() error {
	if v.path == "" || !v.changed {
		return nil
	}
	v.changed = false
	data, err := json.Marshal(verdictsFile{verdictsVersion, v.servers})
	if err == nil {
		err = atomicfile.Write(v.path, data)
	}
	if err != nil {
		return fmt.Errorf("keep verdicts: %w", err)
	}
	return nil
}

// keyOf returns a digest of a listing, the version of its pins and the mode, or "" if
// the server has no pins.
func keyOf(l *discovery.Listing, version string, mode Mode) string {
	if version == "" {
		return ""
	}
	h := sha256.New()
	write(h, reflect.ValueOf([]string{version, string(mode)}))
	write(h, reflect.ValueOf(l).Elem())
	return hex.EncodeToString(h.Sum(nil))
}

// write writes every field of a value to a hash, so that different values of one type
// give different bytes. Keys of maps must be strings.
func write(h hash.Hash, v reflect.Value) {
	number := func(n int) { _, _ = h.Write(binary.AppendVarint(nil, int64(n))) }
	switch v.Kind() {
	case reflect.String:
		number(v.Len())
		_, _ = h.Write([]byte(v.String()))
	case reflect.Bool:
		if v.Bool() {
			number(1)
		} else {
			number(0)
		}
	case reflect.Pointer:
		if v.IsNil() {
			number(0)
			return
		}
		number(1)
		write(h, v.Elem())
	case reflect.Slice:
		number(v.Len())
		if v.Type().Elem().Kind() == reflect.Uint8 {
			_, _ = h.Write(v.Bytes())
			return
		}
		for i := range v.Len() {
			write(h, v.Index(i))
		}
	case reflect.Map:
		number(v.Len())
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			write(h, k)
			write(h, v.MapIndex(k))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			write(h, field)
		}
	default:
		panic("pins: a listing has a field of type " + v.Type().String())
	}
}
