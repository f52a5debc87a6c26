// Package cache stores on disk what is known of servers between runs: their listings, and
// why they could not be connected.
package cache

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

// A Key identifies the configuration of a server. It contains nothing secret.
type Key struct {
	Server string
	// ID identifies what is started or dialled.
	ID string
	// Revision distinguishes configurations with the same ID that may fail differently.
	Revision uint16
}

// String returns a text that differs between keys.
func (k Key) String() string { return fmt.Sprintf("%s-%04x", k.ID, k.Revision) }

// An Entry is what is stored of one server. The listing is not filtered: the
// configuration may allow more next time.
type Entry struct {
	Version   int               `json:"version"`
	Era       link.Era          `json:"era"`
	Transport string            `json:"transport"`
	Asks      bool              `json:"asks,omitempty"` // it has asked a client something
	Listing   discovery.Listing `json:"listing"`
}

// Encode writes an entry, with its texts as the server had them: without escapes for
// HTML.
func (e Entry) Encode() []byte {
	e.Version = listingVersion
	return gate.Compact(e)
}

// A Dir is a directory with a file for each entry and failure; empty stores nothing.
// Several brokers may use one: files are replaced as a whole.
type Dir string

func (d Dir) path(k Key) string { return filepath.Join(string(d), k.ID+".json") }

// Load returns the entry of k. Anything that is not a whole entry of this
// version counts as none, since the server can always be asked again.
func (d Dir) Load(k Key) (Entry, bool) {
	if d == "" {
		return Entry{}, false
	}
	b, err := os.ReadFile(d.path(k))
	if err != nil {
		return Entry{}, false
	}
	return Decode(b, k.Server)
}

// Store replaces the entry of k by one that is encoded, unless it is the same.
func (d Dir) Store(k Key, entry []byte) error {
	if d == "" {
		return nil
	}
	if b, err := os.ReadFile(d.path(k)); err == nil && bytes.Equal(b, entry) {
		return nil
	}
	if err := d.write(d.path(k), entry); err != nil {
		return fmt.Errorf("store listing: %w", err)
	}
	return nil
}

func (d Dir) write(path string, content []byte) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, content)
}
