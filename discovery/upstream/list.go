package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

// skillsTimeout is how long a server may take to list its skills; its tools can be used
// meanwhile.
const skillsTimeout = 20 * time.Second

// A lister lists the sessions of one instance of a server: each new one, and again when
// the server says that something changed.
type lister struct {
	*inventory
	// main is set for the instance that lists the tools of the server. What others list is
	// only an addition to that.
	main   bool
	relist relister
	life   context.Context // done when the server is retired
}

func newLister(life context.Context, v *inventory, main bool) *lister {
	l := &lister{inventory: v, main: main, life: life}
	l.relist.list = func(sess *session, over func()) bool {
		return v.host.run(func(ctx context.Context) { defer over(); l.listAgain(ctx, sess) })
	}
	return l
}

func (l *lister) toolsChanged(sess *session) { l.relist.changed(sess) }

// list fetches the tools of sess, stores them and makes them known.
func (l *lister) list(ctx context.Context, sess *session, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer to tools/list for %s", words.Seconds(limit)))
	defer cancel()
	if !l.main {
		return l.hear(ctx, sess)
	}
	found, ttl, err := sess.List(ctx, l.cfg.Name)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return sess.Failed(err)
	}
	// Names of resources may be those of a person's documents.
	complete := l.cfg.Credentials.OfPeople() || sess.Offers(ctx, &found)
	found.Origin = origin(l.cfg, l.host.programs.Packages, &found)
	sess.Hide.Listing(&found)
	l.taking.Lock()
	defer l.taking.Unlock()
	before, known := l.whole(), l.isKnown()
	sess.lists.Store(true)
	if !complete {
		found.Prompts, found.Resources = before.Prompts, before.Resources
	}
	l.relist.expire(sess, ttl, time.Now())
	found.Skills, found.SkillProblems = before.Skills, before.SkillProblems // they are listed after the tools
	if !closed(sess.listed) && known && sess.AnnouncesTools() {
		if whole, late := withLate(found, before); late {
			l.relist.settle(sess)
			l.learn(whole) // and nothing is kept: the next listing decides
			return nil
		}
	}
	l.keep(sess, found)
	return nil
}

// hear makes known what an instance lists after its tools have changed:
// some servers have more of them after a call.
func (l *lister) hear(ctx context.Context, sess *session) error {
	if l.cfg.Credentials.OfPeople() { // what one of them may use is not for all to see
		return nil
	}
	found, _, err := sess.List(ctx, l.cfg.Name)
	if err != nil {
		return err
	}
	sess.Hide.Listing(&found)
	l.taking.Lock()
	defer l.taking.Unlock()
	before := l.whole()
	found.Prompts, found.Resources, found.Origin = before.Prompts, before.Resources, before.Origin
	found.Skills, found.SkillProblems = before.Skills, before.SkillProblems
	l.share(l.entry(sess, found))
	l.learn(found)
	return nil
}

// ready is the first listing of a session of an instance, which has known tools.
func (l *lister) ready(ctx context.Context, sess *session) {
	if sess.modern() {
		limited, cancel := context.WithTimeout(ctx, l.cfg.StartTimeout)
		if _, _, err := sess.List(limited, l.cfg.Name); err != nil {
			l.log.Debug("cannot list an instance", "err", err)
		}
		cancel()
	}
	close(sess.listed)
	close(sess.taught)
}

// listAgain lists a session again after its tools changed.
func (l *lister) listAgain(ctx context.Context, sess *session) {
	select {
	case <-sess.listed: // one listing at a time
	case <-ctx.Done():
		return
	}
	if sess.dropped.Load() {
		return
	}
	l.relist.begin()
	if err := l.list(ctx, sess, l.cfg.StartTimeout); err != nil {
		l.log.Warn("cannot list changed tools", "err", err)
	}
	if l.main {
		l.listSkills(ctx, sess)
	}
}

// settled waits for the listing of sess that is due, if there is one: after it,
// what is known is the server's last word.
func (l *lister) settled(ctx context.Context, sess *session) {
	done := l.relist.pending()
	if done == nil {
		return
	}
	patience := time.NewTimer(settleTime + l.cfg.StartTimeout)
	defer patience.Stop()
	select {
	case <-done:
	case <-sess.Gone():
	case <-ctx.Done():
	case <-l.life.Done():
	case <-patience.C:
	}
}

// teach lists the skills of a new session, if the tools were listed.
func (l *lister) teach(ctx context.Context, sess *session) {
	defer close(sess.taught)
	if !sess.dropped.Load() && l.isKnown() {
		l.listSkills(ctx, sess)
	}
}

// listSkills lists the skills of a server and makes them known. Those that were
// known stay if that fails.
func (l *lister) listSkills(ctx context.Context, sess *session) {
	served := discovery.Listing{}
	if sess.ServesSkills() && !l.cfg.Credentials.OfPeople() { // otherwise they would be those of the lister
		limited, cancel := context.WithTimeoutCause(ctx, min(skillsTimeout, l.cfg.StartTimeout), errors.New("no answer to skills/list"))
		defer cancel()
		var err error
		if served.Skills, served.SkillProblems, err = sess.Skills(limited); err != nil {
			if ctx.Err() != nil {
				return // it was given up: nothing is known about the server
			}
			if limited.Err() != nil {
				err = context.Cause(limited)
			}
			l.log.Warn("cannot list skills", "err", sess.Hide.InErr(err))
			problems := []string{sess.Hide.In(gate.Clean("its skills could not be listed: " + err.Error()))}
			l.change(sess, func(known *discovery.Listing) { known.SkillProblems = problems })
			return
		}
	}
	sess.Hide.Listing(&served)
	l.change(sess, func(known *discovery.Listing) {
		known.Skills, known.SkillProblems = served.Skills, served.SkillProblems
	})
}

// withLate is the first listing of a session with the tools that the server had
// before and does not list now. Some register tools only when they have
// looked at their client or their surroundings, and say that their tools changed
// then. The order is the earlier one, so that a listing which has them all again
// is not a change.
func withLate(l, before discovery.Listing) (whole discovery.Listing, late bool) {
	now := make(map[string]discovery.ListedTool, len(l.Tools))
	for _, t := range l.Tools {
		now[t.Name] = t
	}
	var tools []discovery.ListedTool
	for _, old := range before.Tools {
		if t, ok := now[old.Name]; ok {
			old = t
			delete(now, t.Name)
		} else {
			late = true
		}
		tools = append(tools, old)
	}
	for _, t := range l.Tools {
		if _, isNew := now[t.Name]; isNew {
			tools = append(tools, t)
		}
	}
	l.Tools = tools
	return l, late
}

// origin is where a listing of c comes from; the hider has yet to see it.
func origin(c Config, installed *packages.Store, l *discovery.Listing) discovery.Origin {
	o := discovery.Origin{URL: c.URL, Version: l.Version}
	if c.Command == "" {
		return o
	}
	o.Command = launch.ByHand(c.Command, c.Args)
	if spec, err := packages.Parse(c.Command, c.Args); err == nil && installed != nil && !c.AsWritten {
		o.Package = installed.Version(spec)
	}
	return o
}
