// Package script is saved scripts as a feature of the broker: search finds them,
// and scripts call them as scripts.NAME(input), within their own execution.
//
// A person saves a script, by hand or from an execution; no tool does. What one
// may call is decided for each call, as if its caller made it.
package script

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/find"
	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Hits are what search finds beside tools.
type Hits interface {
	// Set replaces what a source brings.
	Set(source string, list []find.Entry)
}

// A Feature is safe for concurrent use.
type Feature struct {
	store   Store
	catalog *catalog.Catalog
	hits    Hits
	log     *slog.Logger

	mu   sync.Mutex
	seen string // what the files were when hits were set
}

// New returns a Feature of the scripts in a store.
func New(store Store, c *catalog.Catalog, hits Hits, log *slog.Logger) *Feature {
	f := &Feature{store: store, catalog: c, hits: hits, log: log}
	f.Renew()
	return f
}

// Renew looks for changes of the scripts and reports whether there are any. Without
// one it costs a look at each file, or one question to what is shared.
func (f *Feature) Renew() bool {
	if f.store.none() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	files, err := f.store.files()
	if err != nil {
		f.log.Warn("list saved scripts", "err", err)
		return false
	}
	now := fmt.Sprint(files)
	if now == f.seen {
		return false
	}
	f.seen = now
	list, err := f.store.List()
	if err != nil {
		f.log.Warn("list saved scripts", "err", err)
	}
	var entries []find.Entry
	for _, s := range list {
		s.Description = gate.Clean(s.Description)
		entries = append(entries, find.Entry{
			Entry:     index.Entry{ID: s.Name, Kind: find.KindScript, Name: s.Name, Description: s.Description},
			Signature: gate.Clean(s.Signature()),
			Use:       "await it in execute_code",
		})
	}
	f.hits.Set("scripts", entries)
	return true
}

// HostFuncs implements run.Feature: there are none.
func (f *Feature) HostFuncs() map[string]run.HostFunc { return nil }

// Files implements run.Library: there are none.
func (f *Feature) Files(*run.Execution) *sandbox.Files { return nil }

var (
	imported = lazyregexp.New(`\bscripts/([A-Za-z]\w*(?:@\d+)?)["']`)
	member   = lazyregexp.New(`(?:^|[^\w$.'"/])scripts\s*\??\.\s*([A-Za-z_$][\w$]*)`)
	wordOnly = lazyregexp.New(`[A-Za-z_$][\w$]*`)
)

// Modules implements run.Library: the module "scripts", which has a function for
// each script that the program names, and one module for each of these. Saved
// scripts do not call others.
func (f *Feature) Modules(x *run.Execution, lang sandbox.Language) (modules []sandbox.Module, names []string) {
	code := x.Request.Code
	if f.store.none() || lang == sandbox.Python || !strings.Contains(code, "scripts") {
		return nil, nil
	}
	list, err := f.store.List()
	if err != nil || len(list) == 0 {
		return nil, nil
	}
	wanted := make(map[string]bool)
	for _, m := range imported.FindAllStringSubmatch(code, -1) {
		wanted[m[1]] = true
	}
	// An export of its own, so that a name that is not there is a missing export.
	all := sandbox.Module{Path: "scripts", Global: "scripts", Source: "export const $saved = true;\n", Withheld: make(map[string]string)}
	if uses(code, "scripts") {
		words := wordOnly.FindAllString(code, -1)
		for _, s := range list {
			if slices.Contains(words, s.Name) {
				wanted[s.Name] = true
				all.Exports = append(all.Exports, s.Name)
				all.Source += fmt.Sprintf("export { main as %s } from './scripts/%s';\n", s.Name, s.Name)
			}
		}
		for _, m := range member.FindAllStringSubmatch(code, -1) {
			if !slices.Contains(all.Exports, m[1]) {
				all.Withheld[m[1]] = f.store.notFound(m[1]).Error()
			}
		}
		modules = append(modules, all)
	}
	for _, s := range list {
		names = append(names, "scripts/"+s.Name)
	}
	for ref := range wanted {
		s, err := f.store.Load(ref)
		if _, gone := errors.AsType[*NotFoundError](err); gone {
			continue // the import says so
		}
		m := sandbox.Module{Path: "scripts/" + ref, Exports: []string{"main"}}
		if err != nil {
			m.Unusable = "the broker could not read it: " + err.Error()
		} else {
			m.Source = module(s.Code, f.catalog.Scope().Servers())
			x.Uses(s.Code)
		}
		modules = append(modules, m)
	}
	return modules, names
}
