package main

import (
	"context"
	"crypto/rand"
	"strings"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/internal/replicas"
)

// A member is what a replica is called, and where others reach it.
type member struct{ name, address string }

// replicaName is what a replica may be called: a part of the ids of sessions, which
// proxies compare.
var replicaName = lazyregexp.New(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// join joins the replicas that share the state; nil if this broker has its own.
func (s member) join(ctx context.Context, st *application.State, requests *host.Running) (*replicas.Fleet, error) {
	all := st.Replicas()
	if all == nil {
		if s.name != "" || s.address != "" {
			return nil, cli.Usagef("--advertise and --replica are for brokers that share a database\nhint: \"state\" of the config names it")
		}
		return nil, nil
	}
	if s.name == "" {
		s.name = strings.ToLower(rand.Text()[:8])
	}
	if !replicaName.MatchString(s.name) || s.name == "any" {
		return nil, cli.Usagef("--replica %q: use up to 40 of a-z, 0-9 and -, and not any", s.name)
	}
	if s.address != "" {
		var err error
		if s.address, err = replicas.NormalizeAddress(s.address); err != nil {
			return nil, cli.Usagef("--advertise: %w", err)
		}
	}
	fleet, err := replicas.Join(ctx, replicas.Options{Name: s.name, Address: s.address, State: all, Around: requests.Wrap, Logger: st.Logger})
	if err != nil {
		return nil, cli.Errorf("--advertise: %w\nhint: the address must be one of this machine that the other replicas can connect to", err)
	}
	return fleet, nil
}
