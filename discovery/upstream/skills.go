package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/listing"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// SkillsExtension is the name of the protocol's extension for skills
// (SEP-2640). Servers that declare it among their capabilities list skills.
const SkillsExtension = "io.modelcontextprotocol/skills"

const (
	methodListSkills = "skills/list"
	methodGetSkill   = "skills/get"

	// skillsTimeout is how long a server may take to list its skills; its tools
	// can be used meanwhile.
	skillsTimeout = 20 * time.Second

	// A server may list as much as this.
	maxSkills      = 2_000
	maxSkillPages  = 200
	maxSkillsBytes = 32 << 20
)

type skillsParams struct {
	mcp.ParamsBase
	Cursor string `json:"cursor,omitempty"`
	URI    string `json:"uri,omitempty"`
}

// A skillsResult is a page of skills/list or the answer of skills/get. What is
// in it is decoded one by one: what is wrong with one skill is not wrong with
// the others.
type skillsResult struct {
	mcp.ResultBase
	Skills     []json.RawMessage `json:"skills"`
	Skill      json.RawMessage   `json:"skill"`
	NextCursor string            `json:"nextCursor"`
}

// sendsSkillMethods makes the SDK know the methods of the extension.
func sendsSkillMethods(c *mcp.Client) {
	for _, m := range []string{methodListSkills, methodGetSkill} {
		if err := mcp.AddSendingCustomMethod[*skillsParams, *skillsResult](c, m); err != nil {
			panic(err) // only for methods of the SDK itself
		}
	}
}

// servesSkills reports whether the server declares the extension.
func (s *session) servesSkills() bool {
	if s.mcp == nil {
		return false
	}
	init := s.mcp.InitializeResult()
	if init == nil || init.Capabilities == nil {
		return false
	}
	_, ok := init.Capabilities.Extensions[SkillsExtension]
	return ok
}

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
	if sess.servesSkills() && !s.cfg.Credentials.OfPeople() { // otherwise they would be those of the lister
		limited, cancel := context.WithTimeoutCause(ctx, min(skillsTimeout, s.cfg.StartTimeout), fmt.Errorf("no answer to %s", methodListSkills))
		defer cancel()
		var err error
		if skills, problems, err = sess.skills(limited); err != nil {
			if ctx.Err() != nil {
				return // it was given up: nothing is known about the server
			}
			if limited.Err() != nil {
				err = context.Cause(limited)
			}
			s.log.Warn("cannot list skills", "err", sess.hide.InErr(err))
			problems = []string{sess.hide.In(gate.Clean("its skills could not be listed: " + err.Error()))}
			s.changeSkills(sess, func(l *discovery.Listing) { l.SkillProblems = problems })
			return
		}
	}
	served := discovery.Listing{Skills: skills, SkillProblems: problems}
	sess.hide.Listing(&served)
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

// skills fetches all pages of skills/list.
func (s *session) skills(ctx context.Context) (list []discovery.ListedSkill, problems []string, err error) {
	defer s.recovered(methodListSkills, &err)
	seen := map[string]bool{"": true}
	size := 0
	for cursor, pages := "", 0; ; pages++ {
		res, err := mcp.CallCustomMethod[*skillsParams, *skillsResult](ctx, s.mcp, methodListSkills, &skillsParams{Cursor: cursor})
		if err != nil {
			return nil, nil, err
		}
		for _, raw := range res.Skills {
			if size += len(raw); size > maxSkillsBytes || len(list) == maxSkills {
				return list, append(problems, fmt.Sprintf("the server lists more than %d skills, or %d MiB of them: the first %d are taken", maxSkills, maxSkillsBytes>>20, len(list))), nil
			}
			one, err := listing.Skill(raw)
			if err != nil {
				problems = append(problems, err.Error())
				continue
			}
			list = append(list, one)
		}
		switch cursor = res.NextCursor; {
		case cursor == "":
			return list, problems, nil
		case seen[cursor] || pages == maxSkillPages:
			return list, append(problems, fmt.Sprintf("%s does not end: the %d skills up to there are taken", methodListSkills, len(list))), nil
		}
		seen[cursor] = true
	}
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
		kept := captureError()
		err = sess.use(what, func() error {
			err := f(transport.WithCapture(limited, kept), s, sess)
			if err != nil {
				err = answerError(kept, err) // the SDK confuses codes of servers with its own
			}
			return err
		})
		kept.Release()
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

// use runs f, which handles messages of the server.
func (s *session) use(what string, f func() error) (err error) {
	defer s.recovered(what, &err)
	return f()
}

// ReadResource reads a resource of a server unchanged, connecting to the server if
// necessary. Errors are those of Call, with the method in place of the tool.
func (p *Pool) ReadResource(ctx context.Context, name, uri string) (data []byte, err error) {
	err = p.useSession(ctx, name, "resources/read", func(ctx context.Context, _ *server, sess *session) error {
		res, err := sess.mcp.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return err
		}
		for _, c := range res.Contents {
			if c != nil && c.URI == uri {
				data = c.Blob
				if data == nil {
					data = []byte(c.Text)
				}
				return nil
			}
		}
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the answer holds another resource"}
	})
	return data, err
}

// Skill asks a server for the entry of the skill at uri, connecting to the
// server if need be. If the server lists that skill, what is known of it is
// replaced. Errors are those of Call, with the method in place of the tool.
func (p *Pool) Skill(ctx context.Context, name, uri string) (one discovery.ListedSkill, err error) {
	err = p.useSession(ctx, name, methodGetSkill, func(ctx context.Context, s *server, sess *session) error {
		if !sess.servesSkills() {
			return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the server does not say that it has skills"}
		}
		res, err := mcp.CallCustomMethod[*skillsParams, *skillsResult](ctx, sess.mcp, methodGetSkill, &skillsParams{URI: uri})
		if err != nil {
			return err
		}
		if one, err = listing.Skill(res.Skill); err != nil || one.URI != uri {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the answer is not about the skill that was asked for"}
		}
		if one, err = hiddenSkill(one, sess.hide); err != nil {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
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
