// Package shared keeps the state of any number of brokers in one PostgreSQL database
// and, if there is one, a store of S3 objects for long results.
package shared

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/postgres"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// Options changes how the state is opened. The zero value is good for a command.
type Options struct {
	// Objects keeps long results; nil keeps them in the database.
	Objects state.Objects
	// SpoolDir is a directory of this machine, in which the record waits while the
	// database is away. If empty, records are lost after 10 s.
	SpoolDir string
	// Serve receives the notices of other brokers, on a connection of its own that lasts
	// from the first use of Bus or Pins. Without it the Bus only sends.
	Serve bool
	// Logger may be nil.
	Logger *slog.Logger
}

// A Backend is a database. It implements state.Backend.
type Backend struct {
	db   *postgres.Database
	o    Options
	kept *postgres.Kept

	prepared atomic.Bool

	join sync.Once // sets the fields below
	bus  state.Bus
	pins state.Pins
	stop func() error
}

var _ state.Backend = (*Backend)(nil)

// Open returns the state at the address of a database, as for postgres.Connect.
func Open(address string, o Options) (*Backend, error) {
	db, err := postgres.Connect(address, o.Logger)
	if err != nil {
		return nil, err
	}
	return &Backend{db: db, o: o, kept: db.Kept(nil).In(o.Objects)}, nil
}

// joined starts the bus, once.
func (b *Backend) joined() *Backend {
	b.join.Do(func() {
		if !b.o.Serve {
			b.bus, b.pins = b.db.Sender(), b.db.Pins()
			return
		}
		bus := b.db.Bus()
		b.bus, b.pins, b.stop = bus, bus.Pins(), bus.Close
	})
	return b
}

// Prepare implements state.Backend. It creates and updates the tables.
func (b *Backend) Prepare(ctx context.Context) error {
	if b.prepared.Load() {
		return nil
	}
	if err := b.db.Migrate(ctx); err != nil {
		return err
	}
	b.prepared.Store(true)
	return nil
}

// Prepared implements state.Backend.
func (b *Backend) Prepared(ctx context.Context) (bool, error) {
	if b.prepared.Load() {
		return true, nil
	}
	version, _, err := b.db.Schema(ctx)
	return version > 0, err
}

// Describe implements state.Backend.
func (b *Backend) Describe(ctx context.Context) (string, error) {
	version, err := b.db.Server(ctx)
	if err != nil {
		return "", err
	}
	schema, _, err := b.db.Schema(ctx)
	return fmt.Sprintf("%s, PostgreSQL %s, schema %d", b.db.Name(), version, schema), err
}

// Audit implements state.Backend.
func (b *Backend) Audit(ctx context.Context, o state.AuditOptions) (state.AuditStore, error) {
	p := &postgres.Options{NoCode: !o.Keep.Code, Payloads: o.Keep.Payloads, Days: o.Days, Anchor: o.Anchor, ReadOnly: o.ReadOnly}
	if b.o.SpoolDir != "" && !o.ReadOnly {
		p.Spool = sqlite.OpenSpool(b.o.SpoolDir, b.db.Place(), 0)
	}
	s, err := b.db.Record(ctx, p)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Runs implements state.Backend.
func (b *Backend) Runs(o state.RunOptions) state.RunStore {
	runs := b.db.Runs()
	runs.Full, runs.Sealed = o.Full, o.Sealed
	return runs
}

// Results implements state.Backend.
func (b *Backend) Results() state.Results { return b.kept }

// Values implements state.Backend.
func (b *Backend) Values() state.Values { return b.kept }

// Pins implements state.Backend.
func (b *Backend) Pins() state.Pins { return b.joined().pins }

// Documents implements state.Backend.
func (b *Backend) Documents(kind string) state.Documents { return b.db.Documents(kind) }

// Bus implements state.Backend.
func (b *Backend) Bus() state.Bus { return b.joined().bus }

// Listings implements state.Backend.
func (b *Backend) Listings() state.Listings { return b.db.Listings() }

// Buckets implements state.Backend.
func (b *Backend) Buckets() state.Buckets { return b.db.Buckets() }

// Replicas implements state.Backend.
func (b *Backend) Replicas() state.Replicas { return b.db.Replicas() }

// RekeyDocuments re-encrypts the documents that sealed has stored as a kind with its
// first key.
func (b *Backend) RekeyDocuments(ctx context.Context, sealed *state.Sealed, kind string) (state.Rekeyed, error) {
	return sealed.Rekey(ctx, b.db.Documents(kind))
}

// RekeyResults re-encrypts the objects of results with the first key of Objects.
func (b *Backend) RekeyResults(ctx context.Context) (state.Rekeyed, error) { return b.kept.Rekey(ctx) }

// Close implements state.Backend.
func (b *Backend) Close() error {
	b.join.Do(func() {}) // not any more
	if b.stop == nil {
		return b.db.Close()
	}
	return errors.Join(b.stop(), b.db.Close())
}
