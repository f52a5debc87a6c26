package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// useSession runs f, which makes one request, with a session of a server, connecting to
// it if need be. The server has its call timeout to answer.
func (p *Pool) useSession(ctx context.Context, name, what string, f func(context.Context, *server, *session) error) error {
	s := p.server(name)
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
		err = answer{s, sess, what}.failed(ctx, err)
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
		s.inventory.change(sess, func(l *discovery.Listing) {
			if i := slices.IndexFunc(l.Skills, func(k discovery.ListedSkill) bool { return k.URI == uri }); i >= 0 {
				l.Skills = slices.Clone(l.Skills)
				l.Skills[i] = one
			}
		})
		return nil
	})
	return one, err
}

// Forget ends the instances of a server that a person has.
func (p *Pool) Forget(name string, person *Person) {
	if s := p.server(name); s != nil {
		s.instances.endAll(personalKey + person.Key())
	}
}
