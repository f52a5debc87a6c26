// Package app makes what a config describes. It is the only package that chooses
// implementations.
package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/script"
	"github.com/mcpbroker/mcpbroker/broker/skill"
	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/local"
	"github.com/mcpbroker/mcpbroker/state/s3"
	"github.com/mcpbroker/mcpbroker/state/shared"
)

// StateOptions says where the state of a config is.
type StateOptions struct {
	// Dir is the state directory, which keeps the caches of a shared state too.
	Dir string
	// Config has the addresses and the keys.
	Config config.Broker
	// Expand replaces the references in them, and Lookup reads the environment.
	Expand func(string) (string, error)
	Lookup func(name string) (string, bool)
	// Keyring keeps secrets that stay on this machine.
	Keyring oauth.Keyring
	// Serve receives the notices of other brokers.
	Serve  bool
	Logger *slog.Logger
}

// A KeyError is a setting that cannot be followed.
type KeyError struct {
	Key string // of "broker"
	Err error
}

// Error names the key.
func (e *KeyError) Error() string { return fmt.Sprintf("%q of \"broker\": %v", e.Key, e.Err) }

// Unwrap returns the cause.
func (e *KeyError) Unwrap() error { return e.Err }

// A State is the state of one config: a directory of this machine, or a database that
// several brokers share. The fields hold how these differ. It must be closed, after what
// it has opened.
type State struct {
	state.Backend
	// Dir is the state directory.
	Dir string
	// Logger is never nil.
	Logger *slog.Logger
	// Shared returns documents that all brokers share; nil for one alone.
	Shared func(kind string) state.Documents
	// Lists reports whether this broker connects to servers to list them for all; nil
	// does always.
	Lists func() bool
	// Cancel ends an execution of any broker; nil for one alone.
	Cancel func(ctx context.Context, id string) error
	// Switchboard returns the switches of skills and plugins, which are those of file
	// until some are stored elsewhere.
	Switchboard func(file skills.SwitchFile) skills.Switchboard
	// Verdicts is a file for verdicts about pins, or empty. Versions of pins in a
	// database are small numbers, which are not unique among databases.
	Verdicts string
	// Spools is set if the record waits here while the database is away.
	Spools bool
	// People has the accounts that people have connected; nil without a key.
	People state.Documents
	// Vault opens the hidden values, and SignIns the sign-ins to remote servers: those
	// of this machine, or sealed ones that all brokers share.
	Vault   func() *vault.Vault
	SignIns func() *oauth.Manager
	// Rekey re-encrypts everything with the first key, and calls add with each part; nil
	// if nothing is sealed that outlives its key.
	Rekey func(ctx context.Context, add func(part string, r state.Rekeyed)) error
}

// OpenState opens the state of a config. It connects on first use, and creates nothing.
func OpenState(o StateOptions) (*State, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	keys, err := parseKeys(o)
	if err != nil {
		return nil, &KeyError{"stateKey", err}
	}
	st := &State{Dir: o.Dir, Logger: o.Logger}
	st.Vault = func() *vault.Vault { return localVault(o) }
	st.SignIns = func() *oauth.Manager {
		dir := filepath.Join(o.Dir, kindSignIns)
		return oauth.New(files.OpenDocuments(dir), dir, &oauth.Options{Keyring: o.Keyring, Logger: o.Logger})
	}
	if o.Config.State == "" {
		err = st.openLocal(keys)
	} else {
		err = st.openShared(o, keys)
	}
	if err != nil {
		return nil, err
	}
	return st, nil
}

// OpenDirectory opens a state in dir for a broker without a config.
func OpenDirectory(dir string, limits state.Limits, log *slog.Logger) state.Backend {
	return local.Open(dir, &local.Options{Limits: limits, Logger: log})
}

