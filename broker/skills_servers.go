package broker

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/skills"
)

// SkillSources are the servers of a pool that may have skills, with what is
// known of these: none of the servers is started before a file is read.
func SkillSources(p *upstream.Pool, cache *skills.Cache) []skills.Source {
	var list []skills.Source
	for _, l := range p.Listings() {
		s := skills.Source{Label: l.Server, Problems: l.SkillProblems, Cache: cache,
			Read: func(ctx context.Context, uri string) ([]byte, error) { return p.ReadResource(ctx, l.Server, uri) },
			Get: func(ctx context.Context, uri string) (skills.Entry, error) {
				one, err := p.Skill(ctx, l.Server, uri)
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

// takeServerSkills tells the registry which skills the servers list. Whoever
// calls it has to look at the skills afterwards.
func (b *Broker) takeServerSkills() {
	b.skills.taking.Lock()
	defer b.skills.taking.Unlock()
	o := b.options()
	if o.Skills == nil {
		return
	}
	o.Skills.SetSources(SkillSources(b.pool, b.skills.cache))
	var labels []string
	for _, s := range o.Servers {
		labels = append(labels, s.Name)
	}
	if err := b.skills.cache.Keep(labels); err != nil {
		b.log.Warn("delete files of skills of servers that are gone", "err", err)
	}
}

// configured reports whether there is a server of that name.
func (b *Broker) configured(server string) bool {
	return slices.ContainsFunc(b.options().Servers, func(c upstream.Config) bool { return c.Name == server })
}

// countSkills counts the skills that models may activate: those of servers by
// server, the others by origin.
func (b *Broker) countSkills() (ofServer, others map[string]int) {
	ofServer, others = make(map[string]int), make(map[string]int)
	for _, k := range b.skillsNow().Shown() {
		if k.Scope == skills.ScopeServer {
			ofServer[k.Server]++
		} else {
			others[k.Origin()]++
		}
	}
	return ofServer, others
}

// notRun is why nothing of a skill runs here; nil if it may. Whoever runs a
// server has not written the user's skills: what it serves is read.
func notRun(k *skills.Skill) error {
	if k.Scope != skills.ScopeServer {
		return nil
	}
	return &skills.FileError{Code: "not_local", Message: "skill " + k.Ref + " is from a server: nothing of it is run here. Read its files with read_skill_file, and do what they say yourself"}
}

// skillToActivate is the skill that a reader names, as it is now. A skill of a
// server may also be named by its address, as server:skill://…/SKILL.md: a list
// of skills need not have all.
func (b *Broker) skillToActivate(ctx context.Context, r reader, name string) (*skills.Skill, error) {
	if k, err := b.skillsNow().Get(name); err == nil {
		return k, nil
	}
	if o := b.options(); strings.Contains(name, "://") && o.Skills != nil {
		for _, s := range o.Servers {
			if uri, ok := strings.CutPrefix(name, s.Name+":"); ok && strings.Contains(uri, "://") {
				if err := b.pool.Wait(ctx, s.Name); err != nil {
					return nil, &skills.FileError{Code: skills.CodeServer, Message: err.Error()}
				}
				b.takeServerSkills() // it may have just been listed
				return o.Skills.At(ctx, s.Name, uri)
			}
		}
	}
	return b.findSkill(r, name)
}

// activateSkill reads a skill for a reader. One of a server that has changed
// since it was listed is asked for again. The skill that it returns is the one
// that was read, whose files the reader gets from then on.
func (b *Broker) activateSkill(ctx context.Context, r reader, k *skills.Skill, arguments string, force bool) (*skills.Skill, *skills.Activation, error) {
	session := b.skills.session(r)
	a, err := k.With(ctx).Activate(session, arguments, force)
	if e, ok := errors.AsType[*skills.FileError](err); ok && e.Code == skills.CodeVerification {
		renewed, e := k.Renew(ctx)
		if e == nil && renewed != nil {
			k = renewed
			a, err = k.With(ctx).Activate(session, arguments, force)
		}
	}
	if err == nil && k.Scope == skills.ScopeServer {
		b.skills.hold(r, k)
	}
	return k, a, err
}

// hold notes which version of a skill a reader has activated.
func (s *skillState) hold(r reader, k *skills.Skill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.sessionLocked(r)
	if one.held == nil || len(one.held) >= maxHeldSkills {
		one.held = make(map[string]*skills.Skill)
	}
	one.held[k.Ref] = k
}

// maxHeldSkills bounds what is remembered of one reader.
const maxHeldSkills = 200

// asActivated is k, or the version of it that the reader has activated.
func (s *skillState) asActivated(r reader, k *skills.Skill) *skills.Skill {
	if k.Scope != skills.ScopeServer {
		return k
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.sessions[r]; one != nil && one.held[k.Ref] != nil && one.held[k.Ref].Address() == k.Address() {
		return one.held[k.Ref]
	}
	return k
}

// activatedAt is a skill that the reader has activated by its address, nil if
// there is none of that name.
func (s *skillState) activatedAt(r reader, name string) *skills.Skill {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.sessions[r]; one != nil {
		for _, ref := range slices.Sorted(maps.Keys(one.held)) {
			if k := one.held[ref]; ref == name && k.Ref == k.Server+":"+k.Address() {
				return k
			}
		}
	}
	return nil
}
