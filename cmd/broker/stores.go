package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/script"
	"github.com/mcpbroker/mcpbroker/broker/skill"
	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/postgres"
	"github.com/mcpbroker/mcpbroker/state/s3"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
	"github.com/mcpbroker/mcpbroker/state/tables"
)

// A record is what commands need of the record of executions, wherever it is.
type record interface {
	state.Audit
	state.Types
	state.Verifier
	// Lag is how many records wait to be written.
	Lag() int
	// These are about a database that is away: see tables.Store.
	Spool() (rows, bytes int64, away bool)
	Full() error
	Reached(ctx context.Context) error
}

// A keptStore keeps results and values.
type keptStore interface {
	state.Results
	state.Values
}

// stores are where the state of a config is: files of its state directory, or a
// database that several brokers share. They are closed after what they have opened.
type stores struct {
	dir     string
	db      *postgres.Database // nil for files
	objects state.Objects      // where long results are; nil for db
	keys    [][]byte           // of what is sealed, the first of which seals; without any, that is in dir
	bus     *postgres.Bus      // of a broker that serves from db; may be nil
	log     *slog.Logger

	switches *state.Document // what is switched off, in db
	tables   atomic.Bool     // db has the tables of this broker
}

// kept returns the stores of a config and creates the tables of a database. It returns
// the same stores until the command ends.
func (a *app) kept(cfg *config.Config, dir string) (*stores, error) {
	st, err := a.connected(cfg, dir)
	if err == nil {
		err = st.prepare()
	}
	if err != nil {
		return nil, err
	}
	return st, nil
}

// connected is kept without creating tables.
func (a *app) connected(cfg *config.Config, dir string) (*stores, error) {
	a.keeping.Lock()
	defer a.keeping.Unlock()
	key := strings.Join(append([]string{dir, cfg.Broker.State, cfg.Broker.Objects}, cfg.Broker.StateKey...), "\n")
	if a.keeps[key] == nil {
		st, err := a.connect(cfg, dir)
		if err != nil {
			return nil, err
		}
		if a.keeps == nil {
			a.keeps = make(map[string]*stores)
		}
		a.keeps[key] = st
	}
	return a.keeps[key], nil
}

// documents are what all brokers share, by kinds; nil if nothing is shared. What may
// be secret is sealed if there is a key; people review scripts, and change them.
func (st *stores) documents() func(kind string) state.Documents {
	if st.db == nil {
		return nil
	}
	return func(kind string) state.Documents {
		if kind == script.Kind || len(st.keys) == 0 {
			return st.db.Documents(kind)
		}
		return st.sealed(sealedPrefix + kind)
	}
}

// The kinds of documents that are sealed. Those that are in the clear without a key
// have other names with one: what was in the clear is not taken for what was sealed.
const (
	kindSignIns  = "oauth"
	kindTokens   = "tokens"
	kindPeople   = "people"
	kindRequests = "requests" // in the clear without a key
	sealedPrefix = "sealed-"
)

// sealedKinds are all of them, to be sealed again with another key.
var sealedKinds = []string{kindSignIns, kindTokens, kindPeople, sealedPrefix + kindRequests, sealedPrefix + skill.KindWorkflows, sealedPrefix + skill.KindActivations}

// sealed are the documents of a kind, if there is a key.
func (st *stores) sealed(kind string) *state.Sealed { return st.seal(st.db.Documents(kind)) }

func (st *stores) seal(in state.Documents) *state.Sealed {
	docs, err := state.Seal(in, st.keys...)
	if err != nil {
		panic(err) // ParseKey has made sure of their length
	}
	return docs
}

// vault is where hidden values are: in the database, or known to this machine only.
func (st *stores) vault() *vault.Vault {
	if st.db != nil && len(st.keys) > 0 {
		return vault.NewShared(st.sealed(kindTokens), st.keys[0], st.log)
	}
	return tokenVault(st.dir, st.log)
}

// requests keep what requests with an idempotency key were answered.
func (st *stores) requests() state.Documents {
	if st.db == nil {
		return files.OpenDocuments(filepath.Join(st.dir, kindRequests))
	}
	return st.documents()(kindRequests)
}

// scripts are where those of a config are saved.
func (st *stores) scripts(cfg *config.Config) script.Store {
	s := script.Store{Dir: savedScripts(cfg)}
	if st.db != nil {
		s.Shared = script.NewShared(st.db.Documents(script.Kind))
	}
	return s
}

// join lets a broker that serves hear of others that share its database.
func (st *stores) join() {
	if st.db != nil && st.bus == nil {
		st.bus = st.db.Bus()
	}
}

