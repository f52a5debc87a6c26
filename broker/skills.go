package broker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/fair"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

// skillState is what the broker knows of skills beside their registry. The zero
// value is ready to use.
type skillState struct {
	shown atomic.Pointer[skills.Snapshot] // what clients see
	cache *skills.Cache                   // of files of servers

	looking sync.Mutex // from Refresh until shown is its answer, so that no older one follows
	taking  sync.Mutex // from asking the pool until the registry knows, for the same

	mu       sync.Mutex
	sessions map[reader]*skillSession
	engines  map[engineKey]*engine
	places   *fair.Places // for scripts; see enterScript
}

// A reader is one conversation that skills are activated in: that of a client,
// and where the protocol has sessions, one of them.
type reader struct{ owner, session string }

func readerOf(extra *mcp.RequestExtra, session *mcp.ServerSession) reader {
	r := reader{owner: owner(extra)}
	if session != nil {
		r.session = session.ID()
	}
	return r
}

// A skillSession is what a reader has activated.
type skillSession struct {
	skills.Session
	used time.Time
	held map[string]*skills.Skill // of servers, by Ref, as they were when they were activated
}

// maxSkillSessions bounds what is remembered of readers. One that is forgotten
// is given again what it has had.
const maxSkillSessions = 1000

// session returns what r has activated.
func (s *skillState) session(r reader) *skills.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &s.sessionLocked(r).Session
}

func (s *skillState) sessionLocked(r reader) *skillSession {
	one := s.sessions[r]
	if one == nil {
		if s.sessions == nil {
			s.sessions = make(map[reader]*skillSession)
		}
		if len(s.sessions) >= maxSkillSessions {
			s.forgetOldest()
		}
		one = &skillSession{}
		s.sessions[r] = one
	}
	one.used = time.Now()
	return one
}

func (s *skillState) forgetOldest() {
	var oldest reader
	var when time.Time
	for r, one := range s.sessions {
		if when.IsZero() || one.used.Before(when) {
			oldest, when = r, one.used
		}
	}
	delete(s.sessions, oldest)
}

// skillsNow are the skills that clients see.
func (b *Broker) skillsNow() *skills.Snapshot { return b.skills.shown.Load() }

// noSkills is what a broker without a registry knows.
var noSkills = sync.OnceValue(func() *skills.Snapshot { return skills.NewRegistry(nil).Snapshot() })

// lookAtSkills looks for changes of the skills and reports whether there are any.
func (b *Broker) lookAtSkills() bool {
	if !b.swapSkills() {
		return false
	}
	b.enterSkills()
	return true
}

// swapSkills shows the skills as they are now and reports whether they are
// others than before.
func (b *Broker) swapSkills() bool {
	b.skills.looking.Lock()
	defer b.skills.looking.Unlock()
	next := noSkills()
	if r := b.options().Skills; r != nil {
		next = r.Refresh()
	}
	return b.skills.shown.Swap(next) != next
}

// Skills is the registry that is in force, with the skills that servers serve;
// nil without skills.
func (b *Broker) Skills() *skills.Registry { return b.options().Skills }

// RefreshSkills looks for changes of the skills and shows them to the clients.
// Without a change it costs a few microseconds for each skill.
func (b *Broker) RefreshSkills() {
	if b.lookAtSkills() {
		b.changed() // what search finds
		b.showAll()
	}
}

// refreshSkill is RefreshSkills for who goes on with one skill: as long as that
// is there as it was, the others are not looked at.
func (b *Broker) refreshSkill(name string) {
	if reg := b.options().Skills; reg == nil || reg.RefreshFor(name) != b.skillsNow() {
		b.RefreshSkills()
	}
}

// findSkill is the skill that a reader names: one that models may know of, or
// one that its user has picked.
func (b *Broker) findSkill(r reader, name string) (*skills.Skill, error) {
	if err := checkSkillName("skill", name); err != nil {
		return nil, err
	}
	s := b.skillsNow()
	k, err := s.Get(name)
	if err == nil {
		return b.skills.asActivated(r, k), nil
	}
	if k := b.skills.activatedAt(r, name); k != nil && b.configured(k.Server) && b.allows(k) {
		return k, nil
	}
	if k, e := s.Find(name); e == nil && k.State == skills.Enabled {
		if slices.Contains(b.skills.session(r).Active(), k.Ref) {
			return b.skills.asActivated(r, k), nil
		}
	}
	return nil, err
}

// checkSkillName refuses a name that no skill, or tool of one, has before anybody
// looks for it.
func checkSkillName(what, name string) error {
	if len(name) <= sandbox.MaxNameBytes {
		return nil
	}
	return &skills.FileError{Code: what + "_not_found", Message: fmt.Sprintf("unknown %s: its name has %d bytes; at most %d, which is fixed", what, len(name), sandbox.MaxNameBytes)}
}

// allows reports whether models may still use a skill that was activated.
func (b *Broker) allows(k *skills.Skill) bool {
	reg := b.options().Skills
	return reg != nil && reg.Allows(k)
}

// skillFailure is an error about a skill in words for a model, after its code.
func skillFailure(err error) error {
	if e, ok := errors.AsType[*skills.FileError](err); ok {
		return errors.New(e.Code + ": " + e.Message)
	}
	return err
}

// noteSkill records what was done with a skill, or with failure tried. The
// detail is a name or a size, not contents.
func (b *Broker) noteSkill(kind string, k *skills.Skill, client, detail string, failure error) {
	store := b.options().Audit
	if store == nil {
		return
	}
	if failure != nil {
		detail = strings.TrimSpace(detail + " failed: " + skillFailure(failure).Error())
	}
	store.Note(state.Event{
		Kind: kind, Name: k.Ref, Client: cmp.Or(client, "unknown"), Digest: k.Digest(), Failed: failure != nil,
		Detail: clip(strings.TrimSpace(k.Origin()+" "+detail), 500),
	})
}

// noteSkillRead records that a file was read, or why not.
func (b *Broker) noteSkillRead(k *skills.Skill, client, path string, bytes int, failure error) {
	detail := clip(path, 200)
	if failure == nil {
		detail += fmt.Sprintf(", %d bytes", bytes)
	}
	b.noteSkill(state.EventSkillFileRead, k, client, detail, failure)
}

// readWhole reads a text file of a skill up to limit bytes; a longer one is an
// error.
func readWhole(k *skills.Skill, path string, limit int64) (string, error) {
	var text strings.Builder
	for {
		p, err := k.ReadFile(path, int64(text.Len()), skills.MaxReadBytes)
		if err != nil {
			return "", err
		}
		if p.TotalBytes > limit {
			return "", &skills.FileError{Code: "too_large", Message: "the file is too large to be read as a whole: read_skill_file reads it in pages"}
		}
		text.WriteString(p.Text)
		if !p.Truncated || p.Text == "" {
			return text.String(), nil
		}
	}
}
