// Package find is how models and scripts find what there is to use: search_tools
// with its hits, suggestions and passages, browsing without words, list_servers,
// and the wait for servers that were never listed.
//
// Features add what is found beside tools with Finder.Set.
package find

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/broker/usage"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/index"
)

// Options are the settings of a Finder.
type Options struct {
	Mode surface.Mode
	// SearchWait bounds the wait of a search for servers that were never listed; zero
	// or less waits for none.
	SearchWait time.Duration
	// Usage learns which tools are called after which searches; nil learns nothing. It
	// counts for the user of the state, and for others if LearnAll is set.
	Usage    *usage.Store
	LearnAll bool
	// ReadOnly means that tools may be hidden because they are not marked read-only.
	ReadOnly bool
}

// A Library has texts that are searched beside tools.
type Library interface {
	// Passages returns the entries of KindSkill with files that contain most words of a
	// query, best first, and the words that no file contains.
	Passages(ctx context.Context, query string, limit int) (list []Passage, unmatched []string, err error)
	// Count returns the numbers of entries: of servers by server, of others by origin.
	Count() (ofServer, others map[string]int)
}

// A Finder is safe for concurrent use, once its library is registered.
type Finder struct {
	opts    atomic.Pointer[Options]
	catalog *catalog.Catalog
	index   *index.Index
	library Library
	lines   lineCache // lines of tools in recent answers
	entries entries   // beside tools
	aside   aside
	shapes  shapeCache
	notice  atomic.Pointer[string] // for list_servers; see SetNotice

	syncing sync.Mutex
	indexed *discovery.Catalog
	entered uint64 // the version of entries that is indexed
}

// New returns a Finder of the tools of c.
func New(o Options, c *catalog.Catalog, indexing *index.Options) *Finder {
	f := &Finder{catalog: c, index: index.New(indexing)}
	f.Configure(o)
	return f
}

// Configure replaces the settings.
func (f *Finder) Configure(o Options) { f.opts.Store(&o) }

// Register adds the texts of a library.
func (f *Finder) Register(l Library) { f.library = l }

// Set replaces what source adds to what is found. Sync makes the index follow.
func (f *Finder) Set(source string, list []Entry) { f.entries.set(source, list) }

// SetNotice makes text a note in the answers of list_servers, such as that the
// config file is wrong; empty takes it back.
func (f *Finder) SetNotice(text string) { f.notice.Store(&text) }

// Close closes the index.
func (f *Finder) Close() error { return errors.Join(f.aside.close(), f.index.Close()) }

// Sync brings the index up to the catalogue. Concurrent calls wait for each
// other, so when it returns, what was listed before the call is searchable.
func (f *Finder) Sync() error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	scope := f.catalog.Scope()
	if scope != f.indexed {
		f.enterOffers(scope)
	}
	if scope == f.indexed && f.entries.now() == f.entered {
		return nil
	}
	others, version := f.entries.all()
	if err := f.index.Sync(scope, others); err != nil {
		return err
	}
	f.indexed, f.entered = scope, version
	return nil
}