// cancels returns a function that ends an execution of any broker that shares the
// database, or nil.
func (s *session) cancels() func(ctx context.Context, id string) error {
	if s.stores.bus == nil {
		return nil
	}
	return func(ctx context.Context, id string) error { return s.stores.bus.Publish(ctx, state.TopicCancel, id) }
}

// switched has something when a broker that shares the database has switched a skill,
// or saved a script.
func (st *stores) switched() (changed <-chan struct{}, stop func()) {
	if st.bus == nil {
		return nil, func() {}
	}
	wake := make(chan struct{}, 1)
	return wake, st.bus.Subscribe(state.TopicDocuments, func(name string) {
		if kind, _, _ := strings.Cut(name, "/"); kind != "" && kind != "skills" && kind != script.Kind {
			return
		}
		select {
		case wake <- struct{}{}:
		default:
		}
	})
}

// sharedListings are the listings of a database, with what its bus says of them.
type sharedListings struct {
	kept state.Listings
	bus  *postgres.Bus
}

// Listings implements upstream.Listings.
func (l sharedListings) Listings(ctx context.Context, keys []string) (map[string][]byte, error) {
	return l.kept.Listings(ctx, keys)
}

// SetListing implements upstream.Listings.
func (l sharedListings) SetListing(ctx context.Context, key string, listing []byte) error {
	return l.kept.SetListing(ctx, key, listing)
}

// Follow implements upstream.Listings.
func (l sharedListings) Follow(heard func(key string)) (stop func()) {
	if l.bus == nil {
		return func() {}
	}
	listings, lead := l.bus.Subscribe(state.TopicListings, heard), l.bus.Subscribe(state.TopicLead, heard)
	return func() { listings(); lead() }
}

// listings are those that brokers keep together, and whether this one connects to
// servers for them; nil for one alone. A command does, as it ends soon.
func (st *stores) listings() (shared upstream.Listings, lists func() bool) {
	switch {
	case st.db == nil:
		return nil, nil
	case st.bus == nil:
		return sharedListings{kept: st.db.Listings()}, nil
	}
	return sharedListings{st.db.Listings(), st.bus}, st.bus.Leads
}

// databaseTime is how long the tables of a database may take to be made.
const databaseTime = 30 * time.Second

// storesOf returns the stores of a config. It makes the tables of a database, and
// nothing in the state directory.
func (a *app) storesOf(cfg *config.Config, dir string) (*stores, error) {
	st, err := a.connect(cfg, dir)
	if err != nil {
		return nil, err
	}
	if err := st.prepare(); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// prepare creates the tables of a database.
func (st *stores) prepare() error {
	if st.db == nil || st.tables.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), databaseTime)
	defer cancel()
	if err := st.db.Migrate(ctx); err != nil {
		return hinted("%w\nhint: \"state\" of the config names the database", err)
	}
	st.tables.Store(true)
	return nil
}

