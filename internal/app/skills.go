package app

import (
	"context"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/skill"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/skills"
)

// Pool returns connections to servers without a broker. It promises them what a broker
// promises, since what they list is stored for the broker too. It must be closed.
func (s *Setup) Pool(servers []upstream.Config, st *State) *upstream.Pool {
	return upstream.NewPool(servers, &upstream.Options{
		Listings: st.ServerListings(),
		Logger:   st.Logger, CacheDir: CatalogueDir(st.Dir), PackageDir: st.Dir, KeepPackages: true, Expand: s.Sources.Expand, Guard: true, Capabilities: surface.Promises(),
		OAuth: identity.Signer(st.SignIns(), s.Sources.Expand),
	})
}

// A SkillView has the skills of a config, those of its servers among them. It must be
// closed.
type SkillView struct {
	Registry *skills.Registry

	pool  *upstream.Pool // nil without servers
	pins  *pins.Store
	state *State
	cache *skills.Cache
}

// OpenSkills reads what is known of the skills. It starts no server.
func (s *Setup) OpenSkills(ctx context.Context, h *Home, o Overrides) (*SkillView, error) {
	v := &SkillView{Registry: h.Registry()}
	servers := Upstreams(WithPluginsOrNote(h))
	if set := h.Config.Broker.Skills.Enabled; len(servers) == 0 || (set != nil && !*set) {
		return v, nil
	}
	dir, err := s.StateOf(h.Config.Path)
	if err != nil {
		return nil, err
	}
	h.Found = v.Registry
	v.cache = skills.NewCache(SkillCacheDir(dir))
	if v.state, err = s.OpenPrepared(ctx, h.Config, dir); err != nil {
		return nil, err
	}
	v.pool = s.Pool(servers, v.state)
	v.pins = v.state.PinStore(h.Config, o, nil)
	v.take()
	return v, nil
}

// take tells the registry what the servers list.
func (v *SkillView) take() {
	v.Registry.SetSources(skill.Sources(v.pool, func() []discovery.Listing { return v.pins.Peek(v.pool.Listings()) }, v.cache))
}

// Close ends the servers.
func (v *SkillView) Close() {
	if v.pool != nil {
		v.pool.Close()
		v.state.Close()
	}
}

// Learn connects to the servers that were never listed, and waits for them for a limited
// time. It skips servers that failed recently. It returns those that are not listed then,
// and reports whether there were any before.
func (v *SkillView) Learn(ctx context.Context, limit time.Duration) (missing []upstream.Status, asked bool) {
	if v.pool == nil {
		return nil, false
	}
	unlisted := func() []upstream.Status {
		return slices.DeleteFunc(v.pool.Status(), func(st upstream.Status) bool {
			return slices.ContainsFunc(v.pool.Listings(), func(l discovery.Listing) bool { return l.Server == st.Name })
		})
	}
	if len(unlisted()) == 0 {
		return nil, false
	}
	if due := v.pool.Due(); len(due) > 0 {
		waiting, cancel := context.WithTimeout(ctx, limit)
		v.pool.Refresh(waiting, due...)
		cancel()
	}
	missing = unlisted()
	v.take()
	return missing, true
}
