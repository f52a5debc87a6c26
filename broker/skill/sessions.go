package skill

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/skills"
)

// A reader is one conversation that skills are activated in: that of a client,
// and where the protocol has sessions, one of them.
type reader struct{ owner, session string }

func readerOf(c surface.Caller) reader { return reader{c.Owner, c.Session} }

// A session is what a reader has activated.
type session struct {
	skills.Session
	used time.Time
	held map[string]*skills.Skill // of servers, by Ref, as they were when they were activated
}

// sessions are what readers have activated. The zero value is ready to use.
type sessions struct {
	mu       sync.Mutex
	byReader map[reader]*session
}

// maxSessions bounds what is remembered of readers. One that is forgotten
// is given again what it has had.
const maxSessions = 1000

// session returns what r has activated.
func (s *sessions) session(r reader) *skills.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &s.locked(r).Session
}

func (s *sessions) locked(r reader) *session {
	one := s.byReader[r]
	if one == nil {
		if s.byReader == nil {
			s.byReader = make(map[reader]*session)
		}
		if len(s.byReader) >= maxSessions {
			s.forgetOldest()
		}
		one = &session{}
		s.byReader[r] = one
	}
	one.used = time.Now()
	return one
}

func (s *sessions) forgetOldest() {
	var oldest reader
	var when time.Time
	for r, one := range s.byReader {
		if when.IsZero() || one.used.Before(when) {
			oldest, when = r, one.used
		}
	}
	delete(s.byReader, oldest)
}

// hold notes which version of a skill a reader has activated.
func (s *sessions) hold(r reader, k *skills.Skill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.locked(r)
	if one.held == nil || len(one.held) >= maxHeldSkills {
		one.held = make(map[string]*skills.Skill)
	}
	one.held[k.Ref] = k
}

// holds reports whether it is noted which version of a skill a reader has activated.
func (s *sessions) holds(r reader, ref string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byReader[r]
	return one != nil && one.held[ref] != nil
}

// maxHeldSkills bounds what is remembered of one reader.
const maxHeldSkills = 200

// asActivated is k, or the version of it that the reader has activated.
func (s *sessions) asActivated(r reader, k *skills.Skill) *skills.Skill {
	if k.Scope != skills.ScopeServer {
		return k
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.byReader[r]; one != nil && one.held[k.Ref] != nil && one.held[k.Ref].Address() == k.Address() {
		return one.held[k.Ref]
	}
	return k
}

// activatedAt returns a skill that the reader has activated by its address, or nil.
func (s *sessions) activatedAt(r reader, name string) *skills.Skill {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.byReader[r]; one != nil {
		for _, ref := range slices.Sorted(maps.Keys(one.held)) {
			if k := one.held[ref]; ref == name && k.Ref == k.Server+":"+k.Address() {
				return k
			}
		}
	}
	return nil
}
