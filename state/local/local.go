// Package local keeps the state of a broker in a directory of one machine: the record
// and the journals in SQLite files, everything else as files. Several processes may
// use one directory.
package local

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// A Backend is a directory. It implements state.Backend.
type Backend struct {
	dir  string
	log  *slog.Logger
	kept *files.Store
	bus  state.LocalBus
}

var _ state.Backend = (*Backend)(nil)

// Options changes how a Backend works. The zero value is good.
type Options struct {
	// Limits are those of results and values.
	Limits state.Limits
	// Logger may be nil.
	Logger *slog.Logger
}

// Open returns the state in dir. Nil options are the zero value.
func Open(dir string, o *Options) *Backend {
	if o == nil {
		o = &Options{}
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Backend{dir: dir, log: log, kept: files.Open(filepath.Join(dir, "results"), &o.Limits)}
}

// Prepare implements state.Backend. Each store creates its files itself.
func (b *Backend) Prepare(context.Context) error { return nil }

// Prepared implements state.Backend.
func (b *Backend) Prepared(context.Context) (bool, error) { return true, nil }

// Describe implements state.Backend.
func (b *Backend) Describe(context.Context) (string, error) { return b.dir, nil }

// Audit implements state.Backend.
func (b *Backend) Audit(_ context.Context, o state.AuditOptions) (state.AuditStore, error) {
	var s *sqlite.Store
	var err error
	if o.ReadOnly {
		s, err = sqlite.OpenReadOnly(b.dir)
	} else {
		s, err = sqlite.Open(b.dir, &sqlite.Options{NoCode: !o.Keep.Code, Payloads: o.Keep.Payloads, Days: o.Days, MaxBytes: o.MaxBytes, Anchor: o.Anchor, Logger: b.log})
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Runs implements state.Backend.
func (b *Backend) Runs(o state.RunOptions) state.RunStore {
	runs := sqlite.NewRuns(b.dir, b.log)
	runs.Full, runs.Sealed = o.Full, o.Sealed
	return runs
}

// Results implements state.Backend.
func (b *Backend) Results() state.Results { return b.kept }

// Values implements state.Backend.
func (b *Backend) Values() state.Values { return b.kept }

// Pins implements state.Backend.
func (b *Backend) Pins() state.Pins { return files.OpenPins(filepath.Join(b.dir, "pins")) }

// Documents implements state.Backend.
func (b *Backend) Documents(kind string) state.Documents {
	return files.OpenDocuments(filepath.Join(b.dir, kind))
}

// Bus implements state.Backend. It reaches this Backend alone.
func (b *Backend) Bus() state.Bus { return &b.bus }

// Listings implements state.Backend.
func (b *Backend) Listings() state.Listings { return nil }

// Buckets implements state.Backend.
func (b *Backend) Buckets() state.Buckets { return nil }

// Replicas implements state.Backend.
func (b *Backend) Replicas() state.Replicas { return nil }

// Close implements state.Backend.
func (b *Backend) Close() error { return nil }
