package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// SkillsExtension is the name of the protocol's extension for skills.
const SkillsExtension = link.SkillsExtension

// skillsTimeout is how long a server may take to list its skills; its tools can be used
// meanwhile.
const skillsTimeout = 20 * time.Second

// teach lists the skills of a new session, if the tools were listed.
func (s *server) teach(ctx context.Context, sess *session) {
	defer close(sess.taught)
	s.mu.Lock()
	live := s.sess == sess && s.known
	s.mu.Unlock()
	if live {
		s.listSkills(ctx, sess)
	}
}

// listSkills lists the skills of a server and makes them known. Those that were
// known stay if that fails.
func (s *server) listSkills(ctx context.Context, sess *session) {
	var skills []discovery.ListedSkill
	var problems []string
	if sess.ServesSkills() && !s.cfg.Credentials.OfPeople() { // otherwise they would be those of the lister
		limited, cancel := context.WithTimeoutCause(ctx, min(skillsTimeout, s.cfg.StartTimeout), errors.New("no answer to skills/list"))
		defer cancel()
		var err error
		if skills, problems, err = sess.Skills(limited); err != nil {
			if ctx.Err() != nil {
				return // it was given up: nothing is known about the server
			}
			if limited.Err() != nil {
				err = context.Cause(limited)
			}
			s.log.Warn("cannot list skills", "err", sess.Hide.InErr(err))
			problems = []string{sess.Hide.In(gate.Clean("its skills could not be listed: " + err.Error()))}
			s.changeSkills(sess, func(l *discovery.Listing) { l.SkillProblems = problems })
			return
		}
	}
	served := discovery.Listing{Skills: skills, SkillProblems: problems}
	sess.Hide.Listing(&served)
	s.changeSkills(sess, func(l *discovery.Listing) { l.Skills, l.SkillProblems = served.Skills, served.SkillProblems })
}

// changeSkills changes what is known of the skills of a server. What change does
// to the listing must leave the slices alone that are in it.
func (s *server) changeSkills(sess *session, change func(*discovery.Listing)) {
	s.taking.Lock()
	defer s.taking.Unlock()
	s.mu.Lock()
	l := s.full
	before := l
	change(&l)
	known := s.known
	s.mu.Unlock()
	if !known || sameListing(before, l) {
		return
	}
	s.store(sess, l)
	s.learn(l)
}

// useSession runs f, which makes one request, with a session of a server, connecting to
// it if need be. The server has its call timeout to answer.
func (p *Pool) useSession(ctx context.Context, name, what string, f func(context.Context, *server, *session) error) error {
	s := p.roster.Load().byName[name]
	if s == nil {
		return fmt.Errorf("%s: %w", what, ErrUnknownServer)
	}
	if s.cfg.Credentials.OfPeople() {
		return s.refusePerson("what it has to read belongs to people, who have it by its tools")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(ErrClosed) })()
	for tries := 0; ; tries++ {
		sess, err := s.acquire(ctx, false)
		if err != nil {
			return err
		}
		limited, stop := context.WithTimeoutCause(ctx, s.cfg.CallTimeout, &TimeoutError{Server: name, Tool: what, After: s.cfg.CallTimeout})
		err = f(limited, s, sess)
		ended := context.Cause(limited)
		stop()
		s.release(sess)
		switch {
		case err == nil:
			s.worked()
			return nil
		case ended != nil:
			return ended
		}
		err = s.callError(ctx, sess, what, err)
		if tries > 0 || !errors.Is(err, errNotSent) {
			return err
		}
	}
}

// ReadResource reads a resource of a server unchanged, connecting to the server if
// necessary. Errors are those of Call, with the method in place of the tool.
func (p *Pool) ReadResource(ctx context.Context, name, uri string) (data []byte, err error) {
	err = p.useSession(ctx, name, "resources/read", func(ctx context.Context, _ *server, sess *session) (err error) {
		data, err = sess.Resource(ctx, uri)
		return err
	})
	return data, err
}

// Skill asks a server for the entry of the skill at uri, connecting to the
// server if need be. If the server lists that skill, what is known of it is
// replaced. Errors are those of Call, with the method in place of the tool.
func (p *Pool) Skill(ctx context.Context, name, uri string) (one discovery.ListedSkill, err error) {
	err = p.useSession(ctx, name, "skills/get", func(ctx context.Context, s *server, sess *session) (err error) {
		if one, err = sess.Skill(ctx, uri); err != nil {
			return err
		}
		s.changeSkills(sess, func(l *discovery.Listing) {
			if i := slices.IndexFunc(l.Skills, func(k discovery.ListedSkill) bool { return k.URI == uri }); i >= 0 {
				l.Skills = slices.Clone(l.Skills)
				l.Skills[i] = one
			}
		})
		return nil
	})
	return one, err
}
