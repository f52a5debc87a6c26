package skill

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/skills"
)

// Sources are the servers of a pool that may have skills, with what approved
// returns of these: none of the servers is started before a file is read. A skill
// that a server describes anew has to be among what approved returns then.
func Sources(p *upstream.Pool, approved func() []discovery.Listing, cache *skills.Cache) []skills.Source {
	listings := p.Listings()
	if slices.ContainsFunc(listings, func(l discovery.Listing) bool { return len(l.Skills)+len(l.SkillProblems) > 0 }) {
		listings = approved() // takes far longer; without skills nothing differs
	}
	var list []skills.Source
	for _, l := range listings {
		if l.Transport == "" {
			continue // nothing is known of it
		}
		s := skills.Source{Label: l.Server, Problems: l.SkillProblems, Cache: cache,
			Read: func(ctx context.Context, uri string) ([]byte, error) { return p.ReadResource(ctx, l.Server, uri) },
			Get: func(ctx context.Context, uri string) (skills.Entry, error) {
				one, err := p.Skill(ctx, l.Server, uri)
				if err == nil && held(approved(), l.Server, uri) {
					err = errors.New("the skill is held back until a person approves it; broker pins diff shows why")
				}
				return skills.Entry(one), err
			},
		}
		for _, k := range l.Skills {
			s.Entries = append(s.Entries, skills.Entry(k))
		}
		list = append(list, s)
	}
	return list
}

// held reports whether a skill of a server is held back.
func held(list []discovery.Listing, server, uri string) bool {
	i := slices.IndexFunc(list, func(l discovery.Listing) bool { return l.Server == server })
	return i >= 0 && slices.ContainsFunc(list[i].Held, func(h discovery.Held) bool { return h.Kind == "skill" && h.Name == uri })
}

// take passes the skills that the servers list to the registry. The caller must refresh
// the skills afterwards.
func (w known) take() {
	if w.f.parent != nil {
		w.f.parent.take()
		return
	}
	w.f.taking.Lock()
	defer w.f.taking.Unlock()
	o := w.f.opts.Load()
	if o.Registry == nil {
		return
	}
	o.Registry.SetSources(Sources(w.f.catalog.Pool, w.f.catalog.Approved, w.f.cache))
	if err := w.f.cache.Keep(w.f.catalog.ServerNames()); err != nil {
		w.f.log.Warn("delete files of skills of servers that are gone", "err", err)
	}
}

// configured reports whether there is a server of that name.
func (w known) configured(server string) bool {
	return slices.Contains(w.f.catalog.ServerNames(), server)
}

// Count counts the skills that models may activate: those of servers by
// server, the others by origin.
func (w known) Count() (ofServer, others map[string]int) {
	ofServer, others = make(map[string]int), make(map[string]int)
	for _, k := range w.f.now().Shown() {
		if k.Scope == skills.ScopeServer {
			ofServer[k.Server]++
		} else {
			others[k.Origin()]++
		}
	}
	return ofServer, others
}

// notRun returns the reason nothing of a skill runs here, or nil. Skills of servers are
// only read, since their authors are not known to the user.
func notRun(k *skills.Skill) error {
	if k.Scope != skills.ScopeServer {
		return nil
	}
	return &skills.FileError{Code: "not_local", Message: "skill " + k.Ref + " is from a server: nothing of it is run here. Read its files with read_skill_file, and do what they say yourself"}
}

// skillToActivate is the skill that a reader names, as it is now. A skill of a
// server may also be named by its address, as server:skill://…/SKILL.md: a list
// of skills need not have all.
func (m models) skillToActivate(ctx context.Context, r reader, name string) (*skills.Skill, error) {
	if k, err := m.f.now().Get(name); err == nil {
		return k, nil
	}
	if o := m.f.opts.Load(); strings.Contains(name, "://") && o.Registry != nil {
		for _, s := range m.f.catalog.ServerNames() {
			if uri, ok := strings.CutPrefix(name, s+":"); ok && strings.Contains(uri, "://") {
				if err := m.f.catalog.Pool.Wait(ctx, s); err != nil {
					return nil, &skills.FileError{Code: skills.CodeServer, Message: err.Error()}
				}
				m.f.take() // it may have just been listed
				return o.Registry.At(ctx, s, uri)
			}
		}
	}
	return m.f.find(r, name)
}

// activateSkill reads a skill for a reader. If a server's skill has changed since it
// was listed, it is requested again. The result is the skill that was read; the reader
// gets its files from then on.
func (m models) activateSkill(ctx context.Context, r reader, k *skills.Skill, arguments string, force bool) (*skills.Skill, *skills.Activation, error) {
	session := m.f.sessions.session(r)
	a, err := k.With(ctx).Activate(session, arguments, force)
	if e, ok := errors.AsType[*skills.FileError](err); ok && e.Code == skills.CodeVerification {
		renewed, e := k.Renew(ctx)
		if e == nil && renewed != nil {
			k = renewed
			a, err = k.With(ctx).Activate(session, arguments, force)
		}
	}
	if err == nil {
		if k.Scope == skills.ScopeServer {
			m.f.sessions.hold(r, k)
		}
		m.f.remember(r, k)
	}
	return k, a, err
}
