package host

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/internal/replicas"
)

// A Replica is the name of a replica, and where others reach it. Both may be empty.
type Replica struct{ Name, Address string }

// replicaName is what a replica may be called: a part of the ids of sessions, which
// proxies compare.
var replicaName = lazyregexp.New(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// join joins the replicas that share the state; the Fleet is nil if this broker has its
// own.
func (r Replica) join(ctx context.Context, st *app.State, requests *Running) (*replicas.Fleet, error) {
	all := st.Replicas()
	if all == nil {
		if r.Name != "" || r.Address != "" {
			return nil, app.Usagef(`"state" of the config names it`, "--advertise and --replica are for brokers that share a database")
		}
		return nil, nil
	}
	if r.Name == "" {
		r.Name = strings.ToLower(rand.Text()[:8])
	}
	if !replicaName.MatchString(r.Name) || r.Name == "any" {
		return nil, app.Usagef("", "--replica %q: use up to 40 of a-z, 0-9 and -, and not any", r.Name)
	}
	if r.Address != "" {
		var err error
		if r.Address, err = replicas.NormalizeAddress(r.Address); err != nil {
			return nil, app.Usagef("", "--advertise: %w", err)
		}
	}
	fleet, err := replicas.Join(ctx, replicas.Options{Name: r.Name, Address: r.Address, State: all, Around: requests.Wrap, Logger: st.Logger})
	if err != nil {
		return nil, app.Errorf("the address must be one of this machine that the other replicas can connect to", "--advertise: %w", err)
	}
	return fleet, nil
}