func parseKeys(o StateOptions) (keys [][]byte, err error) {
	for _, written := range o.Config.StateKey {
		text, err := o.Expand(written)
		if err != nil {
			return nil, err
		}
		key, err := state.ParseKey(text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// localVault returns the hidden values of a state directory. The name of its key
// distinguishes it from those of others, and no configuration can read it.
func localVault(o StateOptions) *vault.Vault {
	sum := sha256.Sum256([]byte(o.Dir))
	key := vault.Key(filepath.Join(o.Dir, "tokens.key"), o.Keyring, fmt.Sprintf("oauth:vault-%x", sum[:8]), oauth.ErrNotFound)
	return vault.New(filepath.Join(o.Dir, "tokens.sealed"), key, o.Logger)
}

// openLocal is OpenState for a directory, in which only the accounts of people are
// sealed.
func (st *State) openLocal(keys [][]byte) error {
	st.Backend = local.Open(st.Dir, &local.Options{Logger: st.Logger})
	st.Verdicts = filepath.Join(st.Dir, "verdicts.json")
	st.Switchboard = func(file skills.SwitchFile) skills.Switchboard { return file }
	if len(keys) == 0 {
		return nil
	}
	sealed, err := state.SealBackend(st.Backend, state.SealOptions{Keys: keys, Kind: func(kind string) string {
		if kind == kindPeople {
			return kindPeople
		}
		return ""
	}})
	if err != nil {
		return &KeyError{"stateKey", err}
	}
	st.Backend, st.People = sealed, sealed.Documents(kindPeople)
	return nil
}

// The kinds of documents.
const (
	kindSignIns   = "oauth"
	kindTokens    = "tokens"
	kindPeople    = "people"
	kindRequests  = "requests"
	kindSwitches  = "skills"
	kindAPITokens = "api-tokens"
	sealedPrefix  = "sealed-"
)

// sealedKind returns the kind that sealed documents have in a database. People review
// and change scripts and switches, and tokens are hashes: these stay in the clear. Other
// kinds may be in the clear without a key, and have another name with one, so that
// nothing of the former is taken for the latter.
func sealedKind(kind string) string {
	switch kind {
	case script.Kind, kindSwitches, kindAPITokens:
		return ""
	case kindSignIns, kindTokens, kindPeople:
		return kind
	}
	return sealedPrefix + kind
}

// openShared is OpenState for a database.
func (st *State) openShared(o StateOptions, keys [][]byte) error {
	address, err := o.Expand(o.Config.State)
	if err != nil {
		return &KeyError{"state", err}
	}
	objects, err := openObjects(o, keys)
	if err != nil {
		return &KeyError{"objects", err}
	}
	db, err := shared.Open(address, shared.Options{Objects: objects, SpoolDir: o.Dir, Serve: o.Serve, Logger: o.Logger})
	if err != nil {
		return &KeyError{"state", err}
	}
	st.Backend, st.Spools = db, true
	if o.Serve {
		st.Lists = func() bool { return db.Bus().Leads() }
		st.Cancel = func(ctx context.Context, id string) error { return db.Bus().Publish(ctx, state.TopicCancel, id) }
	}
	if len(keys) > 0 {
		if err := st.seal(db, keys); err != nil {
			return &KeyError{"stateKey", errors.Join(err, db.Close())}
		}
	}
	st.Shared = st.Documents
	switches := &switches{st: st, doc: state.OneDocument(st.Documents(kindSwitches), "switches")}
	st.Switchboard = func(file skills.SwitchFile) skills.Switchboard { return switches.before(file) }
	return nil
}

// openObjects returns the objects of a config, encrypted if there are keys, or nil.
func openObjects(o StateOptions, keys [][]byte) (state.Objects, error) {
	if o.Config.Objects == "" {
		return nil, nil
	}
	parsed, err := s3.Parse(o.Config.Objects, o.Expand, o.Lookup)
	switch {
	case err != nil:
		return nil, err
	case len(keys) == 0:
		return s3.New(parsed), nil
	}
	return state.SealObjects(s3.New(parsed), keys...)
}

// seal encrypts what a database keeps, and moves there what otherwise stays on this
// machine.
func (st *State) seal(db *shared.Backend, keys [][]byte) error {
	sealed, err := state.SealBackend(db, state.SealOptions{Keys: keys, Kind: sealedKind, Runs: true})
	if err != nil {
		return err
	}
	st.Backend, st.People = sealed, sealed.Documents(kindPeople)
	st.Vault = func() *vault.Vault { return vault.NewShared(sealed.Documents(kindTokens), keys[0], st.Logger) }
	st.SignIns = func() *oauth.Manager {
		return oauth.New(sealed.Documents(kindSignIns), "", &oauth.Options{Keyring: oauth.NoKeyring{}, Logger: st.Logger})
	}
	st.Rekey = func(ctx context.Context, add func(string, state.Rekeyed)) error {
		for _, kind := range []string{kindSignIns, kindTokens, kindPeople, kindRequests, skill.KindWorkflows, skill.KindActivations} {
			kind = sealedKind(kind)
			r, err := db.RekeyDocuments(ctx, sealed.Sealed(kind), kind)
			if add(kind, r); err != nil {
				return err
			}
		}
		runs := sealed.Runs(state.RunOptions{})
		r, err := runs.Rekey(ctx)
		add("run", r)
		if err := errors.Join(err, runs.Close()); err != nil {
			return err
		}
		r, err = db.RekeyResults(ctx)
		add("result", r)
		return err
	}
	return nil
}

// prepareTime bounds Prepare, and lookTime a look at a state that may be unused.
const prepareTime, lookTime = 30 * time.Second, 10 * time.Second

// Prepare implements state.Backend, in limited time.
func (st *State) Prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	return st.Backend.Prepare(ctx)
}

// Describe implements state.Backend. It adds what is not shared.
func (st *State) Describe(ctx context.Context) (string, error) {
	text, err := st.Backend.Describe(ctx)
	if st.Shared == nil || err != nil {
		return text, err
	}
	if st.Rekey == nil {
		text += "; without stateKey, sign-ins and hidden values are known to this broker only"
	}
	return text + "; caches in " + st.Dir, nil
}

// Scripts returns the saved scripts of a config, whose folder is dir.
func (st *State) Scripts(dir string) script.Store {
	s := script.Store{Dir: dir}
	if st.Shared != nil {
		s.Shared = script.NewShared(st.Shared(script.Kind))
	}
	return s
}

// Requests has the answers to requests with an idempotency key.
func (st *State) Requests() state.Documents { return st.Documents(kindRequests) }

// Workflows has the sessions of workflows of a broker alone, as files in dir.
func (st *State) Workflows(dir string) state.Documents { return files.OpenDocuments(dir) }

// APITokens has the tokens of programs for the endpoint.
func (st *State) APITokens() state.Documents { return st.Documents(kindAPITokens) }

// Switched returns a channel that receives something after another broker has switched
// a skill, or saved a script.
func (st *State) Switched() (changed <-chan struct{}, stop func()) {
	wake := make(chan struct{}, 1)
	return wake, st.Bus().Subscribe(state.TopicDocuments, func(name string) {
		if kind, _, _ := strings.Cut(name, "/"); kind != "" && kind != kindSwitches && kind != script.Kind {
			return
		}
		select {
		case wake <- struct{}{}:
		default:
		}
	})
}

// ServerListings returns the listings that brokers share, or nil.
func (st *State) ServerListings() upstream.Listings {
	if l := st.Listings(); l != nil {
		return serverListings{l, st.Bus()}
	}
	return nil
}

// serverListings are shared listings, with the notices about them.
type serverListings struct {
	kept state.Listings
	bus  state.Bus
}

// Listings implements upstream.Listings.
func (l serverListings) Listings(ctx context.Context, keys []string) (map[string][]byte, error) {
	return l.kept.Listings(ctx, keys)
}

// SetListing implements upstream.Listings.
func (l serverListings) SetListing(ctx context.Context, key string, listing []byte) error {
	return l.kept.SetListing(ctx, key, listing)
}

// Follow implements upstream.Listings.
func (l serverListings) Follow(heard func(key string)) (stop func()) {
	listings, lead := l.bus.Subscribe(state.TopicListings, heard), l.bus.Subscribe(state.TopicLead, heard)
	return func() { listings(); lead() }
}
