package upstream

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// listingVersion changes when the meaning of a cache file does; files of another
// version are ignored. Those of version 1 may have values of the configuration in
// them.
const listingVersion = 2

// A cacheEntry is what is kept of one server between runs. The listing is not
// filtered: the configuration may allow more next time.
type cacheEntry struct {
	Version   int               `json:"version"`
	Era       link.Era          `json:"era"`
	Transport string            `json:"transport"`
	Asks      bool              `json:"asks,omitempty"` // it has asked a client something
	Listing   discovery.Listing `json:"listing"`
}

// A cache keeps entries as files in a directory. Several brokers may use one:
// files are replaced as a whole.
type cache struct {
	dir string // "" keeps nothing
}

func (c cache) path(cfg Config) string {
	return filepath.Join(c.dir, cfg.fingerprint()+".json")
}

// load returns the entry of cfg. Anything that is not a whole entry of this
// version counts as none, since the server can always be asked again.
func (c cache) load(cfg Config) (cacheEntry, bool) {
	if c.dir == "" {
		return cacheEntry{}, false
	}
	b, err := os.ReadFile(c.path(cfg))
	if err != nil {
		return cacheEntry{}, false
	}
	return decodeEntry(b, cfg)
}

// encode writes an entry, with its texts as the server had them: without escapes for
// HTML.
func (e cacheEntry) encode() []byte {
	e.Version = listingVersion
	return gate.Compact(e)
}

// store replaces the entry of cfg by one that is encoded, unless it is the same.
func (c cache) store(cfg Config, entry []byte) error {
	if c.dir == "" {
		return nil
	}
	if b, err := os.ReadFile(c.path(cfg)); err == nil && bytes.Equal(b, entry) {
		return nil
	}
	err := os.MkdirAll(c.dir, 0o700)
	if err == nil {
		err = atomicfile.Write(c.path(cfg), entry)
	}
	if err != nil {
		return fmt.Errorf("store listing: %w", err)
	}
	return nil
}

// sameListing reports whether two listings say the same.
func sameListing(a, b discovery.Listing) bool {
	return bytes.Equal(gate.Compact(a), gate.Compact(b))
}
