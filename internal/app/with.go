package app

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/state"
)

// WithState calls f with the config, with the servers of plugins, and with its state,
// which it closes afterwards.
func (s *Setup) WithState(ctx context.Context, f func(*config.Config, *State) error) error {
	cfg, st, err := s.LoadState(ctx)
	if err != nil {
		return err
	}
	err = f(cfg, st)
	return cmp.Or(err, st.Close())
}

// WithLearned calls f with the learned types of tools.
func (s *Setup) WithLearned(ctx context.Context, f func(*learned.Store) error) error {
	return s.WithState(ctx, func(cfg *config.Config, st *State) error {
		store, err := st.OpenAudit(ctx, cfg)
		if err != nil {
			return err
		}
		types := learned.New(store, s.Logger)
		err = f(types)
		return cmp.Or(err, types.Close(), store.Close())
	})
}

// WithRuns calls f with the journals of runs, and with what describes the tokens in their
// calls.
func (s *Setup) WithRuns(ctx context.Context, f func(state.RunStore, api.Tokens) error) error {
	st, err := s.OpenAnyState(ctx)
	if err != nil {
		return err
	}
	runs := st.Runs(state.RunOptions{})
	err = f(runs, st.Vault())
	return cmp.Or(err, runs.Close(), st.Close())
}

// OpenRecord opens the record of executions for reading. It is an error if nothing was
// recorded yet. To close the record is enough.
func (s *Setup) OpenRecord(ctx context.Context) (state.AuditStore, error) {
	st, err := s.OpenAnyState(ctx)
	if err != nil {
		return nil, err
	}
	store, err := st.Audit(ctx, state.AuditOptions{ReadOnly: true})
	if err != nil {
		_ = st.Close() // the first error is what matters
		return nil, Errorf("broker serve and broker exec create it; --state-dir names another directory", "%w", err)
	}
	return openRecord{store, st}, nil
}

// An openRecord closes its state too.
type openRecord struct {
	state.AuditStore
	in *State
}

// Close implements state.AuditStore.
func (r openRecord) Close() error { return errors.Join(r.AuditStore.Close(), r.in.Close()) }

// PruneRecord removes the executions that began before a time, and returns their number.
func (s *Setup) PruneRecord(ctx context.Context, before time.Time) (n int, err error) {
	anchor, err := s.AnchorFile()
	if err != nil {
		return 0, err
	}
	st, err := s.OpenAnyState(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = cmp.Or(err, st.Close()) }()
	store, err := st.Audit(ctx, state.AuditOptions{Days: -1, MaxBytes: -1, Anchor: anchor})
	if err != nil {
		return 0, err
	}
	n, err = store.Prune(ctx, before)
	return n, cmp.Or(err, store.Close())
}

// AnchorFile returns the file with heads of the record's chain that the config names, or
// "".
func (s *Setup) AnchorFile() (string, error) {
	if s.StateDir != "" && s.ConfigPath == "" {
		return "", nil
	}
	path, err := config.Find(s.ConfigPath)
	if errors.Is(err, config.ErrNoConfig) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	cfg, err := config.Load(path)
	if err != nil {
		return "", err
	}
	return cfg.Resolve(cfg.Broker.Audit.Anchor), nil
}

// CachedCatalog returns the tools that are known without asking any server. It is empty if
// the config cannot be used.
func (s *Setup) CachedCatalog(readOnly bool) *discovery.Catalog {
	cfg, err := s.LoadServers()
	if err != nil {
		return &discovery.Catalog{}
	}
	dir, err := s.StateOf(cfg.Path)
	if err != nil {
		return &discovery.Catalog{}
	}
	servers := Upstreams(cfg)
	pool := upstream.NewPool(servers, &upstream.Options{CacheDir: CatalogueDir(dir), Expand: s.Sources.Expand})
	defer pool.Close()
	known := make(map[string]discovery.Listing)
	for _, l := range pool.Listings() {
		known[l.Server] = l
	}
	lists := ToolLists(cfg)
	var listings []discovery.Listing
	for _, server := range servers { // those that are not known have a name too
		l := known[server.Name]
		l.Server = server.Name
		listings = append(listings, lists.Filter(l))
	}
	catalog := discovery.NewCatalog(listings, Disabled(cfg)...)
	if !cfg.Broker.ReadOnly && !readOnly {
		return catalog
	}
	return catalog.Filter(func(t *discovery.Tool) bool {
		return policy.ReadOnly{}.Decide(policy.CallOf(t)).Effect != policy.Deny
	})
}