// used reports whether the database has a broker's tables.
func (st *stores) used() (bool, error) {
	if st.db == nil || st.tables.Load() {
		return st.db != nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	version, _, err := st.db.Schema(ctx)
	return version > 0, err
}

// lookTime bounds the check whether a database is in use.
const lookTime = 10 * time.Second

// connect returns the stores of a config without creating anything. It connects to a
// database on first use.
func (a *app) connect(cfg *config.Config, dir string) (*stores, error) {
	st := &stores{dir: dir, log: a.logger()}
	for _, written := range cfg.Broker.StateKey {
		text, err := expand(written)
		if err != nil {
			return nil, usage("%q of \"broker\": %w", "stateKey", err)
		}
		key, err := state.ParseKey(text)
		if err != nil {
			return nil, usage("%q of \"broker\": %w", "stateKey", err)
		}
		st.keys = append(st.keys, key)
	}
	if cfg.Broker.State == "" {
		return st, nil
	}
	address, err := expand(cfg.Broker.State)
	if err == nil {
		st.db, err = postgres.Connect(address, st.log)
	}
	if err != nil {
		return nil, usage("%q of \"broker\": %w", "state", err)
	}
	if st.objects, err = objectsOf(cfg.Broker.Objects, st.keys); err != nil {
		return nil, usage("%q of \"broker\": %w", "objects", errors.Join(err, st.db.Close()))
	}
	st.switches = state.OneDocument(st.db.Documents("skills"), "switches")
	return st, nil
}

// objectsOf returns the objects at an address, encrypted if there are keys, or nil.
func objectsOf(address string, keys [][]byte) (state.Objects, error) {
	if address == "" {
		return nil, nil
	}
	o, err := s3.Parse(address, expand, os.LookupEnv)
	switch {
	case err != nil:
		return nil, err
	case len(keys) == 0:
		return s3.New(o), nil
	}
	return state.SealObjects(s3.New(o), keys...)
}

// stores are those of commands that need no more of the config. One with mistakes
// names no database.
func (a *app) stores() (*stores, error) {
	dir, err := a.stateOnly()
	if err != nil {
		return nil, err
	}
	cfg := &config.Config{}
	if path, err := config.Find(a.configPath); err == nil {
		if read, err := config.Load(path); err == nil {
			cfg = read
		}
	}
	return a.storesOf(cfg, dir)
}

// A closing record closes its database too.
type closing struct {
	record
	stores *stores
}

func (c closing) Close() error { return errors.Join(c.record.Close(), c.stores.Close()) }

// record opens the record to write to it.
func (st *stores) record(o *sqlite.Options) (record, error) {
	if st.db == nil {
		return orNone(sqlite.Open(st.dir, o))
	}
	return orNone(st.db.Record(context.Background(), &postgres.Options{NoCode: o.NoCode, Payloads: o.Payloads, Days: o.Days, Anchor: o.Anchor, Spool: sqlite.OpenSpool(st.dir, st.db.Place(), 0)}))
}

// history opens the record to read it.
func (st *stores) history() (record, error) {
	if st.db == nil {
		return orNone(sqlite.OpenReadOnly(st.dir))
	}
	return orNone(st.db.Record(context.Background(), &postgres.Options{ReadOnly: true}))
}

// orNone keeps a nil pointer out of an interface.
func orNone[S record](s S, err error) (record, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (st *stores) runs() *tables.Runs {
	if st.db == nil {
		return sqlite.NewRuns(st.dir, st.log)
	}
	runs := st.db.Runs()
	if len(st.keys) > 0 {
		runs.Sealed = st.seal(nil)
	}
	return runs
}

func (st *stores) kept() keptStore {
	if st.db == nil {
		return files.Open(filepath.Join(st.dir, "results"), nil)
	}
	return st.db.Kept(nil).In(st.objects)
}

func (st *stores) pins() state.Pins {
	if st.db == nil {
		return files.OpenPins(filepath.Join(st.dir, "pins"))
	}
	if st.bus != nil {
		return st.bus.Pins()
	}
	return st.db.Pins()
}

// apiTokens are documents with the tokens that programs have for the endpoint.
func (st *stores) apiTokens() state.Documents {
	if st.db == nil {
		return files.OpenDocuments(filepath.Join(st.dir, "api-tokens"))
	}
	return st.db.Documents("api-tokens")
}

// buckets are those of quotas that brokers share; nil if this one shares none.
func (st *stores) buckets() state.Buckets {
	if st.db == nil {
		return nil
	}
	return st.db.Buckets()
}

// signIns keeps what belongs to sign-ins to remote servers: in the keyring or files,
// or sealed in the database if there is a key.
func (st *stores) signIns() *oauth.Manager {
	o := &oauth.Options{Keyring: keyring(), Logger: st.log}
	if st.db == nil || len(st.keys) == 0 {
		dir := filepath.Join(st.dir, "oauth")
		return oauth.New(files.OpenDocuments(dir), dir, o)
	}
	o.Keyring = oauth.NoKeyring{}
	return oauth.New(st.sealed(kindSignIns), "", o)
}

// people keeps what people have connected, sealed; nil without a key.
func (st *stores) people() state.Documents {
	switch {
	case len(st.keys) == 0:
		return nil
	case st.db != nil:
		return st.sealed(kindPeople)
	}
	return st.seal(files.OpenDocuments(filepath.Join(st.dir, kindPeople)))
}

// replicas are the brokers that use the database; nil without one.
func (st *stores) replicas() state.Replicas {
	if st.db == nil {
		return nil
	}
	return st.db.Replicas()
}

// Close closes the database.
func (st *stores) Close() error {
	if st.db == nil {
		return nil
	}
	if st.bus != nil {
		_ = st.bus.Close() // never fails
	}
	return st.db.Close()
}

// describe says where the state is, and asks a database.
func (st *stores) describe(ctx context.Context) (string, error) {
	if st.db == nil {
		return st.dir, nil
	}
	version, err := st.db.Server(ctx)
	if err != nil {
		return "", err
	}
	schema, _, err := st.db.Schema(ctx)
	alone := ""
	if len(st.keys) == 0 {
		alone = "; without stateKey, sign-ins and hidden values are known to this broker only"
	}
	return fmt.Sprintf("%s, PostgreSQL %s, schema %d%s; caches in %s", st.db.Name(), version, schema, alone, st.dir), err
}
