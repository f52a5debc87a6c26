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

// A reviewer reviews newer versions of the package of a server.
type reviewer struct {
	host *common
	cfg  Config
	life context.Context // done when the server is retired
}

// review starts a newer version of the package beside the one in use, lists its
// tools and ends it. It returns an error if the version does not start, or if the pins
// would hold back a part of its listing.
func (r reviewer) review(ctx context.Context, u packages.Update) error {
	if r.host.opts.Review == nil || r.life.Err() != nil || r.cfg.Credentials.OfPeople() {
		return nil // the pins still check each call
	}
	d := r.host.newDialer(r.cfg, link.Output{})
	d.Version = u.New
	sess, err := d.Dial(ctx, nil)
	if err != nil {
		return fmt.Errorf("it does not start: %w", err)
	}
	defer sess.Shut()
	ctx, cancel := context.WithTimeoutCause(ctx, r.cfg.StartTimeout, fmt.Errorf("no answer to tools/list for %s", words.Seconds(r.cfg.StartTimeout)))
	defer cancel()
	l, _, err := sess.List(ctx, r.cfg.Name)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("its tools cannot be listed: %w", sess.Hide.InErr(err))
	}
	sess.Offers(ctx, &l)
	l.Origin = origin(r.cfg, r.host.programs.Packages, &l)
	l.Origin.Package = u.New
	sess.Hide.Listing(&l)
	return heldBack(r.host.opts.Review(r.cfg.described(l)))
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
