package upstream

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

// review starts a newer version of the package of s beside the one in use, lists its
// tools and ends it. It returns an error if the version does not start, or if the pins
// would hold back a part of its listing.
func (s *server) review(ctx context.Context, u packages.Update) error {
	if s.pool.opts.Review == nil || s.ctx.Err() != nil || s.cfg.Credentials.OfPeople() {
		return nil // the pins still check each call
	}
	d := s.newDialer(link.Output{})
	d.Version = u.New
	sess, err := d.Dial(ctx, nil)
	if err != nil {
		return fmt.Errorf("it does not start: %w", err)
	}
	defer sess.Shut()
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.StartTimeout, fmt.Errorf("no answer to tools/list for %s", words.Seconds(s.cfg.StartTimeout)))
	defer cancel()
	l, _, err := sess.List(ctx, s.cfg.Name)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("its tools cannot be listed: %w", sess.Hide.InErr(err))
	}
	sess.Offers(ctx, &l)
	l.Origin = s.origin(&l)
	l.Origin.Package = u.New
	sess.Hide.Listing(&l)
	return heldBack(s.pool.opts.Review(s.cfg.described(l)))
}

// heldBack returns the error for an update that the pins would partly hold back.
func heldBack(held []discovery.Held) error {
	const most = 5
	var names []string
	for _, h := range held[:min(len(held), most)] {
		name := h.Kind
		if h.Kind == "tool" {
			name = gate.Name(h.Name)
		} else if h.Name != "" {
			name += " " + gate.Name(h.Name)
		}
		names = append(names, name+" ("+h.State+")")
	}
	switch {
	case len(held) == 0:
		return nil
	case len(held) > most:
		names = append(names, fmt.Sprintf("and %d more", len(held)-most))
	}
	return fmt.Errorf("the pins would hold back %s", strings.Join(names, ", "))
}

// Held returns the newer version of a server's package that is not used, or nil.
func (p *Pool) Held(server string) *packages.Held {
	s := p.roster.Load().byName[server]
	if s == nil || p.programs.Packages == nil || !s.cfg.direct() {
		return nil
	}
	spec, err := packages.Parse(s.cfg.Command, s.cfg.Args)
	if err != nil {
		return nil
	}
	return p.programs.Packages.Held(spec)
}
