package state

import "context"

// A Backend keeps the whole state of a broker. Opening one connects to nothing and
// creates nothing: that happens on first use. Its stores are closed before it. It is
// safe for concurrent use.
type Backend interface {
	// Prepare creates what the stores need, such as tables. Call it before all but
	// Documents, which may be read without. It may be called again.
	Prepare(ctx context.Context) error
	// Prepared reports whether Prepare was called, by any broker, without creating
	// anything.
	Prepared(ctx context.Context) (bool, error)
	// Describe returns the location and the version of the state, for people. It fails
	// if the state cannot be reached.
	Describe(ctx context.Context) (string, error)

	// Audit opens the record of executions. It must be closed.
	Audit(ctx context.Context, o AuditOptions) (AuditStore, error)
	// Runs opens the journals of runs. They must be closed.
	Runs(o RunOptions) RunStore
	Results() Results
	Values() Values
	Pins() Pins
	// Documents returns the documents of a kind, which is a plain name.
	Documents(kind string) Documents
	// Bus returns the bus of the brokers that share the state. A broker that shares it
	// with no other has one for itself.
	Bus() Bus

	// Listings, Buckets and Replicas are for brokers that share their state. They
	// return nil for a state that belongs to one machine.
	Listings() Listings
	Buckets() Buckets
	Replicas() Replicas

	// Close releases the state.
	Close() error
}

// An AuditStore is the record of executions with the types learned from them.
type AuditStore interface {
	Audit
	Types
	Verifier
	// Lag returns the number of entries that wait to be written.
	Lag() int
	// Spool returns the size of what waits on this machine for a state that cannot be
	// reached, and whether it cannot be reached now.
	Spool() (rows, bytes int64, away bool)
	// Full returns an error if there is no room for more to wait.
	Full() error
	// Reached returns an error unless everything recorded so far is in the state.
	Reached(ctx context.Context) error
}

// AuditOptions changes how a record is opened. The zero value keeps no programs.
type AuditOptions struct {
	Keep Keep
	// Days is how long records are kept: 0 means 30, below 0 for ever.
	Days int
	// MaxBytes is the size from which the oldest records are removed, if the record has
	// a file of its own: 0 means 256 MB, below 0 no limit.
	MaxBytes int64
	// Anchor is a file to which the head of the chain is added from time to time; it may
	// be empty.
	Anchor string
	// ReadOnly opens an existing record for reading; without one, the error is
	// ErrNoRecord. The other options have no effect.
	ReadOnly bool
}

// A RunStore keeps the journals of runs.
type RunStore interface {
	Runs
	RunHistory
	// Rekey re-encrypts the runs that another key than the first, or none, has
	// encrypted.
	Rekey(ctx context.Context) (Rekeyed, error)
	Close() error
}

// RunOptions changes how journals are kept. The zero value is good.
type RunOptions struct {
	// Full makes every commit survive a power cut, not only those of calls that destroy
	// something.
	Full bool
	// Sealed, if not nil, encrypts the texts of runs and calls.
	Sealed *Sealed
}

// SealOptions selects what SealBackend encrypts.
type SealOptions struct {
	// Keys are those of Seal.
	Keys [][]byte
	// Kind returns the kind under which the encrypted documents of a kind are stored,
	// or "" for documents that stay in the clear.
	Kind func(kind string) string
	// Runs encrypts the journals of runs too.
	Runs bool
}

// SealBackend returns a Backend that encrypts documents and journals before it stores
// them in b.
func SealBackend(b Backend, o SealOptions) (*SealedBackend, error) {
	s, err := Seal(nil, o.Keys...)
	if err != nil {
		return nil, err
	}
	return &SealedBackend{b, o, s}, nil
}

// A SealedBackend is a Backend that is encrypted where it is stored.
type SealedBackend struct {
	Backend
	o SealOptions
	s *Sealed
}

// Documents implements Backend.
func (b *SealedBackend) Documents(kind string) Documents {
	if stored := b.o.Kind(kind); stored != "" {
		return b.Sealed(stored)
	}
	return b.Backend.Documents(kind)
}

// Sealed returns the encrypted documents stored as a kind.
func (b *SealedBackend) Sealed(stored string) *Sealed {
	return &Sealed{b.Backend.Documents(stored), b.s.aeads}
}

// Runs implements Backend.
func (b *SealedBackend) Runs(o RunOptions) RunStore {
	if b.o.Runs {
		o.Sealed = b.s
	}
	return b.Backend.Runs(o)
}
